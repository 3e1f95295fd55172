/* Rounding and wrapping results of a wider type, and the bits of narrow floats. */
#include "import/types/narrow.h"

#include <math.h>

/* what a float of few bits is: smallest normal number 2^least, codes behind the largest number */
struct narrow_float {
    int exponent_bits, mantissa_bits, least;
    double largest;
    enum { HAS_INFINITY, HAS_NAN, HAS_NEITHER } beyond; /* what larger numbers become */
    bool has_no_minus_zero;             /* -0 is the one NaN */
};

static const struct narrow_float float_table[ELEMENT_COUNT] = {
    [ELEMENT_F16] = {5, 10, -14, 65504, HAS_INFINITY, false},
    [ELEMENT_F8E5M2] = {5, 2, -14, 57344, HAS_INFINITY, false},
    [ELEMENT_F8E4M3] = {4, 3, -6, 240, HAS_INFINITY, false},
    [ELEMENT_F8E3M4] = {3, 4, -2, 15.5, HAS_INFINITY, false},
    [ELEMENT_F8E4M3FN] = {4, 3, -6, 448, HAS_NAN, false},
    [ELEMENT_F8E4M3B11FNUZ] = {4, 3, -10, 30, HAS_NAN, true},
    [ELEMENT_F8E4M3FNUZ] = {4, 3, -7, 240, HAS_NAN, true},
    [ELEMENT_F8E5M2FNUZ] = {5, 2, -15, 57344, HAS_NAN, true},
    [ELEMENT_F6E2M3FN] = {2, 3, 0, 7.5, HAS_NEITHER, false},
    [ELEMENT_F6E3M2FN] = {3, 2, -2, 28, HAS_NEITHER, false},
    [ELEMENT_F4E2M1FN] = {2, 1, 0, 6, HAS_NEITHER, false},
};

/* |x| cut to mantissa_bits, to nearest, ties to even: bits of a float as a whole number */
static int round_bits(struct hlo_builder *b, int bits, int mantissa_bits)
{
    int drop = 23 - mantissa_bits, odd;

    if (drop == 0)
        return bits;
    odd = ar_andi(b, ar_shri(b, bits, drop), 1);
    bits = ar_addi(b, ar_add(b, bits, odd), (1 << (drop - 1)) - 1);
    return ar_andi(b, bits, 0xffffffffu << drop);
}

/* below the normal numbers steps are equal: a sum whose last bit is one step rounds to them */
static int round_small(struct hlo_builder *b, int size, int least, int mantissa_bits)
{
    double large = ldexp(1.5, least - mantissa_bits + 23);

    return ar_addn(b, ar_addn(b, size, large), -large);
}

static int keep_float(struct hlo_builder *b, int x, const struct narrow_float *f)
{
    int word = hlo_bitcast_convert(b, x, ELEMENT_U32);
    int sign = ar_andi(b, word, 0x80000000), size_bits = ar_andi(b, word, 0x7fffffff);
    int size = hlo_bitcast_convert(b, size_bits, ELEMENT_F32);
    int normal = hlo_bitcast_convert(b, round_bits(b, size_bits, f->mantissa_bits), ELEMENT_F32);
    int small = round_small(b, size, f->least, f->mantissa_bits), y, above;
    double beyond = f->beyond == HAS_INFINITY ? INFINITY : f->beyond == HAS_NAN ? NAN : f->largest;

    y = ar_sel(b, ar_lt(b, size, ar_num(b, size, ldexp(1, f->least))), small, normal);
    above = ar_gt(b, y, ar_num(b, y, f->largest));
    y = ar_sel(b, above, ar_num(b, y, beyond), y);
    word = ar_or(b, hlo_bitcast_convert(b, y, ELEMENT_U32), sign);
    if (f->has_no_minus_zero)
        word = ar_sel(b, ar_eq(b, y, ar_num(b, y, 0)), ar_int(b, word, 0), word);
    y = hlo_bitcast_convert(b, word, ELEMENT_F32);
    if (f->beyond == HAS_NEITHER)       /* no code says NaN: it is -0 there */
        return ar_sel(b, ar_is_nan(b, x), ar_num(b, x, -0.0), y);
    return ar_sel(b, ar_is_nan(b, x), x, y);
}

