/* Functions that the C library does not have, against their known values. */
#include "import/lanes/special.h"
#include "tests/test.h"

#include <math.h>

static void is_near(double got, double want)
{
    if (!(fabs(got - want) <= 2e-14 * fabs(want)))
        fail_msg("%.17g for %.17g", got, want);
}

TEST(the_inverse_of_erf_is_its_inverse)
{
    is_near(special_erf_inv(0.5), 0.47693627620446987);
    is_near(special_erf_inv(1e-5), 8.862269254759606e-06);
    for (double x = -0.99; x < 1; x += 0.0371)
        is_near(erf(special_erf_inv(x)), x);
    for (double x = 0.5; x < 5; x += 0.25) {
        double tail = special_erf_inv(1 - erfc(x));

        assert_true(fabs(erfc(tail) - (1 - (1 - erfc(x)))) <= 1e-12 * erfc(x));
    }
    assert_true(special_erf_inv(1) == INFINITY && special_erf_inv(-1) == -INFINITY);
    assert_true(isnan(special_erf_inv(1.5)) && isnan(special_erf_inv(NAN)));
}

TEST(digamma_has_its_known_values)
{
    is_near(special_digamma(1), -0.57721566490153286);
    is_near(special_digamma(0.5), -1.9635100260214235);
    is_near(special_digamma(10), 2.2517525890667211);
    is_near(special_digamma(-0.5), 0.036489973978576520);
    assert_true(isnan(special_digamma(-3)));
}

TEST(zeta_and_polygamma_have_their_known_values)
{
    is_near(special_zeta(2, 1), 1.6449340668482264);
    is_near(special_zeta(3, 0.5), 8.4143983221171600);
    is_near(special_zeta(4, 1), 1.0823232337111382);
    is_near(special_zeta(50, 1), 1.0000000000000009);
    is_near(special_zeta(1.5, 100), 0.20050124998177188);
    is_near(special_polygamma(1, 0.5), 4.9348022005446793);
    is_near(special_polygamma(2, 1), -2.4041138063191886);
    is_near(special_polygamma(0, 1), -0.57721566490153286);
    assert_true(special_zeta(1, 2) == INFINITY && isnan(special_zeta(0.5, 2)));
}

TEST(the_bessel_function_has_no_step_between_its_series)
{
    is_near(special_bessel_i1e(1), 0.20791041534970845);
    is_near(special_bessel_i1e(-1), -0.20791041534970845);
    assert_true(special_bessel_i1e(0) == 0);
    assert_true(fabs(special_bessel_i1e(30) / special_bessel_i1e(nextafter(30, 0)) - 1) < 1e-13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_inverse_of_erf_is_its_inverse),
        cmocka_unit_test(digamma_has_its_known_values),
        cmocka_unit_test(zeta_and_polygamma_have_their_known_values),
        cmocka_unit_test(the_bessel_function_has_no_step_between_its_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
