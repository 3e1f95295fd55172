#include "stack/interp_ops.h"

#include <math.h>

/*
 * Walks an array in row-major order a row (last dimension) at a time and knows
 * where the row's first element lies in another array with other strides.
 */
struct rows {
    int rank;
    int64_t count, length;              /* rows; elements per row */
    int64_t dim[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX], index[GRAPH_RANK_MAX];
    int64_t offset;                     /* of the row's first element in the other array */
    int64_t step;                       /* from one element of the row to the next */
};

static void rows_init(struct rows *r, const struct shape *s, const int64_t *stride)
{
    *r = (struct rows){.rank = s->rank, .length = s->rank ? s->dim[s->rank - 1] : 1};
    r->count = shape_elems(s) / r->length;
    r->step = s->rank ? stride[s->rank - 1] : 0;
    for (int i = 0; i < s->rank; i++) {
        r->dim[i] = s->dim[i];
        r->stride[i] = stride[i];
    }
}

static void rows_next(struct rows *r)
{
    for (int i = r->rank - 2; i >= 0; i--) {
        r->offset += r->stride[i];
        if (++r->index[i] < r->dim[i])
            return;
        r->offset -= r->stride[i] * r->dim[i];
        r->index[i] = 0;
    }
}

static void dense_strides(const struct shape *s, int64_t *stride)
{
    int64_t elems = 1;

    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = elems;
        elems *= s->dim[i];
    }
}

void interp_move(const struct graph_node *n, const struct shape *from, const void *a, void *to)
{
    int64_t stride[GRAPH_RANK_MAX] = {0}, dense[GRAPH_RANK_MAX];
    const uint32_t *in = a;
    uint32_t *out = to;
    struct rows r;

    dense_strides(from, dense);
    for (int i = 0; i < from->rank; i++) {
        if (n->op == HLO_TRANSPOSE)
            stride[i] = dense[n->dims[i]];
        else
            stride[n->dims[i]] = dense[i];
    }
    rows_init(&r, &n->shape, stride);
    for (int64_t row = 0; row < r.count; row++) {
        for (int64_t i = 0; i < r.length; i++)
            *out++ = in[r.offset + i * r.step];
        rows_next(&r);
    }
}

static double fold(enum graph_reduce kind, double sum, double x)
{
    if (kind == REDUCE_ADD)
        return sum + x;
    if (isnan(sum) || isnan(x))
        return (double)NAN;
    return (kind == REDUCE_MAX) == (x > sum) ? x : sum;
}

static double start_of(enum graph_reduce kind)
{
    return kind == REDUCE_ADD ? 0.0 : kind == REDUCE_MAX ? (double)-INFINITY : (double)INFINITY;
}

static void store_reduced(const struct graph_node *n, const double *sum, void *to)
{
    int64_t elems = shape_elems(&n->shape);

    for (int64_t i = 0; i < elems; i++) {
        if (n->shape.dtype == DTYPE_S32)
            ((int32_t *)to)[i] = (int32_t)(uint32_t)(int64_t)sum[i];
        else
            ((float *)to)[i] = (float)sum[i];
    }
    if (n->shape.dtype == DTYPE_BF16)
        interp_round_bf16(to, elems);
}

void interp_reduce(const struct graph_node *n, const struct shape *from, const void *a,
                   double *sum, void *to)
{
    int64_t stride[GRAPH_RANK_MAX] = {0}, dense[GRAPH_RANK_MAX];
    int64_t elems = shape_elems(&n->shape);
    bool is_integer = from->dtype == DTYPE_S32;
    const int32_t *integer = a;
    const float *real = a;
    struct rows r;
    int kept = 0;

    dense_strides(&n->shape, dense);
    for (int i = 0; i < from->rank; i++)
        if (!(n->reduce_mask & (1u << i)))
            stride[i] = dense[kept++];
    for (int64_t i = 0; i < elems; i++)
        sum[i] = start_of(n->reduce_kind);
    rows_init(&r, from, stride);
    for (int64_t row = 0; row < r.count; row++) {
        for (int64_t i = 0; i < r.length; i++) {
            double *s = &sum[r.offset + i * r.step];

            *s = fold(n->reduce_kind, *s, is_integer ? (double)*integer++ : (double)*real++);
        }
        rows_next(&r);
    }
    store_reduced(n, sum, to);
}

void interp_source(const struct graph_node *n, void *to)
{
    int64_t elems = shape_elems(&n->shape), inner = 1;
    bool is_integer = n->shape.dtype == DTYPE_S32 || n->shape.dtype == DTYPE_PRED;
    float value = (float)n->value;

    for (int i = n->dim + 1; n->op == HLO_IOTA && i < n->shape.rank; i++)
        inner *= n->shape.dim[i];
    for (int64_t i = 0; i < elems; i++) {
        int64_t index = n->op == HLO_IOTA ? i / inner % n->shape.dim[n->dim] : 0;

        if (is_integer)
            ((int32_t *)to)[i] = n->op == HLO_IOTA ? (int32_t)index : (int32_t)n->value;
        else
            ((float *)to)[i] = n->op == HLO_IOTA ? (float)index : value;
    }
    if (n->shape.dtype == DTYPE_BF16)
        interp_round_bf16(to, elems);
}
