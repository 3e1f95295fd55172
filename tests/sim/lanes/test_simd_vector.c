/*
 * Kernels of the vector unit beyond f32 and s32 arithmetic: do they compute
 * what docs/numerics.md states? Each against a second way to get there.
 */
#include "sim/lanes/simd.h"

#include <math.h>

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/lanes/simd_paths.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"

static const uint32_t edges[] = {
    0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3effffff, 0x3f000000, 0x3f000001, 0xbf000000,
    0x3f7fffff, 0x3f800000, 0x3fc00000, 0xbfc00000, 0x40200000, 0x4afffffe, 0x4affffff, 0x4b000000,
    0xcb000001, 0x4b7fffff, 0x4f000000, 0xcf000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0x7f800001, 0xffc12345, 0x7f7f8000, 0x7f7f7fff, 0xffffffff, 0x7fffffff,
};

/* edges crossed with each other first, then any bits; sums that cancel now and then */
static void fill(uint32_t *a, uint32_t *b, struct rng *r, int turn)
{
    for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++) {
        a[i] = turn == 0 ? edges[i / 32] : (uint32_t)rng_next(r);
        b[i] = turn == 0 ? edges[i % 32] : (uint32_t)rng_next(r);
        if (turn % 3 == 1)
            a[i] = (a[i] & 0x807fffffu) | (118 + rng_below(r, 34)) << 23;
        if (turn % 3 == 2)
            b[i] = (a[i] ^ 0x80000000u) + (rng_below(r, 5) << 16);
    }
}

static void check_binary(enum simd_binary op, const char *name,
                         uint32_t (*expected)(uint32_t, uint32_t))
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS];
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);
    struct rng r;

    rng_init(&r, 31);
    for (int turn = 0; turn < 40; turn++) {
        uint32_t saved = simd_thread_begin();

        fill(a, b, &r, turn);
        path->binary[op](got, a, b);
        simd_thread_end(saved);
        for (int i = 0; i < SIMD_TILE_WORDS; i++) {
            if (got[i] != expected(a[i], b[i]))
                fail_msg("%s of %08x, %08x is %08x, not %08x", name, a[i], b[i], got[i],
                         expected(a[i], b[i]));
        }
    }
}

static void check_unary(enum simd_unary op, const char *name, uint32_t (*expected)(uint32_t))
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS];
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);
    struct rng r;

    rng_init(&r, 37);
    for (int turn = 0; turn < 60; turn++) {
        uint32_t saved = simd_thread_begin();

        fill(a, b, &r, turn);
        path->unary[op](got, a);
        simd_thread_end(saved);
        for (int i = 0; i < SIMD_TILE_WORDS; i++) {
            if (got[i] != expected(a[i]))
                fail_msg("%s of %08x is %08x, not %08x", name, a[i], got[i], expected(a[i]));
        }
    }
}

static uint32_t max_s32(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b ? a : b; }
static uint32_t min_s32(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b ? a : b; }
static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* by four products of halves, as one learns it at school */
static uint32_t mul_high(uint32_t a, uint32_t b)
{
    uint32_t al = a & 0xffff, ah = a >> 16, bl = b & 0xffff, bh = b >> 16;
    uint32_t middle = ah * bl + (al * bl >> 16), other = al * bh + (middle & 0xffff);

    return ah * bh + (middle >> 16) + (other >> 16);
}

TEST(integer_extremes_and_high_products_are_exact)
{
    check_binary(BIN_MAX_S32, "max.s32", max_s32);
    check_binary(BIN_MIN_S32, "min.s32", min_s32);
    check_binary(BIN_MAX_U32, "max.u32", max_u32);
    check_binary(BIN_MIN_U32, "min.u32", min_u32);
    check_binary(BIN_MUL_HIGH_U32, "mul high", mul_high);
}

static uint32_t clz(uint32_t x)
{
    uint32_t count = 0;

    while (count < 32 && !(x & 0x80000000u >> count))
        count++;
    return count;
}

static uint32_t pcnt(uint32_t x)
{
    uint32_t count = 0;

    for (int i = 0; i < 32; i++)
        count += x >> i & 1;
    return count;
}

TEST(bits_are_counted)
{
    check_unary(UN_CLZ, "clz", clz);
    check_unary(UN_PCNT, "pcnt", pcnt);
}

static bool is_nan(uint32_t x) { return (x & 0x7fffffffu) > 0x7f800000u; }

/* the C library's rounding of the flushed operand */
static uint32_t rounded(uint32_t x, float (*round)(float))
{
    return is_nan(x) ? 0x7fc00000u : f32_bits(round(f32_from_bits(f32_flush_bits(x))));
}

static uint32_t rtne(uint32_t x) { return rounded(x, nearbyintf); }
static uint32_t rtna(uint32_t x) { return rounded(x, roundf); }
static uint32_t ceiling(uint32_t x) { return rounded(x, ceilf); }
static uint32_t flooring(uint32_t x) { return rounded(x, floorf); }
static uint32_t truncation(uint32_t x) { return rounded(x, truncf); }

TEST(roundings_to_whole_numbers_agree_with_the_c_library)
{
    check_unary(UN_ROUND_RTNE, "round.rtne", rtne);
    check_unary(UN_ROUND_RTNA, "round.rtna", rtna);
    check_unary(UN_CEIL, "ceil", ceiling);
    check_unary(UN_FLOOR, "floor", flooring);
    check_unary(UN_TRUNC, "trunc", truncation);
}

/* one half in integers: widened, computed, rounded */
static uint32_t half_of(uint32_t word, int half) { return half ? word & 0xffff0000u : word << 16; }

