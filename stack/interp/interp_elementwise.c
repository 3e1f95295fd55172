/* Evaluates conversions, comparisons and choices; arithmetic is next door. */
#include "stack/interp/interp_ops.h"

#include "base/floats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void interp_round_bf16(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = f32_round_to_bf16(x[i]);
}

void interp_round_result(const struct interp_call *c)
{
    if (c->n->shape.dtype == DTYPE_BF16 && !c->is_wide)
        interp_round_bf16(c->to, shape_elems(&c->n->shape));
}

double interp_get(const void *data, enum graph_dtype dtype, bool is_wide, int64_t i)
{
    if (graph_dtype_is_float(dtype))
        return is_wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
    if (dtype == DTYPE_U32 || dtype == DTYPE_U8)
        return (double)((const uint32_t *)data)[i];
    return (double)((const int32_t *)data)[i];
}

/* toward zero; out of range the nearest end of it, NaN is 0 */
static int64_t to_integer(enum graph_dtype dtype, double x)
{
    double lowest = graph_identity(REDUCE_MAX, dtype), highest = graph_identity(REDUCE_MIN, dtype);

    if (isnan(x))
        return 0;
    return (int64_t)(x < lowest ? lowest : x > highest ? highest : x);
}

void interp_put(void *data, enum graph_dtype dtype, bool is_wide, int64_t i, double x)
{
    if (!graph_dtype_is_float(dtype))
        ((uint32_t *)data)[i] = (uint32_t)interp_wrap(dtype, (int64_t)x);
    else if (is_wide)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = dtype == DTYPE_BF16 ? f32_round_to_bf16((float)x) : (float)x;
}

static void convert(const struct interp_call *c)
{
    enum graph_dtype from = c->type, to = c->n->shape.dtype;
    int64_t count = shape_elems(&c->n->shape);

    if (graph_dtype_is_float(from) && graph_dtype_is_float(to)) {
        memcpy(c->to, call_data(c, 0), (size_t)count * interp_elem_bytes(c->is_wide, to));
        interp_round_result(c);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        double x = interp_get(call_data(c, 0), from, c->is_wide, i);

        if (to == DTYPE_PRED)
            x = x != 0.0;
        else if (graph_dtype_is_float(from))
            x = (double)to_integer(to, x);
        interp_put(c->to, to, c->is_wide, i, x);
    }
}

static void bitcast(const struct interp_call *c)
{
    bool was_wide = c->is_wide && c->type == DTYPE_F32;
    bool is_wide = c->is_wide && c->n->shape.dtype == DTYPE_F32;
    int64_t count = shape_elems(&c->n->shape);

    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = was_wide ? f32_bits((float)((const double *)call_data(c, 0))[i])
                                 : ((const uint32_t *)call_data(c, 0))[i];

        if (is_wide)
            ((double *)c->to)[i] = (double)f32_from_bits(bits);
        else
            ((uint32_t *)c->to)[i] = bits;
    }
}

#define COMPARE_BY(type, operator) \
    for (int64_t i = 0; i < count; i++) \
        to[i] = ((const type *)a)[i] operator ((const type *)b)[i];
#define COMPARE_EACH(type) \
    switch (c->n->direction) { \
    case COMPARE_EQ: COMPARE_BY(type, ==) break; \
    case COMPARE_NE: COMPARE_BY(type, !=) break; \
    case COMPARE_LT: COMPARE_BY(type, <) break; \
    case COMPARE_LE: COMPARE_BY(type, <=) break; \
    case COMPARE_GT: COMPARE_BY(type, >) break; \
    case COMPARE_GE: COMPARE_BY(type, >=) break; \
    }

static void compare(const struct interp_call *c)
{
    const void *a = call_data(c, 0), *b = call_data(c, 1);
    int64_t count = shape_elems(&c->n->shape);
    int32_t *to = c->to;

    if (!graph_dtype_is_float(c->type) && c->type != DTYPE_U32)
        COMPARE_EACH(int32_t)
    else if (c->type == DTYPE_U32)
        COMPARE_EACH(uint32_t)
    else if (c->is_wide)
        COMPARE_EACH(double)
    else
        COMPARE_EACH(float)
}

#define SELECT_EACH(type) \
    for (int64_t i = 0; i < count; i++) \
        ((type *)c->to)[i] = choose[i * step] ? ((const type *)a)[i] : ((const type *)b)[i];

/* Values are moved, not computed: bits of any type. */
static void select(const struct interp_call *c)
{
    const int32_t *choose = call_data(c, 0);
    const void *a = call_data(c, 1), *b = call_data(c, 2);
    int64_t count = shape_elems(&c->n->shape), step = call_shape(c, 0)->rank > 0;

    if (interp_elem_bytes(c->is_wide, c->n->shape.dtype) == 8)
        SELECT_EACH(uint64_t)
    else
        SELECT_EACH(uint32_t)
}

/* a NaN of the value or of a bound it meets stays NaN */
static void clamp(const struct interp_call *c)
{
    int64_t count = shape_elems(&c->n->shape);
    int64_t low_step = call_shape(c, 0)->rank > 0, high_step = call_shape(c, 2)->rank > 0;
    enum graph_dtype t = c->n->shape.dtype;

    for (int64_t i = 0; i < count; i++) {
        double low = interp_get(call_data(c, 0), t, c->is_wide, i * low_step);
        double high = interp_get(call_data(c, 2), t, c->is_wide, i * high_step);
        double x = interp_get(call_data(c, 1), t, c->is_wide, i);

        x = isnan(x) || x > low ? x : low;
        x = isnan(x) || x < high ? x : high;
        interp_put(c->to, t, c->is_wide, i, x);
    }
}

static void is_finite(const struct interp_call *c)
{
    int64_t count = shape_elems(&c->n->shape);

    for (int64_t i = 0; i < count; i++)
        ((int32_t *)c->to)[i] = isfinite(interp_get(call_data(c, 0), c->type, c->is_wide, i));
}

void interp_elementwise(const struct interp_call *c)
{
    size_t bytes = (size_t)shape_elems(&c->n->shape) *
                   interp_elem_bytes(c->is_wide, c->n->shape.dtype);

    switch (c->n->op) {
    case HLO_CONVERT: convert(c); break;
    case HLO_BITCAST_CONVERT: bitcast(c); break;
    case HLO_COPY: memcpy(c->to, call_data(c, 0), bytes); break;
    case HLO_COMPARE: compare(c); break;
    case HLO_SELECT: select(c); break;
    case HLO_CLAMP: clamp(c); break;
    case HLO_IS_FINITE: is_finite(c); break;
    default:
        if (graph_dtype_is_float(c->type))
            interp_float(c);
        else
            interp_integer(c);
    }
}
