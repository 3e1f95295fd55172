/*
 * All-reduces that wait for nothing but what the replica makes by itself become
 * a few: the sums of a network's gradients are one message where they are small,
 * which XLA's all-reduce combiner makes too, and else buckets of about
 * bucket_bytes, in the order in which the gradients are there, so that one can be
 * under way while the next is made. The depth of a node is how many all-reduces
 * lie one behind the other on the longest way to it. Those of a bucket have one
 * depth and type, and all that has a lower depth stands before them.
 */
#include "stack/pass.h"

#include "stack/array.h"
#include "stack/rewrite.h"

#include <stdlib.h>
#include <string.h>

struct member {
    int node, operand;                  /* all-reduces, in the order of their operands */
};

struct combine {
    struct rewrite w;
    int64_t bucket_bytes;
    int *depth;                         /* by node of the old graph */
    int deepest, all_reduces;
    struct member *member;              /* of a depth and type */
    int member_count;
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

    return n->op == HLO_ALL_REDUCE && n->tuple_count == 0 && c->depth[node] == depth && !n->groups &&
           n->shape.dtype == dtype && n->reduce_kind == REDUCE_ADD && !n->groups;
}

/* nodes are in the order in which they are computed */
static int earlier_first(const void *x, const void *y)
{
    const struct member *a = x, *b = y;

    if (a->operand != b->operand)
        return a->operand < b->operand ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void find_members(struct combine *c, int depth, enum graph_dtype dtype)
{
    const struct graph *g = c->w.from;

    c->member_count = 0;
    for (int i = 0; i < g->node_count; i++)
        if (is_member(c, i, depth, dtype))
            c->member[c->member_count++] = (struct member){i, g->node[i].operand[0]};
    qsort(c->member, (size_t)c->member_count, sizeof(*c->member), earlier_first);
}

static int64_t bytes_of(const struct combine *c, int first, int end)
{
    int64_t bytes = 0;

    for (int i = first; i < end; i++)
        bytes += shape_elems(&c->w.from->node[c->member[i].node].shape);
    return bytes * array_element_bytes(c->w.from->node[c->member[0].node].shape.dtype);
}

/* behind the last member of the bucket that begins with `first`: a small rest joins it */
static int bucket_end(const struct combine *c, int first)
{
    int end = first + 1;

    if (c->bucket_bytes <= 0)
        return c->member_count;
    while (end < c->member_count && bytes_of(c, first, end) < c->bucket_bytes)
        end++;
    return bytes_of(c, end, c->member_count) < c->bucket_bytes / 8 ? c->member_count : end;
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
    return number ? arena_printf(c->w.to.arena, "%s%sbucket_%d", source, *source ? "/" : "", number)
                  : source;
}

static void make_bucket(struct combine *c, int first, int end, int number)
{
    const struct graph *g = c->w.from;
    struct graph *to = &c->w.to;
    int *operand = mem_alloc(((size_t)(end - first) + 1) * sizeof(*operand)), sum;

    for (int i = first; i < end; i++)
        operand[i - first] = c->w.moved[c->member[i].operand];
    to->source = source_of(c, number);
    sum = graph_all_reduce_all(to, operand, end - first);
    for (int i = first; i < end; i++) {
        to->source = g->node[c->member[i].node].source;
        c->w.moved[c->member[i].node] =
            to->node[sum].tuple_count ? graph_tuple_element(to, sum, i - first) : sum;
    }
    mem_free(operand);
}

static void combine(struct combine *c, int depth, enum graph_dtype dtype)
{
    int number = 0, end;

    find_members(c, depth, dtype);
    for (int first = 0; first < c->member_count; first = end) {
        end = bucket_end(c, first);
        number += first > 0 || end < c->member_count;
        make_bucket(c, first, end, number);
    }
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
    struct combine c = {.depth = mem_alloc(((size_t)g->node_count + 1) * sizeof(*c.depth)),
                        .bucket_bytes = context->bucket_bytes};

    (void)e;
    find_depths(&c, g);
    if (c.all_reduces > 1) {
        c.member = mem_alloc((size_t)c.all_reduces * sizeof(*c.member));
        rewrite_begin(&c.w, g);
        rebuild(&c);
        rewrite_end(&c.w);
        mem_free(c.member);
    }
    mem_free(c.depth);
    return 0;
}
