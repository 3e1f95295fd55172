/* The rules of pass_simplify about reductions. */
#include "stack/passes/simplify/simplify.h"

static bool is_arg(enum graph_reduce kind)
{
    return kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
}

static uint32_t mask_of_ones(const struct shape *s, uint32_t mask)
{
    uint32_t ones = 0;

    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] == 1)
            ones |= 1u << d;
    return ones & mask;
}

/* dimensions of size 1 need no reduction */
static int drop_ones(struct graph *g, const struct graph_node *n, const struct shape *s)
{
    uint32_t ones = mask_of_ones(s, n->reduce_mask), mask = 0;
    struct shape small = {.dtype = s->dtype};

    if (ones == n->reduce_mask)
        return graph_reshape(g, n->operand[0], n->shape);
    for (int d = 0; d < s->rank; d++) {
        if (ones & (1u << d))
            continue;
        if (n->reduce_mask & (1u << d))
            mask |= 1u << small.rank;
        small.dim[small.rank++] = s->dim[d];
    }
    return graph_reduce(g, n->reduce_kind, graph_reshape(g, n->operand[0], small), mask);
}

static bool may_repeat(enum graph_reduce kind)
{
    return kind == REDUCE_MAX || kind == REDUCE_MIN || kind == REDUCE_AND || kind == REDUCE_OR;
}

/* All reduced dimensions are new: the operand itself, or so many times it. */
static int of_broadcast(struct graph *g, const struct graph_node *n, const struct graph_node *b)
{
    int dims[GRAPH_RANK_MAX], rank = g->node[b->operand[0]].shape.rank, result;
    int64_t times = 1;

    if (!may_repeat(n->reduce_kind) &&
        !(n->reduce_kind == REDUCE_ADD && n->shape.dtype == DTYPE_F32))
        return NODE_NONE;
    for (int i = 0; i < rank; i++) {
        uint32_t below = (1u << b->dims[i]) - 1;

        if (n->reduce_mask & (1u << b->dims[i]))
            return NODE_NONE;
        dims[i] = b->dims[i] - __builtin_popcount(n->reduce_mask & below);
    }
    for (int d = 0; d < b->shape.rank; d++)
        if (n->reduce_mask & (1u << d))
            times *= b->shape.dim[d];
    if (times > 1 << 24)                /* not a whole f32 */
        return NODE_NONE;
    result = b->operand[0];
    if (!shape_equal(&g->node[result].shape, &n->shape))
        result = graph_broadcast(g, result, n->shape, dims);
    if (may_repeat(n->reduce_kind))
        return result;
    return graph_binary(g, HLO_MULTIPLY, result, graph_splat(g, result, (double)times));
}

/* Reducing first; what is left is turned where its order changes. */
static int of_transpose(struct graph *g, const struct graph_node *n, const struct graph_node *t)
{
    int kept[GRAPH_RANK_MAX], turned[GRAPH_RANK_MAX], rank = t->shape.rank, count = 0, result;
    uint32_t mask = 0;
    bool is_turned = false;

    for (int d = 0; d < rank; d++)
        if (n->reduce_mask & (1u << d))
            mask |= 1u << t->dims[d];
        else
            kept[count++] = t->dims[d];
    for (int i = 0; i < count; i++) {
        turned[i] = kept[i] - __builtin_popcount(mask & ((1u << kept[i]) - 1));
        is_turned |= turned[i] != i;
    }
    result = graph_reduce(g, n->reduce_kind, t->operand[0], mask);
    return is_turned ? graph_transpose(g, result, turned) : result;
}

