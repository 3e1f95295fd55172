/* Loops over f32 and f64 that are a few instructions of the host. */
#include "import/lanes/kernel.h"

#include <math.h>

/* NaN where either is */
#define MAXIMUM(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define MINIMUM(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))

#define FLOATS(name, T, f) \
    KERNEL_BINARY(name##_add, T, T, x[i] + y[i]) \
    KERNEL_BINARY(name##_subtract, T, T, x[i] - y[i]) \
    KERNEL_BINARY(name##_multiply, T, T, x[i] * y[i]) \
    KERNEL_BINARY(name##_divide, T, T, x[i] / y[i]) \
    KERNEL_BINARY(name##_maximum, T, T, MAXIMUM(x[i], y[i])) \
    KERNEL_BINARY(name##_minimum, T, T, MINIMUM(x[i], y[i])) \
    KERNEL_UNARY(name##_square, T, T, x[i] * x[i]) \
    KERNEL_UNARY(name##_negate, T, T, -x[i]) \
    KERNEL_UNARY(name##_abs, T, T, fabs##f(x[i])) \
    KERNEL_UNARY(name##_sign, T, T, x[i] != x[i] || x[i] == 0 ? x[i] : copysign##f((T)1, x[i])) \
    KERNEL_UNARY(name##_ceil, T, T, ceil##f(x[i])) \
    KERNEL_UNARY(name##_floor, T, T, floor##f(x[i])) \
    KERNEL_UNARY(name##_round_afz, T, T, round##f(x[i])) \
    KERNEL_UNARY(name##_round_even, T, T, nearbyint##f(x[i])) \
    KERNEL_UNARY(name##_sqrt, T, T, sqrt##f(x[i])) \
    KERNEL_UNARY(name##_real, T, T, x[i]) \
    KERNEL_UNARY(name##_imag, T, T, 0 * x[i]) \
    KERNEL_UNARY(name##_is_finite, T, uint8_t, isfinite(x[i]) != 0) \
    KERNEL_UNARY(name##_is_inf, T, uint8_t, isinf(x[i]) != 0) \
    KERNEL_UNARY(name##_is_pos_inf, T, uint8_t, x[i] == (T)INFINITY) \
    KERNEL_UNARY(name##_is_neg_inf, T, uint8_t, x[i] == -(T)INFINITY)

FLOATS(f32, float, f)
FLOATS(f64, double, )
KERNEL_UNARY(f32_rsqrt, float, float, 1 / sqrt((double)x[i]))
KERNEL_UNARY(f64_rsqrt, double, double, 1 / sqrt(x[i]))
KERNEL_BINARY(f32_complex, float, lane_c64, complex_f32(x[i], y[i]))
KERNEL_BINARY(f64_complex, double, lane_c128, complex_f64(x[i], y[i]))

#define PAIR(name) { f32_##name, f64_##name }

static const kernel table[OPCODE_COUNT][2] = {
    [OPCODE_ADD] = PAIR(add), [OPCODE_SUBTRACT] = PAIR(subtract),
    [OPCODE_MULTIPLY] = PAIR(multiply), [OPCODE_DIVIDE] = PAIR(divide),
    [OPCODE_MAXIMUM] = PAIR(maximum), [OPCODE_MINIMUM] = PAIR(minimum),
    [OPCODE_SQUARE] = PAIR(square), [OPCODE_NEGATE] = PAIR(negate), [OPCODE_ABS] = PAIR(abs),
    [OPCODE_SIGN] = PAIR(sign), [OPCODE_CEIL] = PAIR(ceil), [OPCODE_FLOOR] = PAIR(floor),
    [OPCODE_ROUND_NEAREST_AFZ] = PAIR(round_afz), [OPCODE_ROUND_NEAREST_EVEN] = PAIR(round_even),
    [OPCODE_SQRT] = PAIR(sqrt), [OPCODE_RSQRT] = PAIR(rsqrt), [OPCODE_REAL] = PAIR(real),
    [OPCODE_IMAG] = PAIR(imag), [OPCODE_CONJ] = PAIR(real), [OPCODE_IS_FINITE] = PAIR(is_finite),
    [OPCODE_IS_INF] = PAIR(is_inf), [OPCODE_IS_POS_INF] = PAIR(is_pos_inf),
    [OPCODE_IS_NEG_INF] = PAIR(is_neg_inf), [OPCODE_COMPLEX] = PAIR(complex),
};

kernel kernel_float(enum hlo_opcode op, enum lane l) { return table[op][l == LANE_F64]; }
