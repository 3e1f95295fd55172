/* Gradients: do they equal finite differences, and what happens at ties? */
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "stack/interp/interp.h"

#include <math.h>

enum { PARAMETER_MAX = 4, ELEMS_MAX = 16, ROWS = 3, COLUMNS = 4 };

static float value[PARAMETER_MAX][ELEMS_MAX];

static struct shape f32(int rank, int64_t a, int64_t b)
{
    return shape_make(DTYPE_F32, rank, (int64_t[]){a, b});
}

static int parameter(struct shape shape, struct rng *rng)
{
    int index = g.parameter_count;

    assert_true(index < PARAMETER_MAX && shape_elems(&shape) <= ELEMS_MAX);
    for (int i = 0; i < ELEMS_MAX; i++)
        value[index][i] = rng_uniform(rng, -1.0f, 1.0f);
    return graph_parameter(&g, shape, arena_printf(&arena, "p%d", index));
}

/* output `which` of the graph on the current parameter values */
static const float *evaluate(int which)
{
    struct interp_value in[PARAMETER_MAX], *out;
    struct err e;

    for (int i = 0; i < PARAMETER_MAX; i++)
        in[i].data = value[i];
    out = arena_array(&arena, (size_t)g.output_count, sizeof(*out));
    if (interp_run(&g, INTERP_DOT_F32, in, out, &arena, &e) != 0)
        fail_msg("%s", e.msg);
    return out[which].data;
}

/* makes `loss` output 0 and its gradients outputs 1.. */
static void differentiate(int loss)
{
    int gradient[PARAMETER_MAX];
    struct err e;

    if (graph_grad(&g, loss, g.parameter, g.parameter_count, gradient, &e) != 0)
        fail_msg("%s", e.msg);
    graph_output(&g, loss, "loss", -1);
    for (int i = 0; i < g.parameter_count; i++) {
        assert_true(shape_equal(&g.node[gradient[i]].shape, &g.node[g.parameter[i]].shape));
        graph_output(&g, gradient[i], "gradient", -1);
    }
    graph_eliminate_common(&g);
    if (graph_verify(&g, &e) != 0)
        fail_msg("%s", e.msg);
}

static double loss_at(float *x, double at)
{
    float saved = *x;
    double loss;

    *x = (float)at;
    loss = (double)evaluate(0)[0];
    *x = saved;
    return loss;
}

/* five-point difference with step h: error h^4 f^(5) / 30 and f32 noise / h */
static double slope(float *x, double h)
{
    double at = (double)*x;

    return (8 * (loss_at(x, at + h) - loss_at(x, at - h)) -
            (loss_at(x, at + 2 * h) - loss_at(x, at - 2 * h))) / (12 * h);
}

/*
 * Compares every gradient with finite differences. An element where two step
 * sizes disagree stands near a kink and is passed over; `least` of them must
 * have been compared.
 */
static void check_gradients(int loss, double least)
{
    int compared = 0, all = 0;

    differentiate(loss);
    for (int i = 0; i < g.parameter_count; i++) {
        const float *gradient = evaluate(1 + i);
        int64_t elems = shape_elems(&g.node[g.parameter[i]].shape);

        for (int64_t k = 0; k < elems; k++) {
            double wide = slope(&value[i][k], 0x1p-5), narrow = slope(&value[i][k], 0x1p-6);
            double allowed = 3e-4 * (1 + fabs(narrow)), is = (double)gradient[k];

            all++;
            if (fabs(wide - narrow) > allowed)
                continue;
            compared++;
            if (fabs(is - narrow) > allowed)
                fail_msg("%s[%d]: gradient %g, slope %g", g.node[g.parameter[i]].name, (int)k, is,
                         narrow);
        }
    }
    assert_true(compared >= least * all);
}

/* a scalar that weighs every element differently */
static int weighted_sum(int x, struct rng *rng)
{
    struct shape shape = g.node[x].shape;
    int along = graph_iota(&g, shape, shape.rank - 1);

    along = graph_binary(&g, HLO_ADD, graph_binary(&g, HLO_MULTIPLY, along,
                                                   graph_splat(&g, along, 0.3)),
                         graph_splat(&g, along, (double)rng_uniform(rng, 0.2f, 0.6f)));
    x = graph_binary(&g, HLO_MULTIPLY, x, along);
    return graph_reduce(&g, REDUCE_ADD, x, (1u << shape.rank) - 1);
}

