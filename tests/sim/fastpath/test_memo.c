/*
 * Memoised loops, rule by rule: each program runs with and without, nothing
 * may differ, and the iterations that were added rather than simulated are
 * counted.
 */
#include "base/units.h"
#include "isa/file.h"
#include "sim/fastpath/memo_bound.h"
#include "tests/rigs/same_launch.h"
#include "tests/test.h"

#include <inttypes.h>

/* what differs from a v3 that runs to the end */
struct way {
    const char *chip;
    cycle_t limit;
    cycle_t pause_every;                /* 0: no pause */
};

static void run(struct rig *r, const char *text, const struct way *way, bool no_memo, bool trace)
{
    const struct rig_options o = {.mode = MODE_TIMING, .no_memo = no_memo, .trace = trace,
                                  .cycle_limit = way->limit};
    cycle_t until = 0;

    rig_open(r, way->chip ? way->chip : "v3", &o);
    rig_load(r, 0, text);
    if (!way->pause_every || no_memo) {
        rig_run(r);
        return;
    }
    machine_start(r->m);
    do
        until += way->pause_every;
    while (machine_advance(r->m, until) == MACHINE_PAUSED);
    machine_finish(r->m);
    rig_check(r);
}

/* run `text` both ways, and with a trace, of which nothing is left out; returns what was not
   simulated, and the fault's text in msg */
static struct machine_memo_stats stats_of(const char *text, const struct way *way, char msg[400])
{
    static const struct way plain_way;
    struct machine_memo_stats stats;
    struct rig memo, plain, traced;

    run(&memo, text, way ? way : &plain_way, false, false);
    run(&plain, text, way ? way : &plain_way, true, true);
    run(&traced, text, way ? way : &plain_way, false, true);
    assert_same_launch(&memo, &plain, text);
    assert_same_launch(&traced, &plain, text);
    trace_log_assert_same(&plain.log, &traced.log, plain.m, text);
    stats = machine_memo_stats(memo.m);
    assert_int_equal(machine_memo_stats(plain.m).looks, 0);
    if (msg)
        strcpy(msg, machine_fault(memo.m)->msg);
    rig_close(&memo);
    rig_close(&plain);
    rig_close(&traced);
    return stats;
}

static int64_t skipped(const char *text)
{
    char msg[400];
    int64_t iterations = stats_of(text, NULL, msg).iterations;

    if (msg[0])
        fail_msg("%s", msg);
    return iterations;
}

static void assert_between(int64_t value, int64_t low, int64_t high)
{
    if (value < low || value > high)
        fail_msg("%" PRId64 " is not in %" PRId64 "..%" PRId64, value, low, high);
}

/* s0 counts to `trips`; the body's bundles go in front */
#define LOOP(start, body, trips) \
    "{ s0 = smov 0 }\n" start \
    "loop:\n" body \
    "{ s0 = sadd.s32 s0, 1 }\n" \
    "{ p0 = scmp.lt.s32.totalorder s0, " #trips " }\n" \
    "{ sbr.rel (p0) target = loop }\n" \
    "{ }\n" \
    "{ shalt }\n"

TEST(an_empty_loop_is_added_up_to_its_last_iteration)
{
    assert_between(skipped(LOOP("", "", 5000)), 4990, 4999);
}

TEST(rows_move_by_a_constant)
{
    assert_between(skipped(LOOP("{ s1 = smov 0 ;; s2 = smov 16000 }\n",
                                "{ v0 = vld [vmem:s1] }\n"
                                "{ v1 = vadd.f32 v0, v0 }\n"
                                "{ vst [vmem:s1 + 16000] v1 ;; s1 = sadd.s32 s1, 8 }\n"
                                "{ s2 = ssub.s32 s2, 4 }\n"
                                "{ v2 = vld [vmem:s2 + s0] }\n", 1900)), 1850, 1899);
}

