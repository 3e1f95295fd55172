/*
 * Functions of complex numbers by those of their parts. Sizes are scaled by a power of two where
 * squares could leave the range of f32.
 */
#include "import/types/complex.h"

#include <math.h>

#define RE part[0]
#define IM part[1]

struct repr_value complex_multiply(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    int real = ar_sub(b, ar_mul(b, x.RE, y.RE), ar_mul(b, x.IM, y.IM));

    return complex_make(real, ar_add(b, ar_mul(b, x.RE, y.IM), ar_mul(b, x.IM, y.RE)));
}

static struct repr_value scale(struct hlo_builder *b, struct repr_value x, int factor)
{
    int real = ar_mul(b, x.RE, factor);

    return complex_make(real, ar_mul(b, x.IM, factor));
}

static struct repr_value choose(struct hlo_builder *b, int pred, struct repr_value x,
                                struct repr_value y)
{
    int real = ar_sel(b, pred, x.RE, y.RE);

    return complex_make(real, ar_sel(b, pred, x.IM, y.IM));
}

static int larger_part(struct hlo_builder *b, struct repr_value x)
{
    return ar_max(b, ar_abs(b, x.RE), ar_abs(b, x.IM));
}

/* 2^-n, so that x of size 2^n comes to 1..2; its inverse, too. Of 0, infinity, NaN: within range */
static int unit_scale(struct hlo_builder *b, int size, int *inverse)
{
    int word = ar_andi(b, hlo_bitcast_convert(b, size, ELEMENT_U32), 0x7f800000);
    int low = ar_int(b, word, (int64_t)2 << 23), high = ar_int(b, word, (int64_t)252 << 23);
    int total = ar_int(b, word, (int64_t)254 << 23);

    word = ar_min(b, ar_max(b, word, low), high);
    *inverse = hlo_bitcast_convert(b, word, ELEMENT_F32);
    return hlo_bitcast_convert(b, ar_sub(b, total, word), ELEMENT_F32);
}

/* by Smith: the smaller part of the divisor over the larger one first, both scaled */
struct repr_value complex_divide(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    int back, factor = unit_scale(b, larger_part(b, y), &back);
    struct repr_value d = scale(b, y, factor);
    int is_real = ar_ge(b, ar_abs(b, d.RE), ar_abs(b, d.IM));
    int large = ar_sel(b, is_real, d.RE, d.IM), small = ar_sel(b, is_real, d.IM, d.RE);
    int ratio = ar_div(b, small, large);
    int below = ar_add(b, large, ar_mul(b, small, ratio));
    int first = ar_sel(b, is_real, x.RE, x.IM), second = ar_sel(b, is_real, x.IM, x.RE);
    int real = ar_add(b, first, ar_mul(b, second, ratio));
    int imaginary = ar_sub(b, second, ar_mul(b, first, ratio));

    imaginary = ar_sel(b, is_real, imaginary, ar_neg(b, imaginary));
    real = ar_div(b, real, below);
    imaginary = ar_div(b, imaginary, below);
    return scale(b, complex_make(real, imaginary), factor);
}

int complex_abs(struct hlo_builder *b, struct repr_value x)
{
    int back, size = larger_part(b, x), factor = unit_scale(b, size, &back), y;
    int infinite = ar_num(b, size, INFINITY);
    struct repr_value unit = scale(b, x, factor);

    y = ar_sqrt(b, ar_add(b, ar_mul(b, unit.RE, unit.RE), ar_mul(b, unit.IM, unit.IM)));
    y = ar_mul(b, y, back);
    /* an infinite part makes it infinite, whatever the other is */
    return ar_sel(b, ar_or(b, ar_eq(b, ar_abs(b, x.RE), infinite),
                           ar_eq(b, ar_abs(b, x.IM), infinite)), infinite, y);
}

/* e^x cos y: 0 times an infinity is 0 where the angle is 0 */
struct repr_value complex_exp(struct hlo_builder *b, struct repr_value x)
{
    int size = ar_exp(b, ar_muln(b, x.RE, 0.5)), zero = ar_num(b, x.IM, 0);
    int real = ar_mul(b, ar_mul(b, size, ar_cos(b, x.IM)), size);
    int imaginary = ar_mul(b, ar_mul(b, size, ar_sin(b, x.IM)), size);

