/* Loops over f32 and f64 that call functions: of the C library, and of special.h by way of f64. */
#include "import/lanes/kernel.h"
#include "import/lanes/special.h"

#include <math.h>

#define LIBRARY(name, function) \
    KERNEL_UNARY(f32_##name, float, float, function##f(x[i])) \
    KERNEL_UNARY(f64_##name, double, double, function(x[i]))
#define SPECIAL(name, function) \
    KERNEL_UNARY(f32_##name, float, float, function((double)x[i])) \
    KERNEL_UNARY(f64_##name, double, double, function(x[i]))
#define LIBRARY2(name, function) \
    KERNEL_BINARY(f32_##name, float, float, function##f(x[i], y[i])) \
    KERNEL_BINARY(f64_##name, double, double, function(x[i], y[i]))
#define SPECIAL2(name, function) \
    KERNEL_BINARY(f32_##name, float, float, function((double)x[i], (double)y[i])) \
    KERNEL_BINARY(f64_##name, double, double, function(x[i], y[i]))

static inline double logistic(double x) { return 1 / (1 + exp(-x)); }

LIBRARY(acos, acos)
LIBRARY(acosh, acosh)
LIBRARY(asin, asin)
LIBRARY(asinh, asinh)
LIBRARY(atan, atan)
LIBRARY(atanh, atanh)
LIBRARY(cbrt, cbrt)
LIBRARY(cosh, cosh)
LIBRARY(cosine, cos)
LIBRARY(erf, erf)
LIBRARY(erfc, erfc)
LIBRARY(exponential, exp)
LIBRARY(expm1, expm1)
LIBRARY(log, log)
LIBRARY(log1p, log1p)
LIBRARY(sine, sin)
LIBRARY(sinh, sinh)
LIBRARY(tan, tan)
LIBRARY(tanh, tanh)
LIBRARY2(atan2, atan2)
LIBRARY2(power, pow)
LIBRARY2(remainder, fmod)
LIBRARY2(next_after, nextafter)
KERNEL_UNARY(f32_logistic, float, float, 1 / (1 + expf(-x[i])))
KERNEL_UNARY(f64_logistic, double, double, logistic(x[i]))
SPECIAL(lgamma, lgamma)
SPECIAL(digamma, special_digamma)
SPECIAL(erf_inv, special_erf_inv)
SPECIAL(bessel_i1e, special_bessel_i1e)
SPECIAL2(zeta, special_zeta)
SPECIAL2(polygamma, special_polygamma)

#define PAIR(name) { f32_##name, f64_##name }

static const kernel table[OPCODE_COUNT][2] = {
    [OPCODE_ACOS] = PAIR(acos), [OPCODE_ACOSH] = PAIR(acosh), [OPCODE_ASIN] = PAIR(asin),
    [OPCODE_ASINH] = PAIR(asinh), [OPCODE_ATAN] = PAIR(atan), [OPCODE_ATANH] = PAIR(atanh),
    [OPCODE_CBRT] = PAIR(cbrt), [OPCODE_COSH] = PAIR(cosh), [OPCODE_COSINE] = PAIR(cosine),
    [OPCODE_ERF] = PAIR(erf), [OPCODE_ERFC] = PAIR(erfc),
    [OPCODE_EXPONENTIAL] = PAIR(exponential), [OPCODE_EXPONENTIAL_MINUS_ONE] = PAIR(expm1),
    [OPCODE_LOG] = PAIR(log), [OPCODE_LOG_PLUS_ONE] = PAIR(log1p),
    [OPCODE_LOGISTIC] = PAIR(logistic), [OPCODE_SINE] = PAIR(sine), [OPCODE_SINH] = PAIR(sinh),
    [OPCODE_TAN] = PAIR(tan), [OPCODE_TANH] = PAIR(tanh), [OPCODE_ATAN2] = PAIR(atan2),
    [OPCODE_POWER] = PAIR(power), [OPCODE_REMAINDER] = PAIR(remainder),
    [OPCODE_NEXT_AFTER] = PAIR(next_after), [OPCODE_LGAMMA] = PAIR(lgamma),
    [OPCODE_DIGAMMA] = PAIR(digamma), [OPCODE_ERF_INV] = PAIR(erf_inv),
    [OPCODE_BESSEL_I1E] = PAIR(bessel_i1e), [OPCODE_ZETA] = PAIR(zeta),
    [OPCODE_POLYGAMMA] = PAIR(polygamma),
};

kernel kernel_math(enum hlo_opcode op, enum lane l) { return table[op][l == LANE_F64]; }