/* powers of two alone, 2^-127 .. 2^127; below none, negative ones and infinities NaN */
static int keep_exponent(struct hlo_builder *b, int x)
{
    int word = hlo_bitcast_convert(b, x, ELEMENT_U32);
    int y = hlo_bitcast_convert(b, round_bits(b, word, 0), ELEMENT_F32);
    int is_bad = ar_or(b, ar_lt(b, x, ar_num(b, x, 0)), ar_not(b, hlo_unary(b, OPCODE_IS_FINITE, y)));

    y = ar_sel(b, is_bad, ar_num(b, x, NAN), y);
    return ar_sel(b, ar_is_nan(b, x), x, y);
}

static int keep_integer(struct hlo_builder *b, int x, enum hlo_element e)
{
    int wide = hlo_element_bits(ar_element(b, x)), rest = wide - hlo_element_bits(e);

    if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED)
        return ar_sari(b, ar_shli(b, x, rest), rest);
    return ar_andi(b, x, ((int64_t)1 << hlo_element_bits(e)) - 1);
}

int narrow_keep(struct hlo_builder *b, int x, enum hlo_element e)
{
    if (!hlo_element_is_float(e))
        return keep_integer(b, x, e);
    return e == ELEMENT_F8E8M0FNU ? keep_exponent(b, x) : keep_float(b, x, &float_table[e]);
}

int narrow_reduce_precision(struct hlo_builder *b, int x, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, word, size, sign, y, is_nan = ar_is_nan(b, x);

    if (exponent_bits >= 8 && mantissa_bits >= 23)
        return x;
    word = hlo_bitcast_convert(b, x, ELEMENT_U32);
    sign = ar_andi(b, word, 0x80000000);
    size = round_bits(b, ar_andi(b, word, 0x7fffffff), mantissa_bits < 23 ? mantissa_bits : 23);
    if (exponent_bits < 8) {
        /* the type's exponents end at -bias + 1 and bias; beyond are zeros and infinities */
        int64_t most = (int64_t)(127 + bias) << 23 | (0x7fffff & (0xffffffffu << (23 - mantissa_bits)));
        int is_large = ar_gt(b, size, ar_int(b, size, most));
        int is_small = ar_lt(b, size, ar_int(b, size, (int64_t)(128 - bias) << 23));

        size = ar_sel(b, is_large, ar_int(b, size, 0x7f800000), size);
        size = ar_sel(b, is_small, ar_int(b, size, 0), size);
    }
    y = hlo_bitcast_convert(b, ar_or(b, size, sign), ELEMENT_F32);
    return ar_sel(b, is_nan, x, y);
}

/* codes: sign, exponent, mantissa; of small numbers the multiple of the smallest step */
static int float_to_bits(struct hlo_builder *b, int x, enum hlo_element e)
{
    const struct narrow_float *f = &float_table[e];
    int word = hlo_bitcast_convert(b, x, ELEMENT_U32), drop = 23 - f->mantissa_bits;
    int bits = hlo_element_bits(e), sign = ar_shli(b, ar_shri(b, word, 31), bits - 1);
    int size = ar_abs(b, x), code, small, nan;
    int64_t all = ((int64_t)1 << (bits - 1)) - 1;

    code = ar_shri(b, ar_andi(b, word, 0x7fffffff), drop);
    code = ar_addi(b, code, -((int64_t)(127 + f->least - 1) << f->mantissa_bits));
    small = hlo_convert(b, ar_muln(b, size, ldexp(1, f->mantissa_bits - f->least)), ELEMENT_S32);
    small = hlo_bitcast_convert(b, small, ELEMENT_U32);
    code = ar_sel(b, ar_lt(b, size, ar_num(b, size, ldexp(1, f->least))), small, code);
    if (f->beyond == HAS_INFINITY)
        code = ar_sel(b, ar_eq(b, size, ar_num(b, size, INFINITY)),
                      ar_int(b, code, all & ~(((int64_t)1 << f->mantissa_bits) - 1)), code);
    code = ar_or(b, code, sign);
    if (f->beyond == HAS_NEITHER)
        return code;
    nan = f->has_no_minus_zero ? (int)(all + 1)
          : f->beyond == HAS_NAN ? (int)all
          : (int)((all & ~(((int64_t)1 << f->mantissa_bits) - 1)) | (1 << (f->mantissa_bits - 1)));
    return ar_sel(b, ar_is_nan(b, x), ar_int(b, code, nan), code);
}

