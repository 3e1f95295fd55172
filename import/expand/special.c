/*
 * Functions that HLO has no opcode for, or the compiler no operation, as formulas in f32 of those it
 * has: trigonometric and hyperbolic ones, tests for infinities, the next number towards another.
 */
#include "import/expand/site.h"

#include <math.h>

/* complex values keep their type: complex arithmetic comes later */
static int operand_of(struct expand_site *s, int operand)
{
    return hlo_element_is_complex(expand_operand_type(s, operand)->element)
               ? s->operand[operand] : expand_to_f32(s, operand);
}

/* c as a complex array like `like` */
static int complex_num(struct hlo_builder *b, int like, double real, double imaginary)
{
    struct hlo_type t = ar_type(b, like, ELEMENT_F32);

    int part = hlo_constant(b, &t, real);

    return hlo_complex(b, part, hlo_constant(b, &t, imaginary));
}

/* log(z + sqrt(z + 1) sqrt(z - 1)); sqrt of each factor keeps to the right branch */
static int complex_acosh(struct hlo_builder *b, int z)
{
    int one = complex_num(b, z, 1, 0);
    int root = ar_mul(b, ar_sqrt(b, ar_add(b, z, one)), ar_sqrt(b, ar_sub(b, z, one)));

    return ar_log(b, ar_add(b, z, root));
}

static int complex_asinh(struct hlo_builder *b, int z)
{
    int root = ar_sqrt(b, ar_add(b, ar_mul(b, z, z), complex_num(b, z, 1, 0)));

    return ar_log(b, ar_add(b, z, root));
}

static int complex_atanh(struct hlo_builder *b, int z)
{
    int one = complex_num(b, z, 1, 0);
    int twice = ar_sub(b, ar_log(b, ar_add(b, one, z)), ar_log(b, ar_sub(b, one, z)));

    return ar_mul(b, twice, complex_num(b, z, 0.5, 0));
}

static int complex_function(struct expand_site *s, int z)
{
    struct hlo_builder *b = s->b;
    int i = complex_num(b, z, 0, 1), minus_i = complex_num(b, z, 0, -1);
    int half = complex_num(b, z, 0.5, 0), e;

    switch (s->from->op) {
    case OPCODE_SINH:
    case OPCODE_COSH:
        e = ar_exp(b, ar_neg(b, z));
        e = s->from->op == OPCODE_SINH ? ar_sub(b, ar_exp(b, z), e) : ar_add(b, ar_exp(b, z), e);
        return ar_mul(b, e, half);
    case OPCODE_ASINH:
        return complex_asinh(b, z);
    case OPCODE_ACOSH:
        return complex_acosh(b, z);
    case OPCODE_ATANH:
        return complex_atanh(b, z);
    case OPCODE_ASIN:
        return ar_mul(b, minus_i, complex_asinh(b, ar_mul(b, i, z)));
    case OPCODE_ATAN:
        return ar_mul(b, minus_i, complex_atanh(b, ar_mul(b, i, z)));
    default:                            /* acos: pi / 2 - asin */
        return ar_sub(b, complex_num(b, z, AR_PI / 2, 0),
                      ar_mul(b, minus_i, complex_asinh(b, ar_mul(b, i, z))));
    }
}

int expand_trigonometric(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int x = operand_of(s, 0), one, below, above;

    if (hlo_element_is_complex(s->from->type->element))
        return complex_function(s, x);
    one = ar_num(b, x, 1);
    if (s->from->op == OPCODE_ATAN)
        return expand_from_f32(s, ar_atan2(b, x, one));
    below = ar_sub(b, one, x);
    above = ar_add(b, one, x);
    if (s->from->op == OPCODE_ACOS)
        return expand_from_f32(s, ar_muln(b, ar_atan2(b, ar_sqrt(b, below), ar_sqrt(b, above)), 2));
    below = ar_sqrt(b, ar_mul(b, below, above));
    return expand_from_f32(s, ar_muln(b, ar_atan2(b, x, ar_add(b, one, below)), 2));
}

static int with_sign_of(struct hlo_builder *b, int size, int x)
{
    return ar_sel(b, ar_lt(b, x, ar_num(b, x, 0)), ar_neg(b, size), size);
}

/* e^(a / 2) (e^(a / 2) / 2): does not overflow before the result does */
static int half_exp(struct hlo_builder *b, int a)
{
    int root = ar_exp(b, ar_muln(b, a, 0.5));

    return ar_mul(b, root, ar_muln(b, root, 0.5));
}

static int sinh_of(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x), e = ar_expm1(b, a);
    int small = ar_muln(b, ar_add(b, e, ar_div(b, e, ar_addn(b, e, 1))), 0.5);
    int y = with_sign_of(b, ar_sel(b, ar_gt(b, a, ar_num(b, a, 20)), half_exp(b, a), small), x);

    return ar_sel(b, ar_eq(b, x, ar_num(b, x, 0)), x, y);
}

static int cosh_of(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x), grown = half_exp(b, a);

    return ar_add(b, grown, ar_muln(b, ar_exp(b, ar_neg(b, a)), 0.5));
}

