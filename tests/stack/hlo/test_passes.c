/*
 * Does a graph still compute the same after each pass, and has it become what the pass is for?
 */
#include "base/floats.h"
#include "stack/hlo/bitcast.h"
#include "stack/interp/interp.h"
#include "stack/nn/nn.h"
#include "stack/passes/simplify/simplify.h"
#include "tests/rigs/pass_rig.h"
#include "tests/generate/random_graph.h"
#include "tests/generate/random_hlo.h"
#include "tests/test.h"

#include <math.h>
#include <time.h>

TEST(bf16_arithmetic_is_done_in_f32)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 2, (int64_t[]){9, 5}), "x");
    int y = graph_unary(&graph, HLO_TANH, graph_binary(&graph, HLO_MULTIPLY, x, x));

    graph_output(&graph, graph_compare(&graph, COMPARE_LT, x, y), "less", -1);
    graph_output(&graph, y, "y", -1);
    run_pass(pass_upcast);
    for (int i = 0; i < graph.node_count; i++)
        if (graph_op_is_elementwise(graph.node[i].op) && graph.node[i].op != HLO_CONVERT)
            for (int k = 0; k < graph.node[i].operand_count; k++)
                assert_int_equal(graph.node[graph.node[i].operand[k]].shape.dtype, DTYPE_F32);
}

/* every bf16: within 3.7e-4 of erf before it is rounded; what is subnormal may be 0 */
TEST(erf_of_bf16_is_short)
{
    enum { COUNT = 1 << 16 };
    float *x = arena_array(&arena, COUNT, sizeof(*x));
    struct pass_context c = {.chip = &v5e, .replica_count = 1};
    struct interp_value in = {.data = x}, out;
    struct err e;

    graph_output(&graph, graph_unary(&graph, HLO_ERF, graph_parameter(
        &graph, shape_make(DTYPE_BF16, 1, (int64_t[]){COUNT}), "x")), "erf", -1);
    assert_int_equal(pass_upcast(&graph, &c, &e), 0);
    assert_int_equal(count_of(&graph, HLO_ERF), 0);
    for (int i = 0; i < COUNT; i++)
        x[i] = f32_from_bf16((uint16_t)i);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &out, &arena, &e), 0);
    for (int i = 0; i < COUNT; i++) {
        double want = erf((double)x[i]), got = (double)((float *)out.data)[i];
        double place = want == 0 || isnan(want) ? 0 : ldexp(1, ilogb(want) - 7);

        if (isnan(x[i]))
            assert_true(isnan(got));
        else if (fabs(got - want) > 0.5 * place + 3.8e-4 * fabs(want) + 1.2e-38)
            fail_msg("erf(%.9g) is %.9g, expected %.9g", (double)x[i], got, want);
    }
}

TEST(a_chain_becomes_one_kernel)
{
    int x = graph_parameter(&graph, F32(16, 40), "x"), y = x;

    for (int i = 0; i < 5; i++)
        y = graph_unary(&graph, HLO_TANH, graph_binary(&graph, HLO_ADD, y, x));
    graph_output(&graph, y, "y", -1);
    run_pass(pass_fusion);
    assert_int_equal(graph.node_count, 2);
    assert_int_equal(result_node()->op, HLO_FUSION);
}

TEST(sums_of_the_same_array_share_a_kernel)
{
    int x = graph_parameter(&graph, F32(16, 40), "x");
    int square = graph_binary(&graph, HLO_MULTIPLY, x, x);

    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, x, 1), "sum", -1);
    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, square, 1), "squares", -1);
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_FUSION), 1);
    assert_int_equal(count_of(&graph, HLO_GET_TUPLE_ELEMENT), 2);
    assert_int_equal(count_of(&graph, HLO_REDUCE), 0);
}

TEST(activations_go_behind_the_product_before_them)
{
    int x = graph_parameter(&graph, F32(16, 40), "x"),
        w = graph_parameter(&graph, F32(40, 24), "w");
    int v = graph_parameter(&graph, F32(24, 8), "v");
    int y = graph_dot(&graph, x, w, 1, 0, PRECISION_HIGHEST);

    y = graph_unary(&graph, HLO_TANH, graph_unary(&graph, HLO_NEGATE, y));
    graph_output(&graph, graph_dot(&graph, y, v, 1, 0, PRECISION_HIGHEST), "out", -1);
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_FUSION), 1);
    assert_int_equal(result_node()->op, HLO_DOT);
}

