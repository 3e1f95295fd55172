/*
 * Does a graph still compute the same after each pass, and has it become what the pass is for?
 */
#include "base/floats.h"
#include "base/units.h"
#include "stack/bitcast.h"
#include "stack/interp.h"
#include "stack/nn.h"
#include "stack/pass.h"
#include "stack/rewrite.h"
#include "stack/simplify.h"
#include "tests/random_graph.h"
#include "tests/random_hlo.h"
#include "tests/test.h"

#include <math.h>

static struct arena arena;
static struct graph graph;
static struct chip v5e;

static int setup(void **state)
{
    struct err e;

    (void)state;
    arena_init(&arena);
    graph_init(&graph, &arena, "test");
    return chip_load_builtin(&v5e, "v5e", NULL, &arena, &e);
}

static int teardown(void **state)
{
    (void)state;
    graph_fini(&graph);
    arena_fini(&arena);
    return 0;
}

static struct shape f32(int rank, const int64_t *dim) { return shape_make(DTYPE_F32, rank, dim); }
#define F32(...) \
    f32((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define DIMS(...) (int[]){__VA_ARGS__}

static int count_of(const struct graph *g, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        count += g->node[i].op == op;
    return count;
}

/* in fusions, too */
static int count_all(const struct graph *g, enum graph_op op)
{
    int count = count_of(g, op);

    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op == HLO_FUSION)
            count += count_all(g->node[i].called[0], op);
    return count;
}

static void *some_values(const struct shape *s, uint64_t seed)
{
    float *x = arena_array(&arena, (size_t)shape_elems(s), 4);

    for (int64_t i = 0; i < shape_elems(s); i++) {
        int value = (int)((uint64_t)(i * 7 + 3) * (seed * 2 + 5) % 11) - 5;

        if (graph.arena && (s->dtype == DTYPE_F32 || s->dtype == DTYPE_BF16))
            x[i] = (float)value;
        else
            ((int32_t *)x)[i] = s->dtype == DTYPE_PRED ? value & 1 : value;
    }
    return x;
}

/* of random graphs of HLO: their own inputs; 0: some_values */
static uint64_t hlo_seed;

static void evaluate(const struct graph *g, struct interp_value *out)
{
    struct interp_value *in = arena_array(&arena, (size_t)g->parameter_count + 1, sizeof(*in));
    struct err e;

    for (int i = 0; i < g->parameter_count; i++)
        in[i].data = hlo_seed ? random_hlo_input(g, i, hlo_seed, &arena)
                              : some_values(&g->node[g->parameter[i]].shape, (uint64_t)i);
    if (graph_verify(g, &e) || interp_run(g, INTERP_DOT_F32, in, out, &arena, &e))
        fail_msg("%s", e.msg);
}

static void compare(const struct shape *s, const void *got, const void *want)
{
    for (int64_t i = 0; i < shape_elems(s); i++) {
        float x = ((const float *)got)[i], y = ((const float *)want)[i];

        if (s->dtype != DTYPE_F32 && s->dtype != DTYPE_BF16)
            assert_int_equal(((const int32_t *)got)[i], ((const int32_t *)want)[i]);
        else if (!(isnan(x) && isnan(y)) && fabsf(x - y) > 1e-6f * fabsf(y))
            fail_msg("element %d: %.9g, expected %.9g", (int)i, (double)x, (double)y);
    }
}

/* a kernel that makes everything of one product or move at most */
static int take_all(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)body;
    (void)chip;
    (void)e;
    return 0;
}

/* elementwise and reductions only, and few of them */
static int take_loops(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)chip;
    for (int i = 0; i < body->node_count; i++)
        if (graph_op_kind(body->node[i].op) == KIND_DOT || body->node_count > 9)
            return err_set(e, "no");
    return 0;
}

static int (*kernel_takes)(const struct graph *, const struct chip *, struct err *) = take_all;