    return complex_make(real, ar_sel(b, ar_eq(b, x.IM, zero), x.IM, imaginary));
}

/* log |x| near 1 by log1p((a - 1)(a + 1) + b^2) / 2 */
static int log_abs(struct hlo_builder *b, struct repr_value x)
{
    int size = larger_part(b, x), small = ar_min(b, ar_abs(b, x.RE), ar_abs(b, x.IM));
    int square = ar_add(b, ar_mul(b, ar_addn(b, size, -1), ar_addn(b, size, 1)),
                        ar_mul(b, small, small));
    int near = ar_muln(b, ar_log1p(b, square), 0.5);
    int is_near = ar_and(b, ar_gt(b, size, ar_num(b, size, 0.5)), ar_lt(b, size, ar_num(b, size, 2)));

    return ar_sel(b, is_near, near, ar_log(b, complex_abs(b, x)));
}

struct repr_value complex_log(struct hlo_builder *b, struct repr_value x)
{
    int real = log_abs(b, x);

    return complex_make(real, ar_atan2(b, x.IM, x.RE));
}

/* |1 + x|^2 - 1 = 2 a + a^2 + b^2 */
struct repr_value complex_log1p(struct hlo_builder *b, struct repr_value x)
{
    int above = ar_addn(b, x.RE, 1);
    int square = ar_add(b, ar_mul(b, x.RE, ar_addn(b, x.RE, 2)), ar_mul(b, x.IM, x.IM));
    int near = ar_muln(b, ar_log1p(b, square), 0.5), size = larger_part(b, x);
    int real = ar_sel(b, ar_lt(b, size, ar_num(b, size, 0.5)), near,
                      log_abs(b, complex_make(above, x.IM)));

    return complex_make(real, ar_atan2(b, x.IM, above));
}

/* with m = |x|: sqrt((m + |a|) / 2) and the other part by division, each where it belongs */
struct repr_value complex_sqrt(struct hlo_builder *b, struct repr_value x)
{
    int half_real = ar_muln(b, x.RE, 0.5), half_imaginary = ar_muln(b, x.IM, 0.5);
    int size = ar_muln(b, complex_abs(b, complex_make(half_real, half_imaginary)), 1);
    int large = ar_sqrt(b, ar_add(b, size, ar_muln(b, ar_abs(b, x.RE), 0.5)));
    int zero = ar_num(b, large, 0), is_zero = ar_eq(b, large, zero);
    int small = ar_div(b, ar_muln(b, ar_abs(b, x.IM), 0.5), ar_sel(b, is_zero, ar_num(b, large, 1),
                                                                   large));
    int is_right = ar_ge(b, x.RE, zero), is_below = ar_lt(b, x.IM, zero);
    int imaginary = ar_sel(b, is_right, small, large), real;
    int is_infinite = ar_eq(b, ar_abs(b, x.IM), ar_num(b, large, INFINITY));

    imaginary = ar_sel(b, is_infinite, ar_num(b, large, INFINITY), imaginary);
    real = ar_sel(b, is_infinite, ar_num(b, large, INFINITY), ar_sel(b, is_right, large, small));
    imaginary = ar_sel(b, is_below, ar_neg(b, imaginary), imaginary);
    return complex_make(real, imaginary);
}

struct repr_value complex_rsqrt(struct hlo_builder *b, struct repr_value x)
{
    int real = ar_num(b, x.RE, 1), imaginary = ar_num(b, x.RE, 0);

    return complex_divide(b, complex_make(real, imaginary), complex_sqrt(b, x));
}

/* e^(y log x); 0^y is 0, x^0 is 1 */
struct repr_value complex_power(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    struct repr_value z = complex_exp(b, complex_multiply(b, y, complex_log(b, x)));
    int zero = ar_num(b, x.RE, 0), one = ar_num(b, x.RE, 1);
    int x_zero = ar_and(b, ar_eq(b, x.RE, zero), ar_eq(b, x.IM, zero));
    int y_zero = ar_and(b, ar_eq(b, y.RE, zero), ar_eq(b, y.IM, zero));

    z = choose(b, ar_and(b, x_zero, ar_gt(b, y.RE, zero)), complex_make(zero, zero), z);
    return choose(b, y_zero, complex_make(one, zero), z);
}

