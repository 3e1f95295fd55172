/*
 * Gradients of the operations of HLO against central differences, both in doubles: the graph is
 * run in the interpreter's wide mode, where nothing is rounded.
 */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/units.h"

static struct graph_rig r;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    r.mode = INTERP_WIDE;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int input(int rank, const int64_t *dim)
{
    return grig_distinct(&r, rank, dim);
}

static void check(int y)
{
    grig_check_gradients(&r, y);
}

static int positive(int x)
{
    return graph_binary(&r.g, HLO_ADD, x, graph_splat(&r.g, x, 1.5));
}

#define BINARY(name, op, second) \
    TEST(name) \
    { \
        int x = input(DIMS(3, 4)), y = input(DIMS(3, 4)); \
        check(graph_binary(&r.g, op, positive(x), second)); \
    }
#define UNARY(name, op) \
    TEST(name) { check(graph_unary(&r.g, op, positive(input(DIMS(3, 4))))); }

UNARY(of_expm1, HLO_EXPM1)
UNARY(of_log1p, HLO_LOG1P)
UNARY(of_cbrt, HLO_CBRT)
UNARY(of_erf, HLO_ERF)
UNARY(of_sine, HLO_SINE)
UNARY(of_cosine, HLO_COSINE)
TEST(of_tan) { check(graph_unary(&r.g, HLO_TAN, input(DIMS(3, 4)))); }
UNARY(of_copy, HLO_COPY)
UNARY(of_floor, HLO_FLOOR)
BINARY(of_power, HLO_POWER, y)
BINARY(of_atan2, HLO_ATAN2, y)
BINARY(of_remainder, HLO_REMAINDER, graph_binary(&r.g, HLO_ADD, y, graph_splat(&r.g, y, 1.02)))

TEST(of_clamp_by_scalars_and_arrays)
{
    int x = input(DIMS(2, 5)), low = grig_parameter(&r, DTYPE_F32, 0, NULL, RIG_VALUES(-0.517));
    int high = input(DIMS(2, 5));

    check(graph_clamp(&r.g, low, x, high));
}

TEST(of_select_by_a_scalar)
{
    int yes = grig_parameter(&r, DTYPE_PRED, 0, NULL, RIG_VALUES(1));
    int x = input(DIMS(3)), y = input(DIMS(3));

    check(graph_select(&r.g, yes, x, y));
}

TEST(of_slices_with_strides)
{
    int x = input(DIMS(5, 6));

    check(graph_slice(&r.g, x, (int64_t[]){1, 0}, (int64_t[]){5, 6}, (int64_t[]){2, 3}));
}

TEST(of_padding_of_all_sorts)
{
    int x = input(DIMS(4, 3, 2)), v = grig_parameter(&r, DTYPE_F32, 0, NULL, RIG_VALUES(0.3));

    check(graph_pad(&r.g, x, v, (int64_t[]){-1, 2, 1}, (int64_t[]){1, -1, 0},
                    (int64_t[]){1, 0, 2}));
}

TEST(of_concatenations_and_reversals)
{
    int x = input(DIMS(2, 3)), y = input(DIMS(2, 1));
    int z = graph_concatenate(&r.g, (int[]){x, y, x}, 3, 1);

    check(graph_reverse(&r.g, z, (int[]){1}, 1));
}

TEST(of_dynamic_slices_and_updates)
{
    int x = input(DIMS(4, 5)), u = input(DIMS(2, 2));
    int i = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(1));
    int j = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(9));
    int y = graph_dynamic_update_slice(&r.g, x, u, (int[]){i, j});

    check(graph_dynamic_slice(&r.g, y, (int[]){i, i}, (int64_t[]){3, 4}));
}

TEST(of_gather)
{
    int x = input(DIMS(4, 3)), at = grig_parameter(&r, DTYPE_S32, DIMS(2, 2),
                                                   RIG_VALUES(3, 0, 3, 1));
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 2, .slice_sizes = {1, 2}};

    check(graph_gather(&r.g, x, at, &d));
}

TEST(of_scatter_adding_and_replacing)
{
    int x = input(DIMS(4, 3)), u = input(DIMS(2, 3));
    int at = grig_parameter(&r, DTYPE_S32, DIMS(2, 1), RIG_VALUES(3, 1));
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 1};
    int y = graph_scatter(&r.g, REDUCE_ADD, x, at, u, &d);

    check(graph_scatter(&r.g, REDUCE_REPLACE, y, at, graph_unary(&r.g, HLO_SINE, u), &d));
}

TEST(of_sort_with_a_payload)
{
    int x = input(DIMS(3, 4)), y = input(DIMS(3, 4));
    int s = graph_sort(&r.g, (int[]){x, y}, 2, 1, COMPARE_GT), keys;

    keys = graph_tuple_element(&r.g, s, 0);
    check(graph_binary(&r.g, HLO_MULTIPLY, keys, graph_tuple_element(&r.g, s, 1)));
}

TEST(of_sort_alone)
{
    int x = input(DIMS(4, 3));

    check(graph_sort(&r.g, &x, 1, 0, COMPARE_LT));
}

