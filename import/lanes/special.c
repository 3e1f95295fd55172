/* erf_inv, digamma, zeta, polygamma and Bessel's I1 by series whose errors are below f64's steps. */
#include "import/lanes/special.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* A first guess by a rational approximation of the tail, then Halley's steps on erf or erfc. */
double special_erf_inv(double x)
{
    double size = fabs(x), tail = 1 - size, z, t;

    if (!(size < 1))
        return size == 1 ? copysign(INFINITY, x) : NAN;
    if (size < 1e-9)
        return x * (sqrt(pi) / 2);
    t = -log(tail * (1 + size));
    z = 2 / (pi * 0.147) - t / 2;
    z = sqrt(sqrt(z * z + t / 0.147) - z);
    for (int k = 0; k < 3; k++) {
        double error = size < 0.5 ? erf(z) - size : tail - erfc(z);
        double step = error / (2 / sqrt(pi) * exp(-z * z));

        z -= step / (1 + z * step);
    }
    return copysign(z, x);
}

/* Bernoulli numbers B(2k), k from 1 */
static const double bernoulli[] = {
    1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510,
    43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730,
};
enum { BERNOULLI_COUNT = sizeof(bernoulli) / sizeof(bernoulli[0]) };

double special_digamma(double x)
{
    double sum = 0, power = 1;

    if (x == 0)
        return copysign(INFINITY, -x);
    if (x < 0) {
        double whole = floor(x), rest = x - whole;

        if (rest == 0 || isinf(x))
            return NAN;
        return special_digamma(1 - x) - pi / tan(pi * rest);
    }
    for (; x < 12; x++)
        sum -= 1 / x;
    sum += log(x) - 0.5 / x;
    for (int k = 0; k < 8; k++) {
        power /= x * x;
        sum -= bernoulli[k] / (2 * (k + 1)) * power;
    }
    return sum;
}

/* Euler and Maclaurin: the first terms, then the integral of the rest with its corrections */
double special_zeta(double s, double q)
{
    enum { TERMS = 12 };
    double sum = 0, factor, term;

    if (s == 1)
        return INFINITY;
    if (!(s > 1) || isnan(q))
        return NAN;
    if (q <= 0) {
        if (q == floor(q))
            return s == floor(s) && fmod(s, 2) == 0 ? INFINITY : NAN;
        if (s != floor(s))
            return NAN;
    }
    for (int k = 0; k < TERMS || q < 0; k++) {
        term = pow(q, -s);
        sum += term;
        q += 1;
        if (q > 0 && fabs(term) < 1e-18 * fabs(sum))
            return sum;
    }
    term = pow(q, -s);
    sum += term * q / (s - 1) + term / 2;
    factor = s * term / q;
    for (int k = 0; k < BERNOULLI_COUNT; k++) {
        double next = bernoulli[k] * factor / tgamma(2 * k + 3);

        sum += next;
        if (fabs(next) < 1e-17 * fabs(sum))
            break;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
    }
    return sum;
}

double special_polygamma(double n, double x)
{
    if (n == 0)
        return special_digamma(x);
    if (!(n > 0) || n != floor(n))
        return NAN;
    return (fmod(n, 2) == 0 ? -1 : 1) * exp(lgamma(n + 1)) * special_zeta(n + 1, x);
}

/* the power series near zero, the asymptotic one beyond */
double special_bessel_i1e(double x)
{
    double size = fabs(x), sum = 0, term;

    if (isnan(x))
        return x;
    if (size < 30) {
        double half = size / 2;

        term = half * exp(-size);
        for (int k = 1; k < 200 && (sum + term != sum || k < 3); k++) {
            sum += term;
            term *= half * half / ((double)k * (k + 1));
        }
        return copysign(sum, x);
    }
    term = 1;
    for (int k = 1; k < 40 && sum + term != sum; k++) {
        sum += term;
        term *= -(4.0 - (2 * k - 1) * (2.0 * k - 1)) / (k * 8 * size);
    }
    return copysign(sum / sqrt(2 * pi * size), x);
}
