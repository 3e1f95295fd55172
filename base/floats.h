/* Converts between f32 and bf16 and their bits, by the numerics contract (docs/numerics.md). */
#ifndef BASE_FLOATS_H
#define BASE_FLOATS_H
#include <stdint.h>
#include <string.h>

#define F32_NAN_BITS 0x7fc00000u        /* the one NaN that arithmetic produces */

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float f32_from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* subnormals become a zero of the same sign */
static inline uint32_t f32_flush_bits(uint32_t bits)
{
    return (bits & 0x7f800000u) ? bits : bits & 0x80000000u;
}

/* to nearest even after flushing subnormals; every NaN becomes 0x7fc0 */
static inline uint16_t bf16_from_f32_bits(uint32_t bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0;
    bits = f32_flush_bits(bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline uint16_t bf16_from_f32(float x) { return bf16_from_f32_bits(f32_bits(x)); }

static inline float f32_from_bf16(uint16_t h) { return f32_from_bits((uint32_t)h << 16); }

/* exactly; bits of a NaN stay where they are */
static inline float f32_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, rest = h & 0x3ffu;
    float small = (float)rest * 0x1p-24f;       /* subnormal */

    if (exponent == 0)
        return sign ? -small : small;
    return f32_from_bits(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | rest << 13);
}

/* x rounded to a bf16 value, kept in f32 */
static inline float f32_round_to_bf16(float x) { return f32_from_bf16(bf16_from_f32(x)); }
#endif
