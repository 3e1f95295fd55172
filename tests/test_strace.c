/*
 * Traces of real launches: what a file tells is what the machine counted, and
 * what it was told, cycle by cycle.
 */
#include "base/rng.h"
#include "tests/random_program.h"
#include "tests/rig.h"
#include "tests/strace_rig.h"
#include "tests/test.h"

/* any intervals: with borders in cells, over cells, in repeats */
static void check_sums(struct tee *t, struct strace *s, const struct machine *m,
                       cycle_t launch_start, int count)
{
    struct by_cycle b;
    struct rng rng;

    rng_init(&rng, 17);
    for (int core = 0; core < machine_core_count(m); core++) {
        by_cycle_make(&b, t, m, core);
        for (int i = 0; i < count; i++) {
            cycle_t from = (cycle_t)rng_below(&rng, (uint32_t)b.cycles);
            cycle_t end = from + 1 + (cycle_t)rng_below(&rng, (uint32_t)(b.cycles - from));

            assert_sum(&b, s, core, launch_start, from, end);
        }
        assert_sum(&b, s, core, launch_start, 0, b.cycles);
        by_cycle_free(&b);
    }
}

static void check_program(const char *chip, uint64_t seed, enum run_mode mode, int threads)
{
    const struct strace_options o = {.level = TRACE_BUNDLE, .title = "random"};
    const struct machine_options options = {.mode = mode, .thread_count = threads,
                                            .cycle_limit = 1000000};
    struct random_programs r;
    struct strace *s;
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
    assert_int_equal(strace_info(s)->cycles, machine_cycles(m));
    assert_counters(s, m, 0, machine_cycles(m));
    check_sums(&t, s, m, 0, 30);
    strace_close(s);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_random_programs_are_the_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
