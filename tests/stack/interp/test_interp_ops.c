/* The reference interpreter's operations against values worked out by hand or by brute force. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/floats.h"
#include "base/units.h"

#include <math.h>

static struct graph_rig r;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define EXPECT(node, ...) \
    grig_expect(grig_run(&r, node), RIG_VALUES(__VA_ARGS__), \
               (int64_t)COUNT_OF(RIG_VALUES(__VA_ARGS__)), 0.0)
#define NEAR(node, ...) \
    grig_expect(grig_run(&r, node), RIG_VALUES(__VA_ARGS__), \
               (int64_t)COUNT_OF(RIG_VALUES(__VA_ARGS__)), 1e-6)

static int row(enum graph_dtype t, int64_t count, const double *values)
{
    return grig_parameter(&r, t, 1, &count, values);
}

#define ROW(t, ...) \
    row(t, (int64_t)COUNT_OF(RIG_VALUES(__VA_ARGS__)), RIG_VALUES(__VA_ARGS__))
#define INF ((double)INFINITY)
#define NOT_A_NUMBER ((double)NAN)

TEST(unary_floats)
{
    int x = ROW(DTYPE_F32, -2.5, -0.5, 0.5, 1.5, 2.5, -0.0, INF);

    EXPECT(graph_unary(&r.g, HLO_SIGN, x), -1, -1, 1, 1, 1, -0.0, 1);
    EXPECT(graph_unary(&r.g, HLO_FLOOR, x), -3, -1, 0, 1, 2, -0.0, INF);
    EXPECT(graph_unary(&r.g, HLO_CEIL, x), -2, -0.0, 1, 2, 3, -0.0, INF);
    EXPECT(graph_unary(&r.g, HLO_ROUND_EVEN, x), -2, -0.0, 0, 2, 2, -0.0, INF);
    EXPECT(graph_unary(&r.g, HLO_ROUND_AFZ, x), -3, -1, 1, 2, 3, -0.0, INF);
    EXPECT(graph_unary(&r.g, HLO_IS_FINITE, x), 1, 1, 1, 1, 1, 1, 0);
    EXPECT(graph_unary(&r.g, HLO_COPY, x), -2.5, -0.5, 0.5, 1.5, 2.5, -0.0, INF);
}

TEST(transcendental_functions)
{
    int x = ROW(DTYPE_F32, 0.25, 1.0);

    NEAR(graph_unary(&r.g, HLO_EXPM1, x), 0.28402541668774150, 1.7182818284590451);
    NEAR(graph_unary(&r.g, HLO_LOG1P, x), 0.22314355131420976, 0.69314718055994529);
    NEAR(graph_unary(&r.g, HLO_CBRT, x), 0.62996052494743659, 1.0);
    NEAR(graph_unary(&r.g, HLO_ERF, x), 0.27632639016823696, 0.84270079294971478);
    NEAR(graph_unary(&r.g, HLO_SINE, x), 0.24740395925452294, 0.84147098480789650);
    NEAR(graph_unary(&r.g, HLO_COSINE, x), 0.96891242171064473, 0.54030230586813977);
    NEAR(graph_unary(&r.g, HLO_TAN, x), 0.25534192122103627, 1.5574077246549023);
}

TEST(binary_floats)
{
    int x = ROW(DTYPE_F32, 7.5, -7.5, 1.0, 2.0), y = ROW(DTYPE_F32, 2.0, 2.0, -1.0, 0.5);

    EXPECT(graph_binary(&r.g, HLO_REMAINDER, x, y), 1.5, -1.5, 0, 0);
    EXPECT(graph_binary(&r.g, HLO_POWER, x, y), 56.25, 56.25, 1, (double)sqrtf(2.0f));
    NEAR(graph_binary(&r.g, HLO_ATAN2, x, y), 1.3101939350475555, -1.3101939350475555,
         2.3561944901923448, 1.3258176636680326);
}

TEST(integers_wrap_in_their_width)
{
    int s = ROW(DTYPE_S8, 127, -128, 100, -7), t = ROW(DTYPE_S8, 1, -1, 100, 2);
    int u = ROW(DTYPE_U8, 255, 16, 3, 200), v = ROW(DTYPE_U8, 1, 16, 5, 7);
    int w = ROW(DTYPE_U32, 4294967295.0, 5, 7, 0), z = ROW(DTYPE_U32, 2, 0, 2, 1);

    EXPECT(graph_binary(&r.g, HLO_ADD, s, t), -128, 127, -56, -5);
    EXPECT(graph_binary(&r.g, HLO_MULTIPLY, s, t), 127, -128, 16, -14);
    EXPECT(graph_binary(&r.g, HLO_DIVIDE, s, t), 127, -128, 1, -3);
    EXPECT(graph_binary(&r.g, HLO_REMAINDER, s, t), 0, 0, 0, -1);
    EXPECT(graph_binary(&r.g, HLO_SUBTRACT, u, v), 254, 0, 254, 193);
    EXPECT(graph_binary(&r.g, HLO_MULTIPLY, u, v), 255, 0, 15, 120);
    EXPECT(graph_binary(&r.g, HLO_DIVIDE, w, z), 2147483647.0, 4294967295.0, 3, 0);
    EXPECT(graph_binary(&r.g, HLO_REMAINDER, w, z), 1, 5, 1, 0);
    EXPECT(graph_binary(&r.g, HLO_MAXIMUM, w, z), 4294967295.0, 5, 7, 1);
    EXPECT(graph_compare(&r.g, COMPARE_GT, w, z), 1, 1, 1, 0);
    EXPECT(graph_unary(&r.g, HLO_NEGATE, s), -127, -128, -100, 7);
    EXPECT(graph_unary(&r.g, HLO_ABS, s), 127, -128, 100, 7);
    EXPECT(graph_unary(&r.g, HLO_SIGN, s), 1, -1, 1, -1);
    EXPECT(graph_unary(&r.g, HLO_NOT, u), 0, 239, 252, 55);
    EXPECT(graph_unary(&r.g, HLO_POPCNT, u), 8, 1, 2, 3);
    EXPECT(graph_unary(&r.g, HLO_CLZ, u), 0, 3, 6, 0);
    EXPECT(graph_unary(&r.g, HLO_CLZ, w), 0, 29, 29, 32);
}

TEST(integer_powers_and_shifts)
{
    int x = ROW(DTYPE_S32, 3, -2, 2, -1), y = ROW(DTYPE_S32, 4, 3, -1, -3);
    int s = ROW(DTYPE_S8, -64, 1, -1, 5), by = ROW(DTYPE_S8, 1, 7, 9, 0);
    int large = ROW(DTYPE_U32, 4294967295.0, 65537, 4000000000.0, 3);
    int exponent = ROW(DTYPE_U32, 2, 3, 3, 20);
    int u = ROW(DTYPE_U32, 1, 0x80000000, 0xf0, 8), n = ROW(DTYPE_U32, 31, 31, 32, 3);

    EXPECT(graph_binary(&r.g, HLO_POWER, x, y), 81, -8, 0, -1);
    /* squares above 2^63 on the way, modulo 2^32 at the end */
    EXPECT(graph_binary(&r.g, HLO_POWER, large, exponent), 1, 196609, 0.0, 3486784401.0);
    EXPECT(graph_binary(&r.g, HLO_SHIFT_LEFT, s, by), -128, -128, 0, 5);
    EXPECT(graph_binary(&r.g, HLO_SHIFT_RIGHT_LOGICAL, s, by), 96, 0, 0, 5);
    EXPECT(graph_binary(&r.g, HLO_SHIFT_RIGHT_ARITHMETIC, s, by), -32, 0, -1, 5);
    EXPECT(graph_binary(&r.g, HLO_SHIFT_LEFT, u, n), 0x80000000, 0, 0, 64);
    EXPECT(graph_binary(&r.g, HLO_SHIFT_RIGHT_LOGICAL, u, n), 0, 1, 0, 1);
    EXPECT(graph_binary(&r.g, HLO_XOR, u, n), 30, 0x8000001f, 0xd0, 11);
}