/* [rows, 64, 2] would be 64 times its elements in memory; [rows, 2, 64] is not made along */
TEST(interleaved_halves_are_one_move)
{
    int x = graph_parameter(&graph, F32(80, 2, 64), "x");
    int y = graph_transpose(&graph, x, DIMS(0, 2, 1));

    graph_output(&graph, graph_reshape(&graph, y, F32(80, 128)), "out", -1);
    run_pass(pass_fusion);
    assert_int_equal(graph.node_count, 2);
    assert_int_equal(result_node()->op, HLO_FUSION);
}

/* rows and columns exchanged fill their tiles: two kernels at the memory's pace */
TEST(moves_of_full_arrays_stay_apart)
{
    int x = graph_parameter(&graph, F32(256, 384), "x");
    int y = graph_transpose(&graph, x, DIMS(1, 0));

    graph_output(&graph, graph_reverse(&graph, y, DIMS(0), 1), "out", -1);
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 1);
    assert_int_equal(count_of(&graph, HLO_REVERSE), 1);
}

/* x erf(x) reads the product twice, and nobody else does */
TEST(gelu_goes_behind_the_product_before_it)
{
    int x = graph_parameter(&graph, F32(16, 40), "x"),
        w = graph_parameter(&graph, F32(40, 24), "w");
    int v = graph_parameter(&graph, F32(24, 8), "v");
    int y = nn_gelu(&graph, graph_dot(&graph, x, w, 1, 0, PRECISION_HIGHEST), false);

    graph_output(&graph, graph_dot(&graph, y, v, 1, 0, PRECISION_HIGHEST), "out", -1);
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_FUSION), 1);
    assert_int_equal(result_node()->op, HLO_DOT);
    assert_int_equal(count_of(&graph, HLO_DOT), 1);
}

TEST(cheap_values_are_made_again_and_costly_ones_stored)
{
    int x = graph_parameter(&graph, F32(16, 40), "x"),
        w = graph_parameter(&graph, F32(40, 24), "w");
    int cheap = graph_unary(&graph, HLO_NEGATE, x), costly = graph_unary(&graph, HLO_EXP, x);

    for (int i = 0; i < 2; i++) {
        int turned = graph_transpose(&graph, i ? cheap : costly, DIMS(1, 0));

        graph_output(&graph, graph_dot(&graph, i ? cheap : costly, w, 1, 0, PRECISION_HIGHEST),
                     "product", -1);
        graph_output(&graph, turned, "turned", -1);
    }
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_NEGATE), 0);
    assert_int_equal(count_all(&graph, HLO_NEGATE), 2);
    assert_int_equal(count_all(&graph, HLO_EXP), 1);
}

/* a value that is rounded to bf16 and read as f32 by several: what is stored is the bf16 */
TEST(arrays_between_kernels_are_the_narrow_ones)
{
    struct shape half = shape_make(DTYPE_BF16, 2, (int64_t[]){16, 40});
    int w = graph_parameter(&graph, F32(40, 24), "w");
    int y = graph_unary(&graph, HLO_EXP, graph_parameter(&graph, half, "x"));
    int wide = graph_convert(&graph, y, DTYPE_F32), found = 0;

    graph_output(&graph, graph_dot(&graph, wide, w, 1, 0, PRECISION_HIGHEST), "product", -1);
    graph_output(&graph, graph_transpose(&graph, wide, DIMS(1, 0)), "turned", -1);
    run_pass(pass_upcast);
    run_pass(pass_fusion);
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_FUSION && count_of(graph.node[i].called[0], HLO_EXP)) {
            assert_int_equal(graph.node[i].shape.dtype, DTYPE_BF16);
            found++;
        }
    assert_int_equal(found, 1);
}