/* runs the pass; the graph computes what it computed before */
static void run_pass(int (*pass)(struct graph *, const struct pass_context *, struct err *))
{
    struct interp_value before[256], after[256];
    struct pass_context c = {.chip = &v5e, .replica_count = 1, .takes = kernel_takes};
    struct err e;

    evaluate(&graph, before);
    if (pass(&graph, &c, &e))
        fail_msg("%s", e.msg);
    evaluate(&graph, after);
    for (int i = 0; i < graph.output_count; i++)
        compare(&graph.node[graph.output[i].node].shape, after[i].data, before[i].data);
}

static void simplify(int result)
{
    graph_output(&graph, result, "out", -1);
    run_pass(pass_simplify);
}

static const struct graph_node *result_node(void)
{
    return &graph.node[graph.output[0].node];
}

TEST(operations_on_constants_are_done)
{
    int a = graph_constant(&graph, F32(3, 5), 2), b = graph_splat(&graph, a, 7);
    int x = graph_parameter(&graph, F32(3, 5), "x");

    simplify(graph_binary(&graph, HLO_ADD, x, graph_unary(&graph, HLO_NEGATE,
                          graph_binary(&graph, HLO_MULTIPLY, a, b))));
    assert_int_equal(count_of(&graph, HLO_MULTIPLY) + count_of(&graph, HLO_NEGATE), 0);
    assert_int_equal(count_of(&graph, HLO_CONSTANT), 1);
}

TEST(adding_nothing_disappears)
{
    int x = graph_parameter(&graph, F32(4, 9), "x"), zero = graph_splat(&graph, x, 0);
    int one = graph_splat(&graph, x, 1), y = graph_binary(&graph, HLO_ADD, zero, x);

    y = graph_binary(&graph, HLO_DIVIDE, graph_binary(&graph, HLO_MULTIPLY, y, one), one);
    simplify(graph_binary(&graph, HLO_SUBTRACT, y, zero));
    assert_int_equal(result_node()->op, HLO_PARAMETER);
}

TEST(subtracting_from_nothing_stays)
{
    int x = graph_parameter(&graph, F32(4, 9), "x");

    simplify(graph_binary(&graph, HLO_SUBTRACT, graph_splat(&graph, x, 0), x));
    assert_int_equal(result_node()->op, HLO_SUBTRACT);
}

TEST(division_by_a_power_of_two_multiplies)
{
    int x = graph_parameter(&graph, F32(4, 9), "x");

    graph_output(&graph, graph_binary(&graph, HLO_DIVIDE, x, graph_splat(&graph, x, 3)), "3", -1);
    simplify(graph_binary(&graph, HLO_DIVIDE, x, graph_splat(&graph, x, 8)));
    assert_int_equal(count_of(&graph, HLO_DIVIDE), 1);
    assert_int_equal(count_of(&graph, HLO_MULTIPLY), 1);
}

TEST(a_conversion_back_disappears_only_if_exact)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 1, (int64_t[]){9}), "x");
    int y = graph_parameter(&graph, F32(9), "y");

    graph_output(&graph, graph_convert(&graph, graph_convert(&graph, y, DTYPE_BF16), DTYPE_F32),
                 "rounded", -1);
    simplify(graph_convert(&graph, graph_convert(&graph, x, DTYPE_F32), DTYPE_BF16));
    assert_int_equal(count_of(&graph, HLO_CONVERT), 2);
}

