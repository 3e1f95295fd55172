/* Infers the shapes of the operations that move data by computed indices. */
#include "stack/hlo/graph_shape_impl.h"

#include <inttypes.h>

/* operands first.. are one scalar index per dimension */
static int check_starts(const struct graph *g, const struct graph_node *n, int first, int rank,
                        struct err *e)
{
    if (n->operand_count != first + rank)
        return err_set(e, "%s: %d start indices of %d dimensions", n->name,
                       n->operand_count - first, rank);
    for (int i = first; i < n->operand_count; i++)
        if (shape_of_operand(g, n, i)->rank != 0 ||
            !shape_has_type(shape_of_operand(g, n, i), WORDS))
            return shape_infer_bad_type(n, shape_of_operand(g, n, i), e);
    return 0;
}

static int infer_dynamic_slice(const struct graph *g, const struct graph_node *n,
                               struct shape *out, struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0);

    *out = *a;
    if (check_starts(g, n, 1, a->rank, e) != 0)
        return -1;
    for (int i = 0; i < a->rank; i++) {
        if (n->sizes[i] < 1 || n->sizes[i] > a->dim[i])
            return err_set(e, "%s: dimension %d: %" PRId64 " elements of %" PRId64, n->name, i,
                           n->sizes[i], a->dim[i]);
        out->dim[i] = n->sizes[i];
    }
    return 0;
}

static int infer_dynamic_update(const struct graph *g, const struct graph_node *n,
                                struct shape *out, struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0), *update;

    if (n->operand_count < 2)
        return err_set(e, "%s: has no update", n->name);
    update = shape_of_operand(g, n, 1);
    *out = *a;
    if (update->rank != a->rank || update->dtype != a->dtype)
        return shape_infer_bad_pair(n, a, update, e);
    for (int i = 0; i < a->rank; i++)
        if (update->dim[i] > a->dim[i])
            return shape_infer_bad_pair(n, a, update, e);
    return check_starts(g, n, 2, a->rank, e);
}

static uint32_t mask_of(const int *dims, int count)
{
    uint32_t mask = 0;

    for (int i = 0; i < count; i++)
        mask |= 1u << dims[i];
    return mask;
}

static bool is_rising(const int *dims, int count)
{
    for (int i = 1; i < count; i++)
        if (dims[i] <= dims[i - 1])
            return false;
    return true;
}

/* the dimension numbers that gather and scatter share */
static int check_gather(const struct graph_node *n, const struct shape *a,
                        const struct shape *indices, struct err *e)
{
    const struct graph_gather *d = n->gather;
    int64_t vector;

    if (!d)
        return err_set(e, "%s: has no dimension numbers", n->name);
    if (!shape_has_type(indices, WORDS))
        return shape_infer_bad_type(n, indices, e);
    if (d->index_vector_dim < 0 || d->index_vector_dim > indices->rank)
        return err_set(e, "%s: index_vector_dim %d is not in 0..%d", n->name,
                       d->index_vector_dim, indices->rank);
    vector = d->index_vector_dim < indices->rank ? indices->dim[d->index_vector_dim] : 1;
    if (d->map_count != vector)
        return err_set(e, "%s: indices of %" PRId64 " numbers for %d dimensions", n->name, vector,
                       d->map_count);
    if (shape_infer_check_list(n, "start_index_map", d->start_index_map, d->map_count, a->rank,
                               e) ||
        shape_infer_check_list(n, "collapsed dimensions", d->collapsed_dims, d->collapsed_count,
                               a->rank, e) ||
        shape_infer_check_list(n, "batching dimensions", d->operand_batching, d->batching_count,
                               a->rank, e) ||
        shape_infer_check_list(n, "batching dimensions of the indices", d->indices_batching,
                               d->batching_count, indices->rank, e))
        return -1;
    if (d->offset_count < 0 ||
        d->offset_count + d->collapsed_count + d->batching_count != a->rank)
        return err_set(e, "%s: %d offset, %d collapsed and %d batching dimensions of %d",
                       n->name, d->offset_count, d->collapsed_count, d->batching_count, a->rank);
    if (!is_rising(d->offset_dims, d->offset_count) ||
        !is_rising(d->collapsed_dims, d->collapsed_count))
        return err_set(e, "%s: offset and collapsed dimensions must rise", n->name);
    if (mask_of(d->operand_batching, d->batching_count) &
        (mask_of(d->collapsed_dims, d->collapsed_count) |
         mask_of(d->start_index_map, d->map_count)))
        return err_set(e, "%s: a batching dimension is neither indexed nor collapsed", n->name);
    for (int i = 0; i < d->batching_count; i++)
        if (a->dim[d->operand_batching[i]] != indices->dim[d->indices_batching[i]] ||
            d->indices_batching[i] == d->index_vector_dim)
            return shape_infer_bad_pair(n, a, indices, e);
    return 0;
}

