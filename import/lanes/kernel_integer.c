/* Loops over integers, which wrap around, and over predicates. */
#include "import/lanes/kernel.h"

/* counted from the top bit of `bits` ones */
static inline int leading_zeros(uint64_t x, int bits)
{
    return x ? __builtin_clzll(x) - (64 - bits) : bits;
}

/* what is raised to a negative power is 1 / x^y, towards zero */
static inline uint64_t int_power(uint64_t x, uint64_t y, bool is_signed)
{
    uint64_t z = 1;

    if (is_signed && (int64_t)y < 0)
        return x == 1 ? 1 : x == UINT64_MAX ? (y & 1 ? x : 1) : 0;
    for (; y; y >>= 1, x *= x)
        if (y & 1)
            z *= x;
    return z;
}

/* T: the type, U: unsigned of the same width, W: unsigned that arithmetic is done in */
#define COMMON(name, T, U, W, bits) \
    KERNEL_BINARY(name##_add, T, T, (T)(U)((W)x[i] + (W)y[i])) \
    KERNEL_BINARY(name##_subtract, T, T, (T)(U)((W)x[i] - (W)y[i])) \
    KERNEL_BINARY(name##_multiply, T, T, (T)(U)((W)x[i] * (W)y[i])) \
    KERNEL_BINARY(name##_maximum, T, T, x[i] > y[i] ? x[i] : y[i]) \
    KERNEL_BINARY(name##_minimum, T, T, x[i] < y[i] ? x[i] : y[i]) \
    KERNEL_BINARY(name##_and, T, T, x[i] & y[i]) \
    KERNEL_BINARY(name##_or, T, T, x[i] | y[i]) \
    KERNEL_BINARY(name##_xor, T, T, x[i] ^ y[i]) \
    KERNEL_BINARY(name##_shl, T, T, (U)y[i] < bits ? (T)(U)((W)(U)x[i] << (U)y[i]) : 0) \
    KERNEL_BINARY(name##_shrl, T, T, (U)y[i] < bits ? (T)((U)x[i] >> (U)y[i]) : 0) \
    KERNEL_UNARY(name##_negate, T, T, (T)(U)(0 - (W)x[i])) \
    KERNEL_UNARY(name##_square, T, T, (T)(U)((W)x[i] * (W)x[i])) \
    KERNEL_UNARY(name##_not, T, T, ~x[i]) \
    KERNEL_UNARY(name##_popcnt, T, T, (T)__builtin_popcountll((U)x[i])) \
    KERNEL_UNARY(name##_clz, T, T, (T)leading_zeros((U)x[i], bits))

#define SIGNED(name, T, U, W, bits) \
    COMMON(name, T, U, W, bits) \
    KERNEL_BINARY(name##_divide, T, T, y[i] == 0 ? -1 : y[i] == -1 ? (T)(U)(0 - (W)x[i]) : \
                  x[i] / y[i]) \
    KERNEL_BINARY(name##_remainder, T, T, y[i] == 0 ? x[i] : y[i] == -1 ? 0 : x[i] % y[i]) \
    KERNEL_BINARY(name##_power, T, T, (T)int_power((uint64_t)(int64_t)x[i], \
                                                   (uint64_t)(int64_t)y[i], true)) \
    KERNEL_BINARY(name##_shra, T, T, x[i] >> ((U)y[i] < bits ? (U)y[i] : bits - 1)) \
    KERNEL_UNARY(name##_abs, T, T, x[i] < 0 ? (T)(U)(0 - (W)x[i]) : x[i]) \
    KERNEL_UNARY(name##_sign, T, T, (x[i] > 0) - (x[i] < 0))

/* shift-right-arithmetic of unsigned numbers repeats their top bit */
#define UNSIGNED(name, T, S, W, bits) \
    COMMON(name, T, T, W, bits) \
    KERNEL_BINARY(name##_divide, T, T, y[i] == 0 ? (T)-1 : x[i] / y[i]) \
    KERNEL_BINARY(name##_remainder, T, T, y[i] == 0 ? x[i] : x[i] % y[i]) \
    KERNEL_BINARY(name##_power, T, T, (T)int_power(x[i], y[i], false)) \
    KERNEL_BINARY(name##_shra, T, T, (S)x[i] >> (y[i] < bits ? y[i] : bits - 1)) \
    KERNEL_UNARY(name##_abs, T, T, x[i]) \
    KERNEL_UNARY(name##_sign, T, T, x[i] != 0)

SIGNED(s8, int8_t, uint8_t, uint32_t, 8)
SIGNED(s16, int16_t, uint16_t, uint32_t, 16)
SIGNED(s32, int32_t, uint32_t, uint32_t, 32)
SIGNED(s64, int64_t, uint64_t, uint64_t, 64)
UNSIGNED(u8, uint8_t, int8_t, uint32_t, 8)
UNSIGNED(u16, uint16_t, int16_t, uint32_t, 16)
UNSIGNED(u32, uint32_t, int32_t, uint32_t, 32)
UNSIGNED(u64, uint64_t, int64_t, uint64_t, 64)

__extension__ typedef unsigned __int128 wide_unsigned;
__extension__ typedef __int128 wide_signed;

KERNEL_BINARY(s32_mulhi, int32_t, int32_t, (int64_t)x[i] * y[i] >> 32)
KERNEL_BINARY(u32_mulhi, uint32_t, uint32_t, (uint64_t)x[i] * y[i] >> 32)
KERNEL_BINARY(s64_mulhi, int64_t, int64_t, (wide_signed)x[i] * y[i] >> 64)
KERNEL_BINARY(u64_mulhi, uint64_t, uint64_t, (wide_unsigned)x[i] * y[i] >> 64)
KERNEL_BINARY(s16_mulhi, int16_t, int16_t, (int32_t)x[i] * y[i] >> 16)
KERNEL_BINARY(u16_mulhi, uint16_t, uint16_t, (uint32_t)x[i] * y[i] >> 16)
KERNEL_BINARY(s8_mulhi, int8_t, int8_t, (int32_t)x[i] * y[i] >> 8)
KERNEL_BINARY(u8_mulhi, uint8_t, uint8_t, (uint32_t)x[i] * y[i] >> 8)

/* of predicates addition is or, multiplication and */
KERNEL_BINARY(pred_or, uint8_t, uint8_t, x[i] | y[i])
KERNEL_BINARY(pred_and, uint8_t, uint8_t, x[i] & y[i])
KERNEL_BINARY(pred_xor, uint8_t, uint8_t, x[i] ^ y[i])
KERNEL_UNARY(pred_not, uint8_t, uint8_t, !x[i])
KERNEL_UNARY(pred_same, uint8_t, uint8_t, x[i])

#define ROW(name) \
    { [LANE_S8] = s8_##name, [LANE_S16] = s16_##name, [LANE_S32] = s32_##name, \
      [LANE_S64] = s64_##name, [LANE_U8] = u8_##name, [LANE_U16] = u16_##name, \
      [LANE_U32] = u32_##name, [LANE_U64] = u64_##name }
#define ROW_AND(name, of_pred) \
    { [LANE_PRED] = of_pred, [LANE_S8] = s8_##name, [LANE_S16] = s16_##name, \
      [LANE_S32] = s32_##name, [LANE_S64] = s64_##name, [LANE_U8] = u8_##name, \
      [LANE_U16] = u16_##name, [LANE_U32] = u32_##name, [LANE_U64] = u64_##name }

static const kernel table[OPCODE_COUNT][LANE_COUNT] = {
    [OPCODE_ADD] = ROW_AND(add, pred_or),
    [OPCODE_SUBTRACT] = ROW_AND(subtract, pred_xor),
    [OPCODE_MULTIPLY] = ROW_AND(multiply, pred_and),
    [OPCODE_DIVIDE] = ROW(divide),
    [OPCODE_REMAINDER] = ROW(remainder),
    [OPCODE_MAXIMUM] = ROW_AND(maximum, pred_or),
    [OPCODE_MINIMUM] = ROW_AND(minimum, pred_and),
    [OPCODE_POWER] = ROW(power),
    [OPCODE_AND] = ROW_AND(and, pred_and),
    [OPCODE_OR] = ROW_AND(or, pred_or),
    [OPCODE_XOR] = ROW_AND(xor, pred_xor),
    [OPCODE_NOT] = ROW_AND(not, pred_not),
    [OPCODE_NEGATE] = ROW(negate),
    [OPCODE_ABS] = ROW_AND(abs, pred_same),
    [OPCODE_SIGN] = ROW_AND(sign, pred_same),
    [OPCODE_SQUARE] = ROW(square),
    [OPCODE_SHIFT_LEFT] = ROW(shl),
    [OPCODE_SHIFT_RIGHT_LOGICAL] = ROW(shrl),
    [OPCODE_SHIFT_RIGHT_ARITHMETIC] = ROW(shra),
    [OPCODE_POPCNT] = ROW(popcnt),
    [OPCODE_COUNT_LEADING_ZEROS] = ROW(clz),
    [OPCODE_MULHI] = ROW(mulhi),
};

kernel kernel_integer(enum hlo_opcode op, enum lane l) { return table[op][l]; }
