#include "tests/rig.h"
#include "tests/test.h"

/* One core of a v3 runs `text`; the program's bundles beyond the two probed ones are counted out. */
static cycle_t cycles_of(const char *text)
{
    struct rig r;
    cycle_t cycles;

    rig_open(&r, "v3", NULL);
    cycles = rig_cycles(&r, text);
    rig_close(&r);
    return cycles;
}

TEST(empty_program_takes_one_cycle)
{
    assert_int_equal(cycles_of("{ shalt }"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_program_takes_one_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
