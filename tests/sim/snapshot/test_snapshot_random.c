/*
 * Random programs on every chip: does a machine that goes on from a snapshot
 * end in the state in which the one that was saved ends?
 */
#include "base/rng.h"
#include "base/units.h"
#include "sim/snapshot/snapshot.h"
#include "tests/generate/random_program.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

static struct machine *machine_for(const struct random_programs *r, enum run_mode mode,
                                   int thread_count)
{
    const struct machine_options o = {.thread_count = thread_count, .mode = mode, .no_memo = true,
                                      .cycle_limit = 1000000};
    struct err e;
    struct machine *m = machine_create(&r->slice, &r->chip, &o, &e);

    if (!m)
        fail_msg("%s", e.msg);
    random_programs_load(r, m);
    return m;
}

static void check_at(const struct random_programs *r, struct machine *m, struct machine *other,
                     cycle_t at)
{
    struct bytes before = {0}, end = {0}, other_end = {0};
    char name[120];
    struct err e;

    random_programs_name(r, name, sizeof(name));
    machine_advance(m, at);
    machine_save(m, &before);
    machine_advance(m, CYCLE_NEVER);
    machine_save(m, &end);
    if (machine_restore(other, before.data, before.size, &e))
        fail_msg("%s, snapshot at %lld: %s", name, (long long)at, e.msg);
    machine_advance(other, CYCLE_NEVER);
    machine_save(other, &other_end);
    if (end.size != other_end.size || memcmp(end.data, other_end.data, end.size) != 0)
        fail_msg("%s, snapshot at %lld: it ends in another state", name, (long long)at);
    if (machine_restore(m, before.data, before.size, &e))
        fail_msg("%s, snapshot at %lld, into its own machine: %s", name, (long long)at, e.msg);
    mem_free(before.data);
    mem_free(end.data);
    mem_free(other_end.data);
}

/* at some cycles in order, each snapshot restored before the next is taken */
static void check_seed(const char *chip, uint64_t seed)
{
    const struct random_options o = {.races = seed % 3 == 1, .for_timing = seed % 3 == 2};
    enum run_mode mode = o.for_timing ? MODE_TIMING : MODE_BOTH;
    struct machine *straight, *m, *other;
    struct random_programs r;
    cycle_t at = 0, step;
    struct rng rng;
    struct err e;

    random_programs_make(&r, chip, seed, &o);
    straight = machine_for(&r, mode, 1);
    m = machine_for(&r, mode, 1);
    other = machine_for(&r, mode, 2);
    if (machine_run(straight, &e))
        fail_msg("%s, seed %llu: %s", chip, (unsigned long long)seed, e.msg);
    rng_init(&rng, seed);
    step = machine_cycles(straight) / 3 + 1;
    machine_start(m);
    for (; at < machine_cycles(straight); at += 1 + rng_below(&rng, (uint32_t)step))
        check_at(&r, m, other, at);
    machine_finish(other);
    assert_equal_counters(straight, other);
    machine_destroy(straight);
    machine_destroy(m);
    machine_destroy(other);
    random_programs_free(&r);
}

TEST(random_programs_go_on_from_snapshots)
{
    uint64_t count = random_seed_count(2, 100);

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t seed = 0; seed < count; seed++)
            check_seed(chips[i], random_seed(8 * seed + i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_go_on_from_snapshots)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
