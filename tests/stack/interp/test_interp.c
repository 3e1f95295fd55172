/* The host interpreter: does every operation compute what it is named? */
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "base/floats.h"
#include "base/rng.h"
#include "stack/interp/interp.h"

#include <math.h>

static struct interp_value input[4], output[4];

static int parameter(enum graph_dtype dtype, int rank, const int64_t *dim, const void *data)
{
    struct shape shape = shape_make(dtype, rank, dim);
    size_t bytes = (size_t)shape_elems(&shape) * 4;
    void *copy = memcpy(arena_alloc(&arena, bytes), data, bytes);

    input[g.parameter_count].data = copy;
    return graph_parameter(&g, shape, arena_printf(&arena, "p%d", g.parameter_count));
}

static int vector(int count, const float *data)
{
    return parameter(DTYPE_F32, 1, (int64_t[]){count}, data);
}

static void run(enum interp_dot dot)
{
    struct err e;

    assert_int_equal(graph_verify(&g, &e), 0);
    assert_int_equal(interp_run(&g, dot, input, output, &arena, &e), 0);
}

/* evaluates `node` alone and compares bits (any NaN equals any other) */
static void assert_floats(int node, int count, const float *expected)
{
    const float *got;

    g.output_count = 0;
    graph_output(&g, node, "out", -1);
    run(INTERP_DOT_F32);
    got = output[0].data;
    assert_int_equal(shape_elems(&g.node[node].shape), count);
    for (int i = 0; i < count; i++)
        if (f32_bits(got[i]) != f32_bits(expected[i]) && !(isnan(got[i]) && isnan(expected[i])))
            fail_msg("%s: element %d is %.9g, expected %.9g", g.node[node].name, i,
                     (double)got[i], (double)expected[i]);
}

static void assert_ints(int node, int count, const int32_t *expected)
{
    g.output_count = 0;
    graph_output(&g, node, "out", -1);
    run(INTERP_DOT_F32);
    assert_memory_equal(output[0].data, expected, (size_t)count * 4);
}

#define FLOATS(...) (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__}
#define INTS(...) (int)(sizeof((int32_t[]){__VA_ARGS__}) / 4), (int32_t[]){__VA_ARGS__}

TEST(unary_operations_compute_what_they_are_named)
{
    int x = vector(FLOATS(1.0f, 4.0f, 0.25f));
    int y = vector(FLOATS(-1.5f, 0.0f, 2.0f));

    assert_floats(graph_unary(&g, HLO_NEGATE, y), FLOATS(1.5f, -0.0f, -2.0f));
    assert_floats(graph_unary(&g, HLO_ABS, y), FLOATS(1.5f, 0.0f, 2.0f));
    assert_floats(graph_unary(&g, HLO_SQRT, x), FLOATS(1.0f, 2.0f, 0.5f));
    assert_floats(graph_unary(&g, HLO_RSQRT, x), FLOATS(1.0f, 0.5f, 2.0f));
    assert_floats(graph_unary(&g, HLO_EXP, y),
                  FLOATS((float)exp(-1.5), 1.0f, (float)exp(2.0)));
    assert_floats(graph_unary(&g, HLO_LOG, x),
                  FLOATS(0.0f, (float)log(4.0), (float)log(0.25)));
    assert_floats(graph_unary(&g, HLO_TANH, y),
                  FLOATS((float)tanh(-1.5), 0.0f, (float)tanh(2.0)));
    assert_floats(graph_unary(&g, HLO_LOGISTIC, y),
                  FLOATS((float)(1 / (1 + exp(1.5))), 0.5f, (float)(1 / (1 + exp(-2.0)))));
}

TEST(binary_operations_compute_what_they_are_named)
{
    int a = vector(FLOATS(6.0f, -1.0f, 0.0f)), b = vector(FLOATS(4.0f, 2.0f, -8.0f));

    assert_floats(graph_binary(&g, HLO_ADD, a, b), FLOATS(10.0f, 1.0f, -8.0f));
    assert_floats(graph_binary(&g, HLO_SUBTRACT, a, b), FLOATS(2.0f, -3.0f, 8.0f));
    assert_floats(graph_binary(&g, HLO_MULTIPLY, a, b), FLOATS(24.0f, -2.0f, -0.0f));
    assert_floats(graph_binary(&g, HLO_DIVIDE, a, b), FLOATS(1.5f, -0.5f, -0.0f));
    assert_floats(graph_binary(&g, HLO_MAXIMUM, a, b), FLOATS(6.0f, 2.0f, 0.0f));
    assert_floats(graph_binary(&g, HLO_MINIMUM, a, b), FLOATS(4.0f, -1.0f, -8.0f));
}