TEST(predicates)
{
    int a = ROW(DTYPE_PRED, 0, 0, 1, 1), b = ROW(DTYPE_PRED, 0, 1, 0, 1);

    EXPECT(graph_unary(&r.g, HLO_NOT, a), 1, 1, 0, 0);
    EXPECT(graph_binary(&r.g, HLO_AND, a, b), 0, 0, 0, 1);
    EXPECT(graph_binary(&r.g, HLO_OR, a, b), 0, 1, 1, 1);
    EXPECT(graph_binary(&r.g, HLO_XOR, a, b), 0, 1, 1, 0);
}

TEST(conversions)
{
    int x = ROW(DTYPE_F32, -1.5, 300.7, NOT_A_NUMBER, 5e9), s = ROW(DTYPE_S32, -1, 300, 0, 65537);

    EXPECT(graph_convert(&r.g, x, DTYPE_S8), -1, 127, 0, 127);
    EXPECT(graph_convert(&r.g, x, DTYPE_U8), 0, 255, 0, 255);
    EXPECT(graph_convert(&r.g, x, DTYPE_U32), 0, 300, 0, 4294967295.0);
    EXPECT(graph_convert(&r.g, x, DTYPE_PRED), 1, 1, 1, 1);
    EXPECT(graph_convert(&r.g, s, DTYPE_S8), -1, 44, 0, 1);
    EXPECT(graph_convert(&r.g, s, DTYPE_U32), 4294967295.0, 300, 0, 65537);
    EXPECT(graph_convert(&r.g, s, DTYPE_PRED), 1, 1, 0, 1);
    EXPECT(graph_convert(&r.g, s, DTYPE_BF16), -1, 300, 0, 65536);
    EXPECT(graph_bitcast_convert(&r.g, graph_constant(&r.g, shape_scalar(DTYPE_F32), 1.0),
                                 DTYPE_U32), 0x3f800000);
    EXPECT(graph_bitcast_convert(&r.g, s, DTYPE_U32), 4294967295.0, 300, 0, 65537);
}

