/* Evaluates reductions and windows. */
#include "stack/interp/interp_ops.h"

#include <math.h>

static double fold_float(enum graph_reduce kind, double sum, double x)
{
    if (kind == REDUCE_ADD)
        return sum + x;
    if (kind == REDUCE_MUL)
        return sum * x;
    if (isnan(sum) || isnan(x))
        return (double)NAN;
    return (kind == REDUCE_MAX) == (x > sum) ? x : sum;
}

static double fold_integer(enum graph_reduce kind, enum graph_dtype dtype, double sum, double x)
{
    int64_t a = (int64_t)sum, b = (int64_t)x;

    switch (kind) {
    case REDUCE_ADD: return (double)interp_wrap(dtype, a + b);
    case REDUCE_MUL:
        return (double)interp_wrap(dtype, (int64_t)((uint64_t)a * (uint64_t)b));
    case REDUCE_AND: return (double)interp_wrap(dtype, a & b);
    case REDUCE_OR: return (double)interp_wrap(dtype, a | b);
    default: return (kind == REDUCE_MAX) == (x > sum) ? x : sum;
    }
}

double interp_fold(enum graph_reduce kind, enum graph_dtype dtype, double sum, double x)
{
    if (kind == REDUCE_REPLACE)
        return x;
    return graph_dtype_is_float(dtype) ? fold_float(kind, sum, x)
                                       : fold_integer(kind, dtype, sum, x);
}

static void store_sums(const struct interp_call *c, const double *sum)
{
    int64_t elems = shape_elems(&c->n->shape);

    for (int64_t i = 0; i < elems; i++)
        interp_put(c->to, c->n->shape.dtype, c->is_wide, i, sum[i]);
}

/* strides that lead from an element of the operand to its sum */
static void sum_strides(const struct interp_call *c, int64_t *stride)
{
    int64_t dense[GRAPH_RANK_MAX];
    int kept = 0;

    interp_dense_strides(&c->n->shape, dense);
    for (int i = 0; i < call_shape(c, 0)->rank; i++)
        stride[i] = c->n->reduce_mask & (1u << i) ? 0 : dense[kept++];
}

/* the usual case in a loop of its own */
static void add_floats(const float *a, struct interp_rows *r, double *sum)
{
    for (int64_t row = 0; row < r->count; row++) {
        for (int64_t i = 0; i < r->length; i++)
            sum[r->offset + i * r->step] += (double)*a++;
        interp_rows_next(r);
    }
}

static void fold_all(const struct interp_call *c, struct interp_rows *r, double *sum)
{
    int64_t at = 0;

    for (int64_t row = 0; row < r->count; row++) {
        for (int64_t i = 0; i < r->length; i++) {
            double *s = &sum[r->offset + i * r->step];

            *s = interp_fold(c->n->reduce_kind, c->type, *s,
                             interp_get(call_data(c, 0), c->type, c->is_wide, at++));
        }
        interp_rows_next(r);
    }
}

/* ---- where the extreme is ---- */

static bool is_beyond(enum graph_reduce kind, double x, double best)
{
    if (isnan(best))
        return false;
    return isnan(x) || (kind == REDUCE_ARGMAX ? x > best : x < best);
}

static void find_places(const struct interp_call *c)
{
    const struct shape *a = call_shape(c, 0);
    int64_t elems = shape_elems(&c->n->shape), inner = 1;
    int dim = 0;

    while (!(c->n->reduce_mask & (1u << dim)))
        dim++;
    for (int i = dim + 1; i < a->rank; i++)
        inner *= a->dim[i];
    for (int64_t i = 0; i < elems; i++) {
        int64_t first = i / inner * inner * a->dim[dim] + i % inner, best = 0;
        double extreme = interp_get(call_data(c, 0), c->type, c->is_wide, first);

        for (int64_t k = 1; k < a->dim[dim]; k++) {
            double x = interp_get(call_data(c, 0), c->type, c->is_wide, first + k * inner);

            if (is_beyond(c->n->reduce_kind, x, extreme)) {
                extreme = x;
                best = k;
            }
        }
        ((int32_t *)c->to)[i] = (int32_t)best;
    }
}