/* three kernels, though one would take it all */
TEST(products_scale_for_a_softmax_which_narrows_for_the_next)
{
    const int64_t v_dims[] = {24, 8};
    int q = graph_parameter(&graph, F32(16, 40), "q"),
        k = graph_parameter(&graph, F32(40, 24), "k");
    int v = graph_parameter(&graph, shape_make(DTYPE_BF16, 2, v_dims), "v");
    int y = graph_dot(&graph, q, k, 1, 0, PRECISION_HIGHEST), power;
    struct shape s = graph.node[y].shape;
    const struct graph_node *narrowed;

    y = graph_binary(&graph, HLO_MULTIPLY, y, graph_splat(&graph, y, 0.125));
    power = graph_reduce(&graph, REDUCE_MAX, y, 2);
    power = graph_binary(&graph, HLO_SUBTRACT, y, graph_broadcast(&graph, power, s, DIMS(0)));
    power = graph_unary(&graph, HLO_EXP, power);
    y = graph_reduce(&graph, REDUCE_ADD, power, 2);
    y = graph_binary(&graph, HLO_DIVIDE, power, graph_broadcast(&graph, y, s, DIMS(0)));
    y = graph_dot(&graph, graph_convert(&graph, y, DTYPE_BF16), v, 1, 0, PRECISION_DEFAULT);
    graph_output(&graph, y, "out", -1);
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_FUSION), 2);
    assert_int_equal(result_node()->op, HLO_DOT);
    narrowed = &graph.node[result_node()->operand[0]];
    assert_int_equal(narrowed->shape.dtype, DTYPE_BF16);
    assert_int_equal(count_of(narrowed->called[0], HLO_MULTIPLY), 0);
    assert_int_equal(count_of(graph.node[narrowed->operand[0]].called[0], HLO_MULTIPLY), 1);
}

/* x -> sum -> x - sum -> product: the sum cannot be in the kernel of what reads x - sum twice */
TEST(nothing_waits_in_a_circle)
{
    int x = graph_parameter(&graph, F32(16, 16), "x");
    int y = graph_unary(&graph, HLO_EXP, x), d = graph_dot(&graph, y, x, 1, 0, PRECISION_HIGHEST);

    graph_output(&graph, graph_binary(&graph, HLO_ADD, d, y), "out", -1);
    graph_output(&graph, y, "y", -1);
    run_pass(pass_fusion);
    run_pass(pass_excess);
}

TEST(rounding_inside_a_kernel_disappears)
{
    struct shape half = shape_make(DTYPE_BF16, 2, (int64_t[]){9, 5});
    int x = graph_parameter(&graph, half, "x"), y = x;

    for (int i = 0; i < 3; i++)
        y = graph_binary(&graph, HLO_ADD, y, x);
    graph_output(&graph, y, "y", -1);
    run_pass(pass_upcast);
    run_pass(pass_fusion);
    run_pass(pass_excess);
    assert_int_equal(result_node()->op, HLO_FUSION);
    assert_int_equal(count_of(result_node()->called[0], HLO_CONVERT), 2);
}

/* two convolutions, bias and pooling: a transpose in, one out, none between */
TEST(layouts_follow_convolutions)
{
    struct nn_window same = {.padding = NN_SAME, .stride = {1, 1}};
    struct nn_window half = {.size = {2, 2}, .stride = {2, 2}};
    int x = graph_parameter(&graph, F32(8, 12, 12, 128), "x"), y = x;
    int k = graph_parameter(&graph, F32(3, 3, 128, 128), "k");
    int b = graph_parameter(&graph, F32(128), "b");

    for (int i = 0; i < 2; i++) {
        y = nn_relu(&graph, nn_bias(&graph, nn_conv2d(&graph, y, k, &same), b));
        y = nn_max_pool(&graph, y, &half);
    }
    graph_output(&graph, y, "y", -1);
    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, y, 7), "sums", -1);
    run_pass(pass_layout);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 2);
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_CONVOLUTION) {
            assert_int_equal(graph.node[i].conv->out_feature, 3);
            assert_int_equal(graph.node[i].conv->out_batch, 2);
        }
}

/* x W + b as heads: [positions, heads x size] to [heads, positions, size] */
static int projected_heads(int x, int w, int b, int heads)
{
    struct shape s = graph.node[x].shape;
    int y = nn_bias(&graph, graph_dot(&graph, x, w, 1, 0, PRECISION_DEFAULT), b);

    y = graph_reshape(&graph, y, F32(s.dim[0], heads, s.dim[1] / heads));
    return graph_transpose(&graph, y, DIMS(1, 0, 2));
}

static int heads_product(int a, int b, int a_dim, int b_dim)
{
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {a_dim},
                            .rhs_contract = {b_dim}};

    return graph_dot_general(&graph, a, b, &dot, DTYPE_F32, PRECISION_DEFAULT);
}

/* attention without its softmax, which is the heads' own affair */
static int attention(int positions, int width, int heads)
{
    int x = graph_parameter(&graph, F32(positions, width), "x");
    int w = graph_parameter(&graph, F32(width, width), "w");
    int b = graph_parameter(&graph, F32(width), "b"), q, k, v, y;

    q = projected_heads(x, w, b, heads);
    k = projected_heads(x, graph_unary(&graph, HLO_NEGATE, w), b, heads);
    v = projected_heads(graph_unary(&graph, HLO_ABS, x), w, b, heads);
    y = heads_product(heads_product(q, k, 2, 2), v, 2, 1);
    y = graph_transpose(&graph, y, DIMS(1, 0, 2));
    y = graph_reshape(&graph, y, F32(positions, width));
    return graph_dot(&graph, y, w, 1, 0, PRECISION_DEFAULT);
}