static int float_from_bits(struct hlo_builder *b, int bits, enum hlo_element e)
{
    const struct narrow_float *f = &float_table[e];
    int width = hlo_element_bits(e), drop = 23 - f->mantissa_bits, size, y, small, is_nan;
    int64_t all = ((int64_t)1 << (width - 1)) - 1;
    int64_t top = all & ~(((int64_t)1 << f->mantissa_bits) - 1);
    int sign = ar_shli(b, ar_shri(b, bits, width - 1), 31);

    size = ar_andi(b, bits, all);
    y = ar_addi(b, ar_shli(b, size, drop), (int64_t)(127 + f->least - 1) << 23);
    small = hlo_convert(b, hlo_bitcast_convert(b, size, ELEMENT_S32), ELEMENT_F32);
    small = hlo_bitcast_convert(b, ar_muln(b, small, ldexp(1, f->least - f->mantissa_bits)),
                                ELEMENT_U32);
    y = ar_sel(b, ar_lt(b, size, ar_int(b, size, (int64_t)1 << f->mantissa_bits)), small, y);
    if (f->beyond == HAS_INFINITY)
        y = ar_sel(b, ar_eq(b, size, ar_int(b, size, top)), ar_int(b, y, 0x7f800000), y);
    y = hlo_bitcast_convert(b, ar_or(b, y, sign), ELEMENT_F32);
    if (f->beyond == HAS_NEITHER)
        return y;
    if (f->has_no_minus_zero)
        is_nan = ar_eq(b, bits, ar_int(b, bits, all + 1));
    else
        is_nan = ar_gt(b, size, ar_int(b, size, f->beyond == HAS_NAN ? all - 1 : top));
    return ar_sel(b, is_nan, ar_num(b, y, NAN), y);
}

int narrow_to_bits(struct hlo_builder *b, int x, enum hlo_element e)
{
    int word;

    if (e == ELEMENT_F8E8M0FNU)
        return ar_andi(b, ar_shri(b, hlo_bitcast_convert(b, x, ELEMENT_U32), 23), 0xff);
    if (hlo_element_is_float(e))
        return float_to_bits(b, x, e);
    if (ar_element(b, x) == ELEMENT_U8 || ar_element(b, x) == ELEMENT_PRED)
        word = hlo_convert(b, x, ELEMENT_U32);
    else
        word = hlo_bitcast_convert(b, hlo_convert(b, x, ELEMENT_S32), ELEMENT_U32);
    return ar_andi(b, word, ((int64_t)1 << hlo_element_bits(e)) - 1);
}

int narrow_from_bits(struct hlo_builder *b, int bits, enum hlo_element e)
{
    enum hlo_element part;
    int parts, x;

    expand_form_of(e, &part, &parts);
    if (e == ELEMENT_F8E8M0FNU) {
        x = hlo_bitcast_convert(b, ar_shli(b, bits, 23), ELEMENT_F32);
        return ar_sel(b, ar_eq(b, bits, ar_int(b, bits, 255)), ar_num(b, x, NAN), x);
    }
    if (hlo_element_is_float(e))
        return float_from_bits(b, bits, e);
    if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED)
        bits = keep_integer(b, hlo_bitcast_convert(b, bits, ELEMENT_S32), e);
    return hlo_convert(b, bits, part);
}