TEST(of_top_k)
{
    int x = input(DIMS(2, 3, 5));

    check(graph_tuple_element(&r.g, graph_top_k(&r.g, x, 2), 0));
}

TEST(of_dots_with_all_roles)
{
    struct graph_dot d = {.batch_count = 2, .lhs_batch = {2, 0}, .rhs_batch = {1, 3},
                          .contract_count = 2, .lhs_contract = {4, 1}, .rhs_contract = {0, 4}};
    int x = input(DIMS(2, 3, 2, 2, 2)), y = input(DIMS(2, 2, 3, 2, 3));

    check(graph_dot_general(&r.g, x, y, &d, DTYPE_F32, PRECISION_DEFAULT));
}

TEST(of_attention_scores)
{
    struct graph_dot d = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                          .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    int x = input(DIMS(2, 3, 2, 2)), y = input(DIMS(2, 4, 2, 2));

    check(graph_dot_general(&r.g, x, y, &d, DTYPE_F32, PRECISION_DEFAULT));
}

TEST(of_outer_products)
{
    struct graph_dot none = {0};
    int x = input(DIMS(2)), y = input(DIMS(3));

    check(graph_dot_general(&r.g, x, y, &none, DTYPE_F32, PRECISION_DEFAULT));
}

/* ---- convolutions ---- */

static const struct graph_conv nhwc = {
    .spatial_count = 2, .in_batch = 0, .in_feature = 3, .in_spatial = {1, 2}, .kernel_in = 2,
    .kernel_out = 3, .kernel_spatial = {0, 1}, .out_batch = 0, .out_feature = 3,
    .out_spatial = {1, 2}, .feature_groups = 1, .batch_groups = 1};

static struct graph_window window(int64_t size, int64_t stride, int64_t low, int64_t high,
                                  int64_t base, int64_t dilation)
{
    return (struct graph_window){.size = size, .stride = stride, .pad_low = low,
                                 .pad_high = high, .base_dilation = base,
                                 .window_dilation = dilation};
}

static void check_conv(int x, int k, const struct graph_window *w, const struct graph_conv *c)
{
    check(graph_convolution(&r.g, x, k, w, c, DTYPE_F32, PRECISION_DEFAULT));
}

TEST(of_convolution_same_with_stride)
{
    struct graph_window w[] = {window(3, 2, 1, 1, 1, 1), window(2, 3, 0, 1, 1, 1)};

    check_conv(input(DIMS(2, 6, 5, 2)), input(DIMS(3, 2, 2, 3)), w, &nhwc);
}

TEST(of_convolution_dilated_cropped_reversed)
{
    struct graph_window w[] = {window(2, 2, -1, 2, 2, 1), window(3, 1, 2, -1, 1, 2)};

    w[0].is_reversed = true;
    check_conv(input(DIMS(1, 4, 6, 2)), input(DIMS(2, 3, 2, 2)), w, &nhwc);
}

TEST(of_depthwise_convolution)
{
    struct graph_window w[] = {window(3, 1, 1, 1, 1, 1), window(3, 2, 1, 1, 1, 1)};
    struct graph_conv c = nhwc;

    c.feature_groups = 4;
    check_conv(input(DIMS(2, 4, 4, 4)), input(DIMS(3, 3, 1, 8)), w, &c);
}

TEST(of_convolution_in_batch_groups)
{
    struct graph_window w[] = {window(2, 1, 0, 0, 1, 1), window(2, 1, 1, 0, 1, 1)};
    struct graph_conv c = nhwc;

    c.batch_groups = 2;
    check_conv(input(DIMS(4, 3, 3, 2)), input(DIMS(2, 2, 2, 6)), w, &c);
}

TEST(of_convolution_with_other_labels_and_groups)
{
    struct graph_conv c = {.spatial_count = 2, .in_batch = 3, .in_feature = 0,
                           .in_spatial = {2, 1}, .kernel_in = 3, .kernel_out = 0,
                           .kernel_spatial = {1, 2}, .out_batch = 2, .out_feature = 1,
                           .out_spatial = {0, 3}, .feature_groups = 2, .batch_groups = 1};
    struct graph_window w[] = {window(2, 1, 1, 0, 1, 1), window(3, 1, 1, 1, 1, 1)};

    check_conv(input(DIMS(4, 3, 4, 2)), input(DIMS(6, 2, 3, 2)), w, &c);
}

/* ---- windows ---- */

TEST(of_window_sums)
{
    struct graph_window w[] = {window(1, 1, 0, 0, 1, 1), window(3, 2, 1, 1, 1, 1),
                               window(2, 1, 0, 2, 2, 3)};

    check(graph_reduce_window(&r.g, REDUCE_ADD, input(DIMS(2, 5, 4)), w));
}

TEST(of_max_and_min_pooling)
{
    struct graph_window w[] = {window(3, 2, 1, 1, 1, 1), window(2, 2, 0, 0, 1, 1)};
    int x = input(DIMS(5, 4)), most = graph_reduce_window(&r.g, REDUCE_MAX, x, w);

    check(graph_binary(&r.g, HLO_ADD, most, graph_reduce_window(&r.g, REDUCE_MIN, x, w)));
}