static uint32_t by_halves(uint32_t a, uint32_t b, uint32_t (*op)(uint32_t, uint32_t))
{
    return (uint32_t)reference_bf16(op(half_of(a, 1), half_of(b, 1))) << 16 |
           reference_bf16(op(half_of(a, 0), half_of(b, 0)));
}

static uint32_t flushed(uint32_t x) { return x & 0x7f800000u ? x : x & 0x80000000u; }

/* bits in an order in which they count like the numbers: +0 above -0 */
static int32_t ordered(uint32_t x)
{
    return x & 0x80000000u ? (int32_t)(0x7fffffffu - (x & 0x7fffffffu)) - INT32_MAX - 1
                           : (int32_t)x;
}

static uint32_t extreme(uint32_t a, uint32_t b, bool is_max)
{
    a = flushed(a);
    b = flushed(b);
    if (is_nan(a) || is_nan(b))
        return 0x7fc00000u;
    return (ordered(a) > ordered(b)) == is_max ? a : b;
}

static uint32_t max_f32(uint32_t a, uint32_t b) { return extreme(a, b, true); }
static uint32_t min_f32(uint32_t a, uint32_t b) { return extreme(a, b, false); }
static uint32_t sub_f32(uint32_t a, uint32_t b) { return reference_add(a, b ^ 0x80000000u); }
static uint32_t add_bf16(uint32_t a, uint32_t b) { return by_halves(a, b, reference_add); }
static uint32_t sub_bf16(uint32_t a, uint32_t b) { return by_halves(a, b, sub_f32); }
static uint32_t mul_bf16(uint32_t a, uint32_t b) { return by_halves(a, b, reference_mul); }
static uint32_t max_bf16(uint32_t a, uint32_t b) { return by_halves(a, b, max_f32); }
static uint32_t min_bf16(uint32_t a, uint32_t b) { return by_halves(a, b, min_f32); }
static uint32_t add_low(uint32_t a, uint32_t b) { return reference_add(a, b << 16); }

TEST(packed_bf16_arithmetic_is_f32_rounded_in_each_half)
{
    check_binary(BIN_ADD_BF16, "add.bf16", add_bf16);
    check_binary(BIN_SUB_BF16, "sub.bf16", sub_bf16);
    check_binary(BIN_MUL_BF16, "mul.bf16", mul_bf16);
    check_binary(BIN_MAX_BF16, "max.bf16", max_bf16);
    check_binary(BIN_MIN_BF16, "min.bf16", min_bf16);
    check_binary(BIN_ADD_LOW_BF16, "add.low.f32.bf16", add_low);
}

static uint32_t clamps(uint32_t a, uint32_t b)
{
    return min_f32(max_f32(a, b ^ 0x80000000u), b);
}

TEST(clamp_is_a_maximum_then_a_minimum)
{
    check_binary(BIN_CLAMP_F32, "clamps", clamps);
}

static uint32_t stochastic(uint32_t x, uint32_t random)
{
    if (is_nan(x))
        return 0x7fc0;
    if ((x & 0x7fffffffu) == 0x7f800000u)
        return x >> 16;
    x = flushed(x);
    return (x >> 16) + ((x & 0xffff) + (random & 0xffff) > 0xffff);
}

TEST(stochastic_rounding_adds_16_random_bits_below_the_bf16)
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS];
    int up = 0;

    check_binary(BIN_STOCHASTIC_BF16, "sr", stochastic);
    for (uint32_t turn = 0; turn < 64; turn++) {        /* all random values: 3/16 go up */
        for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++) {
            a[i] = 0x3f803000u;
            b[i] = 0xabcd0000u | (turn * SIMD_TILE_WORDS + i);
        }
        simd_path_c->binary[BIN_STOCHASTIC_BF16](got, a, b);
        for (int i = 0; i < SIMD_TILE_WORDS; i++)
            up += got[i] == 0x3f81;
    }
    assert_int_equal(up, 65536 * 3 / 16);
}

static uint32_t first_extreme(const uint32_t *row, bool is_max)
{
    uint32_t at = 0;

    for (uint32_t j = 1; j < 128; j++) {
        float x = f32_from_bits(flushed(row[j])), best = f32_from_bits(flushed(row[at]));

        if (!isnan(best) && (isnan(x) || (is_max ? x > best : x < best)))
            at = j;
    }
    return at;
}

TEST(index_reductions_name_the_first_lane_of_the_extreme)
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], most[SIMD_TILE_WORDS], least[SIMD_TILE_WORDS];
    struct rng r;

    rng_init(&r, 41);
    for (int turn = 0; turn < 200; turn++) {
        for (int i = 0; i < SIMD_TILE_WORDS; i++)
            a[i] = turn % 2 ? edges[rng_below(&r, turn % 4 == 1 ? 25 : 32)]
                            : f32_bits((float)rng_below(&r, 9) - 4);
        simd_path_c->unary[UN_MAX_INDEX](most, a);
        simd_path_c->unary[UN_MIN_INDEX](least, a);
        for (int i = 0; i < SIMD_TILE_WORDS; i++) {
            assert_int_equal(most[i], first_extreme(a + i / 128 * 128, true));
            assert_int_equal(least[i], first_extreme(a + i / 128 * 128, false));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_extremes_and_high_products_are_exact),
        cmocka_unit_test(bits_are_counted),
        cmocka_unit_test(roundings_to_whole_numbers_agree_with_the_c_library),
        cmocka_unit_test(packed_bf16_arithmetic_is_f32_rounded_in_each_half),
        cmocka_unit_test(clamp_is_a_maximum_then_a_minimum),
        cmocka_unit_test(stochastic_rounding_adds_16_random_bits_below_the_bf16),
        cmocka_unit_test(index_reductions_name_the_first_lane_of_the_extreme),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
