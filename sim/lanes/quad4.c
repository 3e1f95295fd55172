/*
 * Sums products four at a time: exactly, in a 576-bit integer where doubles do not suffice, then
 * rounded once.
 */
#include "sim/lanes/quad4.h"

#include "sim/lanes/f32_exact.h"

#include <stdbool.h>

#define WORDS 9

/*
 * A sum as an integer of 576 bits in units of 2^LOWEST, two's complement. A
 * product of two bf16 has 16 bits, of which none is below 2^-266, and is below
 * 2^256, so four of them need no more than 2 + 256 + 268 bits and a sign.
 */
#define LOWEST (-268)
struct wide {
    uint64_t word[WORDS];
};

/* += value * 2^(64 i) and what carries on from there */
static void wide_add_at(struct wide *w, int i, uint64_t value)
{
    for (; i < WORDS && value; i++) {
        w->word[i] += value;
        value = w->word[i] < value;
    }
}

static void wide_negate(struct wide *w)
{
    for (int i = 0; i < WORDS; i++)
        w->word[i] = ~w->word[i];
    wide_add_at(w, 0, 1);
}

/* += size * 2^shift; size has 16 bits */
static void wide_add(struct wide *w, uint64_t size, int shift)
{
    wide_add_at(w, shift / 64, size << shift % 64);
    if (shift % 64 > 48)
        wide_add_at(w, shift / 64 + 1, size >> (64 - shift % 64));
}

/* bits first..first+63, zeros below bit 0 */
static uint64_t wide_bits(const struct wide *w, int first)
{
    int i = first / 64, shift = first % 64;

    if (first < 0)
        return w->word[0] << -first;
    if (shift == 0)
        return w->word[i];
    return w->word[i] >> shift | (i + 1 < WORDS ? w->word[i + 1] << (64 - shift) : 0);
}

static bool wide_is_zero_below(const struct wide *w, int end)
{
    for (int i = 0; 64 * i < end; i++) {
        int bits = end - 64 * i;

        if (bits < 64 ? w->word[i] << (64 - bits) : w->word[i])
            return false;
    }
    return true;
}

/*
 * The 53 highest bits, the last of them set if anything is below: a double that
 * rounds to 24 bits, or against 2^-126, as the whole does.
 */
static double wide_round_to_odd(struct wide *w)
{
    bool is_negative = w->word[WORDS - 1] >> 63;
    int top = 64 * WORDS - 1, first;
    uint64_t bits;

    if (is_negative)
        wide_negate(w);
    while (top >= 0 && !(w->word[top / 64] >> top % 64 & 1))
        top--;
    if (top < 0)
        return 0;
    first = top - 52;
    bits = wide_bits(w, first) & 0x1fffffffffffffu;
    if (first > 0 && !wide_is_zero_below(w, first))
        bits |= 1;
    return ldexp(is_negative ? -(double)bits : (double)bits, first + LOWEST);
}

static double exact_sum(const double product[4])
{
    struct wide sum = {{0}}, minus = {{0}};

    for (int i = 0; i < 4; i++) {
        int exponent;
        double fraction = frexp(fabs(product[i]), &exponent);

        if (fraction != 0)              /* fraction x 2^16 is whole: 16 bits */
            wide_add(product[i] < 0 ? &minus : &sum, (uint64_t)(fraction * 0x1p16),
                     exponent - 16 - LOWEST);
    }
    wide_negate(&minus);
    for (int i = 0; i < WORDS; i++)
        wide_add_at(&sum, i, minus.word[i]);
    return wide_round_to_odd(&sum);
}

/* a + b, and what the rounding of that lost, exactly */
static double two_sum(double a, double b, double *lost)
{
    double sum = a + b, part = sum - a;

    *lost = (a - (sum - part)) + (b - part);
    return sum;
}

float quad4_sum(const double product[4])
{
    double lost[3], sum = two_sum(product[0], product[1], &lost[0]);

    sum = two_sum(sum, product[2], &lost[1]);
    sum = two_sum(sum, product[3], &lost[2]);
    /* infinities and NaN go by the double's own rules; a sum that lost nothing is exact */
    if (!isfinite(sum) || (lost[0] == 0 && lost[1] == 0 && lost[2] == 0))
        return f32_round(sum);
    return f32_round(exact_sum(product));
}

static double value_of(uint32_t upper_half)
{
    return (double)f32_flush(f32_from_bits(upper_half));
}

/* products 4 q .. 4 q + 3 of row and column n */
static float quad_of(const uint32_t *row, const uint32_t (*pair)[128], int q, int n)
{
    double product[4];

    for (int i = 0; i < 2; i++) {
        uint32_t a = row[2 * q + i], w = pair[2 * q + i][n];

        product[2 * i] = value_of(a << 16) * value_of(w << 16);
        product[2 * i + 1] = value_of(a & 0xffff0000u) * value_of(w & 0xffff0000u);
    }
    return quad4_sum(product);
}

void quad4_matmul(uint32_t *out, const uint32_t *start, const uint32_t row[8][64],
                  const uint32_t pair[64][128])
{
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        float sum = start ? f32_from_bits(start[i]) : 0;

        for (int q = 0; q < 32; q++)
            sum = f32_add(sum, quad_of(row[i / 128], pair, q, i % 128));
        out[i] = f32_bits(sum);
    }
}
