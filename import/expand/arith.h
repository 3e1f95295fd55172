/*
 * Arithmetic on instructions in few letters, for expansions that are formulas: operands are
 * indices in the builder's computation, constants take the type and dimensions of another value.
 */
#ifndef EXPAND_ARITH_H
#define EXPAND_ARITH_H
#include "import/program/build.h"

#define AR_PI 3.14159265358979323846
#define AR_LN2 0.69314718055994530942

#define AR_BINARY(name, op) \
    static inline int ar_##name(struct hlo_builder *b, int x, int y) \
    { \
        return hlo_binary(b, OPCODE_##op, x, y); \
    }
#define AR_UNARY(name, op) \
    static inline int ar_##name(struct hlo_builder *b, int x) \
    { \
        return hlo_unary(b, OPCODE_##op, x); \
    }
#define AR_COMPARE(name, direction) \
    static inline int ar_##name(struct hlo_builder *b, int x, int y) \
    { \
        return hlo_compare(b, direction, x, y); \
    }
AR_BINARY(add, ADD)
AR_BINARY(sub, SUBTRACT)
AR_BINARY(mul, MULTIPLY)
AR_BINARY(div, DIVIDE)
AR_BINARY(min, MINIMUM)
AR_BINARY(max, MAXIMUM)
AR_BINARY(and, AND)
AR_BINARY(or, OR)
AR_BINARY(xor, XOR)
AR_BINARY(shl, SHIFT_LEFT)
AR_BINARY(shr, SHIFT_RIGHT_LOGICAL)
AR_BINARY(sar, SHIFT_RIGHT_ARITHMETIC)
AR_BINARY(pow, POWER)
AR_BINARY(atan2, ATAN2)
AR_UNARY(neg, NEGATE)
AR_UNARY(abs, ABS)
AR_UNARY(not, NOT)
AR_UNARY(sign, SIGN)
AR_UNARY(exp, EXPONENTIAL)
AR_UNARY(expm1, EXPONENTIAL_MINUS_ONE)
AR_UNARY(log, LOG)
AR_UNARY(log1p, LOG_PLUS_ONE)
AR_UNARY(sqrt, SQRT)
AR_UNARY(rsqrt, RSQRT)
AR_UNARY(sin, SINE)
AR_UNARY(cos, COSINE)
AR_UNARY(tanh, TANH)
AR_UNARY(floor, FLOOR)
AR_COMPARE(eq, HLO_EQ)
AR_COMPARE(ne, HLO_NE)
AR_COMPARE(lt, HLO_LT)
AR_COMPARE(le, HLO_LE)
AR_COMPARE(gt, HLO_GT)
AR_COMPARE(ge, HLO_GE)

static inline int ar_sel(struct hlo_builder *b, int pred, int x, int y)
{
    return hlo_select(b, pred, x, y);
}

/* the type of `like` with another element */
static inline struct hlo_type ar_type(struct hlo_builder *b, int like, enum hlo_element e)
{
    const struct hlo_type *t = hlo_type_of(b, like);

    return hlo_array_type(b->module->arena, e, t->rank, t->dim);
}

static inline enum hlo_element ar_element(struct hlo_builder *b, int x)
{
    return hlo_type_of(b, x)->element;
}

/* a number, in every element of an array like `like` */
static inline int ar_num(struct hlo_builder *b, int like, double value)
{
    struct hlo_type t = ar_type(b, like, ar_element(b, like));

    return hlo_constant(b, &t, value);
}

static inline int ar_int(struct hlo_builder *b, int like, int64_t value)
{
    struct hlo_type t = ar_type(b, like, ar_element(b, like));

    return hlo_constant_int(b, &t, value);
}

/* the same of another element type */
static inline int ar_int_of(struct hlo_builder *b, int like, enum hlo_element e, int64_t value)
{
    struct hlo_type t = ar_type(b, like, e);

    return hlo_constant_int(b, &t, value);
}

/* a scalar in every element of an array like `like` */
static inline int ar_spread(struct hlo_builder *b, int scalar, int like)
{
    struct hlo_type t = *hlo_type_of(b, like);

    return hlo_splat(b, scalar, &t);
}

static inline int ar_scalar(struct hlo_builder *b, enum hlo_element e, int64_t value)
{
    struct hlo_type t = hlo_scalar_type(e);

    return hlo_constant_int(b, &t, value);
}

static inline int ar_addn(struct hlo_builder *b, int x, double value)
{
    return ar_add(b, x, ar_num(b, x, value));
}

static inline int ar_muln(struct hlo_builder *b, int x, double value)
{
    return ar_mul(b, x, ar_num(b, x, value));
}

static inline int ar_addi(struct hlo_builder *b, int x, int64_t value)
{
    return ar_add(b, x, ar_int(b, x, value));
}

static inline int ar_andi(struct hlo_builder *b, int x, int64_t value)
{
    return ar_and(b, x, ar_int(b, x, value));
}

static inline int ar_shli(struct hlo_builder *b, int x, int count)
{
    return ar_shl(b, x, ar_int(b, x, count));
}

static inline int ar_shri(struct hlo_builder *b, int x, int count)
{
    return ar_shr(b, x, ar_int(b, x, count));
}

static inline int ar_sari(struct hlo_builder *b, int x, int count)
{
    return ar_sar(b, x, ar_int(b, x, count));
}

static inline int ar_is_nan(struct hlo_builder *b, int x)
{
    return ar_ne(b, x, x);
}

/* ((c[0] x + c[1]) x + c[2]) ... */
static inline int ar_poly(struct hlo_builder *b, int x, const double *c, int count)
{
    int y = ar_num(b, x, c[0]);

    for (int i = 1; i < count; i++)
        y = ar_addn(b, ar_mul(b, y, x), c[i]);
    return y;
}

/* u32: the high word of the product; *low the low one, unless NULL */
int ar_mul_wide(struct hlo_builder *b, int x, int y, int *low);
/* u32: counts elements of an array of these dimensions, row-major */
int ar_count(struct hlo_builder *b, int rank, const int64_t *dim);
#endif
