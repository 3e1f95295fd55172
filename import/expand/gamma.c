/* The gamma function's family in f32: lgamma, digamma, zeta, polygamma. */
#include "import/expand/site.h"

#include <math.h>

/*
 * Lanczos's sum with g = 7 (Godfrey's coefficients): gamma(z + 1) = sqrt(2 pi) t^(z + 1/2) e^-t A(z)
 * with t = z + 7.5.
 */
static int lanczos_sum(struct hlo_builder *b, int z)
{
    static const double coefficient[8] = {
        676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
        12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
    int sum = ar_num(b, z, 0.99999999999980993);

    for (int i = 0; i < 8; i++)
        sum = ar_add(b, sum, ar_div(b, ar_num(b, z, coefficient[i]), ar_addn(b, z, i + 1)));
    return sum;
}

/* |x| to the nearest whole number: 0 to 0.5 */
static int distance_to_whole(struct hlo_builder *b, int x)
{
    int a = ar_abs(b, x), part = ar_sub(b, a, ar_floor(b, a));

    return ar_min(b, part, ar_addn(b, ar_neg(b, part), 1));
}

/* of z + 1: (z + 1/2 - t / log t) log t does not overflow before the result does */
static int log_gamma_above(struct hlo_builder *b, int z)
{
    int t = ar_addn(b, z, 7.5);
    int log_t = ar_addn(b, ar_log1p(b, ar_muln(b, z, 1 / 7.5)), log(7.5));
    int power = ar_sub(b, ar_addn(b, z, 0.5), ar_div(b, t, log_t));

    return ar_add(b, ar_addn(b, ar_mul(b, power, log_t), 0.5 * log(2 * AR_PI)),
                  ar_log(b, lanczos_sum(b, z)));
}

/*
 * Around its zeros at 1 and 2, where what log_gamma_above subtracts would cancel: log gamma(x) / (x - 1)
 * of x from 0.5 to 1.5 in x - 1, log gamma(x) / (x - 2) to 3 in x - 2, interpolated at Chebyshev's nodes.
 */
static int log_gamma_near(struct hlo_builder *b, int x)
{
    static const double one[] = {
        -0.167297333, 0.179739267, -0.058302138, 0.0653093085, -0.116579369, 0.131095514,
        -0.143652916, 0.169134513, -0.207398206, 0.270594269, -0.400685519, 0.82246691,
        -0.577215672};
    static const double two[] = {
        4.35766233e-05, -0.000207585254, 0.000535863161, -0.00121009583, 0.00288787996,
        -0.0073820753, 0.0205807555, -0.067352511, 0.322467029, 0.422784328};
    int from_one = ar_addn(b, x, -1), from_two = ar_addn(b, x, -2);

    return ar_sel(b, ar_lt(b, x, ar_num(b, x, 1.5)),
                  ar_mul(b, ar_poly(b, from_one, one, 13), from_one),
                  ar_mul(b, ar_poly(b, from_two, two, 10), from_two));
}

/* of z + 1 from 0.5 on */
static int log_gamma_of_positive(struct hlo_builder *b, int z)
{
    int x = ar_addn(b, z, 1);

    return ar_sel(b, ar_lt(b, x, ar_num(b, x, 3)), log_gamma_near(b, x), log_gamma_above(b, z));
}

static int lgamma_of(struct hlo_builder *b, int x)
{
    int reflects = ar_lt(b, x, ar_num(b, x, 0.5));
    int z = ar_sel(b, reflects, ar_neg(b, x), ar_addn(b, x, -1)), y = log_gamma_of_positive(b, z);
    int sine = ar_log(b, ar_sin(b, ar_muln(b, distance_to_whole(b, x), AR_PI)));
    int mirrored = ar_sub(b, ar_addn(b, ar_neg(b, sine), log(AR_PI)), y);
    int infinite = ar_num(b, x, INFINITY);

    mirrored = ar_sel(b, hlo_unary(b, OPCODE_IS_FINITE, sine), mirrored, ar_neg(b, sine));
    y = ar_sel(b, reflects, mirrored, y);
    return ar_sel(b, ar_eq(b, ar_abs(b, x), infinite), infinite, y);
}

/* psi(x) = psi(x + 1) - 1 / x up to 8, then the asymptotic series */
static int digamma_above(struct hlo_builder *b, int x)
{
    static const double series[] = {-1.0 / 132, 1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12};
    int sum = ar_num(b, x, 0), eight = ar_num(b, x, 8), one = ar_num(b, x, 1), inverse, square;

    for (int i = 0; i < 8; i++) {
        int is_below = ar_lt(b, x, eight);

        sum = ar_sub(b, sum, ar_sel(b, is_below, ar_div(b, one, x), ar_num(b, x, 0)));
        x = ar_sel(b, is_below, ar_addn(b, x, 1), x);
    }
    inverse = ar_div(b, one, x);
    square = ar_mul(b, inverse, inverse);
    square = ar_mul(b, ar_poly(b, square, series, 5), square);
    square = ar_add(b, square, ar_muln(b, inverse, -0.5));
    return ar_add(b, ar_add(b, ar_log(b, x), square), sum);
}

/* psi(x) = psi(1 - x) - pi / tan(pi x) below 1/2 */
static int digamma_of(struct hlo_builder *b, int x)
{
    int zero = ar_num(b, x, 0), reflects = ar_lt(b, x, ar_num(b, x, 0.5));
    int z = ar_sel(b, reflects, ar_addn(b, ar_neg(b, x), 1), x), y = digamma_above(b, z);
    int near = hlo_unary(b, OPCODE_ROUND_NEAREST_EVEN, x);
    int angle = ar_muln(b, ar_sub(b, x, near), AR_PI);
    int mirrored = ar_sub(b, y, ar_muln(b, ar_div(b, ar_cos(b, angle), ar_sin(b, angle)), AR_PI));
    int is_whole = ar_and(b, ar_lt(b, x, zero), ar_eq(b, x, near));

    y = ar_sel(b, reflects, mirrored, y);
    y = ar_sel(b, ar_eq(b, x, zero), ar_num(b, x, -INFINITY), y);
    return ar_sel(b, is_whole, ar_num(b, x, NAN), y);
}

/*
 * Euler and Maclaurin: nine terms of sum (q + i)^-x, the integral of the rest from w = q + 9 on, and
 * corrections B_2k / (2k)! x (x + 1) .. (x + 2k - 2) w^(1 - x - 2k).
 */
static int zeta_sum(struct hlo_builder *b, int x, int q)
{
    static const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600,
                                       1.0 / 47900160, -691.0 / 1307674368000.0};
    int minus_x = ar_neg(b, x), sum = ar_pow(b, q, minus_x), w = q, power, factor, squares;

    for (int i = 1; i < 9; i++) {
        w = ar_addn(b, w, 1);
        sum = ar_add(b, sum, ar_pow(b, w, minus_x));
    }
    w = ar_addn(b, w, 1);
    power = ar_pow(b, w, minus_x);
    sum = ar_add(b, sum, ar_mul(b, power, ar_div(b, w, ar_addn(b, x, -1))));
    sum = ar_add(b, sum, ar_muln(b, power, 0.5));
    squares = ar_mul(b, w, w);
    factor = ar_mul(b, ar_div(b, x, w), power);
    for (int k = 0; k < 6; k++) {
        sum = ar_add(b, sum, ar_muln(b, factor, bernoulli[k]));
        factor = ar_mul(b, factor, ar_div(b, ar_mul(b, ar_addn(b, x, 2 * k + 1),
                                                    ar_addn(b, x, 2 * k + 2)), squares));
    }
    return sum;
}