TEST(maximum_and_minimum_pass_nan_on_from_either_side)
{
    int a = vector(FLOATS(NAN, 1.0f, NAN)), b = vector(FLOATS(1.0f, NAN, NAN));

    assert_floats(graph_binary(&g, HLO_MAXIMUM, a, b), FLOATS(NAN, NAN, NAN));
    assert_floats(graph_binary(&g, HLO_MINIMUM, a, b), FLOATS(NAN, NAN, NAN));
    assert_floats(graph_reduce(&g, REDUCE_MAX, a, 1), FLOATS(NAN));
    assert_floats(graph_reduce(&g, REDUCE_MIN, b, 1), FLOATS(NAN));
}

TEST(comparisons_give_predicates_and_select_chooses)
{
    int a = vector(FLOATS(1.0f, 2.0f, NAN)), b = vector(FLOATS(2.0f, 2.0f, 2.0f));
    int less = graph_compare(&g, COMPARE_LT, a, b), not_less = graph_unary(&g, HLO_NOT, less);
    int equal = graph_compare(&g, COMPARE_EQ, a, b);

    assert_ints(less, INTS(1, 0, 0));
    assert_ints(equal, INTS(0, 1, 0));
    assert_ints(graph_compare(&g, COMPARE_NE, a, b), INTS(1, 0, 1));
    assert_ints(graph_compare(&g, COMPARE_LE, a, b), INTS(1, 1, 0));
    assert_ints(graph_compare(&g, COMPARE_GT, b, a), INTS(1, 0, 0));
    assert_ints(graph_compare(&g, COMPARE_GE, a, b), INTS(0, 1, 0));
    assert_ints(not_less, INTS(0, 1, 1));
    assert_ints(graph_binary(&g, HLO_OR, less, equal), INTS(1, 1, 0));
    assert_ints(graph_binary(&g, HLO_AND, not_less, equal), INTS(0, 1, 0));
    assert_floats(graph_select(&g, less, a, b), FLOATS(1.0f, 2.0f, 2.0f));
}

TEST(integers_wrap_and_compare_as_integers)
{
    static const int32_t left[] = {INT32_MAX, -5, INT32_MIN}, right[] = {1, 3, -1};
    int a = parameter(DTYPE_S32, 1, (int64_t[]){3}, left);
    int b = parameter(DTYPE_S32, 1, (int64_t[]){3}, right);

    assert_ints(graph_binary(&g, HLO_ADD, a, b), INTS(INT32_MIN, -2, INT32_MAX));
    assert_ints(graph_binary(&g, HLO_SUBTRACT, b, a), INTS(INT32_MIN + 2, 8, INT32_MAX));
    assert_ints(graph_binary(&g, HLO_MULTIPLY, a, b), INTS(INT32_MAX, -15, INT32_MIN));
    assert_ints(graph_unary(&g, HLO_NEGATE, a), INTS(-INT32_MAX, 5, INT32_MIN));
    assert_ints(graph_unary(&g, HLO_ABS, b), INTS(1, 3, 1));
    assert_ints(graph_binary(&g, HLO_MAXIMUM, a, b), INTS(INT32_MAX, 3, -1));
    assert_ints(graph_compare(&g, COMPARE_LT, a, b), INTS(0, 1, 1));
    assert_ints(graph_reduce(&g, REDUCE_ADD, b, 1), INTS(3));
}

TEST(conversion_to_integers_truncates_and_saturates)
{
    int x = vector(FLOATS(1.9f, -1.9f, 3e9f, -3e9f, NAN));
    int k = graph_convert(&g, x, DTYPE_S32);

    assert_ints(k, INTS(1, -1, INT32_MAX, INT32_MIN, 0));
    assert_floats(graph_convert(&g, k, DTYPE_F32), FLOATS(1.0f, -1.0f, 0x1p31f, -0x1p31f, 0.0f));
}

