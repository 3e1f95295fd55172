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

static opnd add(struct vcode *c, opnd a, opnd b) { return fused_op2(c, OP_VADD_F32, a, b); }
static opnd sub(struct vcode *c, opnd a, opnd b) { return fused_op2(c, OP_VSUB_F32, a, b); }
static opnd mul(struct vcode *c, opnd a, opnd b) { return fused_op2(c, OP_VMUL_F32, a, b); }
static opnd bit_and(struct vcode *c, opnd a, opnd b) { return fused_op2(c, OP_VAND_U32, a, b); }
static opnd bit_or(struct vcode *c, opnd a, opnd b) { return fused_op2(c, OP_VOR_U32, a, b); }
static opnd magnitude(struct vcode *c, opnd a) { return bit_and(c, a, I(INT32_MAX)); }
static opnd negated(struct vcode *c, opnd a)
{
    return fused_op2(c, OP_VXOR_U32, a, I(SIGN_BIT));
}
static opnd eup(struct vcode *c, enum isa_opcode code, opnd a) { return R(put_eup(c, code, a)); }
static int less(struct vcode *c, opnd a, opnd b) { return put_mask2(c, OP_VCMP_LT_F32, a, b); }
static int equal(struct vcode *c, opnd a, opnd b) { return put_mask2(c, OP_VCMP_EQ_F32, a, b); }

opnd fused_polynomial(struct vcode *c, const float *coefficient, int count, opnd x)
{
    opnd sum = add(c, mul(c, x, F(coefficient[0])), F(coefficient[1]));

    for (int i = 2; i < count; i++)
        sum = add(c, mul(c, sum, x), F(coefficient[i]));
    return sum;
}

opnd fused_exponential(struct vcode *c, opnd x, bool of_negated)
{
    return eup(c, OP_VPOW2, mul(c, x, F(of_negated ? -LOG2_E : LOG2_E)));
}

static opnd exponential(struct vcode *c, opnd x) { return fused_exponential(c, x, false); }

static opnd logarithm(struct vcode *c, opnd x)
{
    return mul(c, eup(c, OP_VLOG2, x), F(LN_2));
}

/* e^x - 1, of small x as tanh(x / 2) (e^x + 1), which cancels nothing */
static opnd exponential_minus_one(struct vcode *c, opnd x)
{
    opnd e = exponential(c, x);
    opnd small = mul(c, eup(c, OP_VTANH, mul(c, x, F(0.5))), add(c, e, F(1)));

    return fused_select(c, less(c, magnitude(c, x), F(0.5)), small, sub(c, e, F(1)));
}

/* log(1 + x), of small x by two terms of its series, with the bound that the listings have */
static opnd log_plus_one(struct vcode *c, opnd x)
{
    opnd small = mul(c, add(c, mul(c, x, F(-0.5)), F(1)), x);

    return fused_select(c, less(c, magnitude(c, x), F(0.0004427343)), small,
                        logarithm(c, add(c, x, F(1))));
}

/* x / sqrt(x), which is no number for infinity and 0: both are their own roots */
static opnd square_root(struct vcode *c, opnd x)
{
    opnd root = mul(c, eup(c, OP_VRSQRT, x), x);

    root = fused_select(c, equal(c, x, I(POSITIVE_INFINITY)), x, root);
    return fused_select(c, equal(c, x, F(0)), bit_and(c, x, I(SIGN_BIT)), root);
}

/* 2^(log2 |x| / 3), one step of Newton's behind it, with the sign of x */
static opnd cube_root(struct vcode *c, opnd x)
{
    opnd a = magnitude(c, x), third = F(1.0 / 3.0), y, step;
    int is_plain;

    y = eup(c, OP_VPOW2, mul(c, eup(c, OP_VLOG2, a), third));
    step = sub(c, y, mul(c, eup(c, OP_VRCP, mul(c, y, y)), a));
    is_plain = less(c, a, I(POSITIVE_INFINITY));
    step = fused_select(c, is_plain, mul(c, step, third), F(0));
    y = sub(c, y, step);
    y = fused_select(c, equal(c, a, F(0)), F(0), y);
    return bit_or(c, y, bit_and(c, x, I(SIGN_BIT)));
}

static opnd logistic(struct vcode *c, opnd x)
{
    return eup(c, OP_VRCP, add(c, eup(c, OP_VPOW2, mul(c, x, F(-LOG2_E))), F(1)));
}

/* x p(x^2) / q(x^2) where erf is not yet 1 */
static opnd error_function(struct vcode *c, opnd x)
{
    static const float p[] = {2.088848775e-6f, 0.0002853209583f, 0.003701940376f,
                              0.05256141413f, 0.1886786412f, 1.12837915f};
    static const float q[] = {3.851360791e-5f, 0.001150500944f, 0.01484125262f, 0.1134322223f,
                              0.5005449371f, 1.0f};
    opnd capped = fused_op2(c, OP_VCLAMPS_F32, x, F(3.872)), square = mul(c, capped, capped), y;

    y = mul(c, capped, fused_polynomial(c, p, COUNT_OF(p), square));
    y = mul(c, eup(c, OP_VRCP, fused_polynomial(c, q, COUNT_OF(q), square)), y);
    return fused_op2(c, OP_VCLAMPS_F32, y, F(1));
}