static int zeta_of(struct hlo_builder *b, int x, int q)
{
    int nan = ar_num(b, x, NAN), infinite = ar_num(b, x, INFINITY), one = ar_num(b, x, 1);
    int first = ar_pow(b, q, ar_neg(b, x)), sum = zeta_sum(b, x, q);
    int is_pole, is_wrong, is_even;

    /* where the first term is infinite or all, it is the sum */
    sum = ar_sel(b, hlo_unary(b, OPCODE_IS_FINITE, sum), sum, first);
    is_wrong = ar_and(b, ar_le(b, q, ar_num(b, q, 0)), ar_ne(b, x, ar_floor(b, x)));
    is_pole = ar_and(b, ar_le(b, q, ar_num(b, q, 0)), ar_eq(b, q, ar_floor(b, q)));
    sum = ar_sel(b, is_wrong, nan, sum);
    /* at a pole both sides agree where x is even */
    is_even = ar_eq(b, ar_muln(b, ar_floor(b, ar_muln(b, x, 0.5)), 2), x);
    sum = ar_sel(b, is_pole, ar_sel(b, is_even, infinite, nan), sum);
    sum = ar_sel(b, ar_eq(b, x, one), infinite, sum);
    sum = ar_sel(b, ar_lt(b, x, one), nan, sum);
    return ar_sel(b, ar_or(b, ar_is_nan(b, x), ar_is_nan(b, q)), nan, sum);
}

int expand_lgamma(struct expand_site *s)
{
    return expand_from_f32(s, lgamma_of(s->b, expand_to_f32(s, 0)));
}

int expand_digamma(struct expand_site *s)
{
    return expand_from_f32(s, digamma_of(s->b, expand_to_f32(s, 0)));
}

int expand_zeta(struct expand_site *s)
{
    int power = expand_to_f32(s, 0);

    return expand_from_f32(s, zeta_of(s->b, power, expand_to_f32(s, 1)));
}

/* (-1)^(n + 1) n! zeta(n + 1, x); of 0 digamma; of other n than whole ones from 0 on NaN */
int expand_polygamma(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int n = expand_to_f32(s, 0), x = expand_to_f32(s, 1), above = ar_addn(b, n, 1), y, is_wrong;
    int is_even = ar_eq(b, ar_muln(b, ar_floor(b, ar_muln(b, n, 0.5)), 2), n);

    y = ar_mul(b, ar_exp(b, lgamma_of(b, above)), zeta_of(b, above, x));
    y = ar_sel(b, is_even, ar_neg(b, y), y);
    y = ar_sel(b, ar_eq(b, n, ar_num(b, n, 0)), digamma_of(b, x), y);
    is_wrong = ar_or(b, ar_lt(b, n, ar_num(b, n, 0)), ar_ne(b, n, ar_floor(b, n)));
    return expand_from_f32(s, ar_sel(b, is_wrong, ar_num(b, n, NAN), y));
}
