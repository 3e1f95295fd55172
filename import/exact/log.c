/* Logarithms, by the series of log((1 + s) / (1 - s)), and powers as e^(y log x) in pairs. */
#include "import/exact/exact.h"

#include <math.h>

#define MIN_NORMAL 0x1p-126

int exact_mantissa(struct hlo_builder *b, int x, int *k)
{
    int bits = hlo_bitcast_convert(b, x, ELEMENT_S32);

    *k = ar_sari(b, ar_addi(b, bits, -0x3f3504f3), 23);         /* of sqrt(1/2) */
    return hlo_bitcast_convert(b, ar_sub(b, bits, ar_shli(b, *k, 23)), ELEMENT_F32);
}

/* log(1 + f) + k log 2 + rest, f from sqrt(1/2) - 1 to sqrt(2) - 1: f - f^2 / 2 + s (f^2 / 2 + ..) */
static int log_of(struct hlo_builder *b, int f, int k, int rest)
{
    static const double series[] = {2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 0};
    int s = ar_div(b, f, ar_addn(b, f, 2)), half = ar_muln(b, ar_mul(b, f, f), 0.5), y;
    int exponent = hlo_convert(b, k, ELEMENT_F32);

    y = ar_mul(b, s, ar_add(b, half, ar_poly(b, ar_mul(b, s, s), series, 6)));
    rest = ar_add(b, ar_muln(b, exponent, EXACT_LN2_LOW), rest);
    y = ar_sub(b, f, ar_sub(b, half, ar_add(b, y, rest)));
    return ar_add(b, ar_muln(b, exponent, EXACT_LN2_HIGH), y);
}

static int is_between(struct hlo_builder *b, int x, double low, double high)
{
    return ar_and(b, ar_ge(b, x, ar_num(b, x, low)), ar_lt(b, x, ar_num(b, x, high)));
}

int exact_log(struct hlo_builder *b, int x)
{
    int k, m = exact_mantissa(b, x, &k), above_one = ar_addn(b, m, -1);
    int y = log_of(b, above_one, k, ar_num(b, x, 0));

    return ar_sel(b, is_between(b, x, MIN_NORMAL, INFINITY), y, ar_log(b, x));
}

/* of the rounded 1 + x, and what rounding took; near 0 of x itself */
int exact_log1p(struct hlo_builder *b, int x)
{
    struct pair above = pair_sum(b, ar_num(b, x, 1), x);
    int k, m = exact_mantissa(b, above.head, &k), is_near = ar_eq(b, k, ar_int(b, k, 0)), f, rest, y;

    f = ar_sel(b, is_near, x, ar_addn(b, m, -1));
    rest = ar_sel(b, is_near, ar_num(b, x, 0), ar_div(b, above.tail, above.head));
    y = log_of(b, f, k, rest);
    y = ar_sel(b, is_between(b, x, nextafterf(-1, 0), INFINITY), y, ar_log1p(b, x));
    return ar_sel(b, ar_eq(b, x, ar_num(b, x, 0)), x, y);
}

/* log(m) of m from sqrt(1/2) to sqrt(2): 2 s (1 + s^2 / 3 + s^4 (1/5 + ..)), s = (m - 1) / (m + 1) */
static struct pair log_of_mantissa(struct hlo_builder *b, int m)
{
    static const double series[] = {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5};
    int f = ar_addn(b, m, -1), far;
    struct pair below = pair_sum(b, ar_num(b, m, 2), f), s, square, curve, product;

    s = pair_divide(b, (struct pair){f, ar_num(b, m, 0)}, below);
    square = pair_multiply(b, s, s);
    curve = pair_multiply(b, square, pair_num(b, m, 1.0 / 3));
    far = ar_mul(b, ar_mul(b, square.head, square.head), ar_poly(b, square.head, series, 5));
    curve = pair_quick_sum(b, curve.head, ar_add(b, curve.tail, far));
    product = pair_multiply(b, s, curve);
    s = pair_add(b, s, product);
    return (struct pair){ar_muln(b, s.head, 2), ar_muln(b, s.tail, 2)};
}

/* k log 2 in three parts: 16 bits, whose product with k is exact, and two floats */
static struct pair log_of_exponent(struct hlo_builder *b, int k)
{
    const double high = 0.693145751953125, low = AR_LN2 - high;
    int exponent = hlo_convert(b, k, ELEMENT_F32), head = ar_muln(b, exponent, high);

    return pair_quick_sum(b, head, ar_muln(b, exponent, low));
}

/* what is special of a power is what the compiler's own says, but for its size */
int exact_power(struct hlo_builder *b, int x, int y)
{
    int size = ar_abs(b, x), own = ar_pow(b, x, y), k, m = exact_mantissa(b, size, &k), is_plain;
    struct pair whole = log_of_exponent(b, k), l = pair_add(b, whole, log_of_mantissa(b, m)), p;
    int z, limit;

    limit = ar_num(b, x, 0x1p40);       /* beyond that any x but 1 overflows, or is 0 */
    l = pair_scale(b, l, ar_min(b, ar_max(b, y, ar_neg(b, limit)), limit));
    limit = ar_num(b, x, 200);
    l.tail = ar_sel(b, ar_lt(b, ar_abs(b, l.head), limit), l.tail, ar_num(b, x, 0));
    l.head = ar_min(b, ar_max(b, l.head, ar_neg(b, limit)), limit);
    p = exact_exp_parts(b, l, &k);
    z = exact_scale(b, ar_addn(b, ar_add(b, p.head, p.tail), 1), k);
    z = ar_sel(b, ar_lt(b, own, ar_num(b, x, 0)), ar_neg(b, z), z);
    is_plain = ar_and(b, is_between(b, size, MIN_NORMAL, INFINITY),
                      ar_and(b, hlo_unary(b, OPCODE_IS_FINITE, y), ar_ne(b, x, ar_num(b, x, 1))));
    is_plain = ar_and(b, is_plain, ar_not(b, ar_is_nan(b, own)));
    return ar_sel(b, is_plain, z, own);
}
