/*
 * fp8 conversions: all codes by their definition in real numbers, and every
 * rounding by a search for the nearest code.
 */
#include "base/fp8.h"

#include <math.h>

#include "base/units.h"
#include "sim/lanes/simd.h"
#include "tests/test.h"

struct type {
    const char *name;
    int exponent_bits, bias;
    enum simd_unary to_f32, from_f32;
    uint32_t finite_count;              /* codes 0.. of positive finite values */
    uint32_t nan, overflow;             /* the code of NaN; what is beyond the finite ones */
    bool has_infinity;
};

static const struct type types[] = {
    {"f8e5m2", 5, 15, UN_F32_FROM_E5M2, UN_E5M2_FROM_F32, 0x7c, 0x7e, 0x7c, true},
    {"f8e4m3fn", 4, 7, UN_F32_FROM_E4M3FN, UN_E4M3FN_FROM_F32, 0x7f, 0x7f, 0x7f, false},
    {"f8e4m3b11fnuz", 4, 11, UN_F32_FROM_E4M3B11FNUZ, UN_E4M3B11FNUZ_FROM_F32, 0x80, 0x80, 0x80,
     false},
};

static bool has_signed_zero(const struct type *t) { return t->nan != 0x80; }

/* code without sign, also of the value that would follow the largest one */
static double value_of(const struct type *t, uint32_t code)
{
    int fraction_bits = 7 - t->exponent_bits, exponent = (int)(code >> fraction_bits);
    double fraction = (double)(code & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);

    return exponent ? ldexp(1 + fraction, exponent - t->bias) : ldexp(fraction, 1 - t->bias);
}

static void run(enum simd_unary op, uint32_t *d, const uint32_t *a)
{
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);
    uint32_t saved = simd_thread_begin();

    path->unary[op](d, a);
    simd_thread_end(saved);
}

TEST(every_code_has_its_value_in_f32)
{
    _Alignas(64) uint32_t codes[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS];

    for (size_t k = 0; k < COUNT_OF(types); k++) {
        const struct type *t = &types[k];

        for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++)
            codes[i] = i % 256 | (i / 256 * 0x01020300u);       /* what is above counts nothing */
        run(t->to_f32, got, codes);
        for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++) {
            uint32_t code = i & 0x7f, sign = i & 0x80;
            double expected = copysign(value_of(t, code), sign ? -1 : 1);

            if (code < t->finite_count && (has_signed_zero(t) || (i & 0xff) != 0x80))
                assert_int_equal(got[i], f32_bits((float)expected));
            else if (t->has_infinity && code == t->overflow)
                assert_int_equal(got[i], sign << 24 | 0x7f800000u);
            else
                assert_int_equal(got[i], F32_NAN_BITS);
        }
    }
}

/* the nearest code, the even one of two; the search is a bisection over values that grow */
static uint32_t nearest(const struct type *t, uint32_t bits)
{
    double size = fabs((double)f32_from_bits(bits));
    uint32_t low = 0, high = t->finite_count, sign = bits >> 24 & 0x80, code;

    if (isnan(size))
        return t->nan;
    if (size >= value_of(t, high))
        low = high;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;

        if (value_of(t, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    code = low;
    if (low < t->finite_count) {
        double below = size - value_of(t, low), above = value_of(t, low + 1) - size;

        if (above < below || (above == below && low % 2 == 1))
            code = low + 1;
    }
    if (code >= t->finite_count)
        return has_signed_zero(t) ? t->overflow | sign : t->overflow;
    return has_signed_zero(t) || code ? code | sign : 0;
}

static void check_roundings(const struct type *t, const uint32_t *inputs)
{
    _Alignas(64) uint32_t got[SIMD_TILE_WORDS];

    run(t->from_f32, got, inputs);
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        if (got[i] != nearest(t, inputs[i]))
            fail_msg("%s of %08x is %02x, not %02x", t->name, inputs[i], got[i],
                     nearest(t, inputs[i]));
    }
}

TEST(f32_goes_to_the_nearest_code)
{
    const uint64_t step = test_is_long() ? 97 : 7919;
    _Alignas(64) uint32_t inputs[SIMD_TILE_WORDS];

    for (size_t k = 0; k < COUNT_OF(types); k++) {
        for (uint64_t first = 0; first * step <= UINT32_MAX; first += SIMD_TILE_WORDS) {
            for (uint64_t i = 0; i < SIMD_TILE_WORDS; i++)
                inputs[i] = (uint32_t)((first + i) * step);
            check_roundings(&types[k], inputs);
        }
    }
}

/* codes, midpoints between neighbours, and the floats next to both */
TEST(ties_go_to_the_even_code)
{
    _Alignas(64) uint32_t inputs[SIMD_TILE_WORDS];

    for (size_t k = 0; k < COUNT_OF(types); k++) {
        for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++) {
            uint32_t code = i / 8 % 128;
            double value = value_of(&types[k], code), next = value_of(&types[k], code + 1);
            uint32_t middle = f32_bits((float)((value + next) / 2));

            inputs[i] = middle + i % 3 - 1;
            if (i % 8 >= 3)
                inputs[i] = f32_bits((float)value) + (i % 8 == 3);
            if (i % 8 == 7)
                inputs[i] = middle | 0x80000000u;
        }
        check_roundings(&types[k], inputs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_value_in_f32),
        cmocka_unit_test(f32_goes_to_the_nearest_code),
        cmocka_unit_test(ties_go_to_the_even_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