/* e^a cos b - 1 = expm1(a) cos b - 2 sin(b / 2)^2 */
struct repr_value complex_expm1(struct hlo_builder *b, struct repr_value x)
{
    int half = ar_sin(b, ar_muln(b, x.IM, 0.5)), grown = ar_expm1(b, x.RE);
    int real = ar_sub(b, ar_mul(b, grown, ar_cos(b, x.IM)), ar_muln(b, ar_mul(b, half, half), 2));

    return complex_make(real, ar_mul(b, ar_addn(b, grown, 1), ar_sin(b, x.IM)));
}

static int half_difference(struct hlo_builder *b, int x)       /* sinh */
{
    int e = ar_expm1(b, ar_abs(b, x));
    int y = ar_muln(b, ar_add(b, e, ar_div(b, e, ar_addn(b, e, 1))), 0.5);
    int is_large = ar_gt(b, ar_abs(b, x), ar_num(b, x, 20));

    y = ar_sel(b, is_large, ar_exp(b, ar_addn(b, ar_abs(b, x), -AR_LN2)), y);
    y = ar_sel(b, ar_lt(b, x, ar_num(b, x, 0)), ar_neg(b, y), y);
    return ar_sel(b, ar_eq(b, x, ar_num(b, x, 0)), x, y);
}

static int half_sum(struct hlo_builder *b, int x)              /* cosh */
{
    int up = ar_exp(b, ar_addn(b, x, -AR_LN2));

    return ar_add(b, up, ar_exp(b, ar_addn(b, ar_neg(b, x), -AR_LN2)));
}

struct repr_value complex_sine(struct hlo_builder *b, struct repr_value x)
{
    int real = ar_mul(b, ar_sin(b, x.RE), half_sum(b, x.IM));

    return complex_make(real, ar_mul(b, ar_cos(b, x.RE), half_difference(b, x.IM)));
}

struct repr_value complex_cosine(struct hlo_builder *b, struct repr_value x)
{
    int real = ar_mul(b, ar_cos(b, x.RE), half_sum(b, x.IM));

    return complex_make(real, ar_neg(b, ar_mul(b, ar_sin(b, x.RE), half_difference(b, x.IM))));
}

/*
 * Kahan: with t = tan b, s = sinh a, r = sqrt(1 + s^2): (r s (1 + t^2) + i t) / (1 + (1 + t^2) s^2);
 * beyond a = 9 it is the sign of a, but for its imaginary part.
 */
struct repr_value complex_tanh(struct hlo_builder *b, struct repr_value x)
{
    int limit = ar_num(b, x.RE, 9);
    int a = ar_max(b, ar_min(b, x.RE, limit), ar_neg(b, limit)), s = half_difference(b, a);
    int cosine = ar_cos(b, x.IM), square = ar_mul(b, s, s), below, real, imaginary, is_far;

    below = ar_add(b, ar_mul(b, cosine, cosine), square);
    real = ar_div(b, ar_mul(b, s, half_sum(b, a)), below);
    imaginary = ar_div(b, ar_mul(b, ar_sin(b, x.IM), cosine), below);
    is_far = ar_gt(b, ar_abs(b, x.RE), limit);
    real = ar_sel(b, is_far, ar_sign(b, x.RE), real);
    below = ar_muln(b, ar_mul(b, ar_sin(b, x.IM), cosine), 4);
    below = ar_mul(b, below, ar_exp(b, ar_muln(b, ar_abs(b, x.RE), -2)));
    return complex_make(real, ar_sel(b, is_far, below, imaginary));
}

struct repr_value complex_sign(struct hlo_builder *b, struct repr_value x)
{
    int size = complex_abs(b, x), zero = ar_num(b, size, 0), is_zero = ar_eq(b, size, zero);
    int by = ar_sel(b, is_zero, ar_num(b, size, 1), size);
    int real = ar_div(b, x.RE, by);

    return complex_make(real, ar_div(b, x.IM, by));
}