TEST(select_and_clamp_take_scalars)
{
    int x = ROW(DTYPE_F32, -3, 0.5, 9), y = ROW(DTYPE_F32, 1, 2, 3);
    int yes = grig_parameter(&r, DTYPE_PRED, 0, NULL, RIG_VALUES(1));
    int each = ROW(DTYPE_PRED, 0, 1, 0);
    int low = graph_constant(&r.g, shape_scalar(DTYPE_F32), -1.0);

    EXPECT(graph_select(&r.g, yes, x, y), -3, 0.5, 9);
    EXPECT(graph_select(&r.g, each, x, y), 1, 0.5, 3);
    EXPECT(graph_clamp(&r.g, low, x, y), -1, 0.5, 3);
}

TEST(literals_and_iotas)
{
    struct shape s = shape_make(DTYPE_BF16, 2, (int64_t[]){2, 3});
    struct shape u = shape_make(DTYPE_U8, 1, (int64_t[]){3});

    EXPECT(graph_literal(&r.g, s, (float[]){1, 2, 3, 4, 5, 1.001f}), 1, 2, 3, 4, 5, 1);
    EXPECT(graph_literal(&r.g, u, (uint32_t[]){7, 8, 255}), 7, 8, 255);
    EXPECT(graph_iota(&r.g, s, 1), 0, 1, 2, 0, 1, 2);
    EXPECT(graph_iota(&r.g, u, 0), 0, 1, 2);
}

TEST(slices_reversals_and_concatenations)
{
    int x = grig_parameter(&r, DTYPE_S32, DIMS(3, 4),
                          RIG_VALUES(0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23));
    int part = graph_slice(&r.g, x, (int64_t[]){0, 1}, (int64_t[]){3, 4}, (int64_t[]){2, 2});

    EXPECT(part, 1, 3, 21, 23);
    EXPECT(graph_slice(&r.g, x, (int64_t[]){1, 2}, (int64_t[]){3, 4}, NULL), 12, 13, 22, 23);
    EXPECT(graph_reverse(&r.g, x, (int[]){1}, 1), 3, 2, 1, 0, 13, 12, 11, 10, 23, 22, 21, 20);
    EXPECT(graph_reverse(&r.g, part, (int[]){1, 0}, 2), 23, 21, 3, 1);
    EXPECT(graph_concatenate(&r.g, (int[]){part, part}, 2, 0), 1, 3, 21, 23, 1, 3, 21, 23);
    EXPECT(graph_concatenate(&r.g, (int[]){part, part}, 2, 1), 1, 3, 1, 3, 21, 23, 21, 23);
}

