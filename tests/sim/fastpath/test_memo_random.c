/*
 * Memoised loops against the simulation of every iteration, on random loops:
 * nothing may differ but the time it takes.
 */
#include "base/rng.h"
#include "tests/generate/random_loop.h"
#include "tests/rigs/same_launch.h"
#include "tests/test.h"

#define LIMIT 60000                     /* cycles */

static char text[1 << 16];

/* pauses at random cycles, which must not show either */
static void run_in_parts(struct rig *r, uint64_t seed)
{
    struct rng rng;
    cycle_t until = 0;

    rng_init(&rng, seed);
    machine_start(r->m);
    do
        until += 1 + rng_below(&rng, 4000);
    while (machine_advance(r->m, until) == MACHINE_PAUSED);
    machine_finish(r->m);
    rig_check(r);
}

static int64_t sweep(const char *chip, uint64_t first, uint64_t count)
{
    const struct rig_options with = {.mode = MODE_TIMING, .cycle_limit = LIMIT};
    const struct rig_options without = {.mode = MODE_TIMING, .no_memo = true,
                                        .trace = true, .cycle_limit = LIMIT};
    const struct rig_options told = {.mode = MODE_TIMING, .trace = true, .cycle_limit = LIMIT};
    struct rig memo, plain, traced;
    int64_t skipped = 0;
    char what[64];
    uint64_t seed;

    rig_open(&memo, chip, &with);
    rig_open(&plain, chip, &without);
    rig_open(&traced, chip, &told);
    for (seed = first; seed < first + count; seed++) {
        int delay = (int)memo.chip.core_branch_delay_bundles;

        snprintf(what, sizeof(what), "%s, seed %llu", chip, (unsigned long long)seed);
        rig_load(&memo, 0, random_loop(seed, delay, text, sizeof(text)));
        rig_load(&plain, 0, text);
        rig_load(&traced, 0, text);
        if (seed % 4 == 0)
            run_in_parts(&memo, seed);
        else
            rig_run(&memo);
        if (seed % 4 == 1)
            run_in_parts(&traced, seed);
        else
            rig_run(&traced);
        rig_run(&plain);
        assert_same_launch(&memo, &plain, what);
        assert_same_launch(&traced, &plain, what);
        trace_log_assert_same(&plain.log, &traced.log, plain.m, what);
        skipped += machine_memo_stats(memo.m).bundles;
    }
    assert_int_equal(machine_memo_stats(plain.m).looks, 0);
    rig_close(&memo);
    rig_close(&plain);
    rig_close(&traced);
    return skipped;
}

TEST(random_loops_take_the_same_cycles_and_leave_the_same_counters)
{
    uint64_t count = test_is_long() ? 100000 : 1500;

    assert_true(sweep("v3", 1, count) > 0);
    assert_true(sweep("v5e", 1, count) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_loops_take_the_same_cycles_and_leave_the_same_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