/* log1p(a + a^2 / (1 + sqrt(a^2 + 1))) of small and middling a, log(a) + log(2) of large ones */
static int asinh_of(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x), square = ar_mul(b, a, a);
    int root = ar_sqrt(b, ar_addn(b, square, 1));
    int small = ar_log1p(b, ar_add(b, a, ar_div(b, square, ar_addn(b, root, 1))));
    int large = ar_addn(b, ar_log(b, a), AR_LN2);
    int y = with_sign_of(b, ar_sel(b, ar_gt(b, a, ar_num(b, a, 1e6)), large, small), x);

    return ar_sel(b, ar_eq(b, x, ar_num(b, x, 0)), x, y);
}

/* with t = x - 1: log1p(t + sqrt(t (t + 2))) */
static int acosh_of(struct hlo_builder *b, int x)
{
    int t = ar_addn(b, x, -1);
    int small = ar_log1p(b, ar_add(b, t, ar_sqrt(b, ar_mul(b, t, ar_addn(b, t, 2)))));
    int large = ar_addn(b, ar_log(b, x), AR_LN2);
    int y = ar_sel(b, ar_gt(b, x, ar_num(b, x, 1e6)), large, small);

    return ar_sel(b, ar_lt(b, x, ar_num(b, x, 1)), ar_num(b, x, NAN), y);
}

static int atanh_of(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x);
    int ratio = ar_div(b, ar_muln(b, a, 2), ar_addn(b, ar_neg(b, a), 1));
    int y = with_sign_of(b, ar_muln(b, ar_log1p(b, ratio), 0.5), x);

    y = ar_sel(b, ar_gt(b, a, ar_num(b, a, 1)), ar_num(b, a, NAN), y);
    return ar_sel(b, ar_eq(b, x, ar_num(b, x, 0)), x, y);
}

int expand_hyperbolic(struct expand_site *s)
{
    int x = operand_of(s, 0);

    if (hlo_element_is_complex(s->from->type->element))
        return complex_function(s, x);
    switch (s->from->op) {
    case OPCODE_SINH:
        return expand_from_f32(s, sinh_of(s->b, x));
    case OPCODE_COSH:
        return expand_from_f32(s, cosh_of(s->b, x));
    case OPCODE_ASINH:
        return expand_from_f32(s, asinh_of(s->b, x));
    case OPCODE_ACOSH:
        return expand_from_f32(s, acosh_of(s->b, x));
    default:
        return expand_from_f32(s, atanh_of(s->b, x));
    }
}

int expand_square(struct expand_site *s)
{
    return ar_mul(s->b, s->operand[0], s->operand[0]);
}

int expand_conj(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int x = s->operand[0], real;

    if (!hlo_element_is_complex(ar_element(b, x)))
        return x;
    real = hlo_real(b, x);
    return hlo_complex(b, real, ar_neg(b, hlo_imaginary(b, x)));
}

int expand_is_inf(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int x = expand_to_f32(s, 0);

    if (s->from->op == OPCODE_IS_INF)
        x = ar_abs(b, x);
    return ar_eq(b, x, ar_num(b, x, s->from->op == OPCODE_IS_NEG_INF ? -INFINITY : INFINITY));
}

/* a custom call that only says something of its operand */
int expand_same(struct expand_site *s) { return s->operand[0]; }

int expand_erf_call(struct expand_site *s)
{
    return hlo_unary(s->b, OPCODE_ERF, s->operand[0]);
}

/*
 * The bits of a float, without its sign, are a number that counts the floats from zero on: one more
 * is the next larger one. `bits` wide, of which the top one is the sign.
 */
static int step_bits(struct hlo_builder *b, int from, int towards, int bits)
{
    int sign_bit = ar_int(b, from, (int64_t)1 << (bits - 1));
    int rest = ar_int(b, from, ((int64_t)1 << (bits - 1)) - 1), zero = ar_int(b, from, 0);
    int size = ar_and(b, from, rest), towards_size = ar_and(b, towards, rest);
    int is_other = ar_ne(b, ar_and(b, from, sign_bit), ar_and(b, towards, sign_bit));
    int shrinks = ar_or(b, is_other, ar_gt(b, size, towards_size));
    int stepped = ar_sel(b, shrinks, ar_addi(b, from, -1), ar_addi(b, from, 1));
    int smallest = ar_or(b, ar_and(b, towards, sign_bit), ar_int(b, from, 1));
    int both_zero = ar_eq(b, ar_or(b, size, towards_size), zero);

    stepped = ar_sel(b, ar_eq(b, size, zero), smallest, stepped);
    stepped = ar_sel(b, ar_eq(b, from, towards), from, stepped);
    return ar_sel(b, both_zero, towards, stepped);
}

int expand_next_after(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element e = s->from->type->element;
    enum hlo_element word = e == ELEMENT_F64 ? ELEMENT_U64 : e == ELEMENT_F32 ? ELEMENT_U32
                                                                              : ELEMENT_U16;
    int from = hlo_bitcast_convert(b, s->operand[0], word);
    int towards = hlo_bitcast_convert(b, s->operand[1], word);
    int next = hlo_bitcast_convert(b, step_bits(b, from, towards, hlo_element_bits(e)), e);
    int is_nan = ar_or(b, ar_is_nan(b, s->operand[0]), ar_is_nan(b, s->operand[1]));

    return ar_sel(b, is_nan, ar_num(b, next, NAN), next);
}