/* x moved to lo.. so that log, sqrt and division are smooth */
static int at_least(int x, double lo)
{
    return graph_binary(&g, HLO_ADD, x, graph_splat(&g, x, lo));
}

TEST(unary_gradients_equal_finite_differences)
{
    static const enum graph_op ops[] = {HLO_NEGATE, HLO_ABS, HLO_EXP, HLO_LOG, HLO_SQRT,
                                        HLO_RSQRT, HLO_TANH, HLO_LOGISTIC};

    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        struct rng rng;
        int x;

        rng_init(&rng, i);
        graph_fini(&g);
        graph_init(&g, &arena, "unary");
        x = parameter(f32(2, ROWS, COLUMNS), &rng);
        if (ops[i] == HLO_LOG || ops[i] == HLO_SQRT || ops[i] == HLO_RSQRT)
            x = at_least(x, 2.0);
        check_gradients(weighted_sum(graph_unary(&g, ops[i], x), &rng), 0.8);
    }
}

TEST(binary_gradients_equal_finite_differences)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_DIVIDE,
                                        HLO_MAXIMUM, HLO_MINIMUM};

    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        struct rng rng;
        int x, y;

        rng_init(&rng, 100 + i);
        graph_fini(&g);
        graph_init(&g, &arena, "binary");
        x = parameter(f32(2, ROWS, COLUMNS), &rng);
        y = parameter(f32(2, ROWS, COLUMNS), &rng);
        if (ops[i] == HLO_DIVIDE)
            y = at_least(y, 2.0);
        check_gradients(weighted_sum(graph_binary(&g, ops[i], x, y), &rng), 0.8);
    }
}

TEST(dot_gradients_equal_finite_differences_and_transpose_nothing)
{
    for (int roles = 0; roles < 4; roles++) {
        int lhs_contract = roles & 1, rhs_contract = roles >> 1, x, y;
        struct rng rng;

        rng_init(&rng, 200 + (uint64_t)roles);
        graph_fini(&g);
        graph_init(&g, &arena, "dot");
        x = parameter(lhs_contract ? f32(2, 5, 3) : f32(2, 3, 5), &rng);
        y = parameter(rhs_contract ? f32(2, 2, 3) : f32(2, 3, 2), &rng);
        x = graph_dot(&g, x, y, lhs_contract, rhs_contract, PRECISION_HIGH);
        check_gradients(weighted_sum(graph_unary(&g, HLO_TANH, x), &rng), 1.0);
        for (int i = 0; i < g.node_count; i++) {
            assert_int_not_equal(g.node[i].op, HLO_TRANSPOSE);
            if (g.node[i].op == HLO_DOT)
                assert_int_equal(g.node[i].precision, PRECISION_HIGH);
        }
    }
}

TEST(gradients_of_a_dot_with_an_order_of_its_own_equal_finite_differences)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .has_order = 1,
                            .order = {2, 0, 1}};
    struct rng rng;
    int x, y;

    rng_init(&rng, 210);
    x = parameter(shape_make(DTYPE_F32, 3, (int64_t[]){2, 2, 3}), &rng);
    y = parameter(f32(2, 3, 2), &rng);
    x = graph_dot_general(&g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
    check_gradients(weighted_sum(graph_unary(&g, HLO_TANH, x), &rng), 1.0);
}

TEST(gradients_of_moves_and_reductions_equal_finite_differences)
{
    struct rng rng;
    int x, y, z, m;

    rng_init(&rng, 300);
    x = parameter(f32(2, ROWS, COLUMNS), &rng);
    y = parameter(f32(1, COLUMNS, 0), &rng);
    z = graph_transpose(&g, x, (int[]){1, 0});
    z = graph_reshape(&g, z, f32(2, ROWS, COLUMNS));
    z = graph_binary(&g, HLO_MULTIPLY, z, graph_broadcast(&g, y, f32(2, ROWS, COLUMNS),
                                                          (int[]){1}));
    m = graph_reduce(&g, REDUCE_MAX, z, 2);
    m = graph_binary(&g, HLO_ADD, m, graph_reduce(&g, REDUCE_MIN, z, 2));
    m = graph_broadcast(&g, m, f32(2, ROWS, COLUMNS), (int[]){0});
    z = graph_unary(&g, HLO_EXP, graph_binary(&g, HLO_SUBTRACT, z, m));
    z = graph_binary(&g, HLO_ADD, weighted_sum(z, &rng),
                     weighted_sum(graph_reduce(&g, REDUCE_ADD, z, 1), &rng));
    check_gradients(z, 0.8);
}

