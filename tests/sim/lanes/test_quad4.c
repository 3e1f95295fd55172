/*
 * mxu.sum = quad4: is each sum of four products exact and rounded once? Against
 * sums in long integers, positive and negative products apart.
 */
#include "sim/lanes/quad4.h"

#include "base/floats.h"
#include "base/rng.h"
#include "tests/reference/f32_reference.h"
#include "tests/reference/plain_mxu.h"
#include "tests/test.h"

#include <math.h>

#define BITS 640                        /* in units of 2^-300 */
#define UNIT (-300)

/* one bit per byte, lowest first: slow, and nothing to get wrong */
struct bits {
    uint8_t bit[BITS];
};

static void add_product(struct bits *x, uint32_t size, int shift)
{
    int carry = 0;

    for (int i = 0; shift + i < BITS; i++) {
        int sum = x->bit[shift + i] + (i < 32 && size >> i & 1) + carry;

        x->bit[shift + i] = (uint8_t)(sum & 1);
        carry = sum >> 1;
    }
}

static int compare(const struct bits *a, const struct bits *b)
{
    for (int i = BITS - 1; i >= 0; i--)
        if (a->bit[i] != b->bit[i])
            return a->bit[i] - b->bit[i];
    return 0;
}

static void subtract(struct bits *a, const struct bits *b)
{
    int borrow = 0;

    for (int i = 0; i < BITS; i++) {
        int rest = a->bit[i] - b->bit[i] - borrow;

        a->bit[i] = (uint8_t)(rest & 1);
        borrow = rest < 0;
    }
}

/* to 24 bits, nearest even; what stays below 2^-126 is a zero */
static uint32_t round_bits(const struct bits *x, uint32_t sign)
{
    int top = BITS - 1, rest = 0;
    uint32_t size = 0;

    while (top >= 0 && !x->bit[top])
        top--;
    if (top < 0)
        return 0;
    for (int i = top; i > top - 24; i--)
        size = size << 1 | (i >= 0 ? x->bit[i] : 0);
    for (int i = 0; i < top - 24; i++)
        rest |= x->bit[i];
    if (top >= 24 && x->bit[top - 24] && (rest || size & 1))
        size++;
    if (size == 1u << 24) {
        size >>= 1;
        top++;
    }
    if (top + UNIT < -126)
        return sign;
    if (top + UNIT > 127)
        return sign | 0x7f800000;
    return sign | (uint32_t)(top + UNIT + 127) << 23 | (size & 0x7fffff);
}

static int is_nan(uint32_t h) { return (h & 0x7fff) > 0x7f80; }
static int is_inf(uint32_t h) { return (h & 0x7fff) == 0x7f80; }
static int is_zero(uint32_t h) { return (h & 0x7f80) == 0; }    /* subnormals are zeros */

/* the rules for products and sums of special values; 1 when they decide */
static int special(const uint32_t a[4], const uint32_t w[4], uint32_t *out)
{
    int plus = 0, minus = 0, nan = 0, all_minus_zero = 1, all_zero = 1;

    for (int i = 0; i < 4; i++) {
        int negative = (a[i] ^ w[i]) >> 15 & 1;

        nan |= is_nan(a[i]) || is_nan(w[i]) || (is_inf(a[i]) && is_zero(w[i])) ||
               (is_zero(a[i]) && is_inf(w[i]));
        plus |= !negative && (is_inf(a[i]) || is_inf(w[i]));
        minus |= negative && (is_inf(a[i]) || is_inf(w[i]));
        all_zero &= is_zero(a[i]) || is_zero(w[i]);
        all_minus_zero &= negative && (is_zero(a[i]) || is_zero(w[i]));
    }
    if (nan || (plus && minus))
        *out = 0x7fc00000;
    else if (plus || minus)
        *out = plus ? 0x7f800000 : 0xff800000;
    else
        *out = all_minus_zero ? 0x80000000 : 0;
    return nan || plus || minus || all_zero;
}

static uint32_t reference_quad(const uint32_t a[4], const uint32_t w[4])
{
    struct bits plus = {{0}}, minus = {{0}};
    uint32_t result;

    if (special(a, w, &result))
        return result;
    for (int i = 0; i < 4; i++) {
        uint32_t size = ((a[i] & 0x7f) | 0x80) * ((w[i] & 0x7f) | 0x80);
        int exponent = (int)(a[i] >> 7 & 0xff) + (int)(w[i] >> 7 & 0xff) - 2 * 134;

        if (!is_zero(a[i]) && !is_zero(w[i]))
            add_product((a[i] ^ w[i]) >> 15 & 1 ? &minus : &plus, size, exponent - UNIT);
    }
    if (compare(&plus, &minus) >= 0) {
        subtract(&plus, &minus);
        return round_bits(&plus, 0);
    }
    subtract(&minus, &plus);
    return round_bits(&minus, 0x80000000);
}

