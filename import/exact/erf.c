/*
 * erf, by polynomials interpolated at Chebyshev's nodes: of erf(x) / x - 1 in x^2 below 1, where x is
 * added last, of erfc from 1 to 2 and from 2 to 4, where erf becomes 1. Of the smallest x what is added
 * would be no f32: it is the slope at 0 times x.
 */
#include "import/exact/exact.h"

#define TWO_OVER_ROOT_PI 1.1283791670955126

int exact_erf(struct hlo_builder *b, int x)
{
    static const double below_1[] = {1.0589381e-06, -1.39093399e-05, 0.000119565622, -0.000854263781,
                                     0.00522378366, -0.0268661324, 0.112837911, -0.376126379,
                                     0.128379166};
    static const double below_2[] = {0.0023994646, 0.00383374584, -0.0193321798, 0.0150337173,
                                     0.04459925, -0.138763547, 0.17839542, -0.118930072,
                                     0.0338948518};
    static const double below_4[] = {9.62090326e-06, -2.21448427e-05, -1.23183772e-05,
                                     0.000141191529, -0.000391457637, 0.000734940346,
                                     -0.00101633219, 0.00104509713, -0.000789119338,
                                     0.000417700358, -0.000139252792, 2.20913098e-05};
    int a = ar_abs(b, x), capped = ar_min(b, a, ar_num(b, x, 4));
    int near = ar_add(b, x, ar_mul(b, x, ar_poly(b, ar_mul(b, x, x), below_1, 9)));
    int rest = ar_sel(b, ar_lt(b, capped, ar_num(b, x, 2)),
                      ar_poly(b, ar_addn(b, capped, -1.5), below_2, 9),
                      ar_poly(b, ar_addn(b, capped, -3), below_4, 12));
    int far = ar_addn(b, ar_neg(b, rest), 1);

    near = ar_sel(b, ar_lt(b, a, ar_num(b, x, 0x1p-100)), ar_muln(b, x, TWO_OVER_ROOT_PI), near);
    far = ar_sel(b, ar_lt(b, x, ar_num(b, x, 0)), ar_neg(b, far), far);
    return ar_sel(b, ar_lt(b, a, ar_num(b, x, 1)), near, far);
}