TEST(padding_around_between_and_negative)
{
    int x = ROW(DTYPE_F32, 1, 2, 3), fill = graph_constant(&r.g, shape_scalar(DTYPE_F32), 9.0);

#define PAD(lo, hi, in) \
    graph_pad(&r.g, x, fill, (int64_t[]){lo}, (int64_t[]){hi}, (int64_t[]){in})
    EXPECT(PAD(1, 2, 0), 9, 1, 2, 3, 9, 9);
    EXPECT(PAD(0, 0, 2), 1, 9, 9, 2, 9, 9, 3);
    EXPECT(PAD(-1, 0, 0), 2, 3);
    EXPECT(PAD(-1, -1, 1), 9, 2, 9);
    EXPECT(PAD(-2, 1, 1), 2, 9, 3, 9);
    EXPECT(PAD(-4, 3, 0), 9, 9);
    EXPECT(PAD(3, -4, 0), 9, 9);
#undef PAD
}

TEST(reductions_of_every_kind)
{
    int x = grig_parameter(&r, DTYPE_S32, DIMS(2, 3), RIG_VALUES(1, 5, -2, 5, 3, 5));
    int p = grig_parameter(&r, DTYPE_PRED, DIMS(2, 2), RIG_VALUES(1, 0, 1, 1));
    int f = grig_parameter(&r, DTYPE_F32, DIMS(2, 3), RIG_VALUES(1, NOT_A_NUMBER, 9, -1, -2, -2));

    EXPECT(graph_reduce(&r.g, REDUCE_MUL, x, 2), -10, 75);
    EXPECT(graph_reduce(&r.g, REDUCE_AND, x, 1), 1, 1, 4);
    EXPECT(graph_reduce(&r.g, REDUCE_OR, x, 1), 5, 7, -1);
    EXPECT(graph_reduce(&r.g, REDUCE_AND, p, 2), 0, 1);
    EXPECT(graph_reduce(&r.g, REDUCE_OR, p, 3), 1);
    EXPECT(graph_reduce(&r.g, REDUCE_ARGMAX, x, 2), 1, 0);
    EXPECT(graph_reduce(&r.g, REDUCE_ARGMIN, x, 1), 0, 1, 0);
    EXPECT(graph_reduce(&r.g, REDUCE_ARGMAX, f, 2), 1, 0);
    EXPECT(graph_reduce(&r.g, REDUCE_ARGMIN, f, 2), 1, 1);
    EXPECT(graph_reduce(&r.g, REDUCE_MAX, f, 2), NOT_A_NUMBER, -1);
}

static struct graph_window window(int64_t size, int64_t stride, int64_t low, int64_t high)
{
    return (struct graph_window){.size = size, .stride = stride, .pad_low = low,
                                 .pad_high = high, .base_dilation = 1, .window_dilation = 1};
}

TEST(windows)
{
    int x = ROW(DTYPE_F32, 1, 5, 2, 2, 7);
    struct graph_window w = window(3, 2, 1, 1), d = window(2, 1, 0, 0);

    EXPECT(graph_reduce_window(&r.g, REDUCE_ADD, x, &w), 6, 9, 9);
    EXPECT(graph_reduce_window(&r.g, REDUCE_MAX, x, &w), 5, 5, 7);
    d.window_dilation = 3;
    EXPECT(graph_reduce_window(&r.g, REDUCE_ADD, x, &d), 3, 12);
    d.window_dilation = 1;
    d.base_dilation = 2;
    EXPECT(graph_reduce_window(&r.g, REDUCE_ADD, x, &d), 1, 5, 5, 2, 2, 2, 2, 7);
    EXPECT(graph_reduce_window(&r.g, REDUCE_MIN, ROW(DTYPE_U8, 9, 4, 6), &w), 4, 4);
}

TEST(select_and_scatter_finds_the_first_extreme)
{
    int x = ROW(DTYPE_F32, 1, 5, 5, 2, 7, 0);
    int s = ROW(DTYPE_F32, 10, 20, 30);
    struct graph_window w = window(2, 2, 0, 0), over = window(3, 2, 1, 0);

    EXPECT(graph_select_and_scatter(&r.g, COMPARE_GE, x, s, &w), 0, 10, 20, 0, 30, 0);
    EXPECT(graph_select_and_scatter(&r.g, COMPARE_LE, x, s, &w), 10, 0, 0, 20, 0, 30);
    EXPECT(graph_select_and_scatter(&r.g, COMPARE_GE, x, s, &over), 0, 30, 0, 0, 30, 0);
}

