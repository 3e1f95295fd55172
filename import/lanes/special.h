/* Functions that the C library does not have, in f64; of CHLO and of statistics. */
#ifndef IMPORT_EVAL_SPECIAL_H
#define IMPORT_EVAL_SPECIAL_H

double special_erf_inv(double x);
double special_digamma(double x);
/* Hurwitz's zeta(s, q): the sum of 1 / (q + k)^s */
double special_zeta(double s, double q);
/* the n-th derivative of digamma at x; n a whole number, 0: digamma itself */
double special_polygamma(double n, double x);
/* exp(-|x|) I1(x) */
double special_bessel_i1e(double x);
#endif
