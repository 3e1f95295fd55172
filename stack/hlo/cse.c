#include "stack/hlo/graph.h"

#include <stddef.h>
#include <string.h>

#define BUCKET_COUNT 1024

static unsigned bucket_of(const struct graph_node *n)
{
    unsigned h = (unsigned)n->op;

    for (int k = 0; k < n->operand_count; k++)
        h = h * 31u + (unsigned)n->operand[k];
    return (h ^ (h >> 10)) % BUCKET_COUNT;
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    if (!a || !b)
        return a == b;
    return a == b || memcmp(a, b, bytes) == 0;
}

static bool same_window(const struct graph_window *a, const struct graph_window *b, int count)
{
    if (!a || !b)
        return a == b;
    for (int i = 0; i < count; i++)
        if (a[i].size != b[i].size || a[i].stride != b[i].stride ||
            a[i].pad_low != b[i].pad_low || a[i].pad_high != b[i].pad_high ||
            a[i].base_dilation != b[i].base_dilation ||
            a[i].window_dilation != b[i].window_dilation || a[i].is_reversed != b[i].is_reversed)
            return false;
    return true;
}

/* without the hole in the middle of the struct */
static bool same_gather(const struct graph_gather *a, const struct graph_gather *b)
{
    if (!a || !b)
        return a == b;
    return memcmp(a, b, offsetof(struct graph_gather, index_vector_dim)) == 0 &&
           a->index_vector_dim == b->index_vector_dim &&
           memcmp(a->slice_sizes, b->slice_sizes, sizeof(a->slice_sizes)) == 0;
}

/* the attributes that lie elsewhere */
static bool same_details(const struct graph *g, const struct graph_node *a,
                         const struct graph_node *b)
{
    int rank = a->conv ? a->conv->spatial_count
               : a->window ? g->node[a->operand[0]].shape.rank : 0;

    return same_bytes(a->literal, b->literal, (size_t)shape_elems(&a->shape) * 4) &&
           same_bytes(a->conv, b->conv, sizeof(*a->conv)) &&
           same_gather(a->gather, b->gather) &&
           same_window(a->window, b->window, rank) && a->called[0] == b->called[0] &&
           a->called[1] == b->called[1];
}

#define SAME(field) (memcmp(&a->field, &b->field, sizeof(a->field)) == 0)

/* Constants are compared as bits: 0 and -0 differ, a NaN equals itself. */
static bool computes_same(const struct graph *g, const struct graph_node *a,
                          const struct graph_node *b)
{
    if (a->op != b->op || a->operand_count != b->operand_count ||
        !shape_equal(&a->shape, &b->shape))
        return false;
    for (int k = 0; k < a->operand_count; k++)
        if (a->operand[k] != b->operand[k])
            return false;
    return SAME(value) && a->dim == b->dim && SAME(dims) && SAME(dot) &&
           a->precision == b->precision && a->direction == b->direction &&
           a->reduce_kind == b->reduce_kind && a->reduce_mask == b->reduce_mask && SAME(start) &&
           SAME(limit) && SAME(stride) && SAME(low) && SAME(high) && SAME(interior) &&
           SAME(sizes) && a->count == b->count && same_details(g, a, b);
}

/*
 * Parameters are all different; merging collectives would change who talks to whom when; values by
 * device are more than the one element that would be compared.
 */
static bool may_merge(const struct graph_node *n)
{
    return n->op != HLO_PARAMETER && !(n->op == HLO_PARTITION_ID && n->literal) &&
           graph_op_kind(n->op) != KIND_COLLECTIVE && graph_op_kind(n->op) != KIND_MESSAGE;
}

void graph_eliminate_common(struct graph *g)
{
    size_t count = (size_t)g->node_count;
    int *stand_in = mem_alloc(count * sizeof(*stand_in));
    int *next = mem_alloc(count * sizeof(*next));
    int first[BUCKET_COUNT];

    for (int i = 0; i < BUCKET_COUNT; i++)
        first[i] = NODE_NONE;
    for (int i = 0; i < g->node_count; i++) {
        struct graph_node *n = &g->node[i];
        unsigned bucket;
        int same;

        for (int k = 0; k < n->operand_count; k++)
            n->operand[k] = stand_in[n->operand[k]];
        bucket = bucket_of(n);
        same = may_merge(n) ? first[bucket] : NODE_NONE;
        while (same != NODE_NONE && !computes_same(g, &g->node[same], n))
            same = next[same];
        stand_in[i] = same == NODE_NONE ? i : same;
        if (same == NODE_NONE) {
            next[i] = first[bucket];
            first[bucket] = i;
        }
    }
    for (int i = 0; i < g->output_count; i++)
        g->output[i].node = stand_in[g->output[i].node];
    mem_free(stand_in);
    mem_free(next);
    graph_eliminate_dead(g);
}
