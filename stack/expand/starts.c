/*
 * Where the windows of gathers and scatters begin: a number of the index vectors that is always zero
 * says nothing and is left out. A batch of dynamic slices or updates, of which each begins somewhere
 * along one dimension, comes with a number for every dimension; without the zeros its windows are
 * whole rows and tiles. What numbers may be follows from how the program clamps them.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#include <string.h>

enum { DEPTH_MAX = 24, LITERAL_MAX = 4096, NO_DIM = -1 };

struct range { int64_t low, high; };

static const struct range anything = {INT32_MIN, INT32_MAX};

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

static struct range joined(struct range x, struct range y)
{
    return (struct range){smaller(x.low, y.low), larger(x.high, y.high)};
}

static struct range max_of(struct range x, struct range y)
{
    return (struct range){larger(x.low, y.low), larger(x.high, y.high)};
}

static struct range min_of(struct range x, struct range y)
{
    return (struct range){smaller(x.low, y.low), smaller(x.high, y.high)};
}

static struct range of_literal(const struct graph_node *n, int dim, int64_t at)
{
    const int32_t *element = n->literal;
    int64_t count = shape_elems(&n->shape), behind = 1;
    struct range r = {INT32_MAX, INT32_MIN};

    for (int d = n->shape.rank - 1; dim != NO_DIM && d > dim; d--)
        behind *= n->shape.dim[d];
    for (int64_t i = 0; i < count && count <= LITERAL_MAX; i++)
        if (dim == NO_DIM || i / behind % n->shape.dim[dim] == at)
            r = joined(r, (struct range){element[i], element[i]});
    return r.low <= r.high ? r : anything;
}

/* the operand's dimension that runs as `dim` of the reshaped array does; NO_DIM: none, *is_any */
static int dim_before(const struct shape *from, const struct shape *to, int dim, bool *is_any)
{
    int64_t behind = 1, there = 1;

    *is_any = dim == NO_DIM || to->dim[dim] == 1;
    if (*is_any)
        return NO_DIM;
    for (int d = dim + 1; d < to->rank; d++)
        behind *= to->dim[d];
    for (int d = from->rank - 1; d >= 0; d--) {
        if (there == behind && from->dim[d] == to->dim[dim])
            return d;
        there *= from->dim[d];
    }
    return NO_DIM;
}

static struct range range_of(const struct graph *g, int node, int dim, int64_t at, int depth);

/* of the operands of a concatenation, those that `at` along `dim` may be of */
static struct range of_parts(const struct graph *g, const struct graph_node *n, int dim, int64_t at,
                             int depth)
{
    struct range r = {INT32_MAX, INT32_MIN};

    for (int k = 0; k < n->operand_count; k++) {
        int64_t size = g->node[n->operand[k]].shape.dim[n->dim];

        if (dim != n->dim)
            r = joined(r, range_of(g, n->operand[k], dim, at, depth));
        else if (at >= 0 && at < size)
            r = range_of(g, n->operand[k], dim, at, depth);
        at -= dim == n->dim ? size : 0;
    }
    return r.low <= r.high ? r : anything;
}

static struct range of_broadcast(const struct graph *g, const struct graph_node *n, int dim,
                                 int64_t at, int depth)
{
    int rank = g->node[n->operand[0]].shape.rank;

    for (int k = 0; k < rank; k++)
        if (n->dims[k] == dim)
            return range_of(g, n->operand[0], k, at, depth);
    return range_of(g, n->operand[0], NO_DIM, 0, depth);
}

/* an operand of elementwise work, or a scalar beside it */
static struct range of_operand(const struct graph *g, const struct graph_node *n, int k, int dim,
                               int64_t at, int depth)
{
    return range_of(g, n->operand[k], g->node[n->operand[k]].shape.rank ? dim : NO_DIM, at, depth);
}

static struct range of_sum(struct range x, struct range y)
{
    struct range r = {x.low + y.low, x.high + y.high};

    return r.low >= INT32_MIN && r.high <= INT32_MAX ? r : anything;
}

