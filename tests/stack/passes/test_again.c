/*
 * What a kernel computes again rather than read: is it found in the time of one way through the
 * kernel, however often its values meet again?
 */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <time.h>

enum { ROWS = 64, SIDE = 128, MEETINGS = 90, SECONDS_MAX = 20 };

static int scaled(int a, double by)
{
    return graph_binary(&g, HLO_MULTIPLY, a, graph_splat(&g, a, by));
}

/*
 * What follows a product, a value that meets itself MEETINGS times by two ways, is more than its
 * kernel takes: another goes on with it, and there are 2^MEETINGS ways through.
 */
TEST(values_that_meet_again_do_not_multiply_the_ways_through_a_kernel)
{
    struct module_rig r = {.relative = 1e-3, .absolute = 1e-4, .uses_fractions = true};
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){ROWS, SIDE});
    int x = graph_parameter(&g, s, "x"), value;
    int w = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){SIDE, SIDE}), "w");
    clock_t start = clock();

    value = graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT);
    for (int i = 0; i < MEETINGS; i++)
        value = graph_binary(&g, HLO_ADD, scaled(value, 0.5),
                             scaled(graph_unary(&g, HLO_ABS, value), 0.25 + 0.001 * i));
    graph_output(&g, value, "value", -1);
    module_rig_check(&r, &g, 1);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < SECONDS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(values_that_meet_again_do_not_multiply_the_ways_through_a_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
