/*
 * The table of what is measured: operations, their programs, references and
 * bounds. References are doubles and 64-bit integers, none of the simulator's.
 */
#include "report/numerics/check.h"

#include "base/floats.h"
#include "base/units.h"
#include "report/numerics/check_internal.h"

#include <math.h>

#define F32_ONE 0x3f800000u
#define FLOATS (1u << INPUTS_HEAVY | 1u << INPUTS_WIDE | 1u << INPUTS_CANCEL | 1u << INPUTS_EDGES)
#define WORDS (1u << INPUTS_BITS | 1u << INPUTS_EDGES)

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double same(double a, double b) { (void)b; return a; }
static double power(double a, double b) { (void)b; return exp2(a); }
static double logarithm(double a, double b) { (void)b; return log2(a); }
static double reciprocal(double a, double b) { (void)b; return 1 / a; }
static double inverse_root(double a, double b) { (void)b; return a == 0 ? 1 / a : 1 / sqrt(a); }
static double tangent(double a, double b) { (void)b; return tanh(a); }

static double greater(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

static double less(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static double is_equal(double a, double b) { return a == b; }
static double is_different(double a, double b) { return a != b; }
static double is_less(double a, double b) { return a < b; }
static double is_less_or_equal(double a, double b) { return a <= b; }
static double is_greater(double a, double b) { return a > b; }
static double is_greater_or_equal(double a, double b) { return a >= b; }

static uint32_t word_add(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a + b); }
static uint32_t word_sub(uint32_t a, uint32_t b) { return (uint32_t)((1ull << 32) + a - b); }
static uint32_t word_mul(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b); }

static uint32_t word_left(uint32_t a, uint32_t b)
{
    return b > 31 ? 0 : (uint32_t)((uint64_t)a << b);
}

static uint32_t word_right(uint32_t a, uint32_t b)
{
    return b > 31 ? 0 : (uint32_t)((uint64_t)a >> b);
}

/* as a division that rounds down */
static uint32_t word_right_sign(uint32_t a, uint32_t b)
{
    int64_t divisor = INT64_C(1) << (b > 31 ? 31 : b), value = (int32_t)a;

    return (uint32_t)(value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor));
}

static uint32_t float_of_word(uint32_t a, uint32_t b)
{
    (void)b;
    return f32_bits((float)check_round((double)(int32_t)a, 24));
}

static uint32_t word_of_float(uint32_t a, uint32_t b)
{
    double x = (double)f32_from_bits(a);

    (void)b;
    if (isnan(x))
        return 0;
    return x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? 0x80000000u : (uint32_t)(int32_t)x;
}

static uint32_t word_is_less(uint32_t a, uint32_t b)
{
    return (int32_t)a < (int32_t)b ? F32_ONE : 0;
}

