/*
 * Does what the compiler makes of a graph compute the same as the graph?
 *
 * Every kernel but the dot runs on the simulated core and is compared with a
 * reference, within a bound that follows from the operation count and the type.
 */
#include "base/floats.h"
#include "base/units.h"
#include "stack/interp/interp.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>

#define UNIT_ROUNDOFF 0x1p-24

static struct shape matrix(int64_t rows, int64_t columns)
{
    return shape_make(DTYPE_F32, 2, (int64_t[]){rows, columns});
}

static struct shape vector(int64_t n)
{
    return shape_make(DTYPE_F32, 1, (int64_t[]){n});
}

/* compiles `g` for one core, runs it and the interpreter; outputs differ by at most `bound` */
static void compare_with_interp(struct graph *g, const void *const *input, double relative,
                                double absolute, struct arena *a)
{
    struct graph_run run = {.slice = "v3-1"};
    struct interp_value values[16], expected[16];
    void *out[16];
    struct err e;

    for (int i = 0; i < g->parameter_count; i++)
        values[i].data = (void *)(uintptr_t)input[i];
    if (graph_verify(g, &e) || interp_run(g, INTERP_DOT_BF16, values, expected, a, &e))
        fail_msg("%s", e.msg);
    run_graph(&run, g, input, out, a);
    for (int o = 0; o < g->output_count; o++) {
        const struct shape *s = &g->node[g->output[o].node].shape;
        const float *got = out[o], *want = expected[o].data;

        for (int64_t i = 0; i < shape_elems(s); i++) {
            if (s->dtype == DTYPE_S32 || s->dtype == DTYPE_PRED) {
                assert_int_equal(((int32_t *)out[o])[i], ((int32_t *)expected[o].data)[i]);
                continue;
            }
            if (isnan(want[i]) && isnan(got[i]))
                continue;
            if (!(got[i] == want[i] ||
                  fabs((double)got[i] - want[i]) <= relative * fabs((double)want[i]) + absolute))
                fail_msg("output %s element %d: %.9g, expected %.9g", g->output[o].name, (int)i,
                         (double)got[i], (double)want[i]);
        }
    }
}

struct unary_row {
    enum graph_op op;
    float lo, hi;
    double ulps;                        /* of f32, from the EUP's 2 and the roundings around it */
};

static const struct unary_row unary_rows[] = {
    {HLO_NEGATE, -3, 3, 0},      {HLO_ABS, -3, 3, 0},         {HLO_EXP, -4, 4, 12},
    {HLO_LOG, 1.5f, 90, 6},      {HLO_SQRT, 0, 50, 8},        {HLO_RSQRT, 0.1f, 50, 3},
    {HLO_TANH, -4, 4, 3},        {HLO_LOGISTIC, -4, 4, 14},
};