/* heads of 16 columns: the split is one of rows, and nothing is moved */
TEST(heads_are_split_and_joined_without_copies)
{
    graph_output(&graph, attention(24, 64, 4), "y", -1);
    run_pass(pass_simplify);
    assert_true(count_of(&graph, HLO_TRANSPOSE) > 0);
    run_pass(pass_layout);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_RESHAPE)
            assert_true(array_is_bitcast(&graph.node[graph.node[i].operand[0]].shape,
                                         &graph.node[i].shape));
}

/* heads of 12: no tile of rows ends there either, so products stay as they are */
TEST(heads_that_cut_tiles_are_copied)
{
    graph_output(&graph, attention(24, 48, 4), "y", -1);
    run_pass(pass_simplify);
    run_pass(pass_layout);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 4);
}

/* f32 products in 3 or 6 passes of bf16; what bf16 holds needs one; one replica is its own sum */
/* a stride of two over few channels, forward and by its kernel: one over four times as many */
TEST(first_layers_are_made_of_images_of_half_the_size)
{
    static const struct graph_window odd[] = {{3, 2, 1, 1, 1, 1, false}, {4, 2, 0, 1, 1, 1, false}};
    static const struct graph_window even[] = {{4, 2, 2, 0, 1, 1, false},
                                              {3, 2, 1, 0, 1, 1, false}};
    struct graph_conv c = {.spatial_count = 2, .in_spatial = {1, 2}, .in_feature = 3,
                           .kernel_spatial = {0, 1}, .kernel_in = 2, .kernel_out = 3,
                           .out_spatial = {1, 2}, .out_feature = 3, .feature_groups = 1,
                           .batch_groups = 1};

    for (int i = 0; i < 2; i++) {
        int x = graph_parameter(&graph, F32(64, 9, 11, 3), i ? "x" : "z"), gradient;
        int k = graph_parameter(&graph, i ? F32(4, 3, 3, 5) : F32(3, 4, 3, 5), i ? "k" : "l");
        int y = graph_convolution(&graph, x, k, i ? even : odd, &c, DTYPE_F32, PRECISION_DEFAULT);
        struct err e;

        graph_output(&graph, y, i ? "even" : "odd", -1);
        if (graph_backward(&graph, y, graph_parameter(&graph, graph.node[y].shape, i ? "s" : "t"),
                           &k, 1, &gradient, &e))
            fail_msg("%s", e.msg);
        graph_output(&graph, gradient, i ? "even gradient" : "odd gradient", -1);
    }
    run_pass(pass_expand);
    assert_int_equal(count_of(&graph, HLO_CONVOLUTION), 4);
    for (int i = 0; i < graph.node_count; i++)
        for (int k = 0; graph.node[i].op == HLO_CONVOLUTION && k < 2; k++) {
            assert_int_equal(graph.node[i].window[k].stride, 1);
            assert_int_equal(graph.node[i].window[k].window_dilation, 1);
        }
}

TEST(operations_without_kernels_become_others)
{
    struct nn_window same = {.padding = NN_SAME, .stride = {1, 1}};
    int x = graph_parameter(&graph, F32(2, 6, 6, 8), "x"), conv;
    int k = graph_parameter(&graph, F32(3, 3, 8, 8), "k");

    conv = nn_conv2d(&graph, x, k, &same);
    graph.node[conv].precision = PRECISION_HIGHEST;
    graph_output(&graph, graph_all_reduce(&graph, conv), "f32", -1);
    conv = nn_conv2d(&graph, graph_convert(&graph, x, DTYPE_BF16),
                     graph_convert(&graph, k, DTYPE_BF16), &same);
    graph.node[conv].precision = PRECISION_HIGH;
    graph_output(&graph, conv, "bf16", -1);
    run_pass(pass_expand);
    assert_int_equal(count_of(&graph, HLO_CONVOLUTION), 6 + 1);
    assert_int_equal(count_of(&graph, HLO_ALL_REDUCE), 0);
}

TEST(runs_of_dimensions_match)
{
    struct shape from = F32(2, 3, 1, 20), to = F32(6, 4, 5, 1);
    struct reshape_runs r;

    reshape_runs_find(&from, &to, &r);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.from[1], 2);
    assert_int_equal(r.to[1], 1);
}