/* integers that become integers wrap, floats that do saturate: -1 is 255 as u8, -1.0 is 0 */
TEST(a_conversion_by_way_of_floats_keeps_its_saturation)
{
    static const struct { enum graph_dtype from, middle, to; int left; } cases[] = {
        {DTYPE_S8, DTYPE_BF16, DTYPE_U8, 2}, {DTYPE_S8, DTYPE_F32, DTYPE_U32, 2},
        {DTYPE_U8, DTYPE_F32, DTYPE_S8, 2}, {DTYPE_S8, DTYPE_BF16, DTYPE_S32, 1},
        {DTYPE_S8, DTYPE_S32, DTYPE_U8, 1}, {DTYPE_BF16, DTYPE_F32, DTYPE_U8, 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct shape s = shape_make(cases[i].from, 1, (int64_t[]){33});
        int x = graph_parameter(&graph, s, "x");
        struct interp_value in = {.data = arena_array(&arena, 33, 4)}, before, after;
        struct err e;

        for (int k = 0; k < 33; k++)
            if (cases[i].from == DTYPE_BF16)
                ((float *)in.data)[k] = 16.0f * (float)(k - 16);
            else
                ((int32_t *)in.data)[k] = (cases[i].from == DTYPE_U8 ? 7 : 4) * k
                                          - (cases[i].from == DTYPE_S8 ? 64 : 0);
        x = graph_convert(&graph, graph_convert(&graph, x, cases[i].middle), cases[i].to);
        graph_output(&graph, x, "y", -1);
        assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &before, &arena, &e), 0);
        assert_int_equal(pass_simplify(&graph, &(struct pass_context){.chip = &v5e}, &e), 0);
        assert_int_equal(count_of(&graph, HLO_CONVERT), cases[i].left);
        assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &after, &arena, &e), 0);
        assert_memory_equal(after.data, before.data, 33 * 4);
        teardown(NULL);
        setup(NULL);
    }
}

TEST(chains_of_transposes_and_reshapes_become_one)
{
    int x = graph_parameter(&graph, F32(2, 3, 4), "x");
    int y = graph_transpose(&graph, graph_transpose(&graph, x, DIMS(1, 2, 0)), DIMS(2, 0, 1));

    y = graph_reshape(&graph, graph_reshape(&graph, y, F32(6, 4)), F32(3, 8));
    simplify(y);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 1);
}

TEST(transposed_and_reshaped_broadcasts_are_broadcasts)
{
    int x = graph_parameter(&graph, F32(4, 3), "x");
    int b = graph_broadcast(&graph, x, F32(4, 2, 3), DIMS(0, 2));

    b = graph_transpose(&graph, b, DIMS(1, 0, 2));
    simplify(graph_reshape(&graph, b, F32(2, 12)));
    assert_int_equal(result_node()->op, HLO_BROADCAST);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

TEST(bias_of_a_product_of_three_dimensions_is_added_to_a_matrix)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    int x = graph_parameter(&graph, F32(2, 8, 5), "x");
    int w = graph_parameter(&graph, F32(5, 7), "w"), b = graph_parameter(&graph, F32(7), "b");
    int y = graph_dot_general(&graph, x, w, &dot, DTYPE_F32, PRECISION_HIGHEST);

    y = graph_binary(&graph, HLO_ADD, y, graph_broadcast(&graph, b, F32(2, 8, 7), DIMS(2)));
    simplify(graph_reduce(&graph, REDUCE_ADD, y, 3));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op != HLO_PARAMETER)
            assert_true(graph.node[i].shape.rank <= 2);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 1);
}

TEST(products_of_any_form_become_plain)
{
    /* attention's scores: batch and heads apart */
    struct graph_dot dot = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot both = {.contract_count = 2, .lhs_contract = {1, 0}, .rhs_contract = {1, 0}};
    int q = graph_parameter(&graph, F32(2, 5, 3, 4), "q");
    int k = graph_parameter(&graph, F32(2, 6, 3, 4), "k");
    int x = graph_parameter(&graph, F32(4, 3, 5), "x"),
        y = graph_parameter(&graph, F32(4, 3, 2), "y");

    graph_output(&graph, graph_dot_general(&graph, x, y, &both, DTYPE_F32, PRECISION_HIGHEST),
                 "gradient", -1);
    simplify(graph_dot_general(&graph, q, k, &dot, DTYPE_F32, PRECISION_HIGHEST));
    for (int i = 0; i < graph.node_count; i++) {
        const struct graph_node *n = &graph.node[i];

        if (n->op != HLO_DOT)
            continue;
        assert_int_equal(n->dot.contract_count, 1);
        assert_true(n->dot.batch_count <= 1);
        assert_int_equal(n->shape.rank, 2 + n->dot.batch_count);
    }
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 2);
}