void interp_reduce(const struct interp_call *c)
{
    int64_t stride[GRAPH_RANK_MAX], elems = shape_elems(&c->n->shape);
    struct interp_rows r;
    double *sum;

    if (c->n->reduce_kind == REDUCE_ARGMAX || c->n->reduce_kind == REDUCE_ARGMIN) {
        find_places(c);
        return;
    }
    sum = interp_room_of(&c->room[0], (size_t)elems * sizeof(*sum));
    for (int64_t i = 0; i < elems; i++)
        sum[i] = graph_identity(c->n->reduce_kind, c->type);
    sum_strides(c, stride);
    interp_rows_init(&r, call_shape(c, 0), stride);
    if (c->n->reduce_kind == REDUCE_ADD && graph_dtype_is_float(c->type) && !c->is_wide)
        add_floats(call_data(c, 0), &r, sum);
    else
        fold_all(c, &r, sum);
    store_sums(c, sum);
}

/* ---- windows ---- */

struct view {
    const struct interp_call *c;
    const struct shape *a;
    int64_t dense[GRAPH_RANK_MAX], size[GRAPH_RANK_MAX], taps;
};

static struct view view_of(const struct interp_call *c)
{
    struct view v = {.c = c, .a = call_shape(c, 0), .taps = 1};

    interp_dense_strides(v.a, v.dense);
    for (int i = 0; i < v.a->rank; i++) {
        v.size[i] = c->n->window[i].size;
        v.taps *= v.size[i];
    }
    return v;
}

/* the element under a tap of the window at a place, -1: padding or a hole */
static int64_t element_under(const struct view *v, const int64_t *place, const int64_t *tap)
{
    int64_t offset = 0;

    for (int i = 0; i < v->a->rank; i++) {
        const struct graph_window *w = &v->c->n->window[i];
        int64_t at = place[i] * w->stride + tap[i] * w->window_dilation - w->pad_low;

        if (at < 0 || at % w->base_dilation != 0 || at / w->base_dilation >= v->a->dim[i])
            return -1;
        offset += at / w->base_dilation * v->dense[i];
    }
    return offset;
}

static void reduce_windows(const struct interp_call *c)
{
    struct view v = view_of(c);
    int64_t elems = shape_elems(&c->n->shape), place[GRAPH_RANK_MAX] = {0};

    for (int64_t i = 0; i < elems; i++) {
        int64_t tap[GRAPH_RANK_MAX] = {0};
        double sum = graph_identity(c->n->reduce_kind, c->type);

        for (int64_t t = 0; t < v.taps; t++) {
            int64_t at = element_under(&v, place, tap);

            if (at >= 0)
                sum = interp_fold(c->n->reduce_kind, c->type, sum,
                                  interp_get(call_data(c, 0), c->type, c->is_wide, at));
            interp_next_index(v.size, v.a->rank, tap);
        }
        interp_put(c->to, c->n->shape.dtype, c->is_wide, i, sum);
        interp_next_index(c->n->shape.dim, c->n->shape.rank, place);
    }
}

/* as HLO: a later element takes over where the one so far is not GE (or LE) it */
static int64_t selected(const struct view *v, const int64_t *place)
{
    int64_t tap[GRAPH_RANK_MAX] = {0}, best = -1;
    double extreme = 0.0;

    for (int64_t t = 0; t < v->taps; t++) {
        int64_t at = element_under(v, place, tap);
        double x = at < 0 ? 0.0 : interp_get(call_data(v->c, 0), v->c->type, v->c->is_wide, at);
        bool stays = v->c->n->direction == COMPARE_GE ? extreme >= x : extreme <= x;

        if (at >= 0 && (best < 0 || !stays)) {
            best = at;
            extreme = x;
        }
        interp_next_index(v->size, v->a->rank, tap);
    }
    return best;
}

static void select_and_scatter(const struct interp_call *c)
{
    struct view v = view_of(c);
    const struct shape *source = call_shape(c, 1);
    int64_t elems = shape_elems(source), place[GRAPH_RANK_MAX] = {0};
    double *sum = mem_alloc((size_t)shape_elems(v.a) * sizeof(*sum));

    for (int64_t i = 0; i < elems; i++) {
        int64_t at = selected(&v, place);

        if (at >= 0)
            sum[at] = interp_fold(REDUCE_ADD, c->type, sum[at],
                                  interp_get(call_data(c, 1), c->type, c->is_wide, i));
        interp_next_index(source->dim, source->rank, place);
    }
    store_sums(c, sum);
    mem_free(sum);
}

void interp_window(const struct interp_call *c)
{
    if (c->n->op == HLO_REDUCE_WINDOW)
        reduce_windows(c);
    else
        select_and_scatter(c);
}
