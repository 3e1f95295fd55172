/*
 * Integers, which wrap in their width. 8-bit values live in 32 bits, extended by sign or zeros.
 * There is no division: a reciprocal of floats, made exact by integer steps.
 */
#include "stack/kernels/loop/fused_impl.h"

#include <assert.h>

#include "base/units.h"

#define LOWEST INT32_MIN


static bool is_signed(enum graph_dtype t) { return t == DTYPE_S32 || t == DTYPE_S8; }
static bool is_narrow(enum graph_dtype t) { return t == DTYPE_S8 || t == DTYPE_U8; }

opnd fused_wrap(struct vcode *c, enum graph_dtype t, opnd x)
{
    if (t == DTYPE_U8)
        return bit_and(c, x, I(255));
    if (t == DTYPE_S8)
        return R(emit_vshra_s32(c, left(c, x, I(24)), I(24)));
    return x;
}

static opnd extreme(struct vcode *c, bool is_min, bool is_u32, opnd a, opnd b)
{
    return R(emit_vmax_int(c, a, b, is_min, is_u32));
}

static opnd absolute(struct vcode *c, opnd x)
{
    return extreme(c, false, false, x, isub(c, I(0), x));
}

/* the bits of an 8-bit value alone */
static opnd narrow_bits(struct vcode *c, enum graph_dtype t, opnd x)
{
    return is_narrow(t) ? bit_and(c, x, I(255)) : x;
}

static opnd sign(struct vcode *c, enum graph_dtype t, opnd x)
{
    opnd y = is_signed(t) ? R(emit_vshra_s32(c, x, I(31))) : I(0);

    if (!is_signed(t))
        return choose(c, emit_vcmp_ne_s32(c, x, I(0)), I(1), y);
    return choose(c, emit_vcmp_gt_s32(c, x, I(0)), I(1), y);
}

opnd fused_integer_unary(struct vcode *c, enum graph_op op, enum graph_dtype t, opnd x)
{
    switch (op) {
    case HLO_NEGATE: return fused_wrap(c, t, isub(c, I(0), x));
    case HLO_ABS: return is_signed(t) ? fused_wrap(c, t, absolute(c, x)) : x;
    case HLO_SIGN: return sign(c, t, x);
    case HLO_NOT: return fused_wrap(c, t, bit_xor(c, x, I(-1)));
    case HLO_POPCNT: return R(emit_vpcnt(c, narrow_bits(c, t, x)));
    default:
        assert(op == HLO_CLZ);
        x = R(emit_vclz(c, narrow_bits(c, t, x)));
        return is_narrow(t) ? iadd(c, x, I(-24)) : x;
    }
}

static opnd high_product(struct vcode *c, opnd a, opnd b, opnd *low)
{
    int d = vcode_vreg(c);

    *low = R(emit_vmul_u64_low(c, a, b));
    vcode_put(c, isa_vmul_u64_high(d, a, b, low->value));
    return R(d);
}

/* n z / 2^31 of unsigned factors */
static opnd scaled_product(struct vcode *c, opnd n, opnd z)
{
    opnd low, high = high_product(c, n, z, &low);

    low = right(c, low, I(31));
    return bit_or(c, left(c, high, I(1)), low);
}

/*
 * Unsigned quotient and rest. z, a little less than 2^31 / d by the reciprocal of floats, is
 * improved once by Newton's step; the quotient is then at most 3 too small. d >= 2^31: 0 or 1.
 */
static void divide(struct vcode *c, opnd n, opnd d, opnd *quotient, opnd *rest)
{
    opnd z, error, q, r;
    int is_large = emit_vcmp_lt_s32(c, d, I(0)), fits;

    z = reciprocal(c, R(emit_vcvt_f32_s32(c, d)));
    z = R(emit_vcvt_s32_f32(c, mul(c, z, F(2147483648.0 * 0.999999))));
    error = isub(c, I(LOWEST), imul(c, z, d));
    z = iadd(c, z, scaled_product(c, z, error));
    q = scaled_product(c, n, z);
    r = isub(c, n, imul(c, q, d));
    for (int i = 0; i < 3; i++) {
        fits = emit_vcmp_u32(c, r, d, VCMP_U32_GE);
        q = choose(c, fits, iadd(c, q, I(1)), q);
        r = choose(c, fits, isub(c, r, d), r);
    }
    fits = emit_vcmp_u32(c, n, d, VCMP_U32_GE);
    *quotient = choose(c, is_large, choose(c, fits, I(1), I(0)), q);
    *rest = choose(c, is_large, choose(c, fits, isub(c, n, d), n), r);
}

/* by 0: all ones, and x as the rest */
static opnd quotient_or_rest(struct vcode *c, bool is_rest, enum graph_dtype t, opnd x, opnd y)
{
    opnd q, r, sx = I(0), sy = I(0), s;
    int is_none = emit_vcmp_eq_s32(c, y, I(0));

    if (!is_signed(t)) {
        divide(c, x, y, &q, &r);
    } else {
        sx = R(emit_vshra_s32(c, x, I(31)));
        sy = R(emit_vshra_s32(c, y, I(31)));
        s = isub(c, bit_xor(c, y, sy), sy);
        divide(c, isub(c, bit_xor(c, x, sx), sx), s, &q, &r);
        s = bit_xor(c, sx, sy);
        q = isub(c, bit_xor(c, q, s), s);
        r = isub(c, bit_xor(c, r, sx), sx);
    }
    return fused_wrap(c, t, choose(c, is_none, is_rest ? x : I(-1), is_rest ? r : q));
}