/* ---- calls ---- */

/* (x, k) -> (sin(x) * y, y, k + 1) with y scaled by k */
static void build_body(struct graph *body)
{
    int x, y, k, scaled;

    graph_init(body, &r.arena, "body");
    x = graph_parameter(body, shape_make(DTYPE_F32, DIMS(3)), "x");
    y = graph_parameter(body, shape_make(DTYPE_F32, DIMS(3)), "y");
    k = graph_parameter(body, shape_scalar(DTYPE_S32), "k");
    scaled = graph_convert(body, k, DTYPE_F32);
    scaled = graph_broadcast(body, scaled, body->node[y].shape, NULL);
    scaled = graph_binary(body, HLO_MULTIPLY, y, scaled);
    graph_output(body, graph_binary(body, HLO_MULTIPLY, graph_unary(body, HLO_SINE, x), scaled),
                 "x", -1);
    graph_output(body, y, "y", -1);
    graph_output(body, graph_binary(body, HLO_ADD, k, graph_splat(body, k, 1)), "k", -1);
}

TEST(of_a_loop_whose_operands_depend_on_each_other)
{
    struct graph body;
    int x = input(DIMS(3)), y = graph_unary(&r.g, HLO_COSINE, x);
    int k = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(1)), loop, first;

    build_body(&body);
    loop = graph_while(&r.g, (int[]){x, y, k}, 3, &body, 3);
    first = graph_tuple_element(&r.g, loop, 0);
    check(graph_binary(&r.g, HLO_ADD, first, graph_tuple_element(&r.g, loop, 1)));
    graph_fini(&body);
}

TEST(of_a_fusion_given_the_same_operand_twice)
{
    struct graph body;
    int x = input(DIMS(3)), k = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(2));

    build_body(&body);
    check(graph_tuple_element(&r.g, graph_fusion(&r.g, (int[]){x, x, k}, 3, &body), 0));
    graph_fini(&body);
}

TEST(of_tuples_and_all_reduce)
{
    int x = input(DIMS(3)), y = graph_unary(&r.g, HLO_SINE, x);
    int t = graph_tuple(&r.g, (int[]){x, y}, 2), second = graph_tuple_element(&r.g, t, 1);

    check(graph_all_reduce(&r.g, graph_binary(&r.g, HLO_MULTIPLY, second,
                                              graph_tuple_element(&r.g, t, 0))));
}

TEST(of_a_loop_too_long_is_refused)
{
    struct graph body;
    int x = input(DIMS(3)), k = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(1)), loop;
    int gradient;
    struct err e;

    build_body(&body);
    loop = graph_while(&r.g, (int[]){x, x, k}, 3, &body, 5000);
    loop = graph_reduce(&r.g, REDUCE_ADD, graph_tuple_element(&r.g, loop, 0), 1);
    assert_int_equal(graph_grad(&r.g, loop, &x, 1, &gradient, &e), -1);
    assert_string_equal(e.msg, "while.2: a loop of 5000 trips; its gradient is laid out trip by "
                        "trip, of at most 4096");
    graph_fini(&body);
}

TEST(products_that_have_no_derivative_say_so)
{
    int x = input(DIMS(3)), gradient, y = graph_reduce(&r.g, REDUCE_MUL, x, 1);
    struct err e;

    assert_int_equal(graph_grad(&r.g, y, &x, 1, &gradient, &e), -1);
    assert_string_equal(e.msg, "reduce.1: reduce has no derivative");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(of_expm1), UNIT(of_log1p), UNIT(of_cbrt), UNIT(of_erf), UNIT(of_sine),
        UNIT(of_cosine), UNIT(of_tan), UNIT(of_copy), UNIT(of_floor), UNIT(of_power),
        UNIT(of_atan2), UNIT(of_remainder), UNIT(of_clamp_by_scalars_and_arrays),
        UNIT(of_select_by_a_scalar), UNIT(of_slices_with_strides), UNIT(of_padding_of_all_sorts),
        UNIT(of_concatenations_and_reversals), UNIT(of_dynamic_slices_and_updates),
        UNIT(of_gather), UNIT(of_scatter_adding_and_replacing), UNIT(of_sort_with_a_payload),
        UNIT(of_sort_alone), UNIT(of_top_k), UNIT(of_dots_with_all_roles),
        UNIT(of_attention_scores), UNIT(of_outer_products), UNIT(of_convolution_same_with_stride),
        UNIT(of_convolution_dilated_cropped_reversed), UNIT(of_depthwise_convolution),
        UNIT(of_convolution_in_batch_groups), UNIT(of_convolution_with_other_labels_and_groups),
        UNIT(of_window_sums), UNIT(of_max_and_min_pooling),
        UNIT(of_a_loop_whose_operands_depend_on_each_other),
        UNIT(of_a_fusion_given_the_same_operand_twice), UNIT(of_tuples_and_all_reduce),
        UNIT(of_a_loop_too_long_is_refused),
        UNIT(products_that_have_no_derivative_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