TEST(products_shifts_and_masks_of_what_moves_stay_affine)
{
    assert_between(skipped(LOOP("{ s9 = smov 24 }\n",
                                "{ s1 = smul.u32 s0, s9 ;; s2 = sshll.u32 s0, 4 }\n"
                                "{ s3 = sand.u32 s2, -16 ;; s4 = sand.u32 s2, 15 }\n"
                                "{ s5 = smin.s32 s0, 1000 ;; s6 = smax.u32 s2, s0 }\n"
                                "{ v0 = vld [vmem:s1 + s4] ;; s7 = scalar_lea.vmem s3, 8 }\n"
                                "{ vst [vmem:s7] v0 }\n", 800)), 700, 799);
}

TEST(two_buffers_in_turn_are_a_period_of_two)
{
    assert_between(skipped(LOOP("{ s1 = smov 64 }\n",
                                "{ v0 = vld [vmem:s1] ;; s1 = sxor.u32 s1, 64 }\n"
                                "{ s2 = sand.u32 s0, 1 }\n"
                                "{ s3 = smul.u32 s2, 128 }\n"
                                "{ v1 = vld [vmem:s3 + 512] }\n", 2000)), 1900, 1999);
}

TEST(a_steady_state_may_take_two_iterations)
{
    struct machine_memo_stats stats = stats_of(
        LOOP("{ p1 = pmov 1 }\n",
             "{ vdelay (p1) 7 }\n{ p1 = pneg p1 }\n"
             "{ vadd.xlane.f32.xlu0 v0 }\n{ v1 = vpop.xlane.xlu0 }\n", 2000), NULL, NULL);

    assert_between(stats.iterations, 1900, 1999);
    assert_int_equal(stats.iterations % 2, 0);
}

TEST(a_loop_in_a_loop_is_added_inside_and_outside)
{
    static const char text[] =
        "{ s1 = smov 0 }\n"
        "outer:\n{ s0 = smov 0 }\n"
        "inner:\n{ v0 = vld [vmem:s0 + s1] ;; s0 = sadd.s32 s0, 8 }\n"
        "{ p0 = scmp.lt.s32.totalorder s0, %d }\n"
        "{ sbr.rel (p0) target = inner }\n{ }\n"
        "{ s1 = sadd.s32 s1, 8 }\n"
        "{ p1 = scmp.lt.s32.totalorder s1, %d }\n"
        "{ sbr.rel (p1) target = outer }\n{ }\n{ shalt }\n";
    char buf[sizeof(text) + 20];
    struct machine_memo_stats stats;

    snprintf(buf, sizeof(buf), text, 40, 8000);         /* 5 in 1000: the outer one repeats */
    stats = stats_of(buf, NULL, NULL);
    assert_between(stats.bundles, 23 * 1000, 25 * 1000);
    snprintf(buf, sizeof(buf), text, 16000, 80);        /* 2000 in 10: the inner one does */
    stats = stats_of(buf, NULL, NULL);
    assert_between(stats.bundles, 70000, 80000);
}

TEST(a_guard_that_changes_is_met_at_its_iteration)
{
    struct machine_memo_stats stats = stats_of(
        LOOP("", "{ p1 = scmp.lt.s32.totalorder s0, 700 ;; p2 = scmp.eq.s32.totalorder s0, 900 }\n"
             "{ }\n"
             "{ v0 = vadd.f32 (p1) v0, v0 ;; vadd.xlane.f32.xlu0 (p1) v1 ;; vdelay (p2) 1000 }\n"
             "{ v2 = vpop.xlane.xlu0 (p1) }\n", 2000), NULL, NULL);

    assert_between(stats.skips, 3, 6);
    assert_between(stats.iterations, 1900, 1999);
}