TEST(dynamic_slices_are_clamped)
{
    int x = grig_parameter(&r, DTYPE_F32, DIMS(3, 3), RIG_VALUES(0, 1, 2, 10, 11, 12, 20, 21, 22));
    int u = grig_parameter(&r, DTYPE_F32, DIMS(1, 2), RIG_VALUES(5, 6));
    int far = graph_constant(&r.g, shape_scalar(DTYPE_S32), 7);
    int before = graph_constant(&r.g, shape_scalar(DTYPE_S32), -7);
    int one = graph_constant(&r.g, shape_scalar(DTYPE_S32), 1);

    EXPECT(graph_dynamic_slice(&r.g, x, (int[]){one, before}, (int64_t[]){2, 2}), 10, 11, 20, 21);
    EXPECT(graph_dynamic_slice(&r.g, x, (int[]){far, one}, (int64_t[]){1, 2}), 21, 22);
    EXPECT(graph_dynamic_update_slice(&r.g, x, u, (int[]){one, far}), 0, 1, 2, 10, 5, 6, 20, 21,
           22);
}

TEST(embedding_rows_are_gathered_and_scattered)
{
    int table = grig_parameter(&r, DTYPE_F32, DIMS(4, 2), RIG_VALUES(0, 1, 10, 11, 20, 21, 30, 31));
    int rows = grig_parameter(&r, DTYPE_S32, DIMS(2, 2), RIG_VALUES(3, 0, 9, 3));
    struct graph_gather d = {.offset_count = 1, .offset_dims = {2}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 2, .slice_sizes = {1, 2}};
    int picked = graph_gather(&r.g, table, rows, &d);
    int zero = graph_splat(&r.g, table, 0.0);

    EXPECT(picked, 30, 31, 0, 1, 30, 31, 30, 31);   /* 9 is clamped to 3 */
    EXPECT(graph_scatter(&r.g, REDUCE_ADD, zero, rows, picked, &d), 0, 1, 0, 0, 0, 0, 60, 62);
    EXPECT(graph_scatter(&r.g, REDUCE_REPLACE, table, rows, zero == 0 ? 0 : picked, &d), 0, 1, 10,
           11, 20, 21, 30, 31);
}

TEST(gather_with_batching_dimensions)
{
    int x = grig_parameter(&r, DTYPE_S32, DIMS(2, 3), RIG_VALUES(0, 1, 2, 10, 11, 12));
    int at = grig_parameter(&r, DTYPE_S32, DIMS(2, 2, 1), RIG_VALUES(2, 0, 1, 1));
    struct graph_gather d = {.collapsed_count = 1, .collapsed_dims = {1}, .map_count = 1,
                             .start_index_map = {1}, .batching_count = 1, .index_vector_dim = 2,
                             .slice_sizes = {1, 1}};

    EXPECT(graph_gather(&r.g, x, at, &d), 2, 0, 11, 11);
}

TEST(scatter_windows_that_reach_out_are_dropped)
{
    int x = ROW(DTYPE_F32, 1, 2, 3, 4);
    int at = grig_parameter(&r, DTYPE_S32, DIMS(3, 1), RIG_VALUES(1, 3, -1));
    int u = grig_parameter(&r, DTYPE_F32, DIMS(3, 2), RIG_VALUES(10, 20, 30, 40, 50, 60));
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .map_count = 1,
                             .index_vector_dim = 1};

    EXPECT(graph_scatter(&r.g, REDUCE_ADD, x, at, u, &d), 1, 12, 23, 4);
    EXPECT(graph_scatter(&r.g, REDUCE_MAX, x, at, u, &d), 1, 10, 20, 4);
    EXPECT(graph_scatter(&r.g, REDUCE_REPLACE, x, at, u, &d), 1, 10, 20, 4);
}