TEST(random_graphs_stay_the_same)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random_graph r = {.seed = seed, .op_count = 30, .is_small = true,
                                 .replica_count = 1};

        random_graph_build(&graph, &r);
        run_pass(pass_simplify);
        run_pass(pass_upcast);
        kernel_check_supported = seed % 2 ? take_all : take_loops;
        run_pass(pass_fusion);
        run_pass(pass_excess);
        kernel_check_supported = take_all;
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* all operations and types; loops, too, whose bodies the passes see in a module only */
TEST(random_graphs_of_all_operations_stay_the_same)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct random_hlo r = {.seed = seed, .op_count = 4 + (int)(seed % 24), .elems_max = 3000,
                               .groups = RANDOM_ALL};

        random_hlo_build(&graph, &r);
        hlo_seed = seed;
        run_pass(pass_simplify);
        run_pass(pass_expand);
        run_pass(pass_upcast);
        run_pass(pass_layout);
        run_pass(pass_simplify);
        kernel_check_supported = seed % 2 ? take_all : take_loops;
        run_pass(pass_fusion);
        run_pass(pass_excess);
        kernel_check_supported = take_all;
        hlo_seed = 0;
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* an update of one variable by another array, both of its own */
static void update(struct shape s, const char *variable, const char *gradient)
{
    int v = graph_parameter(&graph, s, variable), g = graph_parameter(&graph, s, gradient);

    graph_output(&graph, graph_binary(&graph, HLO_SUBTRACT, v, graph_binary(&graph, HLO_MULTIPLY,
                                                                            g, g)), variable, -1);
}

TEST(small_updates_of_one_shape_share_a_kernel)
{
    update(F32(128), "a", "da");
    update(F32(128), "b", "db");
    update(F32(64, 128), "large", "dlarge");
    update(F32(64, 128), "larger", "dlarger");
    update(F32(256), "other", "dother");
    run_pass(pass_fusion);
    assert_int_equal(count_of(&graph, HLO_FUSION), 4);
}
/*
 * Pieces of an operation, thousands of one shape, each with so many arrays that no two are one
 * kernel: each tried with each would take minutes of processor time.
 */
TEST(thousands_of_small_groups_are_fused_in_their_number_s_time)
{
    enum { PIECES = 3000, ARRAYS = 11 };
    struct pass_context c = {.chip = &v5e, .replica_count = 1,
                             .check_supported = kernel_check_supported};
    clock_t began;
    struct err e;

    for (int i = 0; i < PIECES; i++) {
        int sum = graph_parameter(&graph, F32(3), "x");

        for (int k = 1; k < ARRAYS; k++)
            sum = graph_binary(&graph, HLO_ADD, sum, graph_parameter(&graph, F32(3), "x"));
        graph_output(&graph, sum, "sum", -1);
    }
    began = clock();
    assert_int_equal(pass_fusion(&graph, &c, &e), 0);
    assert_in_range((clock() - began) / CLOCKS_PER_SEC, 0, 20);
    assert_int_equal(count_of(&graph, HLO_FUSION), PIECES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(small_updates_of_one_shape_share_a_kernel),
        RUN(thousands_of_small_groups_are_fused_in_their_number_s_time),
        RUN(bf16_arithmetic_is_done_in_f32),
        RUN(erf_of_bf16_is_short),
        RUN(a_chain_becomes_one_kernel),
        RUN(sums_of_the_same_array_share_a_kernel),
        RUN(activations_go_behind_the_product_before_them),
        RUN(gelu_goes_behind_the_product_before_it),
        RUN(interleaved_halves_are_one_move),
        RUN(moves_of_full_arrays_stay_apart),
        RUN(cheap_values_are_made_again_and_costly_ones_stored),
        RUN(arrays_between_kernels_are_the_narrow_ones),
        RUN(products_scale_for_a_softmax_which_narrows_for_the_next),
        RUN(nothing_waits_in_a_circle),
        RUN(rounding_inside_a_kernel_disappears),
        RUN(first_layers_are_made_of_images_of_half_the_size),
        RUN(operations_without_kernels_become_others),
        RUN(layouts_follow_convolutions),
        RUN(heads_are_split_and_joined_without_copies),
        RUN(heads_that_cut_tiles_are_copied),
        RUN(runs_of_dimensions_match),
        RUN(random_graphs_stay_the_same),
        RUN(random_graphs_of_all_operations_stay_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
