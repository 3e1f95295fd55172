/*
 * Do buffers that fit HBM at every moment get places in it, where the usual order, the largest
 * first, leaves gaps between them?
 */
#include "stack/module/module_impl.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <string.h>

#define UNIT (INT64_C(1) << 20)

struct life { int64_t units; int first, last; };

/* 0 where all have places below `units`, none of which two have at once */
static int64_t placed(const struct life *life, int count, int steps, int64_t units, bool tries)
{
    struct chip chip;
    struct module_settings s = {.chip = &chip, .hbm_bytes = units * UNIT};
    struct module_buffer buffer[16];
    struct module_plan p = {.arena = &arena, .settings = &s, .step_count = steps, .buffer = buffer,
                            .buffer_count = count, .tries_orders = tries,
                            .step = arena_array(&arena, (size_t)steps, sizeof(*p.step))};
    struct module m = {0};
    struct err e;
    int64_t too_much;

    memset(buffer, 0, sizeof(buffer));
    for (int i = 0; i < steps; i++)
        p.step[i].kind = STEP_JOIN;             /* no kernel that would want to know more of them */
    assert_int_equal(chip_load_builtin(&chip, "v3", NULL, &arena, &e), 0);
    for (int i = 0; i < count; i++)
        buffer[i] = (struct module_buffer){.role = BUFFER_TEMPORARY, .bytes = life[i].units * UNIT,
                                           .first = life[i].first, .last = life[i].last,
                                           .stands_for = -1, .made = -1};
    too_much = module_plan_memory(&p, &m);
    for (int i = 0; i < count && too_much == 0; i++)
        for (int k = 0; k < i; k++)
            assert_true(buffer[i].last < buffer[k].first || buffer[k].last < buffer[i].first ||
                        buffer[i].address + buffer[i].bytes <= buffer[k].address ||
                        buffer[k].address + buffer[k].bytes <= buffer[i].address);
    return too_much;
}

TEST(what_lies_highest_takes_its_place_first)
{
    static const struct life life[] = {{4, 0, 0}, {2, 0, 2}, {1, 2, 3}, {5, 3, 3}};

    assert_int_equal(placed(life, 4, 4, 6, false), 7 * UNIT);
    assert_int_equal(placed(life, 4, 4, 6, true), 0);
    assert_int_equal(placed(life, 4, 4, 7, false), 0);
    assert_true(placed(life, 4, 4, 5, true) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {RUN(what_lies_highest_takes_its_place_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