TEST(sorts_are_stable_and_carry_others)
{
    int key = ROW(DTYPE_F32, 2, NOT_A_NUMBER, 1, 2, -1);
    int other = ROW(DTYPE_S32, 0, 1, 2, 3, 4);
    int up = graph_sort(&r.g, (int[]){key, other}, 2, 0, COMPARE_LT);
    int down = graph_sort(&r.g, (int[]){key, other}, 2, 0, COMPARE_GT);
    int square = grig_parameter(&r, DTYPE_S32, DIMS(2, 2), RIG_VALUES(5, 1, 2, 9));

    EXPECT(graph_tuple_element(&r.g, up, 0), -1, 1, 2, 2, NOT_A_NUMBER);
    EXPECT(graph_tuple_element(&r.g, up, 1), 4, 2, 0, 3, 1);
    EXPECT(graph_tuple_element(&r.g, down, 1), 1, 0, 3, 2, 4);
    EXPECT(graph_sort(&r.g, &square, 1, 0, COMPARE_LT), 2, 1, 5, 9);
}

TEST(top_k)
{
    int x = grig_parameter(&r, DTYPE_F32, DIMS(2, 4), RIG_VALUES(1, 4, 4, 2, 0, -1, 7, 3));
    int top = graph_top_k(&r.g, x, 2);

    EXPECT(graph_tuple_element(&r.g, top, 0), 4, 4, 7, 3);
    EXPECT(graph_tuple_element(&r.g, top, 1), 1, 2, 2, 3);
}

TEST(loops_fusions_and_tuples_run_their_computations)
{
    struct graph body;
    int x = ROW(DTYPE_F32, 1, 2), k = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(3));
    int a, b, loop, fused, pair;

    graph_init(&body, &r.arena, "body");
    a = graph_parameter(&body, r.g.node[x].shape, "a");
    b = graph_parameter(&body, shape_scalar(DTYPE_S32), "b");
    graph_output(&body, graph_binary(&body, HLO_ADD, a, a), "doubled", -1);
    graph_output(&body, graph_binary(&body, HLO_ADD, b, graph_splat(&body, b, 1)), "next", -1);
    loop = graph_while(&r.g, (int[]){x, k}, 2, &body, 4);
    fused = graph_fusion(&r.g, (int[]){x, k}, 2, &body);
    pair = graph_tuple(&r.g, (int[]){k, x}, 2);
    EXPECT(graph_tuple_element(&r.g, loop, 0), 16, 32);
    EXPECT(graph_tuple_element(&r.g, loop, 1), 7);
    EXPECT(graph_tuple_element(&r.g, fused, 0), 2, 4);
    EXPECT(graph_tuple_element(&r.g, pair, 1), 1, 2);
    EXPECT(graph_tuple_element(&r.g, graph_while(&r.g, (int[]){x, k}, 2, &body, 0), 0), 1, 2);
    graph_fini(&body);
}

TEST(wide_mode_keeps_doubles)
{
    double third = 1.0 / 3.0;
    int x = ROW(DTYPE_BF16, third), sum = graph_binary(&r.g, HLO_ADD, x, x);

    r.mode = INTERP_WIDE;
    grig_expect(grig_run(&r, sum), &(double){2 * third}, 1, 0.0);
    grig_expect(grig_run(&r, graph_convert(&r.g, sum, DTYPE_F32)), &(double){2 * third}, 1, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(unary_floats), UNIT(transcendental_functions), UNIT(binary_floats),
        UNIT(integers_wrap_in_their_width), UNIT(integer_powers_and_shifts), UNIT(predicates),
        UNIT(conversions), UNIT(select_and_clamp_take_scalars), UNIT(literals_and_iotas),
        UNIT(slices_reversals_and_concatenations), UNIT(padding_around_between_and_negative),
        UNIT(reductions_of_every_kind), UNIT(windows),
        UNIT(select_and_scatter_finds_the_first_extreme), UNIT(dynamic_slices_are_clamped),
        UNIT(embedding_rows_are_gathered_and_scattered), UNIT(gather_with_batching_dimensions),
        UNIT(scatter_windows_that_reach_out_are_dropped), UNIT(sorts_are_stable_and_carry_others),
        UNIT(top_k), UNIT(loops_fusions_and_tuples_run_their_computations),
        UNIT(wide_mode_keeps_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
