/* Evaluates arithmetic on floats, each operation in double and rounded to the result's type. */
#include "stack/interp/interp_ops.h"

#include <assert.h>
#include <math.h>

/* The switch stands outside the loops, so each operation is a loop of its own. */
#define EACH_OF(type, expression) \
    for (int64_t i = 0; i < count; i++) { \
        double x = (double)((const type *)a)[i]; \
        ((type *)to)[i] = (type)(expression); \
    }
#define EACH(expression) \
    do { \
        if (c->is_wide) \
            EACH_OF(double, expression) \
        else \
            EACH_OF(float, expression) \
    } while (0)

static double sign_of(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

static void unary(const struct interp_call *c)
{
    int64_t count = shape_elems(&c->n->shape);
    const void *a = call_data(c, 0);
    void *to = c->to;

    switch (c->n->op) {
    case HLO_NEGATE: EACH(-x); break;
    case HLO_ABS: EACH(fabs(x)); break;
    case HLO_SIGN: EACH(sign_of(x)); break;
    case HLO_EXP: EACH(exp(x)); break;
    case HLO_EXPM1: EACH(expm1(x)); break;
    case HLO_LOG: EACH(log(x)); break;
    case HLO_LOG1P: EACH(log1p(x)); break;
    case HLO_SQRT: EACH(sqrt(x)); break;
    case HLO_RSQRT: EACH(1.0 / sqrt(x)); break;
    case HLO_CBRT: EACH(cbrt(x)); break;
    case HLO_TANH: EACH(tanh(x)); break;
    case HLO_LOGISTIC: EACH(1.0 / (1.0 + exp(-x))); break;
    case HLO_ERF: EACH(erf(x)); break;
    case HLO_SINE: EACH(sin(x)); break;
    case HLO_COSINE: EACH(cos(x)); break;
    case HLO_TAN: EACH(tan(x)); break;
    case HLO_FLOOR: EACH(floor(x)); break;
    case HLO_CEIL: EACH(ceil(x)); break;
    case HLO_ROUND_EVEN: EACH(rint(x)); break;
    case HLO_ROUND_AFZ: EACH(round(x)); break;
    default: assert(false && "not a unary operation on floats");
    }
}

static double larger(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

static double smaller(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}

#define PAIR_OF(type, expression) \
    for (int64_t i = 0; i < count; i++) { \
        double x = (double)((const type *)a)[i], y = (double)((const type *)b)[i]; \
        ((type *)to)[i] = (type)(expression); \
    }
#define EACH_PAIR(expression) \
    do { \
        if (c->is_wide) \
            PAIR_OF(double, expression) \
        else \
            PAIR_OF(float, expression) \
    } while (0)

static void binary(const struct interp_call *c)
{
    int64_t count = shape_elems(&c->n->shape);
    const void *a = call_data(c, 0), *b = call_data(c, 1);
    void *to = c->to;

    switch (c->n->op) {
    case HLO_ADD: EACH_PAIR(x + y); break;
    case HLO_SUBTRACT: EACH_PAIR(x - y); break;
    case HLO_MULTIPLY: EACH_PAIR(x * y); break;
    case HLO_DIVIDE: EACH_PAIR(x / y); break;
    case HLO_REMAINDER: EACH_PAIR(fmod(x, y)); break;
    case HLO_POWER: EACH_PAIR(pow(x, y)); break;
    case HLO_ATAN2: EACH_PAIR(atan2(x, y)); break;
    case HLO_MAXIMUM: EACH_PAIR(larger(x, y)); break;
    case HLO_MINIMUM: EACH_PAIR(smaller(x, y)); break;
    default: assert(false && "not a binary operation on floats");
    }
}

void interp_float(const struct interp_call *c)
{
    if (c->n->operand_count == 1)
        unary(c);
    else
        binary(c);
    interp_round_result(c);
}
