/*
 * Functions of floats out of vector and transcendental operations, in the forms that the
 * compiler's listings show: e^x as 2^(x log2 e), a / b as a times 1 / b, a root as x times
 * 1 / root. Bounds of their errors: docs/numerics.md.
 */
#include "stack/kernels/loop/fused_impl.h"

#include <assert.h>

#include "base/units.h"

#define LOG2_E 1.4426950408889634
#define LN_2 0.6931471805599453
#define SIGN_BIT INT32_MIN
#define POSITIVE_INFINITY 0x7f800000
#define QUIET_NAN 0x7fc00000

static opnd magnitude(struct vcode *c, opnd a) { return bit_and(c, a, I(INT32_MAX)); }
static opnd negated(struct vcode *c, opnd a)
{
    return bit_xor(c, a, I(SIGN_BIT));
}

opnd fused_polynomial(struct vcode *c, const float *coefficient, int count, opnd x)
{
    opnd sum = add(c, mul(c, x, F(coefficient[0])), F(coefficient[1]));

    for (int i = 2; i < count; i++)
        sum = add(c, mul(c, sum, x), F(coefficient[i]));
    return sum;
}

opnd fused_exponential(struct vcode *c, opnd x, bool of_negated)
{
    return power_of_two(c, mul(c, x, F(of_negated ? -LOG2_E : LOG2_E)));
}

static opnd exponential(struct vcode *c, opnd x) { return fused_exponential(c, x, false); }

static opnd logarithm(struct vcode *c, opnd x)
{
    return mul(c, binary_log(c, x), F(LN_2));
}

/* e^x - 1, of small x as tanh(x / 2) (e^x + 1), which cancels nothing */
static opnd exponential_minus_one(struct vcode *c, opnd x)
{
    opnd e = exponential(c, x), above = add(c, e, F(1));
    opnd small = mul(c, hyperbolic_tangent(c, mul(c, x, F(0.5))), above);
    opnd large = sub(c, e, F(1));

    return choose(c, emit_vcmp_lt_f32(c, magnitude(c, x), F(0.5)), small, large);
}

/* log(1 + x), of small x by two terms of its series, with the bound that the listings have */
static opnd log_plus_one(struct vcode *c, opnd x)
{
    opnd small = mul(c, add(c, mul(c, x, F(-0.5)), F(1)), x);
    opnd large = logarithm(c, add(c, x, F(1)));

    return choose(c, emit_vcmp_lt_f32(c, magnitude(c, x), F(0.0004427343)), small, large);
}

/* x / sqrt(x), which is no number for infinity and 0: both are their own roots */
static opnd square_root(struct vcode *c, opnd x)
{
    opnd root = mul(c, reciprocal_root(c, x), x), zero;

    root = choose(c, emit_vcmp_eq_f32(c, x, I(POSITIVE_INFINITY)), x, root);
    zero = bit_and(c, x, I(SIGN_BIT));
    return choose(c, emit_vcmp_eq_f32(c, x, F(0)), zero, root);
}

/* 2^(log2 |x| / 3), one step of Newton's behind it, with the sign of x */
static opnd cube_root(struct vcode *c, opnd x)
{
    opnd a = magnitude(c, x), third = F(1.0 / 3.0), y, step;
    int is_plain;

    y = power_of_two(c, mul(c, binary_log(c, a), third));
    step = sub(c, y, mul(c, reciprocal(c, mul(c, y, y)), a));
    is_plain = emit_vcmp_lt_f32(c, a, I(POSITIVE_INFINITY));
    step = choose(c, is_plain, mul(c, step, third), F(0));
    y = sub(c, y, step);
    y = choose(c, emit_vcmp_eq_f32(c, a, F(0)), F(0), y);
    return bit_or(c, y, bit_and(c, x, I(SIGN_BIT)));
}

static opnd logistic(struct vcode *c, opnd x)
{
    return reciprocal(c, add(c, power_of_two(c, mul(c, x, F(-LOG2_E))), F(1)));
}

/* x p(x^2) / q(x^2) where erf is not yet 1 */
static opnd error_function(struct vcode *c, opnd x)
{
    static const float p[] = {2.088848775e-6f, 0.0002853209583f, 0.003701940376f,
                              0.05256141413f, 0.1886786412f, 1.12837915f};
    static const float q[] = {3.851360791e-5f, 0.001150500944f, 0.01484125262f, 0.1134322223f,
                              0.5005449371f, 1.0f};
    opnd capped = R(emit_vclamps_f32(c, x, F(3.872))), square = mul(c, capped, capped), y;

    y = mul(c, capped, fused_polynomial(c, p, COUNT_OF(p), square));
    y = mul(c, reciprocal(c, fused_polynomial(c, q, COUNT_OF(q), square)), y);
    return R(emit_vclamps_f32(c, y, F(1)));
}

static opnd sign(struct vcode *c, opnd x)
{
    opnd y = choose(c, emit_vcmp_lt_f32(c, x, F(0)), F(-1), x);

    return choose(c, emit_vcmp_gt_f32(c, x, F(0)), F(1), y);
}

static opnd rounded(struct vcode *c, opnd x, enum isa_vround_f32_x0 way)
{
    return R(emit_vround_f32(c, x, way));
}