static void check_unary(const struct unary_row *row, int64_t rows, int64_t columns)
{
    struct arena a;
    struct graph g;
    int x;

    arena_init(&a);
    graph_init(&g, &a, graph_op_name(row->op));
    x = graph_parameter(&g, matrix(rows, columns), "x");
    graph_output(&g, graph_unary(&g, row->op, x), "out", -1);
    const void *input[] = {random_floats(&a, rows * columns, row->lo, row->hi, 3)};
    compare_with_interp(&g, input, row->ulps * 2 * UNIT_ROUNDOFF, 0, &a);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(unary_operations_stay_within_their_ulps)
{
    for (size_t i = 0; i < COUNT_OF(unary_rows); i++) {
        check_unary(&unary_rows[i], 9, 130);
        check_unary(&unary_rows[i], 64, 10);
    }
}

TEST(binary_operations_match)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_MAXIMUM,
                                        HLO_MINIMUM};
    struct arena a;
    struct graph g;
    int x, y;

    arena_init(&a);
    graph_init(&g, &a, "binary");
    x = graph_parameter(&g, matrix(200, 300), "x");
    y = graph_parameter(&g, matrix(200, 300), "y");
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        graph_output(&g, graph_binary(&g, ops[i], x, y), graph_op_name(ops[i]), -1);
    const void *input[] = {random_floats(&a, 60000, -2, 2, 5), random_floats(&a, 60000, -2, 2, 6)};
    compare_with_interp(&g, input, 0, 0, &a);
    graph_fini(&g);
    graph_init(&g, &a, "divide");
    x = graph_parameter(&g, matrix(20, 30), "x");
    y = graph_parameter(&g, matrix(20, 30), "y");
    graph_output(&g, graph_binary(&g, HLO_DIVIDE, x, y), "quotient", -1);
    const void *divide[] = {random_floats(&a, 600, -2, 2, 7), random_floats(&a, 600, 1, 9, 8)};
    compare_with_interp(&g, divide, 6 * UNIT_ROUNDOFF, 0, &a);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(integers_predicates_and_selects_match_exactly)
{
    struct shape s32 = shape_make(DTYPE_S32, 2, (int64_t[]){33, 140});
    int32_t *xi, *yi;
    struct arena a;
    struct graph g;
    int x, y, less, lanes, rows;

    arena_init(&a);
    graph_init(&g, &a, "integers");
    x = graph_parameter(&g, s32, "x");
    y = graph_parameter(&g, s32, "y");
    less = graph_compare(&g, COMPARE_LT, x, y);
    lanes = graph_iota(&g, s32, 1);
    rows = graph_iota(&g, s32, 0);
    graph_output(&g, less, "less", -1);
    graph_output(&g, graph_select(&g, less, lanes, rows), "select", -1);
    graph_output(&g, graph_binary(&g, HLO_MULTIPLY, x, y), "product", -1);
    graph_output(&g, graph_binary(&g, HLO_MAXIMUM, x, y), "maximum", -1);
    graph_output(&g, graph_convert(&g, less, DTYPE_F32), "as f32", -1);
    graph_output(&g, graph_convert(&g, x, DTYPE_F32), "x as f32", -1);
    graph_output(&g, graph_binary(&g, HLO_OR, graph_unary(&g, HLO_NOT, less),
                                  graph_compare(&g, COMPARE_EQ, lanes, rows)), "logic", -1);
    xi = arena_array(&a, 33 * 140, 4);
    yi = arena_array(&a, 33 * 140, 4);
    for (int i = 0; i < 33 * 140; i++) {
        xi[i] = i % 37 - 18;
        yi[i] = i % 23 - 11;
    }
    const void *input[] = {xi, yi};
    compare_with_interp(&g, input, 0, 0, &a);
    graph_fini(&g);
    arena_fini(&a);
}

