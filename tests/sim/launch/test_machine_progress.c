/* Telling how far a launch is changes nothing of it, and is told in order. */
#include "tests/rigs/rig.h"
#include "tests/test.h"

struct told {
    int count;
    cycle_t last;
};

static void tell(void *context, cycle_t now)
{
    struct told *t = context;

    assert_true(now > t->last);
    t->last = now;
    t->count++;
}

/* some 800,000 cycles: several pieces, whether iterations are added up or simulated */
static const char text[] =
    "{ s0 = smov 0 }\n"
    "loop:\n"
    "{ v0 = vld [vmem:0] }\n"
    "{ v1 = vadd.f32 v0, v0 }\n"
    "{ vst [vmem:8] v1 }\n"
    "{ s0 = sadd.s32 s0, 1 }\n"
    "{ p0 = scmp.lt.s32.totalorder s0, 100000 }\n"
    "{ sbr.rel (p0) target = loop }\n"
    "{ }\n"
    "{ shalt }\n";

static cycle_t cycles_of(bool no_memo, struct told *t)
{
    struct rig_options o = {.no_memo = no_memo, .cycle_limit = 10000000};
    struct rig r;
    cycle_t cycles;

    rig_open(&r, "v3", &o);
    rig_load(&r, 0, text);
    if (t)
        machine_set_progress(r.m, tell, t);
    assert_int_equal(rig_run(&r), 0);
    cycles = machine_cycles(r.m);
    rig_close(&r);
    return cycles;
}

TEST(a_launch_that_is_told_of_takes_the_same_cycles)
{
    struct told with = {0}, without = {0};
    cycle_t cycles = cycles_of(false, NULL);

    assert_int_equal(cycles_of(false, &with), cycles);
    assert_int_equal(cycles_of(true, &without), cycles);
    assert_true(without.count > 0);
    assert_true(without.last <= cycles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_that_is_told_of_takes_the_same_cycles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
