/*
 * Rules of pass_simplify about features in groups, [n, h, w, 32 x 8] of [n, h, w, 256], as group
 * normalisation has them: groups along lanes fill a few of a vector's 128. Elementwise work is done
 * before the reshape that makes them, with statistics of groups spread over their features; sums
 * over places and a group's features are of places first, whose sums are few.
 */
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/passes/simplify/simplify.h"

enum { SMALL_TIMES = 64, PLACES_MIN = 8 };

/* the last dimension is split, and what becomes the last one fills no vector */
static bool splits_lanes(const struct shape *from, const struct shape *to)
{
    int64_t lanes = to->rank ? to->dim[to->rank - 1] : 1;

    return from->rank > 0 && from->rank < to->rank && lanes > 1 && lanes < ARRAY_LANES
           && from->dim[from->rank - 1] > lanes && from->dim[from->rank - 1] % lanes == 0;
}

static bool is_group_reshape(const struct graph *g, const struct graph_node *n)
{
    return n->op == HLO_RESHAPE && splits_lanes(&g->node[n->operand[0]].shape, &n->shape);
}

static uint32_t mask_between(int first, int end)
{
    return (1u << end) - (1u << first);
}

/* ----- elementwise work */

/* what a broadcast spreads, spread over whole runs of `before` first, and then over all of it */
static int spread_before(struct graph *g, const struct graph_node *b, struct shape before)
{
    struct shape wide = {.dtype = b->shape.dtype}, joined = wide;
    int place[GRAPH_RANK_MAX], source[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX], rank = 0;
    int count = g->node[b->operand[0]].shape.rank, joined_node;
    struct reshape_runs r;

    reshape_runs_find(&b->shape, &before, &r);
    for (int i = 0; i < r.count; i++) {
        bool is_spread = false;

        for (int k = 0; k < count; k++)
            is_spread |= (mask_between(r.from[i], r.from[i + 1]) >> b->dims[k]) & 1u;
        for (int d = r.from[i]; is_spread && d < r.from[i + 1]; d++) {
            place[d] = wide.rank;
            wide.dim[wide.rank++] = b->shape.dim[d];
        }
        for (int d = r.to[i]; is_spread && d < r.to[i + 1]; d++) {
            dims[rank++] = d;
            joined.dim[joined.rank++] = before.dim[d];
        }
    }
    for (int k = 0; k < count; k++)
        source[k] = place[b->dims[k]];
    before.dtype = b->shape.dtype;
    joined_node = graph_reshape(g, graph_broadcast(g, b->operand[0], wide, source), joined);
    return graph_broadcast(g, joined_node, before, dims);
}

static bool is_small(const struct graph *g, const struct graph_node *b, const struct shape *of)
{
    return b->op == HLO_BROADCAST
           && shape_elems(&g->node[b->operand[0]].shape) * SMALL_TIMES <= shape_elems(of);
}

/* the shape before the groups; rank -1: some operand is neither in groups nor spread over them */
static struct shape shape_before(const struct graph *g, const struct graph_node *n)
{
    struct shape before = {.rank = -1};

    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *a = &g->node[n->operand[i]];

        if (is_group_reshape(g, a) && shape_same_dims(&a->shape, &n->shape))
            before = g->node[a->operand[0]].shape;
    }
    for (int i = 0; i < n->operand_count && before.rank >= 0; i++) {
        const struct graph_node *a = &g->node[n->operand[i]];
        bool is_before = is_group_reshape(g, a)
                         && shape_same_dims(&g->node[a->operand[0]].shape, &before);

        if (!is_before && a->shape.rank != 0 && !is_small(g, a, &n->shape))
            return (struct shape){.rank = -1};
    }
    return before;
}

static int work_before(struct graph *g, const struct graph_node *n)
{
    struct shape before = shape_before(g, n);
    int operand[3];

    if (before.rank < 0)
        return NODE_NONE;
    for (int i = 0; i < n->operand_count; i++) {
        struct graph_node a = g->node[n->operand[i]];

        operand[i] = a.shape.rank == 0        ? n->operand[i]
                     : a.op == HLO_RESHAPE    ? a.operand[0]
                                              : spread_before(g, &a, before);
    }
    return graph_reshape(g, graph_add(g, n, operand, n->operand_count), n->shape);
}

/* ----- sums */

static bool may_be_parted(const struct graph_node *n)
{
    return n->reduce_kind == REDUCE_MAX || n->reduce_kind == REDUCE_MIN
           || (n->reduce_kind == REDUCE_ADD && n->shape.dtype == DTYPE_F32);
}

/* runs that are reduced as a whole, in dimensions before the reshape; their elements */
static uint32_t whole_runs(const struct graph_node *n, const struct shape *from,
                           const struct shape *to, uint32_t *whole_to, int64_t *elements)
{
    struct reshape_runs r;
    uint32_t whole = 0;

    *whole_to = 0;
    *elements = 1;
    reshape_runs_find(from, to, &r);
    for (int i = 0; i < r.count; i++) {
        uint32_t dims = mask_between(r.to[i], r.to[i + 1]);

        if (!dims || (n->reduce_mask & dims) != dims)
            continue;
        whole |= mask_between(r.from[i], r.from[i + 1]);
        *whole_to |= dims;
        for (int d = r.to[i]; d < r.to[i + 1]; d++)
            *elements *= to->dim[d];
    }
    return whole;
}

static int places_first(struct graph *g, const struct graph_node *n)
{
    struct graph_node s = g->node[n->operand[0]];
    struct shape groups = {.dtype = s.shape.dtype};
    uint32_t whole, whole_to, mask = 0;
    int64_t elements;
    int sums;

    if (!is_group_reshape(g, &s) || !may_be_parted(n))
        return NODE_NONE;
    whole = whole_runs(n, &g->node[s.operand[0]].shape, &s.shape, &whole_to, &elements);
    if (elements < PLACES_MIN || whole_to == n->reduce_mask)
        return NODE_NONE;
    for (int d = 0; d < s.shape.rank; d++) {
        if ((whole_to >> d) & 1u)
            continue;
        if ((n->reduce_mask >> d) & 1u)
            mask |= 1u << groups.rank;
        groups.dim[groups.rank++] = s.shape.dim[d];
    }
    sums = graph_reshape(g, graph_reduce(g, n->reduce_kind, s.operand[0], whole), groups);
    return graph_reduce(g, n->reduce_kind, sums, mask);
}

int simplify_groups(struct graph *g, const struct graph_node *n)
{
    if (n->op == HLO_REDUCE)
        return places_first(g, n);
    return graph_op_is_elementwise(n->op) ? work_before(g, n) : NODE_NONE;
}
