/*
 * A repeated launch that turns out to be another on the way goes back to what its memories held, and
 * is simulated: nothing that it had written by then is seen.
 */
#include "sim/fastpath/replay.h"
#include "tests/rigs/same_launch.h"
#include "tests/test.h"

#define INPUT 0x1000                    /* HBM bytes that become rows 0..7 */
#define COUNTED 0x6000                  /* rows 4096.. end here */
#define FRESH 0x8000                    /* and rows 16384.. */

/*
 * Rows 4096.. count the launches, in a page that is touched by each; rows 16384.. only where a word
 * says so that comes to SMEM by way of VMEM and HBM, which shows too late: how many rounds a loop
 * has depends on it.
 */
static const char program[] =
    "{ s5 = smov 4096 ;; s6 = smov 16384 }\n"
    "{ dma.hbm_to_vmem 0x80, 128, 0, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n"
    "{ v0 = vld [vmem:s5] ;; s7 = smov 1 }\n{ v1 = vstv s7 }\n{ v0 = vadd.s32 v0, v1 }\n"
    "{ vst [vmem:s5] v0 }\n{ sfence }\n"
    "{ dma.vmem_to_hbm 0, 128, 0x200, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n"
    "{ dma.hbm_to_smem 0x200, 1, 0x10, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n"
    "{ s1 = sld [smem:512] ;; s0 = smov 0 }\n"
    "loop:\n{ s0 = sadd.s32 s0, 1 }\n"
    "{ p0 = scmp.lt.s32.totalorder s0, s1 }\n{ sbr.rel (p0) target = loop }\n{ }\n"
    "{ s2 = smov 60 }\n{ p1 = scmp.lt.s32.totalorder s1, s2 }\n"
    "{ v2 = vld [vmem:s6] }\n{ v2 = vadd.s32 v2, v1 }\n{ vst (!p1) [vmem:s6] v2 }\n{ sfence }\n"
    "{ s8 = smov 65536 }\n{ dma.vmem_to_hbm s8, 128, 0x300, [sflag:0] }\n"
    "{ s8 = smov 262144 }\n{ dma.vmem_to_hbm s8, 128, 0x400, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 256 }\n{ vsyncadd [sflag:0], -256 }\n{ shalt }\n";

struct two {
    struct rig repeats, simulates;
};

static int32_t word_at(struct rig *r, int64_t address)
{
    int32_t word;
    struct err e;

    assert_int_equal(machine_hbm_read(r->m, 0, address, &word, 4, &e), 0);
    return word;
}

/* both run; `repeated` launches so far were not simulated */
static void launch(struct two *t, int32_t input, int64_t repeated)
{
    struct rig *both[] = {&t->repeats, &t->simulates};
    struct err e;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(machine_hbm_write(both[i]->m, 0, INPUT, &input, 4, &e), 0);
        if (rig_run(both[i]))
            fail_msg("%s", both[i]->err.msg);
    }
    assert_same_launch(both[0], both[1], "launch");
    assert_int_equal(word_at(both[0], COUNTED), word_at(both[1], COUNTED));
    assert_int_equal(word_at(both[0], FRESH), word_at(both[1], FRESH));
    assert_int_equal(replay_count(both[0]->m), repeated);
}

static void open_two(struct two *t)
{
    const struct rig_options with = {.mode = MODE_BOTH}, without = {.mode = MODE_BOTH, .no_memo = true};

    rig_open(&t->repeats, "v3", &with);
    rig_open(&t->simulates, "v3", &without);
    rig_load(&t->repeats, 0, program);
    rig_load(&t->simulates, 0, program);
}

TEST(what_was_written_before_it_showed_is_taken_back)
{
    struct two t;

    open_two(&t);
    launch(&t, 50, 0);
    launch(&t, 50, 1);
    launch(&t, 60, 1);                  /* goes back, and touches a page for the first time */
    assert_int_equal(word_at(&t.repeats, COUNTED), 3);
    assert_int_equal(word_at(&t.repeats, FRESH), 1);
    launch(&t, 60, 2);
    launch(&t, 50, 2);                  /* and back again */
    assert_int_equal(word_at(&t.repeats, COUNTED), 5);
    assert_int_equal(word_at(&t.repeats, FRESH), 2);
    rig_close(&t.repeats);
    rig_close(&t.simulates);
}

TEST(what_the_host_wrote_is_kept)
{
    const int32_t hundred = 100;
    struct two t;
    struct err e;

    open_two(&t);
    launch(&t, 50, 0);
    launch(&t, 50, 1);
    assert_int_equal(machine_vmem_write(t.repeats.m, 0, INT64_C(16384) * 512, &hundred, 4, &e), 0);
    assert_int_equal(machine_vmem_write(t.simulates.m, 0, INT64_C(16384) * 512, &hundred, 4, &e), 0);
    launch(&t, 61, 1);
    assert_int_equal(word_at(&t.repeats, FRESH), 101);
    rig_close(&t.repeats);
    rig_close(&t.simulates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_before_it_showed_is_taken_back),
        cmocka_unit_test(what_the_host_wrote_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