TEST(a_transposed_operand_is_contracted_elsewhere)
{
    int x = graph_parameter(&graph, F32(5, 4), "x"),
        w = graph_parameter(&graph, F32(6, 5), "w");

    x = graph_transpose(&graph, x, DIMS(1, 0));
    simplify(graph_dot(&graph, x, graph_transpose(&graph, w, DIMS(1, 0)), 1, 0,
                       PRECISION_HIGHEST));
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

/* q[b,h,d,s] = W[h,d,c] x[b,s,c]: operands and result as they lie, nothing is moved */
TEST(a_projection_into_heads_moves_nothing)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    int w = graph_parameter(&graph, F32(2, 64, 128), "w");
    int x = graph_parameter(&graph, F32(3, 128, 128), "x");
    int q = graph_dot_general(&graph, w, x, &dot, DTYPE_F32, PRECISION_HIGHEST);
    const struct graph_node *n;

    q = graph_transpose(&graph, graph_unary(&graph, HLO_NEGATE, q), DIMS(2, 0, 1, 3));
    simplify(q);
    run_pass(pass_layout);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 0);
    n = &graph.node[2];
    assert_int_equal(n->op, HLO_DOT);
    assert_true(n->dot.has_order && n->dot.order[0] == 2 && n->shape.dim[0] == 3);
}

/* 4 rows would leave most of each tile and pass empty: it becomes a plain product */
TEST(a_product_of_few_rows_each_becomes_plain)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    int x = graph_parameter(&graph, F32(6, 4, 16), "x");
    int w = graph_parameter(&graph, F32(16, 8), "w");

    simplify(graph_dot_general(&graph, x, w, &dot, DTYPE_F32, PRECISION_HIGHEST));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_DOT)
            assert_int_equal(graph.node[i].shape.rank, 2);
}

TEST(reductions_of_spread_values_multiply)
{
    int x = graph_parameter(&graph, F32(6), "x");
    int b = graph_broadcast(&graph, x, F32(3, 6, 5), DIMS(1));

    graph_output(&graph, graph_reduce(&graph, REDUCE_MAX, b, 5), "max", -1);
    simplify(graph_reduce(&graph, REDUCE_ADD, b, 5));
    assert_int_equal(count_of(&graph, HLO_REDUCE), 0);
}

TEST(factors_of_a_whole_sum_go_behind_it)
{
    int x = graph_parameter(&graph, F32(3, 6, 5), "x"), s = graph_parameter(&graph, F32(6), "s");
    int y = graph_broadcast(&graph, s, F32(3, 6, 5), DIMS(1));
    int along = graph_broadcast(&graph, graph_parameter(&graph, F32(5), "t"), F32(3, 6, 5),
                                DIMS(2));

    y = graph_binary(&graph, HLO_MULTIPLY, x, y);
    along = graph_binary(&graph, HLO_MULTIPLY, x, along);
    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, along, 5), "another along it", -1);
    simplify(graph_reduce(&graph, REDUCE_ADD, graph_unary(&graph, HLO_NEGATE, y), 5));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_NEGATE)
            assert_int_equal(graph.node[i].shape.rank, 1);
    assert_int_equal(count_of(&graph, HLO_NEGATE), 1);
    assert_int_equal(count_of(&graph, HLO_BROADCAST), 1);
}