opnd fused_float_unary(struct vcode *c, enum graph_op op, opnd x)
{
    switch (op) {
    case HLO_NEGATE: return negated(c, x);
    case HLO_ABS: return magnitude(c, x);
    case HLO_SIGN: return sign(c, x);
    case HLO_EXP: return exponential(c, x);
    case HLO_EXPM1: return exponential_minus_one(c, x);
    case HLO_LOG: return logarithm(c, x);
    case HLO_LOG1P: return log_plus_one(c, x);
    case HLO_SQRT: return square_root(c, x);
    case HLO_RSQRT: return reciprocal_root(c, x);
    case HLO_CBRT: return cube_root(c, x);
    case HLO_TANH: return hyperbolic_tangent(c, x);
    case HLO_LOGISTIC: return logistic(c, x);
    case HLO_ERF: return error_function(c, x);
    case HLO_ROUND_EVEN: return rounded(c, x, VROUND_F32_ROUND_RTNE);
    case HLO_ROUND_AFZ: return rounded(c, x, VROUND_F32_ROUND_RTNA);
    case HLO_CEIL: return rounded(c, x, VROUND_F32_CEIL);
    case HLO_FLOOR: return rounded(c, x, VROUND_F32_FLOOR);
    default: return fused_trigonometric(c, op, x);
    }
}

/* a as two halves of 12 bits that add up to it */
static void split(struct vcode *c, opnd a, opnd *high, opnd *low)
{
    *high = bit_and(c, a, I(0xfffff000));
    *low = sub(c, a, *high);
}

/* a - q b without rounding what cancels: q b as a sum of four exact products */
static opnd minus_product(struct vcode *c, opnd a, opnd q, opnd b)
{
    opnd qh, ql, bh, bl, r;

    split(c, q, &qh, &ql);
    split(c, b, &bh, &bl);
    r = sub(c, a, mul(c, qh, bh));
    r = sub(c, r, mul(c, qh, bl));
    r = sub(c, r, mul(c, ql, bh));
    return sub(c, r, mul(c, ql, bl));
}

/* |x| mod |y| with the sign of x; exact while the quotient is below 2^22 */
static opnd remainder_of(struct vcode *c, opnd x, opnd y)
{
    opnd a = magnitude(c, x), b = magnitude(c, y), q, r, other;
    int is_wrong;

    q = rounded(c, mul(c, a, reciprocal(c, b)), VROUND_F32_TRUNC);
    r = minus_product(c, a, q, b);
    other = add(c, r, b);
    r = choose(c, emit_vcmp_lt_f32(c, r, F(0)), other, r);
    other = sub(c, r, b);
    r = choose(c, emit_vcmp_lt_f32(c, r, b), r, other);
    r = choose(c, emit_vcmp_lt_f32(c, a, b), a, r);
    is_wrong = emit_vweird_f32(c, vcode_in_register(c, x));
    r = choose(c, is_wrong, I(QUIET_NAN), r);
    r = choose(c, emit_vcmp_eq_f32(c, y, F(0)), I(QUIET_NAN), r);
    r = choose(c, emit_vcmp_ne_f32(c, y, y), I(QUIET_NAN), r);
    return bit_or(c, r, bit_and(c, x, I(SIGN_BIT)));
}

/* 1.0 where y is a whole number, and odd */
static int odd_mask(struct vcode *c, opnd y)
{
    opnd half = mul(c, y, F(0.5));
    int is_whole = emit_vcmp_eq_f32(c, rounded(c, y, VROUND_F32_FLOOR), y);
    int is_odd = emit_vcmp_ne_f32(c, rounded(c, half, VROUND_F32_FLOOR), half);
    int d = vcode_mask(c);

    vcode_put(c, isa_vmand(d, is_whole, is_odd));
    return d;
}

static int both(struct vcode *c, int a, int b)
{
    return emit_vmand(c, a, b);
}

/* 2^(y log2 |x|), with the sign and the exceptions that negative x, whole y, 0 and 1 make */
static opnd power(struct vcode *c, opnd x, opnd y)
{
    opnd a = magnitude(c, x), infinity = I(POSITIVE_INFINITY), size, p;
    int is_odd = odd_mask(c, y), is_whole = emit_vcmp_eq_f32(c, rounded(c, y, VROUND_F32_FLOOR), y);
    int is_broken = emit_vmneg(c, is_whole);
    int is_wrong = both(c, emit_vcmp_lt_f32(c, x, F(0)), is_broken);
    int is_endless = emit_vcmp_eq_f32(c, magnitude(c, y), infinity);

    size = power_of_two(c, mul(c, binary_log(c, a), y));
    p = bit_or(c, size, choose(c, is_odd, bit_and(c, x, I(SIGN_BIT)), I(0)));
    is_wrong = both(c, is_wrong, emit_vcmp_lt_f32(c, a, infinity));
    p = choose(c, is_wrong, I(QUIET_NAN), p);
    p = choose(c, is_endless, size, p);
    p = choose(c, both(c, is_endless, emit_vcmp_eq_f32(c, a, F(1))), F(1), p);
    p = choose(c, emit_vcmp_eq_f32(c, x, F(1)), F(1), p);
    return choose(c, emit_vcmp_eq_f32(c, y, F(0)), F(1), p);
}

opnd fused_float_binary(struct vcode *c, enum graph_op op, opnd x, opnd y)
{
    switch (op) {
    case HLO_ADD: return add(c, x, y);
    case HLO_SUBTRACT: return sub(c, x, y);
    case HLO_MULTIPLY: return mul(c, x, y);
    case HLO_DIVIDE: return mul(c, reciprocal(c, y), x);
    case HLO_MAXIMUM: return R(emit_vmax_f32(c, x, y));
    case HLO_MINIMUM: return R(emit_vmin_f32(c, x, y));
    case HLO_REMAINDER: return remainder_of(c, x, y);
    case HLO_POWER: return power(c, x, y);
    default: assert(op == HLO_ATAN2); return fused_atan2(c, x, y);
    }
}