/* by squaring, a bit of y at a time; negative y: the whole part of 1 / x^-y */
static opnd power(struct vcode *c, enum graph_dtype t, opnd x, opnd y)
{
    opnd product = I(1), square = x, one, odd;
    int bits = is_narrow(t) ? 8 : 32;

    for (int i = 0; i < bits; i++) {
        int is_set = emit_vcmp_ne_s32(c, bit_and(c, y, I(1u << i)), I(0));

        product = choose(c, is_set, imul(c, product, square), product);
        square = imul(c, square, square);
    }
    product = fused_wrap(c, t, product);
    if (!is_signed(t))
        return product;
    odd = choose(c, emit_vcmp_ne_s32(c, bit_and(c, y, I(1)), I(0)), I(-1), I(1));
    one = choose(c, emit_vcmp_eq_s32(c, x, I(-1)), odd, I(0));
    one = choose(c, emit_vcmp_eq_s32(c, x, I(1)), I(1), one);
    return choose(c, emit_vcmp_lt_s32(c, y, I(0)), one, product);
}

static opnd shift(struct vcode *c, enum graph_op op, enum graph_dtype t, opnd x, opnd y)
{
    y = narrow_bits(c, t, y);
    if (op == HLO_SHIFT_LEFT)
        return fused_wrap(c, t, left(c, x, y));
    if (op == HLO_SHIFT_RIGHT_LOGICAL)
        return fused_wrap(c, t, right(c, narrow_bits(c, t, x), y));
    if (t == DTYPE_U8)                  /* its highest bit is the sign here */
        x = fused_wrap(c, DTYPE_S8, x);
    return fused_wrap(c, t, R(emit_vshra_s32(c, x, y)));
}

opnd fused_integer_binary(struct vcode *c, enum graph_op op, enum graph_dtype t, opnd x, opnd y)
{
    switch (op) {
    case HLO_ADD: return fused_wrap(c, t, iadd(c, x, y));
    case HLO_SUBTRACT: return fused_wrap(c, t, isub(c, x, y));
    case HLO_MULTIPLY: return fused_wrap(c, t, imul(c, x, y));
    case HLO_DIVIDE: return quotient_or_rest(c, false, t, x, y);
    case HLO_REMAINDER: return quotient_or_rest(c, true, t, x, y);
    case HLO_POWER: return power(c, t, x, y);
    case HLO_MAXIMUM: return extreme(c, false, !is_signed(t), x, y);
    case HLO_MINIMUM: return extreme(c, true, !is_signed(t), x, y);
    case HLO_AND: return bit_and(c, x, y);
    case HLO_OR: return bit_or(c, x, y);
    case HLO_XOR: return bit_xor(c, x, y);
    default: return shift(c, op, t, x, y);
    }
}

/* ----- conversions */

static opnd float_to_u32(struct vcode *c, opnd x)
{
    opnd low = R(emit_vcvt_s32_f32(c, R(emit_vmax_f32(c, x, F(0)))));
    opnd high = R(emit_vcvt_s32_f32(c, sub(c, x, F(2147483648.0))));

    high = bit_xor(c, high, I(LOWEST));
    high = choose(c, emit_vcmp_ge_f32(c, x, F(4294967296.0)), I(-1), high);
    return choose(c, emit_vcmp_ge_f32(c, x, F(2147483648.0)), high, low);
}

/* halved, the bit that falls off kept as the lowest, so that it still rounds once */
static opnd u32_to_float(struct vcode *c, opnd x)
{
    opnd lowest = bit_and(c, x, I(1)), half = bit_or(c, right(c, x, I(1)), lowest);
    opnd large = R(emit_vcvt_f32_s32(c, half)), small;

    large = add(c, large, large);
    small = R(emit_vcvt_f32_s32(c, x));
    return choose(c, emit_vcmp_lt_s32(c, x, I(0)), large, small);
}

static opnd float_to_integer(struct vcode *c, enum graph_dtype to, opnd x)
{
    if (to == DTYPE_U32)
        return float_to_u32(c, x);
    x = R(emit_vcvt_s32_f32(c, x));
    if (to == DTYPE_S8)
        x = extreme(c, true, false, extreme(c, false, false, x, I(-128)), I(127));
    else if (to == DTYPE_U8)
        x = extreme(c, true, false, extreme(c, false, false, x, I(0)), I(255));
    return x;
}

opnd fused_convert(struct vcode *c, enum graph_dtype from, enum graph_dtype to, opnd x)
{
    bool was_float = from == DTYPE_F32 || from == DTYPE_BF16;

    if (to == DTYPE_F32 || to == DTYPE_BF16)
        return was_float ? x : from == DTYPE_U32 ? u32_to_float(c, x) : R(emit_vcvt_f32_s32(c, x));
    return was_float ? float_to_integer(c, to, x) : fused_wrap(c, to, x);
}
