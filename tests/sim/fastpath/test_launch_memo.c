/*
 * Memoised launches: a machine that may repeat a launch against one that
 * simulates each, launch by launch, with what a host may do in between.
 */
#include "tests/rigs/same_launch.h"
#include "tests/test.h"

#define INPUT 0x1000                    /* HBM bytes that become SMEM words 512.. */
#define OUTPUT 0x2000                   /* that SMEM words 64.. become */
#define LANES 0x4000                    /* that a tile of VMEM becomes */

/* s1 = word 64 of SMEM, the loop takes as many rounds as the word from HBM says */
static const char program[] =
    "{ dma.hbm_to_smem 0x80, 1, 0x10, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n"
    "{ s1 = sld [smem:64] ;; s2 = sld [smem:512] }\n"
    "{ s1 = sadd.s32 s1, s2 }\n{ s1 = sadd.s32 s1, s3 ;; s0 = smov 0 }\n"
    "loop:\n{ s0 = sadd.s32 s0, 1 ;; v0 = vadd.f32 v0, v0 }\n"
    "{ p0 = scmp.lt.s32.totalorder s0, s1 }\n{ sbr.rel (p0) target = loop }\n{ }\n"
    "{ sst [smem:68], s1 }\n{ vst [vmem:0] v0 }\n{ sfence }\n"
    "{ dma.smem_to_hbm 2, 1, 0x100, [sflag:0] }\n"
    "{ dma.vmem_to_hbm 0, 128, 0x200, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 129 }\n{ vsyncadd [sflag:0], -129 }\n{ shalt }\n";

struct two {
    struct rig memo, plain;
};

static void open_two(struct two *t, const char *text)
{
    const struct rig_options with = {.mode = MODE_TIMING};
    const struct rig_options without = {.mode = MODE_TIMING, .no_memo = true};

    rig_open(&t->memo, "v3", &with);
    rig_open(&t->plain, "v3", &without);
    rig_load(&t->memo, 0, text);
    rig_load(&t->plain, 0, text);
}

static void close_two(struct two *t)
{
    assert_int_equal(machine_memo_stats(t->plain.m).launches, 0);
    rig_close(&t->memo);
    rig_close(&t->plain);
}

static void must(int status, const struct err *e)
{
    if (status != 0)
        fail_msg("%s", e->msg);
}

/* run both; `repeats`: launches so far that were not simulated */
static void launch(struct two *t, int64_t repeats, const char *what)
{
    int status = rig_run(&t->memo);

    assert_int_equal(rig_run(&t->plain), status);
    assert_same_launch(&t->memo, &t->plain, what);
    if (machine_memo_stats(t->memo.m).launches != repeats)
        fail_msg("%s: %lld launches repeated, not %lld", what,
                 (long long)machine_memo_stats(t->memo.m).launches, (long long)repeats);
}

static void write_smem(struct two *t, int64_t address, int32_t word)
{
    struct err e;

    must(machine_smem_write(t->memo.m, 0, address, &word, 4, &e), &e);
    must(machine_smem_write(t->plain.m, 0, address, &word, 4, &e), &e);
}

static void write_hbm(struct two *t, int64_t address, int32_t word)
{
    struct err e;

    must(machine_hbm_write(t->memo.m, 0, address, &word, 4, &e), &e);
    must(machine_hbm_write(t->plain.m, 0, address, &word, 4, &e), &e);
}

static int32_t read_hbm(struct machine *m, int64_t address)
{
    int32_t word;
    struct err e;

    must(machine_hbm_read(m, 0, address, &word, 4, &e), &e);
    return word;
}

TEST(a_launch_like_the_one_before_is_repeated)
{
    struct two t;
    cycle_t cycles;

    open_two(&t, program);
    write_hbm(&t, INPUT, 50);
    launch(&t, 0, "first");
    cycles = machine_cycles(t.memo.m);
    write_smem(&t, 68, 0);
    write_smem(&t, 512, 0);
    launch(&t, 1, "smem as before");
    assert_int_equal(machine_cycles(t.memo.m), cycles);
    launch(&t, 1, "word 68 is another");        /* sst has left it there */
    launch(&t, 2, "and the same again");
    close_two(&t);
}

TEST(what_cycles_depend_on_is_compared)
{
    struct two t;
    struct err e;
    cycle_t cycles;

    open_two(&t, program);
    write_hbm(&t, INPUT, 50);
    launch(&t, 0, "first");
    launch(&t, 0, "second");
    launch(&t, 1, "third");
    cycles = machine_cycles(t.memo.m);
    write_smem(&t, 64, 10);
    launch(&t, 1, "smem");
    assert_true(machine_cycles(t.memo.m) > cycles);
    launch(&t, 1, "word 68");
    launch(&t, 2, "smem again");
    write_hbm(&t, INPUT, 60);
    launch(&t, 2, "hbm that becomes smem");
    launch(&t, 2, "words 68 and 512");
    launch(&t, 3, "hbm that became smem again");
    write_hbm(&t, INPUT + 0x800, 60);
    launch(&t, 4, "hbm that nobody reads");
    must(machine_set_scalar(t.memo.m, 0, 3, 5, &e), &e);
    must(machine_set_scalar(t.plain.m, 0, 3, 5, &e), &e);
    launch(&t, 4, "an entry register");
    close_two(&t);
}

