/*
 * Sine, cosine and tangent: x in quarter turns, the whole ones taken off, then the
 * transcendental unit.
 *
 * x = m 2^e, m whole, times 2/pi: of the bits of 2/pi those that make whole turns are skipped,
 * the 96 behind them are multiplied by m in integers (Payne and Hanek 1983).
 */
#include "stack/kernels/loop/fused_impl.h"

#define SMALL 0.5                       /* below it there is no quarter turn to take off */
#define SIGN_BIT INT32_MIN
#define QUIET_NAN 0x7fc00000


static opnd high_product(struct vcode *c, opnd a, opnd b, opnd *low)
{
    int d = vcode_vreg(c);

    *low = R(emit_vmul_u64_low(c, a, b));
    vcode_put(c, isa_vmul_u64_high(d, a, b, low->value));
    return R(d);
}

/* 32 bits of 2/pi, 32 zeros before its fraction, from bit 32 i on; i in a register, 0..7 */
static opnd word_of(struct vcode *c, opnd i)
{
    static const uint32_t words[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                     0xdb629599, 0x3c439041, 0xfe5163ab};
    opnd w = I(0);

    for (int k = 1; k < 8; k++)
        w = choose(c, emit_vcmp_ge_s32(c, i, I(k)), I(words[k]), w);
    return w;
}

/* 32 bits of two neighbouring words from bit `by` on */
static opnd window(struct vcode *c, opnd high, opnd low, opnd by, opnd back)
{
    low = right(c, low, back);
    return bit_or(c, left(c, high, by), low);
}

struct turns { opnd quarters, rest; };  /* a whole number, s32, and the rest, -1/2..1/2, f32 */

/* m (24 bits) times the fraction of 96 bits in w: two words of the product below its point */
static void multiply_fraction(struct vcode *c, opnd m, const opnd w[3], opnd *high, opnd *low)
{
    opnd low1, low2, h1 = high_product(c, m, w[1], &low1), h2 = high_product(c, m, w[2], &low2);
    opnd carry = choose(c, emit_vc_u32(c, low1, h2), I(1), I(0));

    *low = iadd(c, low1, h2);
    *high = iadd(c, iadd(c, imul(c, m, w[0]), h1), carry);
}

/* of |x| >= SMALL */
static struct turns many_turns(struct vcode *c, opnd a)
{
    opnd m, at, index, by, back, w[4], high, low, rest;
    struct turns out;

    m = bit_or(c, bit_and(c, a, I(0x7fffff)), I(0x800000));
    /* four quarters make a turn: skip e - 2 bits, behind the 32 zeros; e = exponent - 150 */
    at = iadd(c, right(c, a, I(23)), I(32 - 150 - 2));
    index = right(c, at, I(5));
    by = bit_and(c, at, I(31));
    back = isub(c, I(32), by);
    for (int k = 0; k < 4; k++)
        w[k] = word_of(c, iadd(c, index, I(k)));
    for (int k = 0; k < 3; k++)
        w[k] = window(c, w[k], w[k + 1], by, back);
    multiply_fraction(c, m, w, &high, &low);
    /* two bits of quarters, to the nearest; what remains has a sign */
    out.quarters = right(c, iadd(c, high, I(1 << 29)), I(30));
    rest = R(emit_vcvt_f32_s32(c, isub(c, high, left(c, out.quarters, I(30)))));
    low = R(emit_vcvt_f32_s32(c, right(c, low, I(1))));
    low = mul(c, low, F(0x1p-61));
    out.rest = add(c, mul(c, rest, F(0x1p-30)), low);
    return out;
}

static struct turns turns_of(struct vcode *c, opnd a)
{
    struct turns t = many_turns(c, a);
    int is_small = emit_vcmp_lt_f32(c, a, F(SMALL));

    t.quarters = choose(c, is_small, I(0), t.quarters);
    t.rest = choose(c, is_small, mul(c, a, F(0.6366197723675814)), t.rest);
    return t;
}

/* sine of `quarters` quarter turns and the rest, given both functions of the rest */
static opnd sine_at(struct vcode *c, opnd quarters, opnd sine, opnd cosine)
{
    int is_odd = emit_vcmp_ne_s32(c, bit_and(c, quarters, I(1)), I(0));
    opnd value = choose(c, is_odd, cosine, sine);

    return bit_xor(c, value, left(c, bit_and(c, quarters, I(2)), I(30)));
}

opnd fused_trigonometric(struct vcode *c, enum graph_op op, opnd x)
{
    opnd a = bit_and(c, x, I(INT32_MAX)), sign = bit_and(c, x, I(SIGN_BIT)), sine, cosine, y;
    struct turns t = turns_of(c, a);
    int reg = vcode_in_register(c, t.rest), s, k;

    s = emit_vtrig(c, reg, VTRIG_SINQ);
    k = emit_vtrig(c, reg, VTRIG_COSQ);
    sine = sine_at(c, t.quarters, R(s), R(k));
    cosine = sine_at(c, iadd(c, t.quarters, I(1)), R(s), R(k));
    if (op == HLO_SINE)
        y = bit_xor(c, sine, sign);
    else if (op == HLO_COSINE)
        y = cosine;
    else
        y = bit_xor(c, mul(c, reciprocal(c, cosine), sine), sign);
    return choose(c, emit_vweird_f32(c, vcode_in_register(c, x)), I(QUIET_NAN), y);
}

/* The smaller by the larger, a polynomial, then out of the first octant. */
opnd fused_atan2(struct vcode *c, opnd y, opnd x)
{
    static const float atan_of[] = {0.001057607438f, -0.00703066947f, 0.02191294587f,
                                    -0.04392841073f, 0.06685281518f, -0.08785043282f,
                                    0.1105077128f, -0.1427857602f, 0.199995581f,
                                    -0.3333332249f, 0.9999999996f};
    opnd ay = bit_and(c, y, I(INT32_MAX)), ax = bit_and(c, x, I(INT32_MAX));
    opnd low = R(emit_vmin_f32(c, ay, ax)), high = R(emit_vmax_f32(c, ay, ax)), q, r;
    opnd scale, other;
    int is_same = emit_vcmp_eq_f32(c, ay, ax);

    /* large ones scaled down, so that their reciprocal is no zero */
    scale = choose(c, emit_vcmp_gt_f32(c, high, F(0x1p100)), F(0.25), F(1));
    q = mul(c, low, scale);
    q = mul(c, reciprocal(c, mul(c, high, scale)), q);
    q = choose(c, is_same, F(1), q);
    q = choose(c, emit_vcmp_eq_f32(c, low, F(0)), F(0), q);
    r = mul(c, fused_polynomial(c, atan_of, 11, mul(c, q, q)), q);
    other = sub(c, F(1.5707963267948966), r);
    r = choose(c, emit_vcmp_gt_f32(c, ay, ax), other, r);
    other = sub(c, F(3.141592653589793), r);
    r = choose(c, emit_vcmp_lt_s32(c, x, I(0)), other, r);
    r = choose(c, emit_vcmp_ne_f32(c, high, high), I(QUIET_NAN), r);
    return bit_or(c, r, bit_and(c, y, I(SIGN_BIT)));
}
