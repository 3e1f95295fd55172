/*
 * Do compiled matrix products come out as they should, in every role, shape
 * and precision, and with every loop that keeps a program short?
 *
 * They run on the simulated core and are compared with a double sum and with
 * OpenBLAS, within a bound that follows from their length and precision.
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

/*
 * Results against the double sum, and OpenBLAS's against the same: each of
 * `steps` (for BLAS k) roundings adds at most one unit of the sum of magnitudes.
 */
static void check_dot(const float *out, const float *blas, const float *a, const float *b,
                      int64_t m, int64_t n, int64_t k, bool a_by_columns, bool b_by_columns,
                      bool round, double steps)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, magnitude = 0;

            for (int64_t p = 0; p < k; p++) {
                float x = a_by_columns ? a[p * m + i] : a[i * k + p];
                float y = b_by_columns ? b[j * k + p] : b[p * n + j];

                if (round) {
                    x = f32_round_to_bf16(x);
                    y = f32_round_to_bf16(y);
                }
                sum += (double)x * y;
                magnitude += fabs((double)x * y);
            }
            if (fabs(out[i * n + j] - sum) > steps * UNIT_ROUNDOFF * magnitude ||
                fabs((double)out[i * n + j] - blas[i * n + j]) >
                    (steps + (double)k) * UNIT_ROUNDOFF * magnitude)
                fail_msg("%dx%dx%d element %d,%d: %.9g, expected %.9g, BLAS %.9g", (int)m, (int)k,
                         (int)n, (int)i, (int)j, (double)out[i * n + j], sum,
                         (double)blas[i * n + j]);
        }
}

static void run_dot_with(const char *set, int64_t m, int64_t n, int64_t k, int lhs_contract,
                         int rhs_contract, enum graph_precision precision)
{
    struct graph_run run = {.slice = "v3-1", .set = set};
    struct interp_value values[2], blas[1];
    struct arena a;
    struct graph g;
    struct err e;
    void *out[1];
    int x, y, passes = precision == PRECISION_HIGHEST ? 6 : precision == PRECISION_HIGH ? 3 : 1;

    arena_init(&a);
    graph_init(&g, &a, "dot");
    x = graph_parameter(&g, lhs_contract ? matrix(m, k) : matrix(k, m), "x");
    y = graph_parameter(&g, rhs_contract ? matrix(n, k) : matrix(k, n), "y");
    graph_output(&g, graph_dot(&g, x, y, lhs_contract, rhs_contract, precision), "out", -1);
    const void *input[] = {random_floats(&a, m * k, -2, 2, 1),
                           random_floats(&a, n * k, -2, 2, 2)};
    for (int i = 0; i < 2; i++)
        values[i].data = (void *)(uintptr_t)input[i];
    assert_int_equal(interp_run(&g, INTERP_DOT_BF16, values, blas, &a, &e), 0);
    run_graph(&run, &g, input, out, &a);
    /* each product and sum of each pass rounds once; splits drop 2^-24 (6 passes), 2^-16 (3) */
    check_dot(out[0], blas[0].data, input[0], input[1], m, n, k, !lhs_contract, rhs_contract,
              precision == PRECISION_DEFAULT,
              (double)(passes * k + 8) + (precision == PRECISION_HIGH ? 3 * 256 : 4));
    graph_fini(&g);
    arena_fini(&a);
}

static void run_dot(int64_t m, int64_t n, int64_t k, int lhs_contract, int rhs_contract,
                    enum graph_precision precision)
{
    run_dot_with(NULL, m, n, k, lhs_contract, rhs_contract, precision);
}

TEST(dots_of_awkward_shapes_match_in_every_role)
{
    static const int64_t sizes[][3] = {{1, 1, 1},     {7, 9, 8},     {8, 10, 128}, {64, 128, 784},
                                       {9, 129, 127}, {128, 10, 64}, {130, 257, 129}};

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (int role = 0; role < 4; role++)
            run_dot(sizes[i][0], sizes[i][1], sizes[i][2], role & 1, role >> 1,
                    PRECISION_DEFAULT);
}

TEST(dots_of_higher_precision_approach_f32)
{
    run_dot(64, 128, 300, 1, 0, PRECISION_HIGHEST);
    run_dot(40, 10, 128, 0, 1, PRECISION_HIGHEST);
    run_dot(64, 128, 300, 1, 0, PRECISION_HIGH);
    run_dot(40, 10, 128, 0, 1, PRECISION_HIGH);
}

TEST(dots_loop_where_the_instruction_memory_is_small)
{
    static const struct { const char *set; int64_t m, n, k; } rows[] = {
        {"core.imem_bundles=1500", 64, 600, 1024},      /* over columns */
        {"core.imem_bundles=2000", 520, 130, 600},      /* over rows and the contraction too */
        {"core.imem_bundles=1100", 300, 300, 300},       /* in short rounds */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int role = 0; role < 4; role++)
            run_dot_with(rows[i].set, rows[i].m, rows[i].n, rows[i].k, role & 1, role >> 1,
                         PRECISION_DEFAULT);
    run_dot_with("core.imem_bundles=6000", 300, 130, 600, 0, 1, PRECISION_HIGHEST);
}

/*
 * Six weight tiles go through two units with two staging registers each, so the last two
 * follow on the first two. Twice as wide as a tile, an array could still hold the infinity
 * of the first one, and zero times that is no number.
 */
TEST(an_infinite_weight_reaches_its_own_column_only)
{
    enum { M = 8, K = 128, N = 6 * 128, BAD = 5 };
    struct graph_run run = {.slice = "v6e-1"};
    struct arena a;
    struct graph g;
    float *weights;
    void *out[1];
    int x, y;

    arena_init(&a);
    graph_init(&g, &a, "dot");
    x = graph_parameter(&g, matrix(M, K), "x");
    y = graph_parameter(&g, matrix(K, N), "y");
    graph_output(&g, graph_dot(&g, x, y, 1, 0, PRECISION_DEFAULT), "out", -1);
    weights = random_floats(&a, K * N, -2, 2, 2);
    weights[3 * N + BAD] = INFINITY;
    run_graph(&run, &g, (const void *[]){random_floats(&a, M * K, 1, 2, 1), weights}, out, &a);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            assert_true(isinf(((const float *)out[0])[i * N + j]) == (j == BAD) &&
                        !isnan(((const float *)out[0])[i * N + j]));
    graph_fini(&g);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots_of_awkward_shapes_match_in_every_role),
        cmocka_unit_test(dots_of_higher_precision_approach_f32),
        cmocka_unit_test(an_infinite_weight_reaches_its_own_column_only),
        cmocka_unit_test(dots_loop_where_the_instruction_memory_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
