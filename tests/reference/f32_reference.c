#include "tests/reference/f32_reference.h"

#define NAN_BITS 0x7fc00000u
#define INF_BITS 0x7f800000u

/* (-1)^negative * size * 2^exponent; size 0 is a zero */
struct number {
    int negative;
    uint64_t size;
    int exponent;
};

static uint32_t size_of(uint32_t bits) { return bits & 0x7fffffffu; }
static int is_nan(uint32_t bits) { return size_of(bits) > INF_BITS; }
static int is_inf(uint32_t bits) { return size_of(bits) == INF_BITS; }
static int is_zero(uint32_t bits) { return size_of(bits) < 0x00800000u; }   /* flushed */

static struct number number_of(uint32_t bits)
{
    struct number x = {(int)(bits >> 31), 0, 0};

    if (is_zero(bits))
        return x;
    x.size = (bits & 0x007fffffu) | 0x00800000u;
    x.exponent = (int)(bits >> 23 & 0xff) - 150;
    return x;
}

/* right by count bits; what falls off is remembered in the last bit */
static uint64_t shift_sticky(uint64_t size, int count)
{
    if (count > 63)
        return size != 0;
    return size >> count | ((size & ((1ull << count) - 1)) != 0);
}

/* the top bit to bit 61: room for a carry */
static void normalise(struct number *x)
{
    while (x->size && x->size < 1ull << 61) {
        x->size <<= 1;
        x->exponent--;
    }
    while (x->size >= 1ull << 62) {
        x->size = shift_sticky(x->size, 1);
        x->exponent++;
    }
}

static struct number sum(struct number a, struct number b)
{
    struct number low;

    if (!a.size && !b.size) {
        a.negative &= b.negative;
        return a;
    }
    if (!a.size || !b.size)
        return a.size ? a : b;
    normalise(&a);
    normalise(&b);
    low = a.exponent < b.exponent ? a : b;
    if (a.exponent < b.exponent)
        a = b;
    else
        low = b;
    low.size = shift_sticky(low.size, a.exponent - low.exponent);
    if (a.negative == low.negative) {
        a.size += low.size;
    } else if (a.size >= low.size) {
        a.size -= low.size;
    } else {
        a.size = low.size - a.size;
        a.negative = low.negative;
    }
    if (!a.size)
        a.negative = 0;
    return a;
}

/* to `digits` bits as if the exponent had no limit; below 2^-126 a zero, from 2^128 infinity */
static uint32_t rounded(struct number x, int digits)
{
    uint64_t rest, half = 1ull << (61 - digits);
    uint32_t sign = (uint32_t)x.negative << 31;
    int exponent;

    if (!x.size)
        return sign;
    normalise(&x);
    rest = x.size & (2 * half - 1);
    x.size -= rest;
    if (rest > half || (rest == half && (x.size & 2 * half)))
        x.size += 2 * half;
    normalise(&x);
    exponent = x.exponent + 61;
    if (exponent < -126)
        return sign;
    if (exponent > 127)
        return sign | INF_BITS;
    return sign | (uint32_t)(exponent + 127) << 23 | ((uint32_t)(x.size >> 38) & 0x007fffffu);
}

uint32_t reference_add(uint32_t a, uint32_t b)
{
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b) && a != b))
        return NAN_BITS;
    if (is_inf(a) || is_inf(b))
        return is_inf(a) ? a : b;
    return rounded(sum(number_of(a), number_of(b)), 24);
}

static struct number product(uint32_t a, uint32_t b)
{
    struct number x = number_of(a), y = number_of(b);

    x.negative ^= y.negative;
    x.size *= y.size;
    x.exponent += y.exponent;
    return x;
}

uint32_t reference_mul(uint32_t a, uint32_t b)
{
    if (is_nan(a) || is_nan(b) || (is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b)))
        return NAN_BITS;
    if (is_inf(a) || is_inf(b))
        return INF_BITS | ((a ^ b) & 0x80000000u);
    return rounded(product(a, b), 24);
}

uint32_t reference_fma(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t whole = reference_mul(a, b);

    if (is_nan(whole) || is_nan(c) || is_inf(a) || is_inf(b))
        return reference_add(whole, c);
    return is_inf(c) ? c : rounded(sum(product(a, b), number_of(c)), 24);
}

uint16_t reference_bf16(uint32_t a)
{
    if (is_nan(a))
        return NAN_BITS >> 16;
    return (uint16_t)((is_inf(a) ? a : rounded(number_of(a), 8)) >> 16);
}