/* Runs of dimensions that are reduced all or not at all. */
static int of_reshape(struct graph *g, const struct graph_node *n, const struct graph_node *s)
{
    const struct shape *from = &g->node[s->operand[0]].shape;
    struct reshape_runs runs;
    uint32_t mask = 0;

    if (from->rank >= s->shape.rank)
        return NODE_NONE;
    reshape_runs_find(from, &s->shape, &runs);
    for (int r = 0; r < runs.count; r++) {
        bool has_reduced = false, has_kept = false;

        for (int d = runs.to[r]; d < runs.to[r + 1]; d++)
            if (s->shape.dim[d] != 1) {
                has_reduced |= (n->reduce_mask >> d) & 1u;
                has_kept |= !((n->reduce_mask >> d) & 1u);
            }
        if (has_reduced && has_kept)
            return NODE_NONE;
        for (int d = runs.from[r]; has_reduced && d < runs.from[r + 1]; d++)
            mask |= 1u << d;
    }
    if (mask == 0)
        return NODE_NONE;
    return graph_reshape(g, graph_reduce(g, n->reduce_kind, s->operand[0], mask), n->shape);
}

/* the sum of sums: one reduction over both */
static int of_reduce(struct graph *g, const struct graph_node *n, const struct graph_node *r)
{
    int rank = g->node[r->operand[0]].shape.rank, kept = 0;
    uint32_t mask = r->reduce_mask;

    if (r->reduce_kind != n->reduce_kind ||
        !(may_repeat(n->reduce_kind) ||
          (n->reduce_kind == REDUCE_ADD && n->shape.dtype == DTYPE_F32)))
        return NODE_NONE;
    for (int d = 0; d < rank; d++)
        if (!(r->reduce_mask & (1u << d))) {
            if (n->reduce_mask & (1u << kept))
                mask |= 1u << d;
            kept++;
        }
    return graph_reduce(g, n->reduce_kind, r->operand[0], mask);
}

static bool is_sum(const struct graph_node *n)
{
    return n->reduce_kind == REDUCE_ADD && n->shape.dtype == DTYPE_F32;
}

static int of_negate(struct graph *g, const struct graph_node *n, const struct graph_node *x)
{
    if (!is_sum(n))
        return NODE_NONE;
    return graph_unary(g, HLO_NEGATE,
                       graph_reduce(g, n->reduce_kind, x->operand[0], n->reduce_mask));
}

/*
 * A factor that is the same all along the sum goes behind it. So the three sums of a batch
 * norm's gradient become two, as in the fused form that frameworks have.
 */
static int of_multiply(struct graph *g, const struct graph_node *n, const struct graph_node *x)
{
    for (int k = 0; is_sum(n) && k < 2; k++) {
        const struct graph_node b = g->node[x->operand[k]];
        int rank = b.op == HLO_BROADCAST ? g->node[b.operand[0]].shape.rank : 0;
        int dims[GRAPH_RANK_MAX], sum, factor;
        bool is_same = b.op == HLO_BROADCAST;

        for (int i = 0; i < rank; i++) {
            is_same &= !(n->reduce_mask & (1u << b.dims[i]));
            dims[i] = b.dims[i] - __builtin_popcount(n->reduce_mask & ((1u << b.dims[i]) - 1));
        }
        if (!is_same)
            continue;
        sum = graph_reduce(g, n->reduce_kind, x->operand[1 - k], n->reduce_mask);
        factor = b.operand[0];
        if (!shape_equal(&g->node[factor].shape, &n->shape))
            factor = graph_broadcast(g, factor, n->shape, dims);
        return graph_binary(g, HLO_MULTIPLY, sum, factor);
    }
    return NODE_NONE;
}

int simplify_reduce(struct graph *g, const struct graph_node *n)
{
    struct graph_node a;

    if (n->op != HLO_REDUCE)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    if (is_arg(n->reduce_kind))
        return NODE_NONE;
    if (mask_of_ones(&a.shape, n->reduce_mask))
        return drop_ones(g, n, &a.shape);
    switch (a.op) {
    case HLO_BROADCAST: return of_broadcast(g, n, &a);
    case HLO_TRANSPOSE: return of_transpose(g, n, &a);
    case HLO_RESHAPE:   return of_reshape(g, n, &a);
    case HLO_REDUCE:    return of_reduce(g, n, &a);
    case HLO_NEGATE:    return of_negate(g, n, &a);
    case HLO_MULTIPLY:  return of_multiply(g, n, &a);
    default:            return NODE_NONE;
    }
}