TEST(reductions_in_two_steps_are_one)
{
    int x = graph_parameter(&graph, F32(3, 6, 1, 5), "x");
    int r = graph_reduce(&graph, REDUCE_ADD, graph_transpose(&graph, x, DIMS(3, 1, 2, 0)), 4);

    simplify(graph_reduce(&graph, REDUCE_ADD, r, 5));
    assert_int_equal(count_of(&graph, HLO_REDUCE), 1);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

TEST(moves_that_change_nothing_disappear)
{
    int x = graph_parameter(&graph, F32(3, 6), "x"), y = x;
    int64_t zero[2] = {0}, all[2] = {3, 6}, some[2] = {3, 4}, from[2] = {1, 2};

    y = graph_slice(&graph, y, zero, all, NULL);
    y = graph_pad(&graph, y, graph_constant(&graph, shape_scalar(DTYPE_F32), 0), zero, zero, zero);
    y = graph_concatenate(&graph, &y, 1, 0);
    y = graph_slice(&graph, graph_slice(&graph, y, zero, some, NULL), from, some, NULL);
    simplify(graph_reverse(&graph, y, NULL, 0));
    assert_int_equal(graph.node_count, 2);
    assert_int_equal(result_node()->start[1], 2);
}

/* ids [5,7] -> [5,7,1] for a gather: a copy that moves every element, and no need of it */
TEST(indices_of_one_number_lose_their_dimension)
{
    struct graph_gather d = {.offset_count = 1, .offset_dims = {2}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 2, .slice_sizes = {1, 6}};
    int table = graph_parameter(&graph, F32(11, 6), "table");
    int ids = graph_parameter(&graph, shape_make(DTYPE_S32, 2, (int64_t[]){5, 7}), "ids");
    struct shape column = shape_make(DTYPE_S32, 3, (int64_t[]){5, 7, 1});
    int wide = graph_reshape(&graph, ids, column), rows = graph_gather(&graph, table, wide, &d);

    graph_output(&graph, rows, "rows", -1);
    d.collapsed_dims[0] = 0;
    graph_output(&graph, graph_scatter(&graph, REDUCE_ADD, table, wide, rows, &d), "sum", -1);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 0);
}

/* where nothing reshapes them, leaving the dimension out would be a copy */
TEST(indices_that_have_their_dimension_stay)
{
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1, 6}};
    int table = graph_parameter(&graph, F32(11, 6), "table");
    int ids = graph_parameter(&graph, shape_make(DTYPE_S32, 2, (int64_t[]){5, 1}), "ids");

    graph_output(&graph, graph_gather(&graph, table, ids, &d), "rows", -1);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 0);
}

TEST(bf16_arithmetic_is_done_in_f32)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 2, (int64_t[]){9, 5}), "x");
    int y = graph_unary(&graph, HLO_TANH, graph_binary(&graph, HLO_MULTIPLY, x, x));

    graph_output(&graph, graph_compare(&graph, COMPARE_LT, x, y), "less", -1);
    graph_output(&graph, y, "y", -1);
    run_pass(pass_upcast);
    for (int i = 0; i < graph.node_count; i++)
        if (simplify_is_elementwise(graph.node[i].op) && graph.node[i].op != HLO_CONVERT)
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
        kernel_takes = seed % 2 ? take_all : take_loops;
        run_pass(pass_fusion);
        run_pass(pass_excess);
        kernel_takes = take_all;
        teardown(NULL);
        setup(NULL);
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
        kernel_takes = seed % 2 ? take_all : take_loops;
        run_pass(pass_fusion);
        run_pass(pass_excess);
        kernel_takes = take_all;
        hlo_seed = 0;
        teardown(NULL);
        setup(NULL);
    }
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(operations_on_constants_are_done),
        RUN(adding_nothing_disappears),
        RUN(subtracting_from_nothing_stays),
        RUN(division_by_a_power_of_two_multiplies),
        RUN(a_conversion_back_disappears_only_if_exact),
        RUN(a_conversion_by_way_of_floats_keeps_its_saturation),
        RUN(chains_of_transposes_and_reshapes_become_one),
        RUN(transposed_and_reshaped_broadcasts_are_broadcasts),
        RUN(bias_of_a_product_of_three_dimensions_is_added_to_a_matrix),
        RUN(products_of_any_form_become_plain),
        RUN(a_transposed_operand_is_contracted_elsewhere),
        RUN(a_projection_into_heads_moves_nothing),
        RUN(a_product_of_few_rows_each_becomes_plain),
        RUN(reductions_of_spread_values_multiply),
        RUN(factors_of_a_whole_sum_go_behind_it),
        RUN(reductions_in_two_steps_are_one),
        RUN(moves_that_change_nothing_disappear),
        RUN(indices_of_one_number_lose_their_dimension),
        RUN(indices_that_have_their_dimension_stay),
        RUN(bf16_arithmetic_is_done_in_f32),
        RUN(erf_of_bf16_is_short),
        RUN(a_chain_becomes_one_kernel),
        RUN(sums_of_the_same_array_share_a_kernel),
        RUN(activations_go_behind_the_product_before_them),
        RUN(gelu_goes_behind_the_product_before_it),
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
