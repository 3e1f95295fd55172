/* Loops over complex numbers; c64 is computed as c128 and rounded where it calls a function. */
#include "import/lanes/kernel.h"

#include <math.h>

/* (a + bi)(c + di) by its four products, without the C library's second look at infinities */
static inline lane_c128 times(lane_c128 x, lane_c128 y)
{
    return complex_f64(creal(x) * creal(y) - cimag(x) * cimag(y),
                 creal(x) * cimag(y) + cimag(x) * creal(y));
}

/* by |x| and its direction: x^y = exp(y log x) with log |x| taken apart */
static lane_c128 power(lane_c128 x, lane_c128 y)
{
    double size, angle;

    if (x == 0)
        return y == 0 ? 1 : creal(y) > 0 ? 0 : cpow(x, y);
    size = log(cabs(x));
    angle = carg(x);
    return cexp(complex_f64(creal(y) * size - cimag(y) * angle, cimag(y) * size + creal(y) * angle));
}

static lane_c128 sign_of(lane_c128 x)
{
    double size = cabs(x);

    return size == 0 || size != size ? x : complex_f64(creal(x) / size, cimag(x) / size);
}

static lane_c128 expm1_of(lane_c128 x)
{
    double half = sin(cimag(x) / 2), grown = expm1(creal(x));

    return complex_f64(grown * cos(cimag(x)) - 2 * half * half, (grown + 1) * sin(cimag(x)));
}

/* log |1 + x| by the square's distance from 1 where x is small */
static lane_c128 log1p_of(lane_c128 x)
{
    double a = creal(x), b = cimag(x), size;

    if (fabs(a) < 0.5 && fabs(b) < 0.5)
        size = log1p(a * (2 + a) + b * b) / 2;
    else
        size = log(hypot(1 + a, b));
    return complex_f64(size, atan2(b, 1 + a));
}

static lane_c128 cbrt_of(lane_c128 x) { return power(x, 1.0 / 3); }
static lane_c128 rsqrt_of(lane_c128 x) { return 1 / csqrt(x); }
static lane_c128 logistic_of(lane_c128 x) { return 1 / (1 + cexp(-x)); }
static lane_c128 square_of(lane_c128 x)
{
    double a = creal(x), b = cimag(x);

    return complex_f64((a - b) * (a + b), 2 * a * b);
}

#define BOTH1(name, function) \
    KERNEL_UNARY(c64_##name, lane_c64, lane_c64, function((lane_c128)x[i])) \
    KERNEL_UNARY(c128_##name, lane_c128, lane_c128, function(x[i]))
#define BOTH2(name, function) \
    KERNEL_BINARY(c64_##name, lane_c64, lane_c64, function((lane_c128)x[i], (lane_c128)y[i])) \
    KERNEL_BINARY(c128_##name, lane_c128, lane_c128, function(x[i], y[i]))
#define OPERATOR(name, value) \
    KERNEL_BINARY(c64_##name, lane_c64, lane_c64, value) \
    KERNEL_BINARY(c128_##name, lane_c128, lane_c128, value)

static inline lane_c128 over(lane_c128 x, lane_c128 y) { return x / y; }

OPERATOR(add, x[i] + y[i])
OPERATOR(subtract, x[i] - y[i])
BOTH2(multiply, times)
BOTH2(divide, over)
BOTH2(power, power)
BOTH1(exponential, cexp)
BOTH1(expm1, expm1_of)
BOTH1(log, clog)
BOTH1(log1p, log1p_of)
BOTH1(sqrt, csqrt)
BOTH1(rsqrt, rsqrt_of)
BOTH1(cbrt, cbrt_of)
BOTH1(sine, csin)
BOTH1(cosine, ccos)
BOTH1(tan, ctan)
BOTH1(tanh, ctanh)
BOTH1(sinh, csinh)
BOTH1(cosh, ccosh)
BOTH1(asin, casin)
BOTH1(acos, cacos)
BOTH1(atan, catan)
BOTH1(asinh, casinh)
BOTH1(acosh, cacosh)
BOTH1(atanh, catanh)
BOTH1(sign, sign_of)
BOTH1(logistic, logistic_of)
BOTH1(square, square_of)
BOTH1(negate, -)
BOTH1(conj, conj)
KERNEL_UNARY(c64_abs, lane_c64, float, hypot((double)crealf(x[i]), (double)cimagf(x[i])))
KERNEL_UNARY(c128_abs, lane_c128, double, hypot(creal(x[i]), cimag(x[i])))
KERNEL_UNARY(c64_real, lane_c64, float, crealf(x[i]))
KERNEL_UNARY(c128_real, lane_c128, double, creal(x[i]))
KERNEL_UNARY(c64_imag, lane_c64, float, cimagf(x[i]))
KERNEL_UNARY(c128_imag, lane_c128, double, cimag(x[i]))
KERNEL_UNARY(c64_is_finite, lane_c64, uint8_t, isfinite(crealf(x[i])) && isfinite(cimagf(x[i])))
KERNEL_UNARY(c128_is_finite, lane_c128, uint8_t, isfinite(creal(x[i])) && isfinite(cimag(x[i])))

#define PAIR(name) { c64_##name, c128_##name }

static const kernel table[OPCODE_COUNT][2] = {
    [OPCODE_ADD] = PAIR(add), [OPCODE_SUBTRACT] = PAIR(subtract),
    [OPCODE_MULTIPLY] = PAIR(multiply), [OPCODE_DIVIDE] = PAIR(divide),
    [OPCODE_POWER] = PAIR(power), [OPCODE_EXPONENTIAL] = PAIR(exponential),
    [OPCODE_EXPONENTIAL_MINUS_ONE] = PAIR(expm1), [OPCODE_LOG] = PAIR(log),
    [OPCODE_LOG_PLUS_ONE] = PAIR(log1p), [OPCODE_SQRT] = PAIR(sqrt), [OPCODE_RSQRT] = PAIR(rsqrt),
    [OPCODE_CBRT] = PAIR(cbrt), [OPCODE_SINE] = PAIR(sine), [OPCODE_COSINE] = PAIR(cosine),
    [OPCODE_TAN] = PAIR(tan), [OPCODE_TANH] = PAIR(tanh), [OPCODE_SINH] = PAIR(sinh),
    [OPCODE_COSH] = PAIR(cosh), [OPCODE_ASIN] = PAIR(asin), [OPCODE_ACOS] = PAIR(acos),
    [OPCODE_ATAN] = PAIR(atan), [OPCODE_ASINH] = PAIR(asinh), [OPCODE_ACOSH] = PAIR(acosh),
    [OPCODE_ATANH] = PAIR(atanh), [OPCODE_SIGN] = PAIR(sign), [OPCODE_LOGISTIC] = PAIR(logistic),
    [OPCODE_SQUARE] = PAIR(square), [OPCODE_NEGATE] = PAIR(negate), [OPCODE_CONJ] = PAIR(conj),
    [OPCODE_ABS] = PAIR(abs), [OPCODE_REAL] = PAIR(real), [OPCODE_IMAG] = PAIR(imag),
    [OPCODE_IS_FINITE] = PAIR(is_finite),
};

kernel kernel_complex(enum hlo_opcode op, enum lane l) { return table[op][l == LANE_C128]; }
