/*
 * Arithmetic on instructions in few letters, for expansions that are formulas: operands are
 * indices in the builder's computation, constants take the type and dimensions of another value.
 */
#ifndef EXPAND_ARITH_H
#define EXPAND_ARITH_H
#include "import/program/build.h"

#include <assert.h>

#define AR_PI 3.14159265358979323846
#define AR_LN2 0.69314718055994530942

/*
 * Operands are handed to the builder one after another, and the instruction takes them from it: a
 * formula makes its instructions in the order in which it is written. C leaves open in which order
 * the arguments of a call are worked out, and compilers differ.
 */
static inline void ar_give(struct hlo_builder *b, int x)
{
    assert(b->given_count < HLO_GIVEN_MAX);
    b->given[b->given_count++] = x;
}

static inline int ar_taken(struct hlo_builder *b)
{
    assert(b->given_count > 0);
    return b->given[--b->given_count];
}

static inline int ar_binary(struct hlo_builder *b, enum hlo_opcode op)
{
    int y = ar_taken(b), x = ar_taken(b);

    return hlo_binary(b, op, x, y);
}

static inline int ar_compare(struct hlo_builder *b, enum hlo_direction direction)
{
    int y = ar_taken(b), x = ar_taken(b);

    return hlo_compare(b, direction, x, y);
}

static inline int ar_select(struct hlo_builder *b)
{
    int y = ar_taken(b), x = ar_taken(b), pred = ar_taken(b);

    return hlo_select(b, pred, x, y);
}

#define ar_add(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_ADD))
#define ar_sub(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_SUBTRACT))
#define ar_mul(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_MULTIPLY))
#define ar_div(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_DIVIDE))
#define ar_min(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_MINIMUM))
#define ar_max(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_MAXIMUM))
#define ar_and(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_AND))
#define ar_or(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_OR))
#define ar_xor(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_XOR))
#define ar_shl(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_SHIFT_LEFT))
#define ar_shr(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_SHIFT_RIGHT_LOGICAL))
#define ar_sar(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_SHIFT_RIGHT_ARITHMETIC))
#define ar_pow(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_POWER))
#define ar_atan2(b, x, y) (ar_give(b, x), ar_give(b, y), ar_binary(b, OPCODE_ATAN2))
#define ar_eq(b, x, y) (ar_give(b, x), ar_give(b, y), ar_compare(b, HLO_EQ))
#define ar_ne(b, x, y) (ar_give(b, x), ar_give(b, y), ar_compare(b, HLO_NE))
#define ar_lt(b, x, y) (ar_give(b, x), ar_give(b, y), ar_compare(b, HLO_LT))
#define ar_le(b, x, y) (ar_give(b, x), ar_give(b, y), ar_compare(b, HLO_LE))
#define ar_gt(b, x, y) (ar_give(b, x), ar_give(b, y), ar_compare(b, HLO_GT))
#define ar_ge(b, x, y) (ar_give(b, x), ar_give(b, y), ar_compare(b, HLO_GE))
#define ar_sel(b, pred, x, y) (ar_give(b, pred), ar_give(b, x), ar_give(b, y), ar_select(b))

#define AR_UNARY(name, op) \
    static inline int ar_##name(struct hlo_builder *b, int x) \
    { \
        return hlo_unary(b, OPCODE_##op, x); \
    }
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
