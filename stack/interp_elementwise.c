#include "stack/interp_ops.h"

#include "base/floats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void interp_round_bf16(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = f32_round_to_bf16(x[i]);
}

/* The switch stands outside the loops, so each operation is a loop of its own. */
#define EACH(expression) \
    do { \
        for (int64_t i = 0; i < count; i++) { \
            double x = (double)a[i]; \
            to[i] = (float)(expression); \
        } \
    } while (0)

static void unary_f32(enum graph_op op, const float *a, float *to, int64_t count)
{
    switch (op) {
    case HLO_NEGATE: EACH(-x); break;
    case HLO_ABS: EACH(fabs(x)); break;
    case HLO_EXP: EACH(exp(x)); break;
    case HLO_LOG: EACH(log(x)); break;
    case HLO_SQRT: EACH(sqrt(x)); break;
    case HLO_RSQRT: EACH(1.0 / sqrt(x)); break;
    case HLO_TANH: EACH(tanh(x)); break;
    case HLO_LOGISTIC: EACH(1.0 / (1.0 + exp(-x))); break;
    default: assert(false && "not a unary operation on floats");
    }
}

static void unary_s32(enum graph_op op, const int32_t *a, int32_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bool is_negated = op == HLO_NEGATE || (op == HLO_ABS && a[i] < 0);

        to[i] = op == HLO_NOT ? !a[i] : is_negated ? (int32_t)(0u - (uint32_t)a[i]) : a[i];
    }
}

/* toward zero; out of range saturates and NaN is 0 */
static int32_t to_s32(float x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p31f)
        return INT32_MAX;
    return x < -0x1p31f ? INT32_MIN : (int32_t)x;
}

static void convert(enum graph_dtype to_type, enum graph_dtype type, const void *a, void *to,
                    int64_t count)
{
    bool from_float = type == DTYPE_F32 || type == DTYPE_BF16;
    const int32_t *integer = a;
    const float *real = a;

    if (from_float == (to_type != DTYPE_S32)) {
        memcpy(to, a, (size_t)count * 4);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (from_float)
            ((int32_t *)to)[i] = to_s32(real[i]);
        else
            ((float *)to)[i] = (float)integer[i];
    }
}

void interp_unary(const struct graph_node *n, enum graph_dtype type, const void *a, void *to,
                  int64_t count)
{
    if (n->op == HLO_CONVERT)
        convert(n->shape.dtype, type, a, to, count);
    else if (type == DTYPE_F32 || type == DTYPE_BF16)
        unary_f32(n->op, a, to, count);
    else
        unary_s32(n->op, a, to, count);
    if (n->shape.dtype == DTYPE_BF16)
        interp_round_bf16(to, count);
}

static double larger(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

static double smaller(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}

#define EACH_PAIR(expression) \
    do { \
        for (int64_t i = 0; i < count; i++) { \
            double x = (double)a[i], y = (double)b[i]; \
            to[i] = (float)(expression); \
        } \
    } while (0)

static void binary_f32(enum graph_op op, const float *a, const float *b, float *to,
                       int64_t count)
{
    switch (op) {
    case HLO_ADD: EACH_PAIR(x + y); break;
    case HLO_SUBTRACT: EACH_PAIR(x - y); break;
    case HLO_MULTIPLY: EACH_PAIR(x * y); break;
    case HLO_DIVIDE: EACH_PAIR(x / y); break;
    case HLO_MAXIMUM: EACH_PAIR(larger(x, y)); break;
    case HLO_MINIMUM: EACH_PAIR(smaller(x, y)); break;
    default: assert(false && "not a binary operation on floats");
    }
}

/* Integers wrap. */
static void binary_s32(enum graph_op op, const int32_t *a, const int32_t *b, int32_t *to,
                       int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)a[i], y = (uint32_t)b[i];

        switch (op) {
        case HLO_ADD: to[i] = (int32_t)(x + y); break;
        case HLO_SUBTRACT: to[i] = (int32_t)(x - y); break;
        case HLO_MULTIPLY: to[i] = (int32_t)(x * y); break;
        case HLO_MAXIMUM: to[i] = a[i] > b[i] ? a[i] : b[i]; break;
        case HLO_MINIMUM: to[i] = a[i] < b[i] ? a[i] : b[i]; break;
        case HLO_AND: to[i] = a[i] & b[i]; break;
        case HLO_OR: to[i] = a[i] | b[i]; break;
        default: assert(false && "not a binary operation on integers");
        }
    }
}

#define COMPARE_EACH \
    switch (direction) { \
    case COMPARE_EQ: for (int64_t i = 0; i < count; i++) to[i] = a[i] == b[i]; break; \
    case COMPARE_NE: for (int64_t i = 0; i < count; i++) to[i] = a[i] != b[i]; break; \
    case COMPARE_LT: for (int64_t i = 0; i < count; i++) to[i] = a[i] < b[i]; break; \
    case COMPARE_LE: for (int64_t i = 0; i < count; i++) to[i] = a[i] <= b[i]; break; \
    case COMPARE_GT: for (int64_t i = 0; i < count; i++) to[i] = a[i] > b[i]; break; \
    case COMPARE_GE: for (int64_t i = 0; i < count; i++) to[i] = a[i] >= b[i]; break; \
    }

static void compare_f32(enum graph_compare direction, const float *a, const float *b,
                        int32_t *to, int64_t count)
{
    COMPARE_EACH
}

static void compare_s32(enum graph_compare direction, const int32_t *a, const int32_t *b,
                        int32_t *to, int64_t count)
{
    COMPARE_EACH
}

void interp_binary(const struct graph_node *n, enum graph_dtype type, const void *a,
                   const void *b, void *to, int64_t count)
{
    bool is_float = type == DTYPE_F32 || type == DTYPE_BF16;

    if (n->op == HLO_COMPARE && is_float)
        compare_f32(n->direction, a, b, to, count);
    else if (n->op == HLO_COMPARE)
        compare_s32(n->direction, a, b, to, count);
    else if (is_float)
        binary_f32(n->op, a, b, to, count);
    else
        binary_s32(n->op, a, b, to, count);
    if (n->shape.dtype == DTYPE_BF16)
        interp_round_bf16(to, count);
}

/* Values are moved, not computed: bits of any type. */
void interp_select(const void *pred, const void *a, const void *b, void *to, int64_t count)
{
    const int32_t *choose = pred;
    const uint32_t *first = a, *second = b;
    uint32_t *out = to;

    for (int64_t i = 0; i < count; i++)
        out[i] = choose[i] ? first[i] : second[i];
}