TEST(values_chosen_by_predicate_or_order_change_at_their_iteration)
{
    assert_between(skipped(LOOP("", "{ p1 = scmp.ge.s32.totalorder s0, 500 }\n"
                                "{ s1 = scalar_select p1, s0, 77 ;; s2 = smax.s32 s0, 900 }\n"
                                "{ s3 = sadd.s32 s1, 5 ;; p2 = pxor p1, p0 }\n"
                                "{ v0 = vld [vmem:s2] }\n", 1500)), 900, 1499);
}

TEST(an_address_that_leaves_memory_faults_at_its_iteration)
{
    char msg[400];
    struct machine_memo_stats stats;

    stats = stats_of(LOOP("", "{ v0 = vld [vmem:s1] ;; s1 = sadd.s32 s1, 8 }\n", 9000), NULL, msg);
    assert_between(stats.iterations, 4050, 4096);       /* 32768 rows */
    assert_non_null(strstr(msg, "vmem address 32768 out of"));
    stats = stats_of(LOOP("{ s1 = smov 4000 }\n",
                          "{ vst [vmem:s1 + 2] ss:$2 v0 ;; s1 = ssub.s32 s1, 1 }\n", 9000),
                     NULL, msg);
    assert_between(stats.iterations, 3900, 4003);
    assert_non_null(strstr(msg, "vmem address -1 out of"));
    stats = stats_of(LOOP("", "{ cld [cmem:s1] }\n{ v0 = vpop.crf ;; s1 = sadd.s32 s1, 64 }\n",
                          90000), &(struct way){.chip = "v4"}, msg);
    assert_between(stats.iterations, 1000, 4096);
    assert_non_null(strstr(msg, "cmem address"));
}

TEST(a_load_and_a_store_meet_or_part_at_their_iteration)
{
    /* the store comes down to the rows of the load, passes them, and goes on */
    assert_between(skipped(LOOP("{ s1 = smov 16000 }\n",
                                "{ vst [vmem:s1] v0 ;; s1 = ssub.s32 s1, 8 }\n"
                                "{ v1 = vld [vmem:8000] }\n", 1900)), 1800, 1899);
    /* they move together: always, or never, in each other's way */
    assert_between(skipped(LOOP("", "{ vst [vmem:s1] v0 }\n"
                                "{ v1 = vld [vmem:s1 + 1] ;; s1 = sadd.s32 s1, 8 }\n", 1900)),
                   1850, 1899);
    /* the load follows the store of the iteration before */
    assert_between(skipped(LOOP("{ s1 = smov 8 ;; s2 = smov 0 }\n",
                                "{ v1 = vld [vmem:s2] ;; s2 = sadd.s32 s2, 8 }\n"
                                "{ vst [vmem:s1] v0 ;; s1 = sadd.s32 s1, 8 }\n", 1900)),
                   1850, 1899);
}

TEST(numbers_that_wrap_around_are_met_at_their_iteration)
{
    /* 2^31 in 1024 steps: the signed compare turns, the unsigned one 1024 later */
    assert_between(skipped(LOOP("", "{ s1 = sadd.s32 s1, 0x200000 }\n"
                                "{ p1 = scmp.ge.s32.totalorder s1, 0 }\n"
                                "{ p2 = scmp.gt.u32.totalorder s1, 0x100 }\n"
                                "{ v0 = vadd.f32 (p1) v0, v0 ;; v1 = vadd.f32 (p2) v1, v1 }\n",
                                5000)), 4800, 4999);
    /* down through 0 */
    assert_between(skipped(LOOP("{ s1 = smov 3000 }\n",
                                "{ s1 = ssub.s32 s1, 2 ;; p1 = scmp.lt.u32.totalorder s1, 4000 }\n"
                                "{ }\n{ v0 = vadd.f32 (p1) v0, v0 }\n", 3000)), 2900, 2999);
}

TEST(the_cycle_limit_comes_at_its_cycle)
{
    cycle_t limit;
    char msg[400];

    for (limit = 2000; limit < 2012; limit++) {
        const struct way way = {.limit = limit};

        assert_true(stats_of(LOOP("", "{ v0 = vld [vmem:0] }\n{ v1 = vadd.f32 v0, v0 }\n", 90000),
                             &way, msg).iterations > 100);
        assert_non_null(strstr(msg, "still running at the cycle limit"));
    }
}