/* rows, columns and scalars spread over a matrix, and reductions back, in f32 */
static void check_spread_and_reduce(int64_t rows, int64_t columns)
{
    struct arena a;
    struct graph g;
    int x, bias, column, scalar, y, maximum;

    arena_init(&a);
    graph_init(&g, &a, "spread");
    x = graph_parameter(&g, matrix(rows, columns), "x");
    bias = graph_parameter(&g, vector(columns), "bias");
    column = graph_parameter(&g, matrix(rows, 1), "column");
    scalar = graph_parameter(&g, shape_scalar(DTYPE_F32), "scalar");
    y = graph_binary(&g, HLO_ADD, x, graph_broadcast(&g, bias, matrix(rows, columns), (int[]){1}));
    column = graph_reshape(&g, column, vector(rows));
    y = graph_binary(&g, HLO_MULTIPLY, y,
                     graph_broadcast(&g, column, matrix(rows, columns), (int[]){0}));
    y = graph_binary(&g, HLO_ADD, y, graph_broadcast(&g, scalar, matrix(rows, columns), NULL));
    maximum = graph_reduce(&g, REDUCE_MAX, y, 2);
    y = graph_binary(&g, HLO_SUBTRACT, y,
                     graph_broadcast(&g, maximum, matrix(rows, columns), (int[]){0}));
    graph_output(&g, y, "y", -1);
    graph_output(&g, graph_reshape(&g, maximum, matrix(rows, 1)), "row maxima", -1);
    graph_output(&g, graph_reduce(&g, REDUCE_ADD, y, 1), "column sums", -1);
    graph_output(&g, graph_reduce(&g, REDUCE_MIN, y, 1), "column minima", -1);
    graph_output(&g, graph_reshape(&g, graph_reduce(&g, REDUCE_ADD, y, 2), matrix(rows, 1)),
                 "row sums", -1);
    graph_output(&g, graph_reshape(&g, graph_reduce(&g, REDUCE_ADD, y, 3), matrix(1, 1)), "sum",
                 -1);
    graph_output(&g, graph_reduce(&g, REDUCE_ADD, maximum, 1), "sum of maxima", -1);
    const void *input[] = {random_floats(&a, rows * columns, -2, 2, 11),
                           random_floats(&a, columns, -2, 2, 12),
                           random_floats(&a, rows, 1, 2, 13), random_floats(&a, 1, 1, 2, 14)};
    /* a sum of n numbers below 16 rounds n times */
    compare_with_interp(&g, input, 0,
                        (double)(rows * columns + 1) * 16 * UNIT_ROUNDOFF, &a);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(broadcasts_and_reductions_match_in_awkward_shapes)
{
    check_spread_and_reduce(1, 1);
    check_spread_and_reduce(8, 128);
    check_spread_and_reduce(9, 10);
    check_spread_and_reduce(25, 130);
    check_spread_and_reduce(700, 10);
    check_spread_and_reduce(333, 300);
}

/* inside a kernel roundings to bf16 may be left out: two of values below 8 */
TEST(bf16_results_are_rounded_once_or_more)
{
    struct arena a;
    struct graph g;
    int x, y;

    arena_init(&a);
    graph_init(&g, &a, "bf16");
    x = graph_convert(&g, graph_parameter(&g, matrix(30, 140), "x"), DTYPE_BF16);
    y = graph_convert(&g, graph_parameter(&g, matrix(30, 140), "y"), DTYPE_BF16);
    x = graph_binary(&g, HLO_ADD, x, y);
    x = graph_binary(&g, HLO_MULTIPLY, x, y);
    graph_output(&g, graph_convert(&g, x, DTYPE_F32), "out", -1);
    const void *input[] = {random_floats(&a, 4200, -2, 2, 15), random_floats(&a, 4200, -2, 2, 16)};
    compare_with_interp(&g, input, 0, 2 * 8 * 0x1p-8, &a);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(transposes_move_every_element)
{
    struct arena a;
    struct graph g;
    int x;

    arena_init(&a);
    graph_init(&g, &a, "transpose");
    x = graph_parameter(&g, matrix(200, 300), "x");
    graph_output(&g, graph_transpose(&g, x, (int[]){1, 0}), "out", -1);
    const void *input[] = {random_floats(&a, 60000, -2, 2, 17)};
    compare_with_interp(&g, input, 0, 0, &a);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(a_variable_is_updated_in_place)
{
    struct arena a;
    struct graph g;
    struct graph_run run = {.slice = "v3-1"};
    void *out[1];
    int w;

    arena_init(&a);
    graph_init(&g, &a, "update");
    w = graph_parameter(&g, matrix(784, 128), "w");
    graph_output(&g, graph_binary(&g, HLO_ADD, w, graph_splat(&g, w, 1.0)), "w", 0);
    const void *input[] = {random_floats(&a, 784 * 128, -2, 2, 18)};
    run_graph(&run, &g, input, out, &a);
    for (int i = 0; i < 784 * 128; i++)
        assert_true(((float *)out[0])[i] == ((const float *)input[0])[i] + 1.0f);
    graph_fini(&g);
    arena_fini(&a);
}

/* what a loop would recompute in place is a value of its own when a dot wants it too */
TEST(spread_values_that_dots_read_match)
{
    struct arena a;
    struct graph g;
    int x, y, spread;

    arena_init(&a);
    graph_init(&g, &a, "spread");
    x = graph_parameter(&g, vector(130), "x");
    y = graph_parameter(&g, matrix(9, 130), "y");
    spread = graph_broadcast(&g, x, matrix(9, 130), (int[]){1});
    graph_output(&g, graph_binary(&g, HLO_ADD, y, spread), "sum", -1);
    graph_output(&g, graph_dot(&g, y, spread, 0, 0, PRECISION_DEFAULT), "product", -1);
    const void *input[] = {random_floats(&a, 130, -2, 2, 30), random_floats(&a, 1170, -2, 2, 31)};
    compare_with_interp(&g, input, 0, 9 * 4 * 9 * UNIT_ROUNDOFF, &a);
    graph_fini(&g);
    arena_fini(&a);
}

/* 1 / padding is infinite: 0 * infinity would be seen */
TEST(dots_of_transposes_see_no_padding)
{
    struct arena a;
    struct graph g;
    int x, y, inverse;

    arena_init(&a);
    graph_init(&g, &a, "padding");
    x = graph_parameter(&g, matrix(9, 10), "x");
    y = graph_parameter(&g, matrix(9, 20), "y");
    inverse = graph_binary(&g, HLO_DIVIDE, graph_splat(&g, x, 1.0), x);
    inverse = graph_transpose(&g, inverse, (int[]){1, 0});
    graph_output(&g, graph_dot(&g, inverse, y, 1, 0, PRECISION_DEFAULT), "product", -1);
    const void *input[] = {random_floats(&a, 90, 1, 1, 32), random_floats(&a, 180, -2, 2, 33)};
    compare_with_interp(&g, input, 0, 9 * 2 * 9 * UNIT_ROUNDOFF, &a);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(dots_see_no_padding_of_variables_updated_in_place)
{
    struct graph_run run = {.slice = "v3-1", .launch_count = 2};
    struct arena a;
    struct graph g;
    void *out[2];
    int w, x, next;

    arena_init(&a);
    graph_init(&g, &a, "update");
    w = graph_parameter(&g, matrix(10, 20), "w");
    x = graph_parameter(&g, matrix(9, 10), "x");
    next = graph_binary(&g, HLO_DIVIDE, graph_splat(&g, w, 1.0), w);
    graph_output(&g, next, "w", 0);
    graph_output(&g, graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT), "product", -1);
    const void *input[] = {random_floats(&a, 200, 1, 1, 34), random_floats(&a, 90, 2, 2, 35)};
    run_graph(&run, &g, input, out, &a);
    for (int i = 0; i < 9 * 20; i++)
        assert_true(((float *)out[1])[i] == 20.0f);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(matrices_of_one_row_and_one_element_serve_all_rows)
{
    struct arena a;
    struct graph g;
    int row, one, flag, y;
    int32_t flags[300];

    arena_init(&a);
    graph_init(&g, &a, "one row");
    row = graph_parameter(&g, matrix(1, 130), "row");
    one = graph_parameter(&g, matrix(1, 1), "one");
    flag = graph_parameter(&g, shape_make(DTYPE_PRED, 2, (int64_t[]){300, 1}), "flag");
    y = graph_parameter(&g, matrix(300, 130), "y");
    row = graph_broadcast(&g, graph_reshape(&g, row, vector(130)), matrix(300, 130), (int[]){1});
    one = graph_broadcast(&g, graph_reshape(&g, one, shape_scalar(DTYPE_F32)), matrix(300, 130),
                          NULL);
    flag = graph_reshape(&g, flag, shape_make(DTYPE_PRED, 1, (int64_t[]){300}));
    flag = graph_broadcast(&g, flag, shape_make(DTYPE_PRED, 2, (int64_t[]){300, 130}),
                           (int[]){0});
    y = graph_binary(&g, HLO_ADD, y, graph_select(&g, flag, row, one));
    graph_output(&g, y, "out", -1);
    for (int i = 0; i < 300; i++)
        flags[i] = i % 3 == 0;
    const void *input[] = {random_floats(&a, 130, -2, 2, 36), random_floats(&a, 1, 3, 4, 37),
                           flags, random_floats(&a, 39000, -2, 2, 38)};
    compare_with_interp(&g, input, 0, 0, &a);
    graph_fini(&g);
    arena_fini(&a);
}

/* the first output stands where a parameter stands that a later kernel still wants */
TEST(an_output_waits_for_the_parameter_that_it_overwrites)
{
    struct arena a;
    struct graph g;
    int x, w, product;

    arena_init(&a);
    graph_init(&g, &a, "overwrite");
    x = graph_parameter(&g, matrix(64, 64), "x");
    w = graph_parameter(&g, matrix(64, 64), "w");
    graph_output(&g, graph_unary(&g, HLO_NEGATE, x), "w", 1);
    product = graph_dot(&g, x, x, 1, 0, PRECISION_DEFAULT);
    for (int i = 0; i < 8; i++)
        product = graph_dot(&g, x, product, 1, 0, PRECISION_DEFAULT);
    graph_output(&g, graph_binary(&g, HLO_ADD, product, w), "sum", -1);
    const void *input[] = {random_floats(&a, 4096, 0, 0, 39), random_floats(&a, 4096, 1, 2, 40)};
    compare_with_interp(&g, input, 0, 0, &a);
    graph_fini(&g);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_operations_stay_within_their_ulps),
        cmocka_unit_test(binary_operations_match),
        cmocka_unit_test(integers_predicates_and_selects_match_exactly),
        cmocka_unit_test(broadcasts_and_reductions_match_in_awkward_shapes),
        cmocka_unit_test(bf16_results_are_rounded_once_or_more),
        cmocka_unit_test(transposes_move_every_element),
        cmocka_unit_test(a_variable_is_updated_in_place),
        cmocka_unit_test(spread_values_that_dots_read_match),
        cmocka_unit_test(dots_of_transposes_see_no_padding),
        cmocka_unit_test(dots_see_no_padding_of_variables_updated_in_place),
        cmocka_unit_test(matrices_of_one_row_and_one_element_serve_all_rows),
        cmocka_unit_test(an_output_waits_for_the_parameter_that_it_overwrites),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
