/*
 * Traces of real launches: what a file tells is what the machine counted, and
 * what it was told, cycle by cycle.
 */
#include "base/rng.h"
#include "tests/generate/random_loop.h"
#include "tests/generate/random_program.h"
#include "tests/rigs/ntrace_rig.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

/* any intervals: with borders in cells, over cells, in repeats */
static void check_sums(struct tee *t, struct ntrace *s, const struct machine *m, int count)
{
    struct by_cycle b;
    struct rng rng;

    rng_init(&rng, 17);
    for (int core = 0; core < machine_core_count(m); core++) {
        by_cycle_make(&b, t, m, core);
        for (int i = 0; i < count; i++) {
            cycle_t from = (cycle_t)rng_below(&rng, (uint32_t)b.cycles);
            cycle_t end = from + 1 + (cycle_t)rng_below(&rng, (uint32_t)(b.cycles - from));

            assert_sum(&b, s, core, from, end);
        }
        assert_sum(&b, s, core, 0, b.cycles);
        for (int i = 0; i < 5; i++) {
            cycle_t from = (cycle_t)rng_below(&rng, (uint32_t)b.cycles);

            assert_walk(t, s, m, core, from, from + 1 + rng_below(&rng, 2000));
        }
        assert_walk(t, s, m, core, 0, b.cycles);
        by_cycle_free(&b);
    }
}

static void check_program(const char *chip, uint64_t seed, enum run_mode mode, int threads)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "random"};
    const struct machine_options options = {.mode = mode, .thread_count = threads,
                                            .cycle_limit = 1000000};
    struct random_programs r;
    struct ntrace *s;
    struct machine *m;
    struct tee t;
    struct err e;

    random_programs_make(&r, chip, seed, &(struct random_options){.for_timing = true});
    m = machine_create(&r.slice, &r.chip, &options, &e);
    assert_non_null(m);
    random_programs_load(&r, m);
    tee_open(&t, m, &o);
    assert_int_equal(machine_run(m, &e), 0);
    s = tee_read(&t);
    assert_int_equal(ntrace_info(s)->cycles, machine_cycles(m));
    assert_counters(s, m, 0, machine_cycles(m));
    check_sums(&t, s, m, 30);
    assert_streams(&t, s);
    ntrace_close(s);
    tee_close(&t);
    machine_destroy(m);
    random_programs_free(&r);
}

TEST(sums_over_random_programs_are_the_counters)
{
    static const char *const chips[] = {"tiny", "v3", "v5e"};

    for (uint64_t i = 0; i < random_seed_count(9, 300); i++)
        check_program(chips[i % 3], random_seed(i), i % 2 ? MODE_TIMING : MODE_BOTH,
                      1 + (int)(i % 2));
}

/* cells of any width, aligned or not, against sums of whole cells by cycle */
static void check_cells(struct tee *t, struct ntrace *s, const struct machine *m, int core)
{
    static const cycle_t widths[] = {7, 64, 100, 512, 4096, 32768};
    int64_t got[40][NTRACE_CELL_COUNT], total[NTRACE_CELL_COUNT] = {0};
    struct by_cycle b;

    by_cycle_make(&b, t, m, core);
    for (size_t k = 0; k < COUNT_OF(widths); k++)
        for (cycle_t from = 0; from < b.cycles; from += 40 * widths[k]) {
            bool is_exact = widths[k] <= 512 && ntrace_info(s)->level >= TRACE_BUNDLE;

            if (!is_exact && widths[k] % 64)
                continue;
            ntrace_cells(s, NTRACE_CORE, core, from, widths[k], 40, &got[0][0]);
            for (int i = 0; i < 40; i++)
                assert_cell(&b, t, core, is_exact, from + i * widths[k],
                            from + (i + 1) * widths[k], got[i]);
        }
    /* neighbours share what lies across their border; the last cell may go on behind the end */
    ntrace_cells(s, NTRACE_CORE, core, 0, b.cycles / 20 + 4, 40, &got[0][0]);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < NTRACE_CELL_COUNT; j++)
            total[j] += got[i][j];
    assert_cell(&b, t, core, false, 0, b.cycles, total);
    by_cycle_free(&b);
}

/*
 * Two loops, one in the other, whose matrix unit and cross-lane unit work on
 * behind each iteration; three source operations.
 */