/* one random smooth operation on tensors of one shape: a kink would spoil the differences */
static int random_step(int a, int b, struct rng *rng)
{
    int square = graph_binary(&g, HLO_MULTIPLY, b, b), right;

    switch (rng_below(rng, 9)) {
    case 0: return graph_binary(&g, HLO_ADD, a, b);
    case 1: return graph_binary(&g, HLO_MULTIPLY, a, b);
    case 2: return graph_binary(&g, HLO_DIVIDE, a, at_least(square, 1.0));
    case 3: return graph_unary(&g, HLO_LOG, at_least(square, 1.5));
    case 4: return graph_unary(&g, HLO_RSQRT, at_least(square, 1.5));
    case 5: return graph_unary(&g, HLO_LOGISTIC, graph_binary(&g, HLO_SUBTRACT, a, b));
    case 6:
        b = graph_dot(&g, a, b, 0, 0, PRECISION_DEFAULT);
        return graph_unary(&g, HLO_TANH, graph_dot(&g, a, b, 1, 1, PRECISION_DEFAULT));
    case 7:
        return graph_unary(&g, HLO_EXP, graph_unary(&g, HLO_NEGATE, square));
    default:
        right = graph_iota(&g, g.node[a].shape, 1);
        right = graph_compare(&g, COMPARE_GT, right, graph_splat(&g, right, 1.5));
        return graph_select(&g, right, graph_unary(&g, HLO_SQRT, at_least(square, 1.0)), a);
    }
}

TEST(gradients_of_random_graphs_equal_finite_differences)
{
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct rng rng;
        int pool[10];

        rng_init(&rng, 1000 + seed);
        graph_fini(&g);
        graph_init(&g, &arena, "random");
        for (int i = 0; i < 2; i++)
            pool[i] = parameter(f32(2, ROWS, COLUMNS), &rng);
        for (int i = 2; i < 10; i++) {
            int a = pool[rng_below(&rng, (uint32_t)i)], b = pool[rng_below(&rng, (uint32_t)i)];

            pool[i] = graph_unary(&g, HLO_TANH, random_step(a, b, &rng));
        }
        check_gradients(weighted_sum(graph_binary(&g, HLO_ADD, pool[8], pool[9]), &rng), 1.0);
    }
}

TEST(ties_go_to_the_second_operand_and_are_shared_by_reduce)
{
    struct rng rng;
    int x, y, sum;

    rng_init(&rng, 1);
    x = parameter(f32(1, 4, 0), &rng);
    y = graph_binary(&g, HLO_MAXIMUM, x, graph_splat(&g, x, 0.0));
    sum = graph_binary(&g, HLO_ADD, graph_reduce(&g, REDUCE_ADD, y, 1),
                       graph_reduce(&g, REDUCE_MAX, x, 1));
    sum = graph_binary(&g, HLO_ADD, sum,
                       graph_reduce(&g, REDUCE_ADD, graph_unary(&g, HLO_ABS, x), 1));
    differentiate(sum);
    memcpy(value[0], ((float[]){0.0f, -1.0f, 2.0f, 2.0f}), 16);
    /* relu 0 0 1 1, largest 0 0 1/2 1/2, abs 0 -1 1 1 */
    assert_memory_equal(evaluate(1), ((float[]){0.0f, -1.0f, 2.5f, 2.5f}), 16);
}

TEST(gradient_through_bf16_is_rounded_and_comes_back_as_f32)
{
    struct rng rng;
    int x, y;

    rng_init(&rng, 2);
    x = parameter(f32(1, 4, 0), &rng);
    y = graph_convert(&g, x, DTYPE_BF16);
    y = graph_convert(&g, graph_binary(&g, HLO_MULTIPLY, y, y), DTYPE_F32);
    y = graph_binary(&g, HLO_MULTIPLY, y, graph_splat(&g, y, 1.2345));
    differentiate(graph_reduce(&g, REDUCE_ADD, y, 1));
    for (int i = 0; i < 4; i++) {
        float half = f32_round_to_bf16(f32_round_to_bf16(1.2345f) *
                                       f32_round_to_bf16(value[0][i]));

        assert_true(evaluate(1)[i] == half + half);
    }
}

