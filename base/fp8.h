/*
 * Floats of 8 bits, and f32, as bits (docs/numerics.md).
 *
 *   type        exponent  bias  largest  special codes
 *   e5m2        5 bits    15    57344    infinities 0x7c, 0xfc; NaN above them
 *   e4m3fn      4 bits     7      448    NaN 0x7f, 0xff; no infinity
 *   e4m3b11fnuz 4 bits    11       30    NaN 0x80; no infinity, no -0
 */
#ifndef BASE_FP8_H
#define BASE_FP8_H
#include "base/floats.h"

#include <stdbool.h>

struct fp8 {
    int mantissa_bits, bias;
    uint32_t largest, overflow, nan;    /* codes without sign; overflow: what comes after largest */
    bool has_negative_zero;             /* where not, 0x80 is the one NaN */
};

static const struct fp8 fp8_e5m2 = { 2, 15, 0x7b, 0x7c, 0x7e, true };
static const struct fp8 fp8_e4m3fn = { 3, 7, 0x7e, 0x7f, 0x7f, true };
static const struct fp8 fp8_e4m3b11fnuz = { 3, 11, 0x7f, 0x80, 0x80, false };

/* exact; the code is the low 8 bits */
static inline uint32_t fp8_to_f32_bits(struct fp8 t, uint32_t code)
{
    uint32_t sign = (code & 0x80) << 24, size = code & 0x7f;
    int fraction_shift = 23 - t.mantissa_bits;

    if (t.has_negative_zero ? size > t.largest : (code & 0xff) == t.nan)
        return t.overflow != t.nan && size == t.overflow ? sign | 0x7f800000u : F32_NAN_BITS;
    if (size >> t.mantissa_bits)
        return sign | ((size << fraction_shift) + ((uint32_t)(127 - t.bias) << 23));
    return sign | f32_bits((float)size * f32_from_bits((uint32_t)(128 - t.bias - t.mantissa_bits)
                                                       << 23));
}

/* bits / 2^count, to nearest even, for count 1..24 */
static inline uint32_t fp8_round_down(uint32_t bits, int count)
{
    uint32_t half = 1u << (count - 1);

    return (bits + half - 1 + (bits >> count & 1)) >> count;
}

/*
 * To nearest even; what rounds beyond the largest value becomes an infinity,
 * or NaN where there is none. NaN becomes the one code, without sign.
 */
static inline uint32_t fp8_from_f32_bits(struct fp8 t, uint32_t bits)
{
    uint32_t sign = bits >> 24 & 0x80, size = bits & 0x7fffffffu, code;
    int exponent = (int)(size >> 23) - 127 + t.bias;
    int shift = 23 - t.mantissa_bits;

    if (size > 0x7f800000u)
        return t.nan;
    if (exponent >= 1)
        code = fp8_round_down(size - ((uint32_t)(127 - t.bias) << 23), shift);
    else if (shift + 1 - exponent <= 24)        /* below the normal values: the same steps */
        code = fp8_round_down((size & 0x7fffffu) | 0x800000u, shift + 1 - exponent);
    else
        code = 0;
    if (code > t.largest)
        code = t.overflow;
    return t.has_negative_zero ? code | sign : code == 0 || code == t.nan ? code : code | sign;
}
#endif