TEST(bf16_results_are_rounded_after_every_operation)
{
    int x = graph_convert(&g, vector(FLOATS(1.0f, 1.00390625f, 1.0078125f)), DTYPE_BF16);
    int small = graph_convert(&g, graph_splat(&g, g.parameter[0], 0.00390625), DTYPE_BF16);

    /* ties to even: 1 + 2^-8 goes down to 1, 1 + 3 2^-8 up to 1 + 2^-6 */
    assert_floats(x, FLOATS(1.0f, 1.0f, 1.0078125f));
    assert_floats(graph_binary(&g, HLO_ADD, graph_binary(&g, HLO_ADD, x, small), small),
                  FLOATS(1.0f, 1.0f, 1.015625f));
    assert_floats(graph_unary(&g, HLO_EXP, x),
                  FLOATS(f32_round_to_bf16((float)exp(1.0)), f32_round_to_bf16((float)exp(1.0)),
                         f32_round_to_bf16((float)exp(1.0078125))));
    assert_floats(graph_splat(&g, x, 0.1), FLOATS(0.100097656f, 0.100097656f, 0.100097656f));
    assert_floats(graph_reduce(&g, REDUCE_ADD, graph_splat(&g, x, 0.1), 1), FLOATS(0.30078125f));
}

TEST(broadcast_transpose_reshape_and_iota_move_elements)
{
    int m = parameter(DTYPE_F32, 2, (int64_t[]){2, 3}, (float[]){1, 2, 3, 4, 5, 6});
    int rows = vector(FLOATS(7, 8));
    struct shape wide = shape_make(DTYPE_F32, 2, (int64_t[]){2, 3});
    struct shape deep = shape_make(DTYPE_F32, 3, (int64_t[]){2, 2, 3});
    struct shape flat = shape_make(DTYPE_F32, 1, (int64_t[]){6});
    int d = graph_broadcast(&g, m, deep, (int[]){0, 2});

    assert_floats(graph_broadcast(&g, rows, wide, (int[]){0}), FLOATS(7, 7, 7, 8, 8, 8));
    assert_floats(d, FLOATS(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
    assert_floats(graph_transpose(&g, m, (int[]){1, 0}), FLOATS(1, 4, 2, 5, 3, 6));
    assert_floats(graph_transpose(&g, d, (int[]){2, 0, 1}),
                  FLOATS(1, 1, 4, 4, 2, 2, 5, 5, 3, 3, 6, 6));
    assert_floats(graph_reshape(&g, m, flat), FLOATS(1, 2, 3, 4, 5, 6));
    assert_floats(graph_iota(&g, wide, 0), FLOATS(0, 0, 0, 1, 1, 1));
    assert_floats(graph_iota(&g, wide, 1), FLOATS(0, 1, 2, 0, 1, 2));
    assert_floats(graph_splat(&g, m, 2.5), FLOATS(2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f));
    assert_floats(graph_all_reduce(&g, m), FLOATS(1, 2, 3, 4, 5, 6));
}

TEST(reduce_runs_over_any_set_of_dimensions)
{
    int x = parameter(DTYPE_F32, 3, (int64_t[]){2, 2, 3},
                      (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});

    assert_floats(graph_reduce(&g, REDUCE_ADD, x, 7), FLOATS(78));
    assert_floats(graph_reduce(&g, REDUCE_ADD, x, 1), FLOATS(8, 10, 12, 14, 16, 18));
    assert_floats(graph_reduce(&g, REDUCE_ADD, x, 2), FLOATS(5, 7, 9, 17, 19, 21));
    assert_floats(graph_reduce(&g, REDUCE_ADD, x, 5), FLOATS(30, 48));
    assert_floats(graph_reduce(&g, REDUCE_MAX, x, 4), FLOATS(3, 6, 9, 12));
    assert_floats(graph_reduce(&g, REDUCE_MIN, x, 6), FLOATS(1, 7));
    assert_floats(graph_reduce(&g, REDUCE_ADD, x, 0),
                  FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

static float *random_floats(int64_t count, uint64_t seed)
{
    float *x = arena_array(&arena, (size_t)count, sizeof(*x));
    struct rng rng;

    rng_init(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        x[i] = rng_uniform(&rng, -1.0f, 1.0f);
    return x;
}

enum { M = 13, N = 9, K = 37 };

/*
 * dot by definition in double; |error| of a float sum of K products is at most
 * K 2^-24 (1 + small) times the sum of magnitudes.
 */
static void check_dot(const float *a, const float *b, int lhs_contract, int rhs_contract,
                      bool is_rounded, const float *got)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0, magnitude = 0;

            for (int k = 0; k < K; k++) {
                float x = lhs_contract ? a[i * K + k] : a[k * M + i];
                float y = rhs_contract ? b[j * K + k] : b[k * N + j];
                double product = is_rounded ? (double)f32_round_to_bf16(x) *
                                              (double)f32_round_to_bf16(y)
                                            : (double)x * (double)y;

                sum += product;
                magnitude += fabs(product);
            }
            assert_true(fabs((double)got[i * N + j] - sum) <= K * 0x1.1p-24 * magnitude);
        }
    }
}

static void run_dot(int lhs_contract, int rhs_contract, enum graph_precision precision,
                    enum interp_dot mode, bool is_rounded)
{
    float *a = random_floats(M * K, 1), *b = random_floats(N * K, 2);
    int lhs, rhs;

    graph_fini(&g);
    graph_init(&g, &arena, "dot");
    lhs = parameter(DTYPE_F32, 2, lhs_contract ? (int64_t[]){M, K} : (int64_t[]){K, M}, a);
    rhs = parameter(DTYPE_F32, 2, rhs_contract ? (int64_t[]){N, K} : (int64_t[]){K, N}, b);
    graph_output(&g, graph_dot(&g, lhs, rhs, lhs_contract, rhs_contract, precision), "c", -1);
    run(mode);
    check_dot(a, b, lhs_contract, rhs_contract, is_rounded, output[0].data);
}

TEST(dot_contracts_in_all_four_roles)
{
    for (int roles = 0; roles < 4; roles++)
        run_dot(roles & 1, roles >> 1, PRECISION_DEFAULT, INTERP_DOT_F32, false);
}

TEST(dot_rounds_operands_only_where_precision_is_default)
{
    run_dot(1, 0, PRECISION_DEFAULT, INTERP_DOT_BF16, true);
    run_dot(1, 0, PRECISION_HIGH, INTERP_DOT_BF16, false);
    run_dot(1, 0, PRECISION_HIGHEST, INTERP_DOT_BF16, false);
}

TEST(values_live_until_their_last_reader_and_outputs_to_the_end)
{
    int x = vector(FLOATS(1, 2, 3, 4)), early, y;

    early = graph_binary(&g, HLO_ADD, x, x);
    y = early;
    for (int i = 0; i < 20; i++)                /* dead values in between take slots too */
        graph_unary(&g, HLO_NEGATE, y = graph_binary(&g, HLO_ADD, y, x));
    graph_output(&g, early, "early", -1);
    graph_output(&g, graph_binary(&g, HLO_SUBTRACT, y, early), "late", -1);
    graph_output(&g, early, "again", -1);
    graph_output(&g, x, "input", 0);
    run(INTERP_DOT_F32);
    assert_memory_equal(output[0].data, ((float[]){2, 4, 6, 8}), 16);
    assert_memory_equal(output[1].data, ((float[]){20, 40, 60, 80}), 16);
    assert_memory_equal(output[2].data, ((float[]){2, 4, 6, 8}), 16);
    assert_memory_equal(output[3].data, ((float[]){1, 2, 3, 4}), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(unary_operations_compute_what_they_are_named),
        RUN(binary_operations_compute_what_they_are_named),
        RUN(maximum_and_minimum_pass_nan_on_from_either_side),
        RUN(comparisons_give_predicates_and_select_chooses),
        RUN(integers_wrap_and_compare_as_integers),
        RUN(conversion_to_integers_truncates_and_saturates),
        RUN(bf16_results_are_rounded_after_every_operation),
        RUN(broadcast_transpose_reshape_and_iota_move_elements),
        RUN(reduce_runs_over_any_set_of_dimensions),
        RUN(dot_contracts_in_all_four_roles),
        RUN(dot_rounds_operands_only_where_precision_is_default),
        RUN(values_live_until_their_last_reader_and_outputs_to_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
