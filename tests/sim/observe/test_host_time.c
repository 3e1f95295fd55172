/* The table of host time: does it add up, name the right part, and change nothing? */
#include <string.h>

#include "report/tables/host_table.h"
#include "tests/rigs/outcome.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define ROUNDS "{ s0 = smov 0 }\nloop:\n"
#define AGAIN "{ s0 = sadd.s32 s0, 1 }\n{ p0 = scmp.lt.s32.totalorder s0, 2000 }\n" \
              "{ sbr.rel (p0) target = loop }\n{ }\n{ shalt }\n"

static const struct part_case {
    const char *text;
    enum host_part largest;             /* of those that are work of a core */
} part_cases[] = {
    {ROUNDS "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ v2 = vpop.f32.mrf.mxu0 }\n" AGAIN, HOST_MXU},
    {ROUNDS "{ v0 = vadd.f32 v0, v1 ;; v2 = vmul.f32 v3, v4 }\n"
     "{ v5 = vadd.f32 v0, v1 ;; v6 = vmul.f32 v3, v4 }\n" AGAIN, HOST_VECTOR},
    {ROUNDS "{ v0 = vld [vmem:0x10] ;; vst [vmem:0x20] v1 }\n"
     "{ v2 = vld [vmem:0x30] ;; vst [vmem:0x40] v3 }\n" AGAIN, HOST_MEMORY},
    {ROUNDS "{ dma.hbm_to_vmem 0, 4096, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 4096 }\n"
     "{ vsyncadd [sflag:0], -4096 }\n" AGAIN, HOST_COPY},
};

static void assert_adds_up(const struct host_times *t)
{
    double sum = 0;

    for (int i = 0; i < HOST_PART_COUNT; i++) {
        assert_true(t->seconds[i] >= 0);
        sum += t->seconds[i];
    }
    assert_true(t->elapsed_seconds > 0 && sum > 0);
    assert_true(sum >= 0.999 * t->all_seconds && sum <= 1.001 * t->all_seconds);
    assert_true(t->all_seconds == t->elapsed_seconds * t->thread_count);
}

/* repeats, which have no cycles to work out */
static void run_case(const struct part_case *k, int threads)
{
    const struct rig_options options = {.thread_count = threads, .cycle_limit = INT64_MAX / 4};
    struct host_times t;
    struct rig r;

    rig_open(&r, "v3-8", &options);
    for (int i = 0; i < 8; i++)
        rig_load(&r, i, k->text);
    rig_run(&r);
    machine_watch_host(r.m, host_table_is_collective);
    for (int i = 0; i < 2; i++)
        rig_run(&r);
    if (r.err.msg[0] && machine_fault(r.m)->kind != FAULT_NONE)
        fail_msg("%s", r.err.msg);
    machine_host_times(r.m, &t);
    assert_adds_up(&t);
    assert_int_equal(t.thread_count, threads);
    assert_int_equal(t.launches, 2);
    assert_int_equal(t.repeats, 2);
    for (int i = 0; i <= HOST_COLLECTIVE; i++)
        if (i != (int)k->largest && t.seconds[i] >= t.seconds[k->largest])
            fail_msg("%s %.6f s, but %s %.6f s", host_part_name((enum host_part)i), t.seconds[i],
                     host_part_name(k->largest), t.seconds[k->largest]);
    rig_close(&r);
}

TEST(what_a_program_is_made_of_takes_the_most_time)
{
    for (size_t i = 0; i < COUNT_OF(part_cases); i++)
        run_case(&part_cases[i], 1 + (int)i % 2);
}

static const char text[] = ROUNDS "{ v0 = vadd.f32 v0, v1 ;; vst [vmem:0x20] v1 }\n" AGAIN;

