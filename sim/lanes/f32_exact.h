/*
 * Single-precision arithmetic by the numerics contract (docs/numerics.md),
 * exact on any host: subnormal operands count as zeros, one rounding to nearest
 * even, results that stay below 2^-126 after rounding become zeros, every NaN
 * is F32_NAN_BITS. The host's flush-to-zero control does not change the bits:
 * subnormals are cleared as bits, and the doubles used here never get small.
 *
 * Needs the host's default rounding (to nearest even) and a double of 53 bits.
 */
#ifndef SIM_F32_EXACT_H
#define SIM_F32_EXACT_H
#include "base/floats.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float f32_nan(void) { return f32_from_bits(F32_NAN_BITS); }
static inline float f32_flush(float x) { return f32_from_bits(f32_flush_bits(f32_bits(x))); }

/*
 * The one rounding. x is the exact result or rounds like it. From the midpoint
 * 2^-126 - 2^-151 on, 24 bits of an unbounded exponent reach 2^-126: not tiny.
 */
static inline float f32_round(double x)
{
    double size = fabs(x);

    if (isnan(x))
        return f32_nan();
    if (size < 0x1p-126)
        return (float)copysign(size < 0x1p-126 - 0x1p-151 ? 0.0 : 0x1p-126, x);
    return (float)x;
}

/* 53 bits are more than twice 24 and 2 more: rounding twice equals rounding once */
static inline float f32_add(float a, float b)
{
    return f32_round((double)f32_flush(a) + (double)f32_flush(b));
}

static inline float f32_sub(float a, float b)
{
    return f32_round((double)f32_flush(a) - (double)f32_flush(b));
}

static inline float f32_mul(float a, float b)
{
    return f32_round((double)f32_flush(a) * (double)f32_flush(b));
}

static inline float f32_div(float a, float b)
{
    return f32_round((double)f32_flush(a) / (double)f32_flush(b));
}

static inline float f32_sqrt(float a) { return f32_round(sqrt((double)f32_flush(a))); }

/*
 * a * b + c rounded once. The product is exact in a double; the sum is not, so
 * it is rounded to odd (an inexact sum gets its last bit set), which keeps what
 * the rounding to 24 bits must know: above, below or exactly a midpoint.
 */
static inline float f32_fma(float a, float b, float c)
{
    double product = (double)f32_flush(a) * (double)f32_flush(b), addend = (double)f32_flush(c);
    double sum = product + addend, part = sum - product;
    double rest = (product - (sum - part)) + (addend - part);
    uint64_t bits;

    if (rest == 0 || !isfinite(sum))
        return f32_round(sum);
    memcpy(&bits, &sum, sizeof(bits));
    if (!(bits & 1))
        bits = (rest > 0) == (sum > 0) ? bits + 1 : bits - 1;
    memcpy(&sum, &bits, sizeof(sum));
    return f32_round(sum);
}

/* NaN if either is; +0 is above -0 */
static inline float f32_max(float a, float b)
{
    a = f32_flush(a);
    b = f32_flush(b);
    if (isnan(a) || isnan(b))
        return f32_nan();
    return a > b || (a == b && !signbit(a)) ? a : b;
}

static inline float f32_min(float a, float b)
{
    a = f32_flush(a);
    b = f32_flush(b);
    if (isnan(a) || isnan(b))
        return f32_nan();
    return a < b || (a == b && signbit(a)) ? a : b;
}

/* towards zero; saturates; NaN gives 0 */
static inline int32_t f32_to_s32(float x)
{
    x = f32_flush(x);
    if (isnan(x))
        return 0;
    if (x >= 0x1p31f)
        return INT32_MAX;
    return x <= -0x1p31f ? INT32_MIN : (int32_t)x;
}
#endif
