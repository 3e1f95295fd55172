/*
 * The race check against programs whose generator keeps account of the memory
 * that copies use: where it promises no race there is none, and what the check
 * finds in the others depends on neither host threads nor pauses.
 */
#include "base/units.h"
#include "tests/generate/random_program.h"
#include "tests/test.h"

static const char *const chips[] = {"tiny", "v3", "v4", "v5e", "v7x"};

struct told {
    struct fault fault;
    cycle_t cycles;
};

/* `pause`: cycles between two pauses, CYCLE_NEVER for none */
static struct told run(const struct random_programs *r, enum run_mode mode, int threads,
                       cycle_t pause)
{
    struct machine_options options = {.thread_count = threads, .mode = mode,
                                      .cycle_limit = 1000000, .check_races = true};
    struct err e = {.line = 0};
    struct machine *m = machine_create(&r->slice, &r->chip, &options, &e);
    cycle_t until = pause;
    struct told told;

    if (!m)
        fail_msg("%s", e.msg);
    random_programs_load(r, m);
    machine_start(m);
    while (machine_advance(m, until) == MACHINE_PAUSED)
        until += pause;
    machine_finish(m);
    told = (struct told){*machine_fault(m), machine_cycles(m)};
    machine_destroy(m);
    return told;
}

static void assert_same(const struct random_programs *r, const struct told *a,
                        const struct told *b)
{
    char name[120];

    if (strcmp(a->fault.msg, b->fault.msg) != 0)
        fail_msg("%s: \"%s\" and \"%s\"", random_programs_name(r, name, sizeof(name)),
                 a->fault.msg, b->fault.msg);
}

static void assert_no_race(const char *chip, uint64_t seed)
{
    static const enum run_mode modes[] = {MODE_BOTH, MODE_FUNCTIONAL, MODE_TIMING};
    struct random_options o = {.for_timing = seed % 2};
    struct random_programs r;
    char name[120];

    random_programs_make(&r, chip, seed, &o);
    for (size_t i = 0; i < (o.for_timing ? 3 : 2); i++) {
        struct told told = run(&r, modes[i], 1, CYCLE_NEVER);

        if (told.fault.kind == FAULT_RACE)
            fail_msg("%s, mode %d: %s", random_programs_name(&r, name, sizeof(name)),
                     (int)modes[i], told.fault.msg);
    }
    random_programs_free(&r);
}

TEST(legal_programs_have_no_race_in_any_mode)
{
    uint64_t count = random_seed_count(6, 1000);

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t seed = 0; seed < count; seed++)
            assert_no_race(chips[i], random_seed(seed));
}

TEST(what_is_found_depends_on_neither_threads_nor_pauses)
{
    uint64_t count = random_seed_count(6, 1000);
    int races = 0;

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t seed = 0; seed < count; seed++) {
            struct random_options o = {.races = true};
            struct random_programs r;
            struct told whole, others;

            random_programs_make(&r, chips[i], random_seed(seed), &o);
            whole = run(&r, MODE_BOTH, 1, CYCLE_NEVER);
            others = run(&r, MODE_BOTH, 3, CYCLE_NEVER);
            assert_same(&r, &whole, &others);
            assert_int_equal(whole.cycles, others.cycles);
            others = run(&r, MODE_BOTH, 1, 97);
            assert_same(&r, &whole, &others);
            races += whole.fault.kind == FAULT_RACE;
            random_programs_free(&r);
        }
    assert_true(count == 1 || races * 5 > (int)(count * COUNT_OF(chips)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_programs_have_no_race_in_any_mode),
        cmocka_unit_test(what_is_found_depends_on_neither_threads_nor_pauses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
