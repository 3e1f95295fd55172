/* erfc, the inverse of erf, and the Bessel function i1e, by polynomials in f32. */
#include "import/expand/site.h"

#include <math.h>

/* e^-(x^2): the square in two parts, so that its rounding does not grow with it */
static int exp_minus_square(struct hlo_builder *b, int x)
{
    int bits = hlo_bitcast_convert(b, x, ELEMENT_U32);
    int head = hlo_bitcast_convert(b, ar_andi(b, bits, 0xfffff000), ELEMENT_F32);
    int tail = ar_mul(b, ar_sub(b, x, head), ar_add(b, x, head));

    return ar_mul(b, ar_exp(b, ar_neg(b, ar_mul(b, head, head))), ar_exp(b, ar_neg(b, tail)));
}

/*
 * (1 + 2 x) e^(x^2) erfc(x) from 0.5 to 11 is nearly flat in u = (x - 2) / (x + 2): interpolated at
 * the Chebyshev nodes of t, which runs from -1 to 1 as u from -0.6 to 9 / 13.
 */
static int erfc_above(struct hlo_builder *b, int x)
{
    static const double fit[] = {-4.11966116e-06, -4.10386849e-05, 3.05957304e-05, 0.00065109744,
                                 -0.000626376206, -0.00972299419, 0.0415154447, -0.0601290739,
                                 -0.0691790498, 1.27235919};
    const double from = -0.6, to = 9.0 / 13;
    int u, t, scaled;

    x = ar_min(b, ar_max(b, x, ar_num(b, x, 0.5)), ar_num(b, x, 11));
    u = ar_div(b, ar_addn(b, x, -2), ar_addn(b, x, 2));
    t = ar_addn(b, ar_muln(b, u, 2 / (to - from)), -2 * from / (to - from) - 1);
    scaled = ar_div(b, ar_poly(b, t, fit, 10), ar_addn(b, ar_muln(b, x, 2), 1));
    return ar_mul(b, exp_minus_square(b, x), scaled);
}

/*
 * Of bf16, whose places are 2^-9 of a number apart: e^(x^2) erfc(x) is t times a cubic in
 * t = 1 / (1 + 0.42 x) within 2.1e-4 from 0 to 9.35, beyond which nothing is left in bf16; and the
 * square of a bf16 is an f32. A sixth of the operations: it is in every gelu of jax.nn.
 */
static int erfc_of_bf16(struct hlo_builder *b, int x)
{
    static const double fit[] = {0.44325285, 0.04066092, 0.28354503, 0.2326384};
    int a = ar_abs(b, x), t = ar_addn(b, ar_muln(b, a, 0.42), 1), far, is_negative;

    t = ar_div(b, ar_num(b, t, 1), t);
    far = ar_mul(b, t, ar_poly(b, t, fit, 4));
    far = ar_mul(b, far, ar_exp(b, ar_neg(b, ar_mul(b, a, a))));
    is_negative = ar_lt(b, x, ar_num(b, x, 0));
    return ar_sel(b, is_negative, ar_addn(b, ar_neg(b, far), 2), far);
}

/* 1 - erf(x) up to 0.5: x times a polynomial in x^2, within 4e-10 of erf */
static int erfc_below(struct hlo_builder *b, int x)
{
    static const double fit[] = {0.00467180893, -0.0267311168, 0.112823318, -0.376125742,
                                 1.12837916};
    int square = ar_mul(b, x, x);

    return ar_addn(b, ar_neg(b, ar_mul(b, x, ar_poly(b, square, fit, 5))), 1);
}

static int erfc_of_f32(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x), far = erfc_above(b, a), near = erfc_below(b, x), y;

    far = ar_sel(b, ar_lt(b, x, ar_num(b, x, 0)), ar_addn(b, ar_neg(b, far), 2), far);
    y = ar_sel(b, ar_lt(b, a, ar_num(b, a, 0.5)), near, far);
    return ar_sel(b, ar_is_nan(b, x), x, y);
}

int expand_erfc(struct expand_site *s)
{
    int x = expand_to_f32(s, 0);

    return expand_from_f32(s, s->from->type->element == ELEMENT_BF16 ? erfc_of_bf16(s->b, x)
                                                                    : erfc_of_f32(s->b, x));
}

/* log(1 - x^2), from a half on by (1 - |x|)(1 + |x|), whose first factor is exact there */
static int log_below_one(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x), below = ar_log1p(b, ar_neg(b, ar_mul(b, x, x))), above;

    above = ar_mul(b, ar_addn(b, ar_neg(b, a), 1), ar_addn(b, a, 1));
    return ar_sel(b, ar_lt(b, a, ar_num(b, a, 0.5)), below, ar_log(b, above));
}

/* Giles, "Approximating the erfinv function": polynomials in w = -log(1 - x^2) */
int expand_erf_inv(struct expand_site *s)
{
    static const double near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                                  0.00021858087, -0.00125372503, -0.00417768164, 0.246640727,
                                  1.50140941};
    static const double far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                                 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
                                 2.83297682};
    struct hlo_builder *b = s->b;
    int x = expand_to_f32(s, 0), one = ar_num(b, x, 1), w, is_near, y;

    w = ar_neg(b, log_below_one(b, x));
    is_near = ar_lt(b, w, ar_num(b, w, 5));
    y = ar_sel(b, is_near, ar_poly(b, ar_addn(b, w, -2.5), near, 9),
               ar_poly(b, ar_addn(b, ar_sqrt(b, w), -3), far, 9));
    y = ar_mul(b, y, x);
    return expand_from_f32(s, ar_sel(b, ar_eq(b, ar_abs(b, x), one), ar_muln(b, x, INFINITY), y));
}

/* i1e(x) / x up to 8 in x / 4 - 1, i1e(x) sqrt(x) beyond in 16 / x - 1 */
int expand_bessel_i1e(struct expand_site *s)
{
    static const double near[] = {
        0.000307413018, -0.000728277888, 0.000411446688, -0.000778705591, 0.00336141356,
        -0.00628160274, 0.00936740571, -0.015162571, 0.0237626397, -0.0337968017, 0.0446594376,
        -0.055259753, 0.0637688955, -0.0684840732, 0.0680575434, -0.0611243072, 0.0446877102};
    static const double far[] = {-1.22732166e-07, -4.2103502e-07, -1.82569074e-06, -1.50039655e-05,
                                 -0.000219237125, -0.00974958137, 0.389398459};
    struct hlo_builder *b = s->b;
    int x = expand_to_f32(s, 0), a = ar_abs(b, x), eight = ar_num(b, x, 8);
    int is_near = ar_le(b, a, eight), low = ar_min(b, a, eight), high = ar_max(b, a, eight), y;

    low = ar_mul(b, ar_poly(b, ar_addn(b, ar_muln(b, low, 0.25), -1), near, 17), low);
    y = ar_addn(b, ar_div(b, ar_num(b, high, 16), high), -1);
    y = ar_mul(b, ar_poly(b, y, far, 7), ar_rsqrt(b, high));
    y = ar_sel(b, is_near, low, y);
    y = ar_sel(b, ar_lt(b, x, ar_num(b, x, 0)), ar_neg(b, y), y);
    return expand_from_f32(s, ar_sel(b, ar_is_nan(b, x), x, y));
}
