/* Which loop computes an operation; comparisons, selections and cuts of precision. */
#include "import/lanes/kernel.h"

#include <math.h>
#include <string.h>

kernel kernel_of(enum hlo_opcode op, enum lane l)
{
    kernel k;

    if (l == LANE_COUNT)
        return NULL;
    if (lane_is_complex(l))
        return kernel_complex(op, l);
    if (!lane_is_float(l))
        return kernel_integer(op, l);
    k = kernel_float(op, l);
    return k ? k : kernel_math(op, l);
}

#define COMPARISONS(name, T) \
    KERNEL_BINARY(name##_eq, T, uint8_t, x[i] == y[i]) \
    KERNEL_BINARY(name##_ne, T, uint8_t, x[i] != y[i]) \
    KERNEL_BINARY(name##_lt, T, uint8_t, x[i] < y[i]) \
    KERNEL_BINARY(name##_le, T, uint8_t, x[i] <= y[i]) \
    KERNEL_BINARY(name##_gt, T, uint8_t, x[i] > y[i]) \
    KERNEL_BINARY(name##_ge, T, uint8_t, x[i] >= y[i])

COMPARISONS(pred, uint8_t)
COMPARISONS(s8, int8_t)
COMPARISONS(s16, int16_t)
COMPARISONS(s32, int32_t)
COMPARISONS(s64, int64_t)
COMPARISONS(u8, uint8_t)
COMPARISONS(u16, uint16_t)
COMPARISONS(u32, uint32_t)
COMPARISONS(u64, uint64_t)
COMPARISONS(f32, float)
COMPARISONS(f64, double)
KERNEL_BINARY(c64_eq, lane_c64, uint8_t, x[i] == y[i])
KERNEL_BINARY(c64_ne, lane_c64, uint8_t, x[i] != y[i])
KERNEL_BINARY(c128_eq, lane_c128, uint8_t, x[i] == y[i])
KERNEL_BINARY(c128_ne, lane_c128, uint8_t, x[i] != y[i])

/* bits as integers that stand in the order -NaN, -inf, .., -0, +0, .., inf, NaN */
static inline int32_t order_of(int32_t bits) { return bits < 0 ? bits ^ INT32_MAX : bits; }
static inline int64_t order_of_wide(int64_t bits) { return bits < 0 ? bits ^ INT64_MAX : bits; }

#define TOTALS(name, T, order) \
    KERNEL_BINARY(name##_eq, T, uint8_t, x[i] == y[i]) \
    KERNEL_BINARY(name##_ne, T, uint8_t, x[i] != y[i]) \
    KERNEL_BINARY(name##_lt, T, uint8_t, order(x[i]) < order(y[i])) \
    KERNEL_BINARY(name##_le, T, uint8_t, order(x[i]) <= order(y[i])) \
    KERNEL_BINARY(name##_gt, T, uint8_t, order(x[i]) > order(y[i])) \
    KERNEL_BINARY(name##_ge, T, uint8_t, order(x[i]) >= order(y[i]))

TOTALS(total32, int32_t, order_of)
TOTALS(total64, int64_t, order_of_wide)

#define DIRECTIONS(name) { name##_eq, name##_ne, name##_lt, name##_le, name##_gt, name##_ge }

static const kernel comparisons[LANE_COUNT][6] = {
    [LANE_PRED] = DIRECTIONS(pred), [LANE_S8] = DIRECTIONS(s8), [LANE_S16] = DIRECTIONS(s16),
    [LANE_S32] = DIRECTIONS(s32), [LANE_S64] = DIRECTIONS(s64), [LANE_U8] = DIRECTIONS(u8),
    [LANE_U16] = DIRECTIONS(u16), [LANE_U32] = DIRECTIONS(u32), [LANE_U64] = DIRECTIONS(u64),
    [LANE_F32] = DIRECTIONS(f32), [LANE_F64] = DIRECTIONS(f64),
    [LANE_C64] = { c64_eq, c64_ne }, [LANE_C128] = { c128_eq, c128_ne },
};
static const kernel totals[2][6] = { DIRECTIONS(total32), DIRECTIONS(total64) };

kernel kernel_compare(enum hlo_direction d, bool is_total, enum lane l)
{
    if (is_total && lane_is_float(l))
        return totals[l == LANE_F64][d];
    return l == LANE_COUNT ? NULL : comparisons[l][d];
}

struct bytes16 { uint64_t half[2]; };

#define SELECT(name, T) \
    static void name(void *to, const void *a, const void *b, const void *c, int64_t n) \
    { \
        const uint8_t *p = a; \
        const T *x = b, *y = c; \
        T *z = to; \
        LANE_IVDEP \
        for (int64_t i = 0; i < n; i++) \
            z[i] = p[i] ? x[i] : y[i]; \
    }

SELECT(select1, uint8_t)
SELECT(select2, uint16_t)
SELECT(select4, uint32_t)
SELECT(select8, uint64_t)
SELECT(select16, struct bytes16)

kernel kernel_select(size_t element_bytes)
{
    return element_bytes == 1 ? select1 : element_bytes == 2 ? select2 : element_bytes == 4
               ? select4 : element_bytes == 8 ? select8 : select16;
}

/* to nearest even at mantissa_bits; beyond the exponent's range infinity, below it zero */
static uint64_t cut(uint64_t bits, int exponent, int mantissa, int keep_exponent, int keep_mantissa)
{
    uint64_t sign = bits & (uint64_t)1 << (exponent + mantissa), size = bits ^ sign;
    uint64_t infinity = (((uint64_t)1 << exponent) - 1) << mantissa;
    int64_t bias = ((int64_t)1 << (exponent - 1)) - 1, kept;

    if (size > infinity)
        return bits | (uint64_t)1 << (mantissa - 1);
    if (keep_mantissa < mantissa) {
        int drop = mantissa - keep_mantissa;
        uint64_t half = ((uint64_t)1 << (drop - 1)) - 1;

        size += half + (size >> drop & 1);
        size &= ~(((uint64_t)1 << drop) - 1);
    }
    if (keep_exponent >= exponent)
        return sign | size;
    kept = ((int64_t)1 << (keep_exponent - 1)) - 1;
    if ((int64_t)(size >> mantissa) > bias + kept)
        return sign | infinity;
    return (int64_t)(size >> mantissa) <= bias - kept ? sign : sign | size;
}

void kernel_reduce_precision(enum lane l, void *x, int exponent_bits, int mantissa_bits, int64_t n)
{
    uint32_t *narrow = x;
    uint64_t *wide = x;

    for (int64_t i = 0; i < n; i++)
        if (l == LANE_F64)
            wide[i] = cut(wide[i], 11, 52, exponent_bits, mantissa_bits);
        else
            narrow[i] = (uint32_t)cut(narrow[i], 8, 23, exponent_bits, mantissa_bits);
}