TEST(a_pause_comes_between_the_same_bundles)
{
    cycle_t every;

    for (every = 997; every < 1009; every++) {
        const struct way way = {.pause_every = every};

        assert_true(stats_of(LOOP("", "{ v0 = vld [vmem:0] }\n{ v1 = vadd.f32 v0, v0 }\n", 5000),
                             &way, NULL).iterations > 3000);
    }
}

TEST(a_loop_that_never_ends_reaches_its_limit_at_once)
{
    const struct way way = {.limit = INT64_C(1) << 40};
    char msg[400];

    assert_true(stats_of("loop:\n{ sbr.rel target = loop }\n{ }\n",
                         &(struct way){.limit = 100000}, msg).iterations > 40000);
    {
        struct rig r;

        run(&r, "loop:\n{ sbr.rel target = loop }\n{ }\n", &way, false, false);
        assert_int_equal(machine_fault(r.m)->cycle, way.limit);
        rig_close(&r);
    }
}

TEST(what_reaches_outside_the_core_or_smem_is_simulated)
{
    assert_int_equal(skipped(LOOP("", "{ vsyncadd [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n",
                                  500)), 0);
    assert_int_equal(skipped(LOOP("", "{ sst [smem:64], s0 }\n", 500)), 0);
    assert_int_equal(skipped(LOOP("", "{ dma.hbm_to_vmem 0, 1, 0, [sflag:0] }\n"
                                  "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n",
                                  200)), 0);
    assert_int_equal(skipped(LOOP("", "{ sdivrem.u32 s0, 3 }\n{ s1 = spop.drf }\n"
                                  "{ s2 = spop.drf }\n", 500)), 0);
}

TEST(operations_whose_guard_never_holds_do_not_matter)
{
    assert_between(skipped(LOOP("{ p3 = pmov 0 }\n",
                                "{ vsyncadd (p3) [sflag:0], 1 ;; sst (p3) [smem:64], s0 }\n"
                                "{ dma.done.wait (p3) [sflag:0], 1 ;; shalt (p3) }\n", 500)),
                   450, 499);
}

TEST(a_word_of_smem_is_the_same_in_every_iteration_if_its_address_is)
{
    assert_between(skipped(LOOP("{ s1 = smov 3 }\n{ sst [smem:64], s1 }\n",
                                "{ s2 = sld [smem:64] }\n{ s3 = sadd.s32 s3, s2 }\n", 500)),
                   450, 499);
    assert_int_equal(skipped(LOOP("", "{ s2 = sld [smem:s1] ;; s1 = sadd.s32 s1, 4 }\n", 500)), 0);
}

TEST(a_register_that_is_not_affine_is_simulated)
{
    assert_int_equal(skipped(LOOP("{ s1 = smov 3 }\n", "{ s1 = smul.u32 s1, s1 }\n"
                                  "{ s2 = sshrl.u32 s0, 1 ;; s3 = sxor.u32 s3, s0 }\n", 500)), 0);
}

TEST(results_in_accumulators_repeat)
{
    const struct way way = {.chip = "v7x"};
    struct machine_memo_stats stats = stats_of(
        "{ s0 = smov 0 }\n{ vmatpush.bf16.msra.mxu0 v0 }\n"
        "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0.mrb[2] v0 }\n"
        "loop:\n{ vmatmul.bf16.gmra.mxu0.mrb[2] v0 ;; s0 = sadd.s32 s0, 1 }\n"
        "{ p0 = scmp.lt.s32.totalorder s0, 1000 }\n"
        "{ sbr.rel (p0) target = loop }\n{ }\n{ }\n{ }\n{ }\n"
        "{ v1 = vpop.f32.mrb[2].mxu0 }\n{ shalt }\n", &way, NULL);

    assert_between(stats.iterations, 950, 999);
}

