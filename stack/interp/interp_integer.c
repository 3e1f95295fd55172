/* Evaluates arithmetic on integers, which wraps in their width, and on predicates. */
#include "stack/interp/interp_ops.h"

#include <assert.h>

static int width_of(enum graph_dtype t)
{
    return t == DTYPE_S8 || t == DTYPE_U8 ? 8 : 32;
}

static bool is_signed(enum graph_dtype t)
{
    return t == DTYPE_S32 || t == DTYPE_S8;
}

int64_t interp_wrap(enum graph_dtype dtype, int64_t x)
{
    switch (dtype) {
    case DTYPE_S8: return (int8_t)(uint8_t)x;
    case DTYPE_U8: return (uint8_t)x;
    case DTYPE_U32: return (uint32_t)x;
    case DTYPE_PRED: return x & 1;
    default: return (int32_t)(uint32_t)x;
    }
}

/* the value's bits as an unsigned number */
static uint32_t bits_of(enum graph_dtype t, int64_t x)
{
    return width_of(t) == 8 ? (uint8_t)x : (uint32_t)x;
}

static int64_t zeros_above(enum graph_dtype t, int64_t x)
{
    uint32_t bits = bits_of(t, x);
    int count = 0;

    for (int i = width_of(t) - 1; i >= 0 && !(bits >> i & 1u); i--)
        count++;
    return count;
}

static int64_t unary(enum graph_op op, enum graph_dtype t, int64_t x)
{
    switch (op) {
    case HLO_NEGATE: return -x;
    case HLO_ABS: return x < 0 ? -x : x;
    case HLO_SIGN: return (x > 0) - (x < 0);
    case HLO_NOT: return ~x;
    case HLO_POPCNT: return __builtin_popcount(bits_of(t, x));
    case HLO_CLZ: return zeros_above(t, x);
    default: assert(false && "not a unary operation on integers"); return 0;
    }
}

/* by nothing: all ones; the lowest by -1 wraps to itself */
static int64_t divide(int64_t x, int64_t y)
{
    return y == 0 ? -1 : x / y;
}

/* modulo 2^64 while it is computed: squares of 32-bit numbers without a sign are that large */
static int64_t times(enum graph_dtype t, int64_t x, int64_t y)
{
    return interp_wrap(t, (int64_t)((uint64_t)x * (uint64_t)y));
}

static int64_t power(enum graph_dtype t, int64_t x, int64_t y)
{
    int64_t product = 1;

    if (y < 0)                          /* of 1 / x^-y the whole part */
        return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
    for (; y > 0; y >>= 1) {
        if (y & 1)
            product = times(t, product, x);
        x = times(t, x, x);
    }
    return product;
}

static int64_t shift(enum graph_op op, enum graph_dtype t, int64_t x, int64_t y)
{
    uint32_t by = bits_of(t, y), width = (uint32_t)width_of(t), bits = bits_of(t, x);

    if (op == HLO_SHIFT_RIGHT_ARITHMETIC) {
        int64_t filled = width == 8 ? (int8_t)(uint8_t)bits : (int32_t)bits;

        return filled >> (by < width ? by : width - 1);
    }
    if (by >= width)
        return 0;
    return op == HLO_SHIFT_LEFT ? (int64_t)bits << by : (int64_t)(bits >> by);
}

static int64_t binary(enum graph_op op, enum graph_dtype t, int64_t x, int64_t y)
{
    switch (op) {
    case HLO_ADD: return x + y;
    case HLO_SUBTRACT: return x - y;
    case HLO_MULTIPLY: return (int64_t)((uint64_t)x * (uint64_t)y);
    case HLO_DIVIDE: return divide(x, y);
    case HLO_REMAINDER: return y == 0 ? x : x % y;
    case HLO_POWER: return power(t, x, y);
    case HLO_MAXIMUM: return x > y ? x : y;
    case HLO_MINIMUM: return x < y ? x : y;
    case HLO_AND: return x & y;
    case HLO_OR: return x | y;
    case HLO_XOR: return x ^ y;
    case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_LOGICAL:
    case HLO_SHIFT_RIGHT_ARITHMETIC: return shift(op, t, x, y);
    default: assert(false && "not a binary operation on integers"); return 0;
    }
}

static int64_t load(enum graph_dtype t, const void *data, int64_t i)
{
    return is_signed(t) || t == DTYPE_PRED ? ((const int32_t *)data)[i]
                                           : (int64_t)((const uint32_t *)data)[i];
}

void interp_integer(const struct interp_call *c)
{
    int64_t count = shape_elems(&c->n->shape);
    enum graph_dtype t = c->n->shape.dtype;
    uint32_t *to = c->to;

    for (int64_t i = 0; i < count; i++) {
        int64_t x = load(t, call_data(c, 0), i);

        x = c->n->operand_count == 1 ? unary(c->n->op, t, x)
                                     : binary(c->n->op, t, x, load(t, call_data(c, 1), i));
        to[i] = (uint32_t)interp_wrap(t, x);
    }
}
