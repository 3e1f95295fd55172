/*
 * All-reduces that wait for nothing but what the replica makes by itself become
 * one: the sums of a network's gradients are one message, which XLA's all-reduce
 * combiner makes too. The depth of a node is how many all-reduces lie one behind
 * the other on the longest way to it. Those of a depth and type are one node, and
 * all that has a lower depth stands before it.
 */
#include "stack/pass.h"

#include "stack/rewrite.h"

#include <string.h>

struct combine {
    struct rewrite w;
    int *depth;                         /* by node of the old graph */
    int deepest, all_reduces;
};

static void find_depths(struct combine *c, const struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0; k < n->operand_count; k++)
            if (c->depth[n->operand[k]] > c->depth[i])
                c->depth[i] = c->depth[n->operand[k]];
        if (n->op == HLO_ALL_REDUCE) {
            c->depth[i]++;
            c->all_reduces++;
        }
        if (c->depth[i] > c->deepest)
            c->deepest = c->depth[i];
    }
}

static bool is_member(const struct combine *c, int node, int depth, enum graph_dtype dtype)
{
    const struct graph_node *n = &c->w.from->node[node];

    return n->op == HLO_ALL_REDUCE && n->tuple_count == 0 && c->depth[node] == depth &&
           n->shape.dtype == dtype && n->reduce_kind == REDUCE_ADD && !n->groups;
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

static void combine(struct combine *c, int depth, enum graph_dtype dtype)
{
    const struct graph *g = c->w.from;
    struct graph *to = &c->w.to;
    int *operand = mem_alloc(((size_t)g->node_count + 1) * sizeof(*operand)), count = 0, sum;

    for (int i = 0; i < g->node_count; i++)
        if (is_member(c, i, depth, dtype)) {
            to->source = count ? common_source(to->arena, to->source, g->node[i].source)
                               : g->node[i].source;
            operand[count++] = c->w.moved[g->node[i].operand[0]];
        }
    sum = count ? graph_all_reduce_all(to, operand, count) : NODE_NONE;
    count = 0;
    for (int i = 0; i < g->node_count && sum != NODE_NONE; i++)
        if (is_member(c, i, depth, dtype)) {
            to->source = g->node[i].source;
            c->w.moved[i] = to->node[sum].tuple_count ? graph_tuple_element(to, sum, count) : sum;
            count++;
        }
    mem_free(operand);
}

static void rebuild(struct combine *c)
{
    const struct graph *g = c->w.from;

    for (int depth = 0; depth <= c->deepest; depth++) {
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            combine(c, depth, (enum graph_dtype)dtype);
        for (int i = 0; i < g->node_count; i++)
            if (c->depth[i] == depth && c->w.moved[i] == NODE_NONE)
                rewrite_copy(&c->w, i);
    }
}

int pass_combine(struct graph *g, const struct pass_context *context, struct err *e)
{
    struct combine c = {.depth = mem_alloc(((size_t)g->node_count + 1) * sizeof(*c.depth))};

    (void)context;
    (void)e;
    find_depths(&c, g);
    if (c.all_reduces > 1) {
        rewrite_begin(&c.w, g);
        rebuild(&c);
        rewrite_end(&c.w);
    }
    mem_free(c.depth);
    return 0;
}