/* as runs, or as a loop that is repeated: 500 iterations in a handful of records */
TEST(a_trace_of_a_memoised_loop_is_short)
{
    const struct rig_options o = {.mode = MODE_TIMING, .trace = true};
    struct rig r;

    rig_open(&r, "v3", &o);
    rig_cycles(&r, LOOP("", "", 500));
    assert_true(machine_memo_stats(r.m).iterations > 400);
    assert_int_equal(r.log.core[0].repeat_count, machine_memo_stats(r.m).skips);
    assert_true(r.log.core[0].told_count < 100);
    assert_true(r.log.core[0].count > 500);
    rig_close(&r);
}

/* markers of a trace are told one by one, so a loop whose markers move is simulated */
TEST(markers_that_change_are_told)
{
    const struct rig_options o = {.mode = MODE_TIMING, .trace = true};
    const char *text = LOOP("", "{ vtrace s0 }\n", 500);
    struct rig r;

    assert_true(skipped(text) > 0);     /* without a trace nobody asks for them */
    rig_open(&r, "v3", &o);
    rig_cycles(&r, text);
    assert_int_equal(machine_memo_stats(r.m).skips, 0);
    rig_close(&r);
    assert_true(skipped(LOOP("", "{ vtrace 7 }\n{ vsettm -1 }\n", 500)) > 0);
    assert_int_equal(skipped(LOOP("", "{ vsettm s0 }\n", 500)), 0);
}

TEST(a_trace_of_accesses_shows_every_iteration)
{
    const struct rig_options o = {.mode = MODE_TIMING, .trace = true};
    struct rig r;

    rig_open(&r, "v3", &o);
    r.log.sink.wants_access = true;
    rig_cycles(&r, LOOP("", "{ v1 = vld [vmem:s0] }\n", 500));
    assert_int_equal(machine_memo_stats(r.m).looks, 0);
    rig_close(&r);
}

TEST(loops_of_examples_are_added)
{
    static const struct { const char *path, *chip; } example[] = {
        {"examples/04_pipelined_matmul_v3.tasm", "v3"},
        {"examples/04_pipelined_matmul_v5e.tasm", "v5e"},
        {"examples/04_pipelined_matmul_v6e.tasm", "v6e"},
        {"examples/08_branch_delay.tasm", "v6e"}};
    struct arena a;
    size_t i, size;

    for (i = 0; i < COUNT_OF(example); i++) {
        const struct way way = {.chip = example[i].chip};
        uint8_t *bytes;
        struct err e;
        char msg[400];

        arena_init(&a);
        if (isa_file_read(example[i].path, &a, &bytes, &size, &e))
            fail_msg("%s: %s", e.file, e.msg);
        assert_true(stats_of((const char *)bytes, &way, msg).iterations > 0);
        assert_string_equal(msg, "");
        arena_fini(&a);
    }
}

/* the definition, one iteration after the other */
static int64_t count_while(bool (*holds)(int64_t x, int64_t low, int64_t high),
                           struct memo_affine x, int64_t low, int64_t high)
{
    bool first = holds(x.now, low, high);
    int64_t j;

    if (holds(x.now - x.step, low, high) != first)
        return 0;
    for (j = 0; j < 1000; j++)
        if (holds(x.now + j * x.step, low, high) != first)
            return j;
    return MEMO_FOREVER;
}

static bool is_within(int64_t x, int64_t low, int64_t high)
{
    return low <= x && x <= high;
}

static bool is_less(int64_t x, int64_t low, int64_t high)
{
    (void)high;
    return x < low;
}

static bool is_at_most(int64_t x, int64_t low, int64_t high)
{
    (void)high;
    return x <= low;
}