TEST(independent_parameters_get_zeros_and_comparisons_no_gradient)
{
    struct rng rng;
    int x, y, chosen;

    rng_init(&rng, 3);
    x = parameter(f32(1, 4, 0), &rng);
    y = parameter(f32(1, 4, 0), &rng);
    parameter(f32(2, 2, 3), &rng);
    chosen = graph_select(&g, graph_compare(&g, COMPARE_LT, y, y), x, graph_splat(&g, x, 1.0));
    differentiate(graph_reduce(&g, REDUCE_ADD, chosen, 1));
    assert_memory_equal(evaluate(1), ((float[4]){0}), 16);
    assert_memory_equal(evaluate(2), ((float[4]){0}), 16);
    assert_memory_equal(evaluate(3), ((float[6]){0}), 24);
}

TEST(backward_goes_on_from_a_given_gradient)
{
    struct rng rng;
    int x, y, seed, gradient;
    struct err e;

    rng_init(&rng, 4);
    x = parameter(f32(1, 4, 0), &rng);
    y = graph_binary(&g, HLO_MULTIPLY, x, x);
    seed = graph_iota(&g, f32(1, 4, 0), 0);
    assert_int_equal(graph_backward(&g, y, seed, &x, 1, &gradient, &e), 0);
    graph_output(&g, gradient, "gradient", -1);
    for (int i = 0; i < 4; i++)
        assert_true(evaluate(0)[i] == 2 * (float)i * value[0][i]);
}

TEST(gradient_of_a_gradient_is_the_second_derivative)
{
    struct rng rng;
    int x, y, first, second;
    struct err e;

    rng_init(&rng, 5);
    x = parameter(f32(1, 4, 0), &rng);
    y = graph_reduce(&g, REDUCE_ADD, graph_unary(&g, HLO_EXP, x), 1);
    assert_int_equal(graph_grad(&g, y, &x, 1, &first, &e), 0);
    y = graph_reduce(&g, REDUCE_ADD, graph_binary(&g, HLO_MULTIPLY, first, first), 1);
    assert_int_equal(graph_grad(&g, y, &x, 1, &second, &e), 0);
    graph_output(&g, second, "second", -1);
    for (int i = 0; i < 4; i++)
        assert_float_equal(evaluate(0)[i], 2 * expf(2 * value[0][i]), 1e-5f);
}

TEST(what_has_no_derivative_is_an_error_naming_the_node)
{
    struct rng rng;
    int x, y, gradient;
    struct err e;

    rng_init(&rng, 6);
    x = parameter(f32(1, 4, 0), &rng);
    y = graph_reduce(&g, REDUCE_MUL, x, 0);
    assert_int_equal(graph_grad(&g, graph_reduce(&g, REDUCE_ADD, y, 1), &x, 1, &gradient, &e),
                     -1);
    assert_string_equal(e.msg, "reduce.1: reduce has no derivative");
    assert_int_equal(graph_grad(&g, y, &x, 1, &gradient, &e), -1);
    assert_string_equal(e.msg,
                        "reduce.1: the loss must be a scalar f32 or bf16, not f32[4]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(unary_gradients_equal_finite_differences),
        RUN(binary_gradients_equal_finite_differences),
        RUN(dot_gradients_equal_finite_differences_and_transpose_nothing),
        RUN(gradients_of_a_dot_with_an_order_of_its_own_equal_finite_differences),
        RUN(gradients_of_moves_and_reductions_equal_finite_differences),
        RUN(gradients_of_random_graphs_equal_finite_differences),
        RUN(ties_go_to_the_second_operand_and_are_shared_by_reduce),
        RUN(gradient_through_bf16_is_rounded_and_comes_back_as_f32),
        RUN(independent_parameters_get_zeros_and_comparisons_no_gradient),
        RUN(backward_goes_on_from_a_given_gradient),
        RUN(gradient_of_a_gradient_is_the_second_derivative),
        RUN(what_has_no_derivative_is_an_error_naming_the_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
