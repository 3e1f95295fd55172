/*
 * Complex numbers of the host by their parts: CMPLX and CMPLXF of C11, which glibc has for gcc
 * alone. real + imaginary * I is not the same where a part is an infinity, a NaN or -0.
 */
#ifndef BASE_COMPLEX_PARTS_H
#define BASE_COMPLEX_PARTS_H
#include <complex.h>

static inline double complex complex_f64(double real, double imaginary)
{
    union { double part[2]; double complex whole; } z = {.part = {real, imaginary}};

    return z.whole;
}

static inline float complex complex_f32(float real, float imaginary)
{
    union { float part[2]; float complex whole; } z = {.part = {real, imaginary}};

    return z.whole;
}
#endif