/* operands that cancel, lie far apart, are special, or come near 2^-126 and 2^128 */
static void make_quad(uint32_t a[4], uint32_t w[4], struct rng *r, int kind)
{
    uint32_t middle = (rng_below(r, 2) ? 60 : 140) + rng_below(r, 50);

    for (int i = 0; i < 4; i++) {
        a[i] = rng_below(r, 65536);
        w[i] = rng_below(r, 65536);
        if (kind == 0)
            continue;                   /* any bits */
        a[i] = (a[i] & 0x807f) | middle << 7;
        if (kind == 1)                  /* products within 2^40 of each other */
            w[i] = (w[i] & 0x807f) | (107 + rng_below(r, 40)) << 7;
        if (kind == 2)                  /* far apart */
            w[i] = (w[i] & 0x807f) | (1 + rng_below(r, 254)) << 7;
        if (kind == 3)                  /* near 2^-126 or 2^128 */
            w[i] = (w[i] & 0x807f) |
                   ((middle < 115 ? 122u : 374u) - middle + rng_below(r, 12)) << 7;
        if (kind == 4 && i % 2) {       /* pairs that cancel but for a last bit */
            a[i] = a[i - 1] ^ 0x8000;
            w[i] = w[i - 1] ^ (rng_below(r, 2));
        }
        if (kind == 5 && i == 3) {      /* two cancel, two far below decide */
            a[1] = a[0] ^ 0x8000;
            w[1] = w[0];
        }
        if (kind == 6)                  /* halfway cases: powers of two */
            a[i] &= 0xff80, w[i] = (w[i] & 0x8000) | (100 + rng_below(r, 30)) << 7;
    }
}

#define KINDS 7

static double value(uint32_t h)
{
    return is_zero(h) ? (h >> 15 ? -0.0 : 0.0) : (double)f32_from_bits(h << 16);
}

TEST(sum_of_four_products_is_exact_and_rounded_once)
{
    uint32_t saved = 0;
    int64_t ordinary = 0;
    struct rng r;

    rng_init(&r, 3);
    for (int turn = 0; turn < 140000; turn++) {
        uint32_t a[4], w[4], expected, got;
        double product[4];

        make_quad(a, w, &r, turn % KINDS);
        expected = reference_quad(a, w);
        for (int i = 0; i < 4; i++)
            product[i] = value(a[i]) * value(w[i]);
        if (turn % 2)
            saved = simd_thread_begin();    /* flush-to-zero changes nothing */
        got = f32_bits(quad4_sum(product));
        if (turn % 2)
            simd_thread_end(saved);
        ordinary += (expected & 0x7f800000) && (expected & 0x7f800000) != 0x7f800000;
        if (got != expected)
            fail_msg("kind %d: %04x*%04x %04x*%04x %04x*%04x %04x*%04x gave %08x, not %08x",
                     turn % KINDS, a[0], w[0], a[1], w[1], a[2], w[2], a[3], w[3], got, expected);
    }
    assert_true(ordinary > 70000);
}

TEST(groups_are_added_in_ascending_order_from_the_start)
{
    static uint32_t row[8][64], pair[64][128];
    uint32_t out[SIMD_TILE_WORDS], start[SIMD_TILE_WORDS];
    struct rng r;

    rng_init(&r, 8);
    for (int i = 0; i < 8 * 64; i++)
        row[i / 64][i % 64] = ((uint32_t)rng_next(&r) & 0x807f807f) | 0x3f003e00;
    for (int i = 0; i < 64 * 128; i++)
        pair[i / 128][i % 128] = ((uint32_t)rng_next(&r) & 0x83ff83ff) | 0x3c003c00;
    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        start[i] = ((uint32_t)rng_next(&r) & 0x807fffff) | 0x3f000000;
    quad4_matmul(out, start, (const uint32_t (*)[64])row, (const uint32_t (*)[128])pair);
    for (int i = 0; i < SIMD_TILE_WORDS; i += 7) {
        uint32_t sum = start[i];

        for (int q = 0; q < 32; q++) {
            uint32_t a[4], w[4];

            for (int k = 0; k < 4; k++) {
                a[k] = row[i / 128][2 * q + k / 2] >> (k % 2 ? 16 : 0) & 0xffff;
                w[k] = pair[2 * q + k / 2][i % 128] >> (k % 2 ? 16 : 0) & 0xffff;
            }
            sum = reference_add(sum, reference_quad(a, w));
        }
        assert_int_equal(out[i], sum);
    }
}

/* 1 + 2^-24 + 2^-24 + 0 rounds once to 1 + 2^-23; a chain would lose both */
TEST(chip_that_sums_quads_uses_them_over_both_halves)
{
    static struct plain m;
    static struct plain_tile ones, small;
    static const char *const set[] = {"mxu.sum=chain", "mxu.sum=quad4"};
    uint32_t word[1024];

    for (int quad = 0; quad < 2; quad++) {
        plain_open(&m, "v6e", set[quad], "auto");
        ones.type = small.type = MATRIX_F32;
        for (int i = 0; i < 8 * 128; i++) {
            ones.code[i / 128][i % 128] = 0x3f800000;
            small.code[i / 128][i % 128] = i / 128 == 1 ? 0x3f800000 :
                                           i / 128 < 4 && i / 128 ? 0x33800000 : 0;
        }
        plain_pack(&ones);
        plain_pack(&small);
        plain_load(&m, 1, small.word);
        plain_load(&m, 2, ones.word);
        plain_add(&m, "{ vmatprep.subr.mxu0 v1 }\n{ vmatpush1.msra.mxu0 v1 }\n"
                      "{ vmatprep.mubr.f32.mxu0 v2 }\n"
                      "{ vmatmul.mubr.f32.vlgmr.msra.gmra.mxu0 v2 }\n");
        plain_pop(&m, "vpop.f32.mrf", 2);
        plain_run(&m);
        for (int n = 0; n < 2; n++) {
            plain_result(&m, n, word);
            assert_int_equal(word[77], quad ? 0x3f800001 : 0x3f800000);
        }
        plain_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_of_four_products_is_exact_and_rounded_once),
        cmocka_unit_test(groups_are_added_in_ascending_order_from_the_start),
        cmocka_unit_test(chip_that_sums_quads_uses_them_over_both_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
