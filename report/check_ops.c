/*
 * The table of what is measured: operations, their programs, references and
 * bounds. References are doubles and 64-bit integers, none of the simulator's.
 */
#include "report/check.h"

#include "base/floats.h"
#include "base/units.h"
#include "report/check_internal.h"

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

/* of a + turn quarter turns; the rest beside a whole number is exact */
static double quarter_turns(double a, int turn)
{
    double y = fmod(a, 4), n = nearbyint(y), angle = (y - n) * 1.57079632679489661923;
    int quadrant = isnan(y) ? 0 : ((int)n + turn) & 3;
    double r = quadrant & 1 ? cos(angle) : sin(angle);

    return r == 0 ? copysign(0, turn ? 1 : a) : quadrant & 2 ? -r : r;
}

static double sine(double a, double b) { (void)b; return quarter_turns(a, 0); }
static double cosine(double a, double b) { (void)b; return quarter_turns(a, 1); }
static double to_even(double a, double b) { (void)b; return nearbyint(a); }
static double away(double a, double b) { (void)b; return round(a); }
static double upwards(double a, double b) { (void)b; return ceil(a); }
static double downwards(double a, double b) { (void)b; return floor(a); }
static double to_zero(double a, double b) { (void)b; return trunc(a); }

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

#define LANES(op) "{ v2 = " op " v0, v1 }\n"
#define LANE(op) "{ v2 = " op " v0 }\n"
#define EUP(op) "{ " op " v0 }\n{ v2 = vpop.eup }\n"
#define COMPARE(op) "{ vm0 = " op " v0, v1 }\n{ v2 = vsel vm0, 1.0, 0.0 }\n"
#define SCALAR(op) "{ s3 = " op " s1, s2 }\n"
#define SCALAR_1(op) "{ s3 = " op " s1 }\n"
#define SCALAR_COMPARE(op) "{ p1 = " op " s1, s2 }\n{ s3 = scalar_select p1, 1.0, 0 }\n"
#define DIVIDE(pop) "{ sdivrem.u32 s1, s2 }\n{ s3 = spop.drf }\n{ s4 = spop.drf }\n" pop
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
    F32_1("vsinq", EUP("vsinq.f32"), sine, 1.25),
    F32_1("vcosq", EUP("vcosq.f32"), cosine, 1.25),
    F32_1("vround.rtne", LANE("vround.rtne.f32"), to_even, 0.5),
    F32_1("vround.rtna", LANE("vround.rtna.f32"), away, 0.5),
    F32_1("vceil", LANE("vceil.f32"), upwards, 0.5),
    F32_1("vfloor", LANE("vfloor.f32"), downwards, 0.5),
    F32_1("vtrunc", LANE("vtrunc.f32"), to_zero, 0.5),
    ROWS("vadd.xlane", XLANE("vadd.xlane.f32"), add, 7),
    ROWS("vmax.xlane", XLANE("vmax.xlane.f32"), greater, 0.5),
    ROWS("vmin.xlane", XLANE("vmin.xlane.f32"), less, 0.5),
    BF16("vpack.c", "{ v3 = vpack.c.bf16 v0, v0 }\n{ v2 = vunpack.c.l.bf16 v3 }\n"),
    BF16("vpack.i", "{ v3 = vpack.i.bf16 v0, v0 }\n{ v2 = vunpack.i.h.bf16 v3 }\n"),
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
    WORD("vmul.high", "u32", CHECK_LANES, 2, "{ v2 = vmul.u32.u64.high v0, v1, v2 }\n", word_high),
    WORD("vmax", "u32", CHECK_LANES, 2, LANES("vmax.u32"), word_most),
    WORD("vmin", "s32", CHECK_LANES, 2, LANES("vmin.s32"), word_least),
    WORD("vclz", "u32", CHECK_LANES, 1, LANE("vclz"), word_zeros),
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
