/* Evaluates operations that move data by computed indices. */
#include "stack/interp/interp_ops.h"

#include <string.h>

static int64_t index_at(const struct interp_call *c, int operand, int64_t i)
{
    return (int64_t)interp_get(call_data(c, operand), call_shape(c, operand)->dtype, false, i);
}

static int64_t clamp_start(int64_t start, int64_t room)
{
    return start < 0 ? 0 : start > room ? room : start;
}

/* start d, which is operand `operand` unless the loops around tell it */
static int64_t start_of(const struct interp_call *c, int d, int operand)
{
    const struct graph_trips *t = c->n->trips;
    const struct interp_trip *trip = c->trip;
    int64_t start;

    if (!t || !(t->known >> d & 1))
        return index_at(c, operand, 0);
    start = t->first[d];
    for (int k = 0; k < GRAPH_TRIP_LOOPS && trip; k++, trip = trip->outer)
        start += t->step[d][k] * trip->done;
    return start;
}

static void dynamic_slice(const struct interp_call *c)
{
    const struct shape *a = call_shape(c, 0);
    struct interp_copy copy = {.rank = a->rank,
                               .elem_bytes = interp_elem_bytes(c->is_wide, a->dtype)};

    interp_dense_strides(a, copy.in_stride);
    interp_dense_strides(&c->n->shape, copy.out_stride);
    for (int i = 0; i < a->rank; i++) {
        copy.dim[i] = c->n->sizes[i];
        copy.in += copy.in_stride[i] *
                   clamp_start(start_of(c, i, 1 + i), a->dim[i] - c->n->sizes[i]);
    }
    interp_copy(&copy, call_data(c, 0), c->to);
}

static void dynamic_update_slice(const struct interp_call *c)
{
    const struct shape *a = call_shape(c, 0), *update = call_shape(c, 1);
    struct interp_copy copy = {.rank = a->rank,
                               .elem_bytes = interp_elem_bytes(c->is_wide, a->dtype)};

    memcpy(c->to, call_data(c, 0), (size_t)shape_elems(a) * copy.elem_bytes);
    interp_dense_strides(update, copy.in_stride);
    interp_dense_strides(a, copy.out_stride);
    for (int i = 0; i < a->rank; i++) {
        copy.dim[i] = update->dim[i];
        copy.out += copy.out_stride[i] *
                    clamp_start(start_of(c, i, 2 + i), a->dim[i] - update->dim[i]);
    }
    interp_copy(&copy, call_data(c, 1), c->to);
}

/* ---- gather and scatter: which element of a an element of the windows stands for ---- */

struct windows {
    const struct interp_call *c;
    const struct graph_gather *d;
    const struct shape *a, *indices, *out;      /* out: the gather's result, the updates */
    int64_t a_dense[GRAPH_RANK_MAX], i_dense[GRAPH_RANK_MAX];
    int64_t size[GRAPH_RANK_MAX];       /* of the window, by dimension of a */
    int kept[GRAPH_RANK_MAX];           /* the dimension of a behind each offset dimension */
    bool clamps;                        /* gather; a scatter drops what lies outside */
};

static struct windows windows_of(const struct interp_call *c)
{
    bool is_gather = c->n->op == HLO_GATHER;
    struct windows w = {.c = c, .d = c->n->gather, .a = call_shape(c, 0),
                        .indices = call_shape(c, 1), .clamps = is_gather,
                        .out = is_gather ? &c->n->shape : call_shape(c, 2)};
    int count = 0;

    interp_dense_strides(w.a, w.a_dense);
    interp_dense_strides(w.indices, w.i_dense);
    for (int i = 0; i < w.a->rank; i++) {
        w.size[i] = 1;
        if (graph_dims_have(w.d->collapsed_dims, w.d->collapsed_count, i) ||
            graph_dims_have(w.d->operand_batching, w.d->batching_count, i))
            continue;
        w.size[i] = w.out->dim[w.d->offset_dims[count]];
        w.kept[count++] = i;
    }
    return w;
}

