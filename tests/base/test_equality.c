/*
 * Random programs in every way that must not matter: is each cycle, counter,
 * register and byte the same?
 */
#include "base/units.h"
#include "tests/rigs/alike.h"
#include "tests/generate/random_program.h"
#include "tests/test.h"

static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

static struct isa_op halt[] = {{.code = OP_SHALT, .pred = ISA_PRED_ALWAYS}};
static struct isa_bundle only[] = {{.op_count = 1, .line = 1}};
static const struct isa_program halting = {.name = "halt", .op = halt, .bundle = only,
                                           .op_count = 1, .bundle_count = 1};

static void load(const struct scene *s, struct machine *m)
{
    random_programs_load(s->context, m);
}

static bool are_alike(const struct random_programs *r, const char *only_way, char *what,
                      size_t what_bytes)
{
    char name[120];
    const struct scene s = {
        .name = random_programs_name(r, name, sizeof(name)), .slice = &r->slice, .chip = &r->chip,
        .load = load, .context = r, .seed = r->seed, .range_count = MEMORY_COUNT,
        .range = {{MEMORY_HBM, r->hbm.first, r->hbm.bytes},
                  {MEMORY_VMEM, r->vmem.first, r->vmem.bytes},
                  {MEMORY_SMEM, r->smem.first, r->smem.bytes},
                  {MEMORY_CMEM, r->cmem.first, r->cmem.bytes},
                  {MEMORY_HOST, r->host.first, r->host.bytes}},
        .has_races = r->options.races, .needs_lanes = !r->options.for_timing,
        .only_way = only_way};

    return alike(&s, what, what_bytes);
}

/* `context` is the way that differed */
static bool still_differs(const struct random_programs *r, void *context)
{
    const char *way = context;
    char what[200];

    return !are_alike(r, way, what, sizeof(what)) && strncmp(what, way, strlen(way)) == 0;
}

/* "pauses: core 0 v3 [17]: …"; shrinking takes minutes: only where one seed is asked for */
static void report(struct random_programs *r, const char *what)
{
    char name[120], way[200];

    snprintf(way, sizeof(way), "%.*s", (int)strcspn(what, ":"), what);
    printf("%s\n%s\n", random_programs_name(r, name, sizeof(name)), what);
    fflush(stdout);
    if (getenv("SYSTOLE_SEED"))
        random_programs_shrink(r, still_differs, way);
    random_programs_print(r, stdout);
    fail_msg("%s: %s", name, what);
}

/* one scalar register more at the start: the first difference is told, not some later one */
TEST(a_difference_is_told)
{
    const struct random_options o = {.for_timing = true};
    const struct outcome_range smem = {MEMORY_SMEM, 0, 64};
    struct outcome outcome[2];
    struct random_programs r;
    struct err e = {.line = 0};
    char what[200];

    random_programs_make(&r, "tiny", 2, &o);
    for (int i = 0; i < 2; i++) {
        struct machine_options options = {.thread_count = 1};
        struct machine *m = machine_create(&r.slice, &r.chip, &options, &e);
        int32_t seven = 7;

        assert_non_null(m);
        for (int core = 0; core < r.core_count; core++)
            r.program[core] = halting;
        random_programs_load(&r, m);
        assert_int_equal(machine_smem_write(m, 0, 4 + 8 * i, &seven, 4, &e), 0);
        assert_int_equal(machine_set_scalar(m, 0, 5, 17 + i, &e), 0);
        assert_int_equal(machine_run(m, &e), 0);
        outcome_take(&outcome[i], m, NULL, OUTCOME_ALL, &smem, 1);
        machine_destroy(m);
    }
    assert_true(outcome_same(&outcome[0], &outcome[1],
                             OUTCOME_FAULT | OUTCOME_TIMES | OUTCOME_COUNTS | OUTCOME_VALUES, what,
                             sizeof(what)));
    assert_false(outcome_same(&outcome[0], &outcome[1], OUTCOME_ALL, what, sizeof(what)));
    assert_string_equal(what, "core 0 s [5]: 0x11 and 0x12");
    outcome_free(&outcome[0]);
    outcome_free(&outcome[1]);
    random_programs_free(&r);
}

/* all four sorts on each chip, one after the other */
static void check(const char *chip, uint64_t seed)
{
    const struct random_options o = {.races = seed & 1, .for_timing = seed & 2};
    struct random_programs r;
    char what[200];

    random_programs_make(&r, chip, seed, &o);
    if (!are_alike(&r, NULL, what, sizeof(what)))
        report(&r, what);
    random_programs_free(&r);
}

TEST(random_programs_are_alike_in_all_ways)
{
    uint64_t count = random_seed_count(3, 500);

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t n = 0; n < count; n++) {
            check(chips[i], random_seed(1000 + 3 * i + n));
            random_progress(i * count + n + 1, COUNT_OF(chips) * count);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_is_told),
        cmocka_unit_test(random_programs_are_alike_in_all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