TEST(what_a_launch_leaves_in_memory_is_put_there_again)
{
    struct two t;
    int32_t word;
    struct err e;

    open_two(&t, program);
    write_hbm(&t, INPUT, 50);
    launch(&t, 0, "first");
    launch(&t, 0, "second");
    write_hbm(&t, OUTPUT + 4, 77);
    write_hbm(&t, LANES, 78);
    assert_int_equal(read_hbm(t.memo.m, LANES), 78);
    launch(&t, 1, "third");
    assert_int_equal(read_hbm(t.memo.m, OUTPUT + 4), 50);
    assert_int_equal(read_hbm(t.plain.m, OUTPUT + 4), 50);
    assert_int_equal(machine_hbm_read(t.memo.m, 0, LANES, &word, 4, &e), -1);
    assert_non_null(strstr(e.msg, "timing mode does not work out hbm bytes 16384..20479"));
    close_two(&t);
}

TEST(what_has_become_unknown_is_a_fault_the_second_time)
{
    struct two t;

    open_two(&t, "{ dma.hbm_to_smem 0x80, 1, 0x10, [sflag:0] }\n"
                 "{ dma.done.wait [sflag:0], 1 }\n"
                 "{ dma.vmem_to_hbm 0, 1, 0x80, [sflag:0] }\n"
                 "{ dma.done.wait [sflag:0], 2 }\n{ vsyncadd [sflag:0], -2 }\n{ shalt }\n");
    launch(&t, 0, "first");
    assert_int_equal(machine_fault(t.memo.m)->kind, FAULT_NONE);
    launch(&t, 0, "second");
    assert_int_equal(machine_fault(t.memo.m)->kind, FAULT_UNKNOWN);
    launch(&t, 0, "a fault is found anew");
    close_two(&t);
}

TEST(copies_inside_the_hbm_are_simulated)
{
    struct two t;

    open_two(&t, "{ dma.hbm_to_hbm 0x80, 1, 0x100, [sflag:0] }\n"
                 "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n{ shalt }\n");
    write_hbm(&t, INPUT, 1);
    launch(&t, 0, "first");
    write_hbm(&t, INPUT, 2);
    launch(&t, 0, "second");
    assert_int_equal(read_hbm(t.memo.m, OUTPUT), 2);
    close_two(&t);
}

TEST(another_program_or_a_launch_in_parts_is_simulated)
{
    static const char other[] = "{ s0 = smov 1 }\n{ }\n{ shalt }\n";
    struct two t;

    open_two(&t, other);
    launch(&t, 0, "first");
    launch(&t, 1, "second");
    rig_load(&t.memo, 1, other);
    rig_load(&t.plain, 1, other);
    launch(&t, 1, "one more core");
    rig_load(&t.memo, 0, "{ vdelay 100 }\n{ shalt }\n");
    rig_load(&t.plain, 0, "{ vdelay 100 }\n{ shalt }\n");
    launch(&t, 1, "another program");
    launch(&t, 2, "and again");
    machine_start(t.memo.m);
    assert_int_equal(machine_advance(t.memo.m, 50), MACHINE_PAUSED);
    launch(&t, 2, "after a launch that was left at a pause");
    close_two(&t);
}

TEST(cores_that_send_to_each_other_are_repeated)
{
    static const char text[] =
        "{ s0 = sld [smem:8] }\n{ vst [vmem:0] v0 }\n{ sfence }\n"
        "{ dma.vmem_to_hbm.remote 0, 128, 0x200, [sflag:0], [sflag:1], /*core=*/s0 }\n"
        "{ dma.done.wait [sflag:0], 128 }\n{ dma.done.wait [sflag:1], 128 }\n"
        "{ vsyncadd [sflag:0], -128 }\n{ vsyncadd [sflag:1], -128 }\n{ shalt }\n";
    struct two t;
    int32_t word;
    struct err e;
    int i;

    open_two(&t, text);
    for (i = 0; i < 2; i++) {
        const int32_t other = 1 - i;

        rig_load(&t.memo, i, text);
        rig_load(&t.plain, i, text);
        must(machine_smem_write(t.memo.m, i, 8, &other, 4, &e), &e);
        must(machine_smem_write(t.plain.m, i, 8, &other, 4, &e), &e);
    }
    launch(&t, 0, "first");
    write_hbm(&t, LANES, 5);
    launch(&t, 1, "second");
    assert_int_equal(machine_hbm_read(t.memo.m, 0, LANES, &word, 4, &e), -1);
    assert_int_equal(machine_hbm_read(t.plain.m, 0, LANES, &word, 4, &e), -1);
    close_two(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_like_the_one_before_is_repeated),
        cmocka_unit_test(what_cycles_depend_on_is_compared),
        cmocka_unit_test(what_a_launch_leaves_in_memory_is_put_there_again),
        cmocka_unit_test(what_has_become_unknown_is_a_fault_the_second_time),
        cmocka_unit_test(copies_inside_the_hbm_are_simulated),
        cmocka_unit_test(another_program_or_a_launch_in_parts_is_simulated),
        cmocka_unit_test(cores_that_send_to_each_other_are_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
