/*
 * Collectives that wait for nothing but what the device makes by itself become
 * a few: the sums of a network's gradients are one message where they are small,
 * which XLA's combiners make too, and else buckets (combine_buckets.c), in the
 * order in which the gradients are there, so that one can be under way while the
 * next is made. The depth of a node is how many collectives lie one behind the
 * other on the longest way to it. Those of a bucket have one depth, type, dimension
 * and groups, and all that has a lower depth stands before them.
 *
 * Reduce-scatters and all-gathers of several arrays copy blocks (stack/kernels/comm/kernel_collective.h),
 * so only small ones are put together.
 */
#include "stack/passes/combine_buckets.h"

#include "stack/hlo/array.h"
#include "stack/hlo/rewrite.h"

#include <stdlib.h>
#include <string.h>

#define ALONE_BYTES (1 << 20)           /* of scatters and gathers, what copies would slow down */

struct combine {
    struct rewrite w;
    const struct pass_context *context;
    int *depth;                         /* by node of the old graph */
    int deepest, collectives;
    struct bucket_member *member;       /* that may be put together */
    int member_count;
};

static void find_depths(struct combine *c, const struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0; k < n->operand_count; k++)
            if (c->depth[n->operand[k]] > c->depth[i])
                c->depth[i] = c->depth[n->operand[k]];
        if (graph_op_kind(n->op) == KIND_COLLECTIVE) {
            c->depth[i]++;
            c->collectives++;
        }
        if (c->depth[i] > c->deepest)
            c->deepest = c->depth[i];
    }
}

/* of the longer side, without padding */
static int64_t node_bytes(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    int64_t in = shape_elems(&g->node[n->operand[0]].shape), out = shape_elems(&n->shape);

    return (in > out ? in : out) * array_element_bytes(n->shape.dtype);
}

static bool is_combined(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];

    if (n->tuple_count > 0 || n->reduce_kind != REDUCE_ADD)
        return false;
    if (n->op == HLO_ALL_REDUCE)
        return true;
    return (n->op == HLO_REDUCE_SCATTER || n->op == HLO_ALL_GATHER) &&
           node_bytes(g, node) < ALONE_BYTES;
}

/* the same devices with the same ranks */
static bool same_ranks(const struct graph_groups *a, const struct graph_groups *b)
{
    if (!a || !b || a == b)
        return a == b;
    if (a->count != b->count || a->size != b->size)
        return false;
    for (int i = 0; i < a->count * a->size; i++)
        if ((a->member ? a->member[i] : i) != (b->member ? b->member[i] : i))
            return false;
    return true;
}

static bool go_together(const struct combine *c, int first, int node)
{
    const struct graph_node *a = &c->w.from->node[first], *b = &c->w.from->node[node];

    return a->op == b->op && is_combined(c->w.from, node) && c->depth[first] == c->depth[node] &&
           a->shape.dtype == b->shape.dtype && a->dim == b->dim && same_ranks(a->groups, b->groups);
}

/* nodes are in the order in which they are computed */
static int earlier_first(const void *x, const void *y)
{
    const struct bucket_member *a = x, *b = y;

    if (a->operand != b->operand)
        return a->operand < b->operand ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void find_members(struct combine *c, int first)
{
    const struct graph *g = c->w.from;

    c->member_count = 0;
    for (int i = first; i < g->node_count; i++)
        if (go_together(c, first, i))
            c->member[c->member_count++] =
                (struct bucket_member){i, g->node[i].operand[0], node_bytes(g, i)};
    qsort(c->member, (size_t)c->member_count, sizeof(*c->member), earlier_first);
}

/* "all_reduce/dense/kernel" and "all_reduce/dense/bias": "all_reduce/dense" */
static const char *common_source(struct arena *a, const char *x, const char *y)
{
    size_t length = 0;

    for (size_t i = 0; x[i] == y[i] || !x[i] || !y[i]; i++) {
        if ((x[i] == '/' || !x[i]) && (y[i] == '/' || !y[i]))
            length = i;
        if (!x[i] || !y[i])
            break;
    }
    return arena_printf(a, "%.*s", (int)length, x);
}

/* what all members have in common; 0: there are no other buckets */
static const char *source_of(const struct combine *c, int number)
{
    const struct graph *g = c->w.from;
    const char *source = g->node[c->member[0].node].source;

    for (int i = 1; i < c->member_count; i++)
        source = common_source(c->w.to.arena, source, g->node[c->member[i].node].source);
    if (number == 0)
        return source;
    return arena_printf(c->w.to.arena, "%s%sbucket_%d", source, *source ? "/" : "", number);
}

static void make_bucket(struct combine *c, int first, int end, int number)
{
    const struct graph *g = c->w.from;
    struct graph *to = &c->w.to;
    int *operand = mem_alloc(((size_t)(end - first) + 1) * sizeof(*operand)), sum;

    for (int i = first; i < end; i++)
        operand[i - first] = c->w.moved[c->member[i].operand];
    to->source = source_of(c, number);
    sum = graph_add(to, &g->node[c->member[first].node], operand, end - first);
    for (int i = first; i < end; i++) {
        to->source = g->node[c->member[i].node].source;
        c->w.moved[c->member[i].node] =
            to->node[sum].tuple_count ? graph_tuple_element(to, sum, i - first) : sum;
    }
    mem_free(operand);
}

/* one group */
static bool replicas_all(const struct graph_groups *groups)
{
    return !groups || groups->count == 1;
}

/* all that go together with this one */
static void combine(struct combine *c, int node)
{
    bool is_sum = c->w.from->node[node].op == HLO_ALL_REDUCE;
    int64_t bytes = c->context->bucket_bytes;
    int number = 0, end;

    find_members(c, node);
    if (is_sum && replicas_all(c->w.from->node[node].groups))
        bytes = combine_buckets_choose(c->context, c->w.from, c->member, c->member_count);
    for (int first = 0; first < c->member_count; first = end) {
        end = combine_buckets_end(c->member, c->member_count, first, bytes);
        number += first > 0 || end < c->member_count;
        make_bucket(c, first, end, number);
    }
}

static void rebuild(struct combine *c)
{
    const struct graph *g = c->w.from;

    for (int depth = 0; depth <= c->deepest; depth++) {
        for (int i = 0; i < g->node_count; i++)
            if (c->depth[i] == depth && c->w.moved[i] == NODE_NONE && is_combined(g, i))
                combine(c, i);
        for (int i = 0; i < g->node_count; i++)
            if (c->depth[i] == depth && c->w.moved[i] == NODE_NONE)
                rewrite_copy(&c->w, i);
    }
}

int pass_combine(struct graph *g, const struct pass_context *context, struct err *e)
{
    struct combine c = {.depth = mem_alloc(((size_t)g->node_count + 1) * sizeof(*c.depth)),
                        .context = context};

    (void)e;
    find_depths(&c, g);
    if (c.collectives > 1) {
        c.member = mem_alloc((size_t)c.collectives * sizeof(*c.member));
        rewrite_begin(&c.w, g);
        rebuild(&c);
        rewrite_end(&c.w);
        mem_free(c.member);
    }
    mem_free(c.depth);
    return 0;
}