TEST(bundles_of_collective_kernels_count_for_themselves)
{
    static const char *notes[] = {"all-reduce.1"};
    struct isa_program p;
    struct host_times t;
    struct rig r;

    rig_open(&r, "v3", NULL);
    p = *rig_assemble(&r, text);
    p.note = notes;
    p.note_count = 1;
    for (uint32_t i = 0; i < p.bundle_count; i++)
        p.bundle[i].note = 1;
    assert_int_equal(machine_load(r.m, 0, &p, &r.err), 0);
    machine_watch_host(r.m, host_table_is_collective);
    assert_int_equal(rig_run(&r), 0);
    machine_host_times(r.m, &t);
    assert_adds_up(&t);
    assert_true(t.seconds[HOST_COLLECTIVE] > 0);
    assert_true(t.seconds[HOST_VECTOR] == 0 && t.seconds[HOST_MEMORY] == 0);
    assert_int_equal(t.repeats, 0);
    rig_load(&r, 0, text);              /* has no notes */
    assert_int_equal(rig_run(&r), 0);
    machine_host_times(r.m, &t);
    assert_true(t.seconds[HOST_VECTOR] > 0 && t.seconds[HOST_MEMORY] > 0);
    assert_int_equal(t.launches, 2);
    rig_close(&r);
}

TEST(collectives_are_known_by_their_notes)
{
    assert_true(host_table_is_collective("all-reduce.7"));
    assert_true(host_table_is_collective("gradients/AllReduce"));
    assert_true(host_table_is_collective("reduce-scatter"));
    assert_true(host_table_is_collective("all-gather.1"));
    assert_true(host_table_is_collective("collective-permute"));
    assert_false(host_table_is_collective("dense/MatMul"));
    assert_false(host_table_is_collective("reduce.3"));
    assert_false(host_table_is_collective(NULL));
}

TEST(watching_changes_nothing)
{
    const struct outcome_range range = {MEMORY_VMEM, 0, 0x8000};
    struct outcome one = {.data = NULL}, other = {.data = NULL};
    struct rig watched, plain;
    char what[200];

    rig_open(&watched, "v3", NULL);
    rig_open(&plain, "v3", NULL);
    rig_load(&watched, 0, text);
    rig_load(&plain, 0, text);
    machine_watch_host(watched.m, NULL);
    assert_int_equal(rig_run(&watched), 0);
    assert_int_equal(rig_run(&plain), 0);
    outcome_take(&one, watched.m, NULL, OUTCOME_ALL, &range, 1);
    outcome_take(&other, plain.m, NULL, OUTCOME_ALL, &range, 1);
    if (!outcome_same(&one, &other, OUTCOME_ALL, what, sizeof(what)))
        fail_msg("%s", what);
    outcome_free(&one);
    outcome_free(&other);
    rig_close(&watched);
    rig_close(&plain);
}

static void write_cores(void *context, int core)
{
    struct rig *r = context;
    unsigned char bytes[4096] = {1};
    struct err e;

    for (int64_t at = 0; at < 1 << 20; at += (int64_t)sizeof(bytes))
        assert_int_equal(machine_hbm_write(r->m, core, at, bytes, sizeof(bytes), &e), 0);
}

TEST(what_goes_to_memories_between_launches_is_transfer)
{
    struct host_times t;
    struct rig r;
    double one;

    rig_open(&r, "v3-8", &(struct rig_options){.thread_count = 2});
    machine_host_times(r.m, &t);
    assert_true(t.all_seconds == 0 && t.launches == 0);         /* nobody watches yet */
    machine_watch_host(r.m, NULL);
    write_cores(&r, 0);
    machine_host_times(r.m, &t);
    one = t.seconds[HOST_TRANSFER];
    assert_true(one > 0);
    machine_parallel(r.m, 8, write_cores, &r);
    machine_host_times(r.m, &t);
    assert_true(t.seconds[HOST_TRANSFER] > one);
    assert_adds_up(&t);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_program_is_made_of_takes_the_most_time),
        cmocka_unit_test(bundles_of_collective_kernels_count_for_themselves),
        cmocka_unit_test(collectives_are_known_by_their_notes),
        cmocka_unit_test(watching_changes_nothing),
        cmocka_unit_test(what_goes_to_memories_between_launches_is_transfer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