/* offset of the index vector that this element of the windows belongs to; its batch in batch[] */
static int64_t vector_of(const struct windows *w, const int64_t *index, int64_t *batch)
{
    int64_t offset = 0;
    int dim = 0;

    for (int i = 0; i < w->out->rank; i++) {
        if (graph_dims_have(w->d->offset_dims, w->d->offset_count, i))
            continue;
        if (dim == w->d->index_vector_dim)
            dim++;
        batch[dim] = index[i];
        offset += index[i] * w->i_dense[dim++];
    }
    return offset;
}

/* -1: the window does not lie within a */
static int64_t element_of(const struct windows *w, const int64_t *index)
{
    int64_t batch[GRAPH_RANK_MAX] = {0}, start[GRAPH_RANK_MAX] = {0}, offset = 0;
    int64_t vector = vector_of(w, index, batch);
    int64_t step = w->d->index_vector_dim < w->indices->rank ? w->i_dense[w->d->index_vector_dim]
                                                             : 0;

    for (int k = 0; k < w->d->map_count; k++)
        start[w->d->start_index_map[k]] = index_at(w->c, 1, vector + k * step);
    for (int k = 0; k < w->d->batching_count; k++)
        start[w->d->operand_batching[k]] = batch[w->d->indices_batching[k]];
    for (int i = 0; i < w->a->rank; i++) {
        int64_t room = w->a->dim[i] - w->size[i];

        if (!w->clamps && (start[i] < 0 || start[i] > room))
            return -1;
        offset += clamp_start(start[i], room) * w->a_dense[i];
    }
    for (int k = 0; k < w->d->offset_count; k++)
        offset += index[w->d->offset_dims[k]] * w->a_dense[w->kept[k]];
    return offset;
}

static void gather(const struct interp_call *c)
{
    struct windows w = windows_of(c);
    int64_t elems = shape_elems(w.out), index[GRAPH_RANK_MAX] = {0};
    bool is_double = interp_elem_bytes(c->is_wide, c->n->shape.dtype) == 8;

    for (int64_t i = 0; i < elems; i++) {
        int64_t at = element_of(&w, index);

        if (is_double)
            ((uint64_t *)c->to)[i] = ((const uint64_t *)call_data(c, 0))[at];
        else
            ((uint32_t *)c->to)[i] = ((const uint32_t *)call_data(c, 0))[at];
        interp_next_index(w.out->dim, w.out->rank, index);
    }
}

/* combined in double and rounded once */
static void scatter(const struct interp_call *c)
{
    struct windows w = windows_of(c);
    int64_t elems = shape_elems(w.a), updates = shape_elems(w.out), index[GRAPH_RANK_MAX] = {0};
    double *sum = mem_alloc((size_t)elems * sizeof(*sum));

    for (int64_t i = 0; i < elems; i++)
        sum[i] = interp_get(call_data(c, 0), c->type, c->is_wide, i);
    for (int64_t i = 0; i < updates; i++) {
        int64_t at = element_of(&w, index);

        if (at >= 0)
            sum[at] = interp_fold(c->n->reduce_kind, c->type, sum[at],
                                  interp_get(call_data(c, 2), c->type, c->is_wide, i));
        interp_next_index(w.out->dim, w.out->rank, index);
    }
    for (int64_t i = 0; i < elems; i++)
        interp_put(c->to, c->type, c->is_wide, i, sum[i]);
    mem_free(sum);
}

void interp_index(const struct interp_call *c)
{
    switch (c->n->op) {
    case HLO_DYNAMIC_SLICE: dynamic_slice(c); break;
    case HLO_DYNAMIC_UPDATE_SLICE: dynamic_update_slice(c); break;
    case HLO_GATHER: gather(c); break;
    default: scatter(c);
    }
}