static opnd sign(struct vcode *c, opnd x)
{
    opnd y = fused_select(c, less(c, x, F(0)), F(-1), x);

    return fused_select(c, put_mask2(c, OP_VCMP_GT_F32, x, F(0)), F(1), y);
}

static opnd rounded(struct vcode *c, opnd x, int way)
{
    return R(put_op1_choice(c, OP_VROUND_F32, x, way, -1));
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
    case HLO_RSQRT: return eup(c, OP_VRSQRT, x);
    case HLO_CBRT: return cube_root(c, x);
    case HLO_TANH: return eup(c, OP_VTANH, x);
    case HLO_LOGISTIC: return logistic(c, x);
    case HLO_ERF: return error_function(c, x);
    case HLO_ROUND_EVEN: return rounded(c, x, 0);
    case HLO_ROUND_AFZ: return rounded(c, x, 1);
    case HLO_CEIL: return rounded(c, x, 2);
    case HLO_FLOOR: return rounded(c, x, 3);
    default: return fused_trigonometric(c, op, x);
    }
}

/* a as two halves of 12 bits that add up to it */
static void split(struct vcode *c, opnd a, opnd *high, opnd *low)
{
    *high = bit_and(c, a, I((int32_t)0xfffff000));
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
    opnd a = magnitude(c, x), b = magnitude(c, y), q, r;
    int is_wrong;

    q = rounded(c, mul(c, a, eup(c, OP_VRCP, b)), 4);
    r = minus_product(c, a, q, b);
    r = fused_select(c, less(c, r, F(0)), add(c, r, b), r);
    r = fused_select(c, less(c, r, b), r, sub(c, r, b));
    r = fused_select(c, less(c, a, b), a, r);
    is_wrong = put_mask1(c, OP_VWEIRD_F32, R(put_in_register(c, x)));
    r = fused_select(c, is_wrong, I(QUIET_NAN), r);
    r = fused_select(c, equal(c, y, F(0)), I(QUIET_NAN), r);
    r = fused_select(c, put_mask2(c, OP_VCMP_NE_F32, y, y), I(QUIET_NAN), r);
    return bit_or(c, r, bit_and(c, x, I(SIGN_BIT)));
}

/* 1.0 where y is a whole number, and odd */
static int odd_mask(struct vcode *c, opnd y)
{
    opnd half = mul(c, y, F(0.5));
    int is_whole = equal(c, rounded(c, y, 3), y);
    int is_odd = put_mask2(c, OP_VCMP_NE_F32, rounded(c, half, 3), half);
    int d = vcode_mask(c);

    EMIT(c, OP_VMAND, R(d), R(is_whole), R(is_odd));
    return d;
}

static int both(struct vcode *c, int a, int b)
{
    return put_mask2(c, OP_VMAND, R(a), R(b));
}

/* 2^(y log2 |x|), with the sign and the exceptions that negative x, whole y, 0 and 1 make */
static opnd power(struct vcode *c, opnd x, opnd y)
{
    opnd a = magnitude(c, x), infinity = I(POSITIVE_INFINITY), size, p;
    int is_odd = odd_mask(c, y), is_whole = equal(c, rounded(c, y, 3), y);
    int is_wrong = both(c, less(c, x, F(0)), put_mask1(c, OP_VMNEG, R(is_whole)));
    int is_endless = equal(c, magnitude(c, y), infinity);

    size = eup(c, OP_VPOW2, mul(c, eup(c, OP_VLOG2, a), y));
    p = bit_or(c, size, fused_select(c, is_odd, bit_and(c, x, I(SIGN_BIT)), I(0)));
    is_wrong = both(c, is_wrong, less(c, a, infinity));
    p = fused_select(c, is_wrong, I(QUIET_NAN), p);
    p = fused_select(c, is_endless, size, p);
    p = fused_select(c, both(c, is_endless, equal(c, a, F(1))), F(1), p);
    p = fused_select(c, equal(c, x, F(1)), F(1), p);
    return fused_select(c, equal(c, y, F(0)), F(1), p);
}

opnd fused_float_binary(struct vcode *c, enum graph_op op, opnd x, opnd y)
{
    switch (op) {
    case HLO_ADD: return add(c, x, y);
    case HLO_SUBTRACT: return sub(c, x, y);
    case HLO_MULTIPLY: return mul(c, x, y);
    case HLO_DIVIDE: return mul(c, eup(c, OP_VRCP, y), x);
    case HLO_MAXIMUM: return fused_op2(c, OP_VMAX_F32, x, y);
    case HLO_MINIMUM: return fused_op2(c, OP_VMIN_F32, x, y);
    case HLO_REMAINDER: return remainder_of(c, x, y);
    case HLO_POWER: return power(c, x, y);
    default: assert(op == HLO_ATAN2); return fused_atan2(c, x, y);
    }
}