static uint32_t word_is_below(uint32_t a, uint32_t b) { return (int64_t)a - b < 0 ? F32_ONE : 0; }
static uint32_t word_is_equal(uint32_t a, uint32_t b) { return a == b ? F32_ONE : 0; }
static uint32_t word_high(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static uint32_t word_least(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b ? a : b; }
static uint32_t word_most(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t word_quotient(uint32_t a, uint32_t b) { return b ? a / b : UINT32_MAX; }
static uint32_t word_rest(uint32_t a, uint32_t b) { return b ? a % b : a; }

static uint32_t word_zeros(uint32_t a, uint32_t b)
{
    uint32_t count = 0;

    (void)b;
    while (count < 32 && !(a >> (31 - count) & 1))
        count++;
    return count;
}

/* the low half of the word as a signed number, cut to 8 bits */
static int clamp_half(uint32_t a, int lo, int hi)
{
    int x = (int)(a & 0xffff) - (a & 0x8000 ? 65536 : 0);

    return x < lo ? lo : x > hi ? hi : x;
}

static uint32_t half_to_s8(uint32_t a, uint32_t b)
{
    (void)b;
    return (uint32_t)clamp_half(a, -128, 127);
}

static uint32_t half_to_u8(uint32_t a, uint32_t b)
{
    (void)b;
    return (uint32_t)clamp_half(a, 0, 255);
}

/* rounded to so many digits, as f32 bits */
static uint32_t float_bits(double x, int digits)
{
    x = check_round(x, digits);
    return isnan(x) ? F32_NAN_BITS : f32_bits((float)x);
}

static double value_of(uint32_t bits) { return (double)f32_from_bits(f32_flush_bits(bits)); }

/* x quarter turns: what is beyond a whole turn, then beyond the nearest quarter, are exact */
static double sine(double x, int quarters)
{
    double rest = fmod(x, 4), nearest = rint(rest), f = (rest - nearest) * 1.57079632679489661923;

    switch (((int)nearest + quarters) & 3) {
    case 0: return nearest == rest && quarters == 0 ? copysign(0, x) : sin(f);
    case 1: return cos(f);
    case 2: return f == 0 ? copysign(0, quarters ? 1 : x) : -sin(f);
    default: return -cos(f);
    }
}

static double quarter_sine(double a, double b)
{
    (void)b;
    return isfinite(a) ? sine(a, 0) : NAN;
}

static double quarter_cosine(double a, double b)
{
    (void)b;
    return isfinite(a) ? fabs(a) == 0 ? 1 : sine(a, 1) : NAN;
}

static double to_even(double a, double b) { (void)b; return rint(a); }
static double away(double a, double b) { (void)b; return round(a); }
static double upwards(double a, double b) { (void)b; return ceil(a); }
static double downwards(double a, double b) { (void)b; return floor(a); }
static double towards_zero(double a, double b) { (void)b; return trunc(a); }
static double clamped(double a, double b) { return less(greater(a, -b), b); }
static double is_weird(double a, double b) { (void)b; return !isfinite(a); }

static uint32_t add_low(uint32_t a, uint32_t b)
{
    return float_bits(value_of(a) + value_of(b << 16), 24);
}

/* both halves, by an operation in f32 that is rounded back */
static uint32_t halves(uint32_t a, uint32_t b, double (*exact)(double, double))
{
    double low = check_round(exact(value_of(a << 16), value_of(b << 16)), 24);
    double high = check_round(exact(value_of(a & 0xffff0000u), value_of(b & 0xffff0000u)), 24);

    return float_bits(low, 8) >> 16 | float_bits(high, 8);
}

static uint32_t halves_add(uint32_t a, uint32_t b) { return halves(a, b, add); }
static uint32_t halves_sub(uint32_t a, uint32_t b) { return halves(a, b, sub); }
static uint32_t halves_mul(uint32_t a, uint32_t b) { return halves(a, b, mul); }
static uint32_t halves_max(uint32_t a, uint32_t b) { return halves(a, b, greater); }
static uint32_t halves_min(uint32_t a, uint32_t b) { return halves(a, b, less); }
static uint32_t halves_eq(uint32_t a, uint32_t b) { return halves(a, b, is_equal); }
static uint32_t halves_ne(uint32_t a, uint32_t b) { return halves(a, b, is_different); }
static uint32_t halves_lt(uint32_t a, uint32_t b) { return halves(a, b, is_less); }
static uint32_t halves_ge(uint32_t a, uint32_t b) { return halves(a, b, is_greater_or_equal); }

/* up when what is cut off plus the random bits reaches a whole unit */
static uint32_t stochastic(uint32_t a, uint32_t b)
{
    uint32_t bits = f32_flush_bits(a), kept = bits >> 16;

    if (isnan(value_of(a)))
        return F32_NAN_BITS >> 16;
    if (isinf(value_of(a)))
        return kept;
    return (bits & 0xffff) + (b & 0xffff) >= 0x10000 ? kept + 1 : kept;
}

static uint32_t word_ones(uint32_t a, uint32_t b)
{
    uint32_t count = 0;

    (void)b;
    for (int i = 0; i < 32; i++)
        count += a >> i & 1;
    return count;
}

static uint32_t word_low(uint32_t a, uint32_t b) { return word_mul(a, b); }
static uint32_t word_carry(uint32_t a, uint32_t b) { return UINT32_MAX - a < b ? F32_ONE : 0; }
static uint32_t word_least_u(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t word_most_s(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b ? a : b; }

static uint32_t from_fp8(uint32_t a, const char *type, uint32_t infinity)
{
    double x = check_find_type(type)->value(a & 0xff);

    if ((a & 0x7f) == infinity)
        return a & 0x80 ? 0xff800000u : 0x7f800000u;
    return float_bits(x, 24);
}

static uint32_t from_f8e5m2(uint32_t a, uint32_t b) { (void)b; return from_fp8(a, "f8e5m2", 0x7c); }
static uint32_t from_f8e4m3fn(uint32_t a, uint32_t b)
{
    (void)b;
    return from_fp8(a, "f8e4m3fn", UINT32_MAX);
}

static uint32_t from_f8e4m3b11fnuz(uint32_t a, uint32_t b)
{
    (void)b;
    return from_fp8(a, "f8e4m3b11fnuz", UINT32_MAX);
}

/*
 * The nearest of all codes of this sign, of two the even one. What lies half a
 * unit or more beyond the largest gives `beyond`: the code after the largest
 * would be even.
 */
static uint32_t to_fp8(uint32_t a, const char *type, uint32_t last, uint32_t beyond, uint32_t nan)
{
    const struct check_type *t = check_find_type(type);
    double x = value_of(a), size = fabs(x), largest = t->value(last);
    uint32_t best = 0, sign = signbit(x) ? 0x80 : 0;

    if (isnan(x))
        return nan;
    if (size >= largest + (largest - t->value(last - 1)) / 2)
        return beyond | sign;
    for (uint32_t code = 1; code <= last; code++) {
        double nearer = fabs(size - t->value(best)) - fabs(size - t->value(code));

        if (nearer > 0 || (nearer == 0 && code % 2 == 0))
            best = code;
    }
    return best | sign;
}

static uint32_t to_f8e5m2(uint32_t a, uint32_t b)
{
    (void)b;
    return to_fp8(a, "f8e5m2", 0x7b, 0x7c, 0x7e);
}

static uint32_t to_f8e4m3fn(uint32_t a, uint32_t b)
{
    double x = value_of(a);

    (void)b;
    if (fabs(x) == 464)                 /* halfway to the NaN: the largest is the even code */
        return x < 0 ? 0xfe : 0x7e;
    return to_fp8(a, "f8e4m3fn", 0x7e, 0x7f, 0x7f);
}

/* no -0: that code is the NaN */
static uint32_t to_f8e4m3b11fnuz(uint32_t a, uint32_t b)
{
    uint32_t code = to_fp8(a, "f8e4m3b11fnuz", 0x7f, 0x80, 0x80);

    (void)b;
    return code == 0x80 && fabs(value_of(a)) < 1 ? 0 : code;
}

#define LANES(op) "{ v2 = " op " v0, v1 }\n"
#define LANE(op) "{ v2 = " op " v0 }\n"
#define EUP(op) "{ " op " v0 }\n{ v2 = vpop.eup }\n"
#define COMPARE(op) "{ vm0 = " op " v0, v1 }\n{ v2 = vsel vm0, 1.0, 0.0 }\n"
#define SCALAR(op) "{ s3 = " op " s1, s2 }\n"
#define SCALAR_1(op) "{ s3 = " op " s1 }\n"
#define SCALAR_COMPARE(op) "{ p1 = " op " s1, s2 }\n{ s3 = scalar_select p1, 1.0, 0 }\n"
#define DIVIDE(pop) "{ sdivrem.u32 s1, s2 }\n{ s3 = spop.drf }\n{ s4 = spop.drf }\n" pop
#define MASK_1(op) "{ vm0 = " op " v0 }\n{ v2 = vsel vm0, 1.0, 0.0 }\n"
#define MASK_BF16(op) "{ vm0 = " op " v0, v1 }\n{ v2 = vsel vm0, 0x3f803f80, 0 }\n"
#define EUP_BF16(op) \
    "{ v3 = vpack.c.bf16 v0, v0 }\n{ " op " v3 }\n{ v4 = vpop.eup }\n" \
    "{ v2 = vunpack.c.h.bf16 v4 }\n"
#define XLANE_BF16(op) \
    "{ v3 = vpack.c.bf16 v0, v0 }\n{ " op ".xlu0 v3 }\n{ v4 = vpop.xlane.xlu0 }\n" \
    "{ v2 = vunpack.c.l.bf16 v4 }\n"
#define XLANE(op) "{ " op ".xlu0 v0 }\n{ v2 = vpop.xlane.xlu0 }\n"

/* two operands, one; f32 results to nearest even; words */
#define F32_2(name, unit, body, exact) \
    {name, "f32", unit, 2, body, exact, NULL, 24, 0.5, false, FLOATS, 0}
#define F32_1(name, body, exact, bound) \
    {name, "f32", CHECK_LANES, 1, body, exact, NULL, 24, bound, false, FLOATS, 0}
#define ROWS(name, body, exact, bound) \
    {name, "f32", CHECK_ROWS, 1, body, exact, NULL, 24, bound, false, FLOATS, 0}
#define BF16(name, body) \
    {name, "bf16", CHECK_LANES, 1, body, same, NULL, 8, 0.5, false, FLOATS, 0}
#define WORD(name, dtype, unit, arity, body, bits) \
    {name, dtype, unit, arity, body, NULL, bits, 0, 0, true, WORDS, 0}
#define FROM_F32(name, unit, body, bits) \
    {name, "f32", unit, 1, body, NULL, bits, 0, 0, false, FLOATS, 0}

/* in f32, rounded to bf16: half an ulp of bf16 and at most 2 ulp of f32, a 2^-16 of it each */
#define BF16_EUP(name, op, exact) \
    {name, "bf16", CHECK_LANES, 1, EUP_BF16(op), exact, NULL, 8, 0.5 + 0x1p-15, false, FLOATS, 8}
#define BF16_ROWS(name, op, exact) \
    {name, "bf16", CHECK_ROWS, 1, XLANE_BF16(op), exact, NULL, 8, 0.5, false, FLOATS, 8}
#define HALVES(name, body, bits) \
    {name, "bf16", CHECK_LANES, 2, body, NULL, bits, 0, 0, false, FLOATS | WORDS, 0}
#define FP8(name, dtype, body, bits) \
    {name, dtype, CHECK_LANES, 1, body, NULL, bits, 0, 0, true, WORDS, 0}

const struct check_op check_ops[] = {
    F32_2("vadd", CHECK_LANES, LANES("vadd.f32"), add),
    F32_2("vsub", CHECK_LANES, LANES("vsub.f32"), sub),
    F32_2("vmul", CHECK_LANES, LANES("vmul.f32"), mul),
    F32_2("vmax", CHECK_LANES, LANES("vmax.f32"), greater),
    F32_2("vmin", CHECK_LANES, LANES("vmin.f32"), less),
    F32_2("vcmp.eq", CHECK_LANES, COMPARE("vcmp.eq.f32.partialorder"), is_equal),
    F32_2("vcmp.ne", CHECK_LANES, COMPARE("vcmp.ne.f32.partialorder"), is_different),
    F32_2("vcmp.lt", CHECK_LANES, COMPARE("vcmp.lt.f32.partialorder"), is_less),
    F32_2("vcmp.le", CHECK_LANES, COMPARE("vcmp.le.f32.partialorder"), is_less_or_equal),
    F32_2("vcmp.gt", CHECK_LANES, COMPARE("vcmp.gt.f32.partialorder"), is_greater),
    F32_2("vcmp.ge", CHECK_LANES, COMPARE("vcmp.ge.f32.partialorder"), is_greater_or_equal),
    F32_1("vpow2", EUP("vpow2.f32"), power, 1.0),
    F32_1("vlog2", EUP("vlog2.f32"), logarithm, 1.0),
    F32_1("vrcp", EUP("vrcp.f32"), reciprocal, 0.5),
    F32_1("vrsqrt", EUP("vrsqrt.f32"), inverse_root, 1.0),
    F32_1("vtanh", EUP("vtanh.f32"), tangent, 2.0),
    F32_1("vsinq", EUP("vsinq.f32"), quarter_sine, 1.25),
    F32_1("vcosq", EUP("vcosq.f32"), quarter_cosine, 1.25),
    F32_1("vround.rtne", LANE("vround.rtne.f32"), to_even, 0.5),
    F32_1("vround.rtna", LANE("vround.rtna.f32"), away, 0.5),
    F32_1("vceil", LANE("vceil.f32"), upwards, 0.5),
    F32_1("vfloor", LANE("vfloor.f32"), downwards, 0.5),
    F32_1("vtrunc", LANE("vtrunc.f32"), towards_zero, 0.5),
    F32_2("vclamps", CHECK_LANES, LANES("vclamps-f32"), clamped),
    F32_1("vweird", MASK_1("vweird.f32"), is_weird, 0.5),
    ROWS("vadd.xlane", XLANE("vadd.xlane.f32"), add, 7),
    ROWS("vmax.xlane", XLANE("vmax.xlane.f32"), greater, 0.5),
    ROWS("vmin.xlane", XLANE("vmin.xlane.f32"), less, 0.5),
    BF16("vpack.c", "{ v3 = vpack.c.bf16 v0, v0 }\n{ v2 = vunpack.c.l.bf16 v3 }\n"),
    BF16("vpack.i", "{ v3 = vpack.i.bf16 v0, v0 }\n{ v2 = vunpack.i.h.bf16 v3 }\n"),
    HALVES("vadd", LANES("vadd.bf16"), halves_add),
    HALVES("vsub", LANES("vsub.bf16"), halves_sub),
    HALVES("vmul", LANES("vmul.bf16"), halves_mul),
    HALVES("vmax", LANES("vmax.bf16"), halves_max),
    HALVES("vmin", LANES("vmin.bf16"), halves_min),
    HALVES("vcmp.eq", MASK_BF16("vcmp.eq.bf16.partialorder"), halves_eq),
    HALVES("vcmp.ne", MASK_BF16("vcmp.ne.bf16.partialorder"), halves_ne),
    HALVES("vcmp.lt", MASK_BF16("vcmp.lt.bf16.partialorder"), halves_lt),
    HALVES("vcmp.ge", MASK_BF16("vcmp.ge.bf16.partialorder"), halves_ge),
    HALVES("vadd.low", LANES("vadd.low.f32.bf16"), add_low),
    HALVES("vcvt.sr", LANES("vcvt.sr.f32.bf16"), stochastic),
    BF16_EUP("vpow2", "vpow2.bf16", power),
    BF16_EUP("vlog2", "vlog2.bf16", logarithm),
    BF16_EUP("vrcp", "vrcp.bf16", reciprocal),
    BF16_EUP("vrsqrt", "vrsqrt.bf16", inverse_root),
    BF16_EUP("vtanh", "vtanh.bf16", tangent),
    BF16_EUP("vsinq", "vsinq.bf16", quarter_sine),
    BF16_EUP("vcosq", "vcosq.bf16", quarter_cosine),
    BF16_ROWS("vmax.xlane", "vmax.xlane.bf16", greater),
    BF16_ROWS("vmin.xlane", "vmin.xlane.bf16", less),
    FP8("vcvt.f8e5m2.f32", "f8e5m2", LANE("vcvt.f8e5m2.f32"), from_f8e5m2),
    FP8("vcvt.f8e4m3fn.f32", "f8e4m3fn", LANE("vcvt.f8e4m3fn.f32"), from_f8e4m3fn),
    FP8("vcvt.f8e4m3b11fnuz.f32", "f8e4m3b11fnuz", LANE("vcvt.f8e4m3b11fnuz.f32"),
        from_f8e4m3b11fnuz),
    FROM_F32("vcvt.f32.f8e5m2", CHECK_LANES, LANE("vcvt.f32.f8e5m2"), to_f8e5m2),
    FROM_F32("vcvt.f32.f8e4m3fn", CHECK_LANES, LANE("vcvt.f32.f8e4m3fn"), to_f8e4m3fn),
    FROM_F32("vcvt.f32.f8e4m3b11fnuz", CHECK_LANES, LANE("vcvt.f32.f8e4m3b11fnuz"),
             to_f8e4m3b11fnuz),
    FROM_F32("vcvt.f32.s32", CHECK_LANES, LANE("vcvt.f32.s32"), word_of_float),
    WORD("vcvt.s32.f32", "s32", CHECK_LANES, 1, LANE("vcvt.s32.f32"), float_of_word),
    WORD("vadd", "s32", CHECK_LANES, 2, LANES("vadd.s32"), word_add),
    WORD("vsub", "s32", CHECK_LANES, 2, LANES("vsub.s32"), word_sub),
    WORD("vcmp.lt", "s32", CHECK_LANES, 2, COMPARE("vcmp.lt.s32.totalorder"), word_is_less),
    WORD("vcmp.eq", "s32", CHECK_LANES, 2, COMPARE("vcmp.eq.s32.totalorder"), word_is_equal),
    WORD("vcmp.lt", "u32", CHECK_LANES, 2, COMPARE("vcmp.lt.u32.totalorder"), word_is_below),
    WORD("vshra", "s32", CHECK_LANES, 2, LANES("vshra.s32"), word_right_sign),
    WORD("vshll", "u32", CHECK_LANES, 2, LANES("vshll.u32"), word_left),
    WORD("vshrl", "u32", CHECK_LANES, 2, LANES("vshrl.u32"), word_right),
    WORD("vmul", "u32", CHECK_LANES, 2, LANES("vmul.u32"), word_mul),
    WORD("vmul.low", "u32", CHECK_LANES, 2, LANES("vmul.u32.u64.low"), word_low),
    WORD("vmul.high", "u32", CHECK_LANES, 2,
         "{ v3 = vmul.u32.u64.low v0, v1 }\n{ v2 = vmul.u32.u64.high v0, v1, v3 }\n", word_high),
    WORD("vmin", "s32", CHECK_LANES, 2, LANES("vmin.s32"), word_least),
    WORD("vmax", "s32", CHECK_LANES, 2, LANES("vmax.s32"), word_most_s),
    WORD("vmin", "u32", CHECK_LANES, 2, LANES("vmin.u32"), word_least_u),
    WORD("vmax", "u32", CHECK_LANES, 2, LANES("vmax.u32"), word_most),
    WORD("vclz", "u32", CHECK_LANES, 1, LANE("vclz"), word_zeros),
    WORD("vpcnt", "u32", CHECK_LANES, 1, LANE("vpcnt"), word_ones),
    WORD("vc", "u32", CHECK_LANES, 2, COMPARE("vc.u32"), word_carry),
    WORD("vpack.c", "s8", CHECK_LANES, 1,
         "{ v3 = vpack.c.b16 v0, v0 }\n{ v4 = vpack.c.s8 v3, v3 }\n"
         "{ v2 = vunpack.c.2.s8 v4 }\n", half_to_s8),
    WORD("vpack.c", "u8", CHECK_LANES, 1,
         "{ v3 = vpack.c.b16 v0, v0 }\n{ v4 = vpack.c.u8 v3, v3 }\n"
         "{ v2 = vunpack.c.1.u8 v4 }\n", half_to_u8),
    F32_2("sadd", CHECK_SCALAR, SCALAR("sadd.f32"), add),
    F32_2("ssub", CHECK_SCALAR, SCALAR("ssub.f32"), sub),
    F32_2("smul", CHECK_SCALAR, SCALAR("smul.f32"), mul),
    F32_2("smax", CHECK_SCALAR, SCALAR("smax.f32"), greater),
    F32_2("smin", CHECK_SCALAR, SCALAR("smin.f32"), less),
    F32_2("scmp.eq", CHECK_SCALAR, SCALAR_COMPARE("scmp.eq.f32.partialorder"), is_equal),
    F32_2("scmp.ne", CHECK_SCALAR, SCALAR_COMPARE("scmp.ne.f32.partialorder"), is_different),
    F32_2("scmp.lt", CHECK_SCALAR, SCALAR_COMPARE("scmp.lt.f32.partialorder"), is_less),
    F32_2("scmp.ge", CHECK_SCALAR, SCALAR_COMPARE("scmp.ge.f32.partialorder"),
          is_greater_or_equal),
    FROM_F32("scvt.f32.s32", CHECK_SCALAR, SCALAR_1("scvt.f32.s32"), word_of_float),
    WORD("scvt.s32.f32", "s32", CHECK_SCALAR, 1, SCALAR_1("scvt.s32.f32"), float_of_word),
    WORD("scmp.lt", "u32", CHECK_SCALAR, 2, SCALAR_COMPARE("scmp.lt.u32.totalorder"),
         word_is_below),
    WORD("smin", "s32", CHECK_SCALAR, 2, SCALAR("smin.s32"), word_least),
    WORD("smax", "u32", CHECK_SCALAR, 2, SCALAR("smax.u32"), word_most),
    WORD("smulhi", "u32", CHECK_SCALAR, 2, SCALAR("smulhi.u32"), word_high),
    WORD("sclz", "u32", CHECK_SCALAR, 1, SCALAR_1("sclz"), word_zeros),
    WORD("sdivrem", "u32", CHECK_SCALAR, 2, DIVIDE(""), word_quotient),
    WORD("sdivrem.rest", "u32", CHECK_SCALAR, 2, DIVIDE("{ s3 = smov s4 }\n"), word_rest),
};

const size_t check_op_count = COUNT_OF(check_ops);