static const char nested[] =
    ".note first\n{ s3 = smov 0 ;; s4 = smov 0 }\n{ vmatpush.bf16.msra.mxu0 v0 }\n"
    "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0.mrb[2] v0 }\n"
    "outer:\n{ s0 = smov 0 ;; s3 = sadd.s32 s3, 1 }\n"
    ".note dot\n"
    "inner:\n{ vmatmul.bf16.gmra.mxu0.mrb[2] v0 ;; s0 = sadd.s32 s0, 1 }\n"
    ".note sum\n"
    "{ p0 = scmp.lt.s32.totalorder s0, 400 }\n"
    "{ v4 = vadd.f32 v3, v3 ;; sbr.rel (p0) target = inner }\n{ }\n{ }\n{ }\n{ }\n"
    ".note first\n{ p1 = scmp.lt.s32.totalorder s3, 12 }\n"
    "{ vmatmul.bf16.gmra.mxu0.mrb[2] v0 ;; sbr.rel (p1) target = outer }\n"
    "{ }\n{ }\n{ }\n{ }\n{ vmatmul.bf16.gmra.mxu0.mrb[2] v0 }\n"
    "{ vmatmul.bf16.gmra.mxu0.mrb[2] v0 }\n{ v1 = vpop.f32.mrb[2].mxu0 }\n"
    ".note last\n{ vadd.xlane.f32.xlu0 v0 }\n{ s5 = smov 1 }\n"
    "{ v2 = vpop.xlane.xlu0 }\n{ shalt }\n";

TEST(units_that_work_on_behind_a_repeat_are_counted_where_they_do)
{
    const struct rig_options options = {.mode = MODE_TIMING, .cycle_limit = 1000000};

    for (int level = TRACE_OP; level <= TRACE_BUNDLE; level++) {
        struct ntrace_options o = {.level = (enum trace_level)level};
        struct ntrace *s;
        struct by_cycle b;
        struct tee t;
        struct rig r;

        rig_open(&r, "v7x", &options);
        rig_load(&r, 0, nested);
        tee_open(&t, r.m, &o);
        if (rig_run(&r))
            fail_msg("%s", r.err.msg);
        s = tee_read(&t);
        assert_true(machine_memo_stats(r.m).iterations > 600);
        assert_counters(s, r.m, 0, machine_cycles(r.m));
        if (level >= TRACE_BUNDLE)
            check_sums(&t, s, r.m, 40);
        check_cells(&t, s, r.m, 0);
        by_cycle_make(&b, &t, r.m, 0);
        assert_notes(&b, s, 0, 0, b.cycles);
        assert_notes(&b, s, 0, 4096, b.cycles - 777);
        by_cycle_free(&b);
        ntrace_close(s);
        tee_close(&t);
        rig_close(&r);
    }
}

/* loops of a random program, their iterations added rather than simulated */
static int64_t check_loops(uint64_t seed, enum trace_level level)
{
    const struct ntrace_options o = {.level = level};
    const struct rig_options options = {.mode = MODE_TIMING, .cycle_limit = 30000};
    static char text[1 << 16];
    struct ntrace *s;
    struct tee t;
    struct rig r;
    int64_t skips;

    rig_open(&r, "v3", &options);
    random_loop(seed, (int)r.chip.core_branch_delay_bundles, text, sizeof(text));
    rig_load(&r, 0, text);
    tee_open(&t, r.m, &o);
    rig_run(&r);
    s = tee_read(&t);
    if (machine_fault(r.m)->kind == FAULT_NONE) /* the bundle that faults has taken its units */
        assert_counters(s, r.m, 0, machine_cycles(r.m));
    if (level >= TRACE_BUNDLE && machine_fault(r.m)->kind == FAULT_NONE)
        check_sums(&t, s, r.m, 20);
    if (machine_fault(r.m)->kind == FAULT_NONE && level > TRACE_STEP)
        check_cells(&t, s, r.m, 0);
    skips = machine_memo_stats(r.m).skips;
    ntrace_close(s);
    tee_close(&t);
    rig_close(&r);
    return skips;
}

TEST(repeats_add_up_to_the_cycle)
{
    int64_t skips = 0;

    for (uint64_t i = 0; i < random_seed_count(40, 3000); i++)
        skips += check_loops(random_seed(i), i % 4 == 3 ? TRACE_OP : TRACE_BUNDLE);
    assert_true(skips > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_random_programs_are_the_counters),
        cmocka_unit_test(repeats_add_up_to_the_cycle),
        cmocka_unit_test(units_that_work_on_behind_a_repeat_are_counted_where_they_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