static struct range of_elementwise(const struct graph *g, const struct graph_node *n, int dim,
                                   int64_t at, int depth)
{
    struct range x, y, z;

    if (n->operand_count < 2)
        return anything;
    x = of_operand(g, n, 0, dim, at, depth);
    y = of_operand(g, n, 1, dim, at, depth);
    switch (n->op) {
    case HLO_ADD: return of_sum(x, y);
    case HLO_MAXIMUM: return max_of(x, y);
    case HLO_MINIMUM: return min_of(x, y);
    case HLO_SELECT: return joined(y, of_operand(g, n, 2, dim, at, depth));
    case HLO_CLAMP:
        z = of_operand(g, n, 2, dim, at, depth);
        return min_of(max_of(x, y), z);
    default: return anything;
    }
}

/* what elements of whole numbers may be: those `at` along `dim`, or all where that is NO_DIM */
static struct range range_of(const struct graph *g, int node, int dim, int64_t at, int depth)
{
    const struct graph_node *n = &g->node[node];
    bool is_any;

    if (depth == 0 || n->shape.dtype != DTYPE_S32)
        return anything;
    depth--;
    switch (n->op) {
    case HLO_CONSTANT:
        return n->literal ? of_literal(n, dim, at)
                          : (struct range){(int64_t)n->value, (int64_t)n->value};
    case HLO_BROADCAST: return of_broadcast(g, n, dim, at, depth);
    case HLO_CONCATENATE: return of_parts(g, n, dim, at, depth);
    case HLO_RESHAPE:
        dim = dim_before(&g->node[n->operand[0]].shape, &n->shape, dim, &is_any);
        return dim == NO_DIM && !is_any ? anything : range_of(g, n->operand[0], dim, at, depth);
    case HLO_IOTA:
        return n->dim == dim ? (struct range){at, at} : (struct range){0, n->shape.dim[n->dim] - 1};
    default: return of_elementwise(g, n, dim, at, depth);
    }
}

/* a gather clamps the starts of windows that are as wide as its operand to zero */
static bool is_zero(const struct graph *g, const struct graph_node *n, int k)
{
    int d = n->gather->start_index_map[k];
    struct range r;

    if (n->op == HLO_GATHER && n->gather->slice_sizes[d] == g->node[n->operand[0]].shape.dim[d])
        return true;
    r = range_of(g, n->operand[1], n->gather->index_vector_dim, k, DEPTH_MAX);
    return r.low == 0 && r.high == 0;
}

/* the numbers of the vectors that stay, joined from runs of them */
static int kept_indices(struct graph *g, int indices, int vector_dim, const bool *stays, int count)
{
    int part[GRAPH_RANK_MAX], parts = 0;

    for (int k = 0; k < count; k++) {
        struct shape s = g->node[indices].shape;
        int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];
        int end = k;

        while (end < count && stays[end])
            end++;
        if (end == k)
            continue;
        memcpy(limit, s.dim, sizeof(limit));
        start[vector_dim] = k;
        limit[vector_dim] = end;
        part[parts++] = graph_slice(g, indices, start, limit, NULL);
        k = end;
    }
    return parts == 1 ? part[0] : graph_concatenate(g, part, parts, vector_dim);
}

int expand_starts(struct graph *g, const struct graph_node *n)
{
    bool stays[GRAPH_RANK_MAX];
    struct graph_node plain = *n;
    struct graph_gather *d;
    int operand[3], kept = 0, count;

    if (n->op != HLO_GATHER && n->op != HLO_SCATTER)
        return NODE_NONE;
    count = n->gather->map_count;
    if (count < 2 || n->gather->index_vector_dim >= g->node[n->operand[1]].shape.rank)
        return NODE_NONE;
    for (int k = 0; k < count; k++)
        kept += stays[k] = !is_zero(g, n, k);
    if (kept == 0)
        kept = stays[0] = true;
    if (kept == count)
        return NODE_NONE;
    d = arena_alloc(g->arena, sizeof(*d));
    *d = *n->gather;
    d->map_count = 0;
    for (int k = 0; k < count; k++)
        if (stays[k])
            d->start_index_map[d->map_count++] = n->gather->start_index_map[k];
    plain.gather = d;
    memcpy(operand, n->operand, (size_t)n->operand_count * sizeof(*operand));
    operand[1] = kept_indices(g, n->operand[1], d->index_vector_dim, stays, count);
    return graph_add(g, &plain, operand, n->operand_count);
}