/*
 * The shape [batch of the indices and offsets, mixed by offset_dims]; slice[] are the lengths of
 * the offset dimensions
 */
static int assemble(const struct graph_node *n, const struct shape *indices,
                    const int64_t *slice, struct shape *out, struct err *e)
{
    const struct graph_gather *d = n->gather;
    int batch_rank = indices->rank - (d->index_vector_dim < indices->rank);
    int batch = 0, offset = 0;

    out->rank = batch_rank + d->offset_count;
    if (out->rank > GRAPH_RANK_MAX)
        return err_set(e, "%s: the result has more than %d dimensions", n->name, GRAPH_RANK_MAX);
    if (shape_infer_check_list(n, "offset dimensions", d->offset_dims, d->offset_count, out->rank,
                               e))
        return -1;
    for (int i = 0; i < out->rank; i++) {
        if (offset < d->offset_count && d->offset_dims[offset] == i) {
            out->dim[i] = slice[offset++];
            continue;
        }
        if (batch == d->index_vector_dim)
            batch++;
        out->dim[i] = indices->dim[batch++];
    }
    return shape_infer_check_dims(n, out, e);
}

static int infer_gather(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0), *indices = shape_of_operand(g, n, 1);
    const struct graph_gather *d = n->gather;
    int64_t slice[GRAPH_RANK_MAX];
    uint32_t dropped;
    int kept = 0;

    if (check_gather(n, a, indices, e) != 0)
        return -1;
    dropped = mask_of(d->collapsed_dims, d->collapsed_count) |
              mask_of(d->operand_batching, d->batching_count);
    for (int i = 0; i < a->rank; i++) {
        bool is_dropped = dropped & (1u << i);

        if (d->slice_sizes[i] < 1 || d->slice_sizes[i] > (is_dropped ? 1 : a->dim[i]))
            return err_set(e, "%s: slice size %" PRId64 " of dimension %d, %s %" PRId64, n->name,
                           d->slice_sizes[i], i, is_dropped ? "which is dropped and has" : "of",
                           a->dim[i]);
        if (!is_dropped)
            slice[kept++] = d->slice_sizes[i];
    }
    out->dtype = a->dtype;
    return assemble(n, indices, slice, out, e);
}

static int infer_scatter(const struct graph *g, const struct graph_node *n, struct shape *out,
                         struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0), *indices = shape_of_operand(g, n, 1);
    const struct shape *updates = shape_of_operand(g, n, 2);
    const struct graph_gather *d = n->gather;
    int64_t slice[GRAPH_RANK_MAX];
    struct shape should = {.dtype = a->dtype};
    uint32_t dropped;
    int kept = 0;

    if (shape_infer_check_reduction(n, a, e) != 0 || check_gather(n, a, indices, e) != 0 ||
        shape_infer_check_list(n, "update window dimensions", d->offset_dims, d->offset_count,
                               updates->rank, e) != 0)
        return -1;
    dropped = mask_of(d->collapsed_dims, d->collapsed_count) |
              mask_of(d->operand_batching, d->batching_count);
    for (int i = 0; i < a->rank; i++) {
        if (dropped & (1u << i))
            continue;
        slice[kept] = updates->dim[d->offset_dims[kept]];
        if (slice[kept++] > a->dim[i])
            return shape_infer_bad_pair(n, a, updates, e);
    }
    if (assemble(n, indices, slice, &should, e) != 0)
        return -1;
    if (!shape_equal(&should, updates))
        return shape_infer_bad_pair(n, &should, updates, e);
    *out = *a;
    return 0;
}

int shape_infer_indexed(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    switch (n->op) {
    case HLO_DYNAMIC_SLICE:
        return infer_dynamic_slice(g, n, out, e);
    case HLO_DYNAMIC_UPDATE_SLICE:
        return infer_dynamic_update(g, n, out, e);
    case HLO_GATHER:
        return infer_gather(g, n, out, e);
    default:
        return infer_scatter(g, n, out, e);
    }
}
