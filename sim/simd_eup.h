/*
 * The functions of the transcendental unit, in terms of the lanes that the
 * including path has defined (sim/simd_c.c shows the smallest set). Every path
 * runs this same sequence of correctly rounded operations, so results agree
 * bit for bit. Errors: docs/numerics.md.
 */
#define EUP_LOG2E 0x1.715476p+0f        /* log2(e), and what is left of it */
#define EUP_LOG2E_LOW 0x1.4ae0cp-26f
#define EUP_SHIFTER 0x1.8p23f           /* adding it rounds to an integer in the low bits */

static inline vf eup_nan(vf x, vf result)
{
    return v_select(v_eq(x, x), result, v_of_bits(v_seti(F32_NAN_BITS)));
}

/* 2^f for |f| <= 1/2: 1 + f * (degree 5) */
static inline vf eup_pow2_fraction(vf f)
{
    vf p = v_set(0x1.41fbbep-13f);

    p = v_fma(p, f, v_set(0x1.5f3e52p-10f));
    p = v_fma(p, f, v_set(0x1.3b2d4cp-7f));
    p = v_fma(p, f, v_set(0x1.c6aee8p-5f));
    p = v_fma(p, f, v_set(0x1.ebfbdcp-3f));
    p = v_fma(p, f, v_set(0x1.62e43p-1f));
    return v_fma(p, f, v_set(1.0f));
}

/* x * 2^n where the result is normal; `shifted` is EUP_SHIFTER + n */
static inline vf eup_scale(vf x, vf shifted)
{
    vi n = v_isub(v_bits(shifted), v_bits(v_set(EUP_SHIFTER)));

    return v_of_bits(v_iadd(v_bits(x), v_shl(n, 23)));
}

static inline vf eup_pow2(vf x)
{
    vf shifted = v_add(x, v_set(EUP_SHIFTER));
    vf f = v_sub(x, v_sub(shifted, v_set(EUP_SHIFTER)));
    vf r = eup_scale(eup_pow2_fraction(f), shifted);

    r = v_select(v_lt(x, v_set(-126.0f)), v_set(0.0f), r);
    r = v_select(v_le(v_set(128.0f), x), v_set(INFINITY), r);
    return eup_nan(x, r);
}

/* (log2(1 + f) - f log2 e) / f^2 for f from sqrt(1/2) - 1 to sqrt(2) - 1 */
static inline vf eup_log2_rest(vf f)
{
    vf p = v_set(0x1.8d6708p-4f);

    p = v_fma(p, f, v_set(-0x1.58fc2cp-3f));
    p = v_fma(p, f, v_set(0x1.5fa156p-3f));
    p = v_fma(p, f, v_set(-0x1.6e9796p-3f));
    p = v_fma(p, f, v_set(0x1.a414ccp-3f));
    p = v_fma(p, f, v_set(-0x1.ec785ap-3f));
    p = v_fma(p, f, v_set(0x1.277f2ap-2f));
    p = v_fma(p, f, v_set(-0x1.71549p-2f));
    p = v_fma(p, f, v_set(0x1.ec7088p-2f));
    return v_fma(p, f, v_set(-0x1.715476p-1f));
}

/*
 * x = 2^e * (1 + f). The leading terms e + f log2 e are kept in two floats, so
 * that what the polynomial adds is a small correction of an exact sum.
 */
static inline vf eup_log2(vf x)
{
    vi half = v_seti(0x3f3504f3u);      /* sqrt(1/2) */
    vi e = v_sra(v_isub(v_bits(x), half), 23);
    vf f = v_sub(v_of_bits(v_isub(v_bits(x), v_shl(e, 23))), v_set(1.0f));
    vf exponent = v_from_s32(e);
    vf line = v_mul(f, v_set(EUP_LOG2E));
    vf high = v_add(exponent, line);
    vf low = v_sub(line, v_sub(high, exponent));
    vf r;

    low = v_add(low, v_fma(f, v_set(EUP_LOG2E), v_neg(line)));
    low = v_fma(f, v_set(EUP_LOG2E_LOW), low);
    r = v_add(high, v_fma(v_mul(f, f), eup_log2_rest(f), low));

    r = v_select(v_lt(x, v_set(INFINITY)), r, x);
    r = v_select(v_eq(x, v_set(0.0f)), v_set(-INFINITY), r);
    r = v_select(v_lt(x, v_set(0.0f)), v_of_bits(v_seti(F32_NAN_BITS)), r);
    return eup_nan(x, r);
}

static inline vf eup_rcp(vf x) { return v_canon(v_div(v_set(1.0f), x)); }

/*
 * Root and division each round, so a Newton step follows. x * y is needed
 * beyond its 24 bits: 1 - x y^2 is all rounding error by then.
 */
static inline vf eup_rsqrt(vf x)
{
    vf y = v_canon(v_div(v_set(1.0f), v_sqrt(x)));
    vf xy = v_mul(x, y), xy_low = v_fma(x, y, v_neg(xy));
    vf rest = v_fma(v_neg(xy_low), y, v_fma(v_neg(xy), y, v_set(1.0f)));
    vf better = v_fma(v_mul(y, v_set(0.5f)), rest, y);

    better = v_select(v_lt(x, v_set(INFINITY)), better, y);
    return v_select(v_lt(v_set(0.0f), x), better, y);
}

/* tanh(x) for 0 <= x < 5/8: x + x^3 * (degree 5 in x^2) */
static inline vf eup_tanh_small(vf x)
{
    vf z = v_mul(x, x), p = v_set(0x1.17e12p-9f);

    p = v_fma(p, z, v_set(-0x1.0bcdbcp-7f));
    p = v_fma(p, z, v_set(0x1.638bbp-6f));
    p = v_fma(p, z, v_set(-0x1.b9efa8p-5f));
    p = v_fma(p, z, v_set(0x1.111074p-3f));
    p = v_fma(p, z, v_set(-0x1.555554p-2f));
    return v_fma(v_mul(z, p), x, x);
}

/* tanh(x) = 1 - 2 / (e^2x + 1) for x >= 5/8; at 10 it has long been 1 */
static inline vf eup_tanh_large(vf x)
{
    vf a = v_select(v_lt(x, v_set(10.0f)), x, v_set(10.0f));
    vf shifted = v_fma(a, v_set(2 * EUP_LOG2E), v_set(EUP_SHIFTER));
    vf n = v_sub(shifted, v_set(EUP_SHIFTER));
    vf f = v_fma(a, v_set(2 * EUP_LOG2E), v_neg(n));
    vf power;

    f = v_fma(a, v_set(2 * EUP_LOG2E_LOW), f);
    power = eup_scale(eup_pow2_fraction(f), shifted);
    return v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(power, v_set(1.0f))));
}

static inline vf eup_tanh(vf x)
{
    vi sign = v_iand(v_bits(x), v_seti(0x80000000u));
    vf size = v_of_bits(v_ixor(v_bits(x), sign));
    vf r = v_select(v_lt(size, v_set(0.625f)), eup_tanh_small(size), eup_tanh_large(size));

    return eup_nan(x, v_of_bits(v_ior(v_bits(r), sign)));
}