TEST(bounds_are_those_of_counting)
{
    int64_t now, step, other, known;

    for (now = -12; now <= 12; now++)
        for (step = -5; step <= 5; step++) {
            const struct memo_affine x = {now, step};

            if (is_within(now, -4, 9))
                assert_int_equal(memo_while_within(x, -4, 9), count_while(is_within, x, -4, 9));
            else
                assert_int_equal(memo_while_within(x, -4, 9), 0);
            for (known = 0; known < 20; known++) {
                int64_t n = memo_while_within(x, -4, 9);

                assert_int_equal(memo_hold_within(known, x, -4, 9), n < known ? n : known);
            }
            for (other = -3; other <= 3; other++) {
                const struct memo_affine y = {other, 0};

                assert_int_equal(memo_while_compared(MEMO_LT, x, y),
                                 count_while(is_less, x, other, 0));
                assert_int_equal(memo_while_compared(MEMO_GE, x, y),
                                 count_while(is_less, x, other, 0));
                assert_int_equal(memo_while_compared(MEMO_LE, x, y),
                                 count_while(is_at_most, x, other, 0));
                assert_int_equal(memo_while_compared(MEMO_GT, x, y),
                                 count_while(is_at_most, x, other, 0));
                assert_true(memo_while_compared(MEMO_EQ, x, y) <= MEMO_FOREVER);
            }
        }
}

/* equality may be given up early, when the difference changes its sign, but never late */
TEST(equality_is_given_up_in_time)
{
    int64_t now, step, n, j;

    for (now = -12; now <= 12; now++)
        for (step = -5; step <= 5; step++) {
            n = memo_while_compared(MEMO_EQ, (struct memo_affine){now, step},
                                    (struct memo_affine){0, 0});
            assert_int_equal(n, memo_while_compared(MEMO_NE, (struct memo_affine){now, step},
                                                    (struct memo_affine){0, 0}));
            for (j = -1; n > 0 && j < n && j < 100; j++)
                assert_int_equal(now + j * step == 0, now == 0);
            assert_true(n > 0 || now == 0 || step == 0 || (now - step) * now <= 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_loop_is_added_up_to_its_last_iteration),
        cmocka_unit_test(rows_move_by_a_constant),
        cmocka_unit_test(products_shifts_and_masks_of_what_moves_stay_affine),
        cmocka_unit_test(two_buffers_in_turn_are_a_period_of_two),
        cmocka_unit_test(a_steady_state_may_take_two_iterations),
        cmocka_unit_test(a_loop_in_a_loop_is_added_inside_and_outside),
        cmocka_unit_test(a_guard_that_changes_is_met_at_its_iteration),
        cmocka_unit_test(values_chosen_by_predicate_or_order_change_at_their_iteration),
        cmocka_unit_test(an_address_that_leaves_memory_faults_at_its_iteration),
        cmocka_unit_test(a_load_and_a_store_meet_or_part_at_their_iteration),
        cmocka_unit_test(numbers_that_wrap_around_are_met_at_their_iteration),
        cmocka_unit_test(the_cycle_limit_comes_at_its_cycle),
        cmocka_unit_test(a_pause_comes_between_the_same_bundles),
        cmocka_unit_test(a_loop_that_never_ends_reaches_its_limit_at_once),
        cmocka_unit_test(what_reaches_outside_the_core_or_smem_is_simulated),
        cmocka_unit_test(operations_whose_guard_never_holds_do_not_matter),
        cmocka_unit_test(a_word_of_smem_is_the_same_in_every_iteration_if_its_address_is),
        cmocka_unit_test(a_register_that_is_not_affine_is_simulated),
        cmocka_unit_test(results_in_accumulators_repeat),
        cmocka_unit_test(a_trace_of_a_memoised_loop_is_short),
        cmocka_unit_test(markers_that_change_are_told),
        cmocka_unit_test(a_trace_of_accesses_shows_every_iteration),
        cmocka_unit_test(loops_of_examples_are_added),
        cmocka_unit_test(bounds_are_those_of_counting),
        cmocka_unit_test(equality_is_given_up_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
