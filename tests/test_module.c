/*
 * Does a compiled graph compute on a simulated core what the interpreter computes?
 */
#include "stack/nn.h"
#include "tests/module_rig.h"
#include "tests/test.h"

static struct arena arena;
static struct graph g;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    graph_init(&g, &arena, "test");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    graph_fini(&g);
    arena_fini(&arena);
    return 0;
}

#define DIMS(...) (int[]){__VA_ARGS__}
#define F32(...) \
    shape_make(DTYPE_F32, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
               (int64_t[]){__VA_ARGS__})

TEST(moves_in_a_row_match)
{
    struct module_rig r = {.slice = "v5e"};
    int64_t low[3] = {1, 0, 2}, high[3] = {0, 3, 1}, none[3] = {0};
    int x = graph_parameter(&g, F32(5, 9, 20), "x"), y = graph_transpose(&g, x, DIMS(2, 0, 1));
    int zero = graph_constant(&g, shape_scalar(DTYPE_F32), 0);

    graph_output(&g, y, "turned", -1);
    y = graph_pad(&g, graph_reverse(&g, y, DIMS(0), 1), zero, low, high, none);
    graph_output(&g, graph_reshape(&g, y, F32(21 * 8 * 12)), "padded", -1);
    module_rig_check(&r, &g, 1);
    assert_true(r.kernel_count >= 3);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(moves_in_a_row_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
