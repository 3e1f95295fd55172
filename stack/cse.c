#include "stack/graph.h"

#include <string.h>

#define BUCKET_COUNT 1024

static unsigned bucket_of(const struct graph_node *n)
{
    unsigned h = (unsigned)n->op;

    for (int k = 0; k < n->operand_count; k++)
        h = h * 31u + (unsigned)n->operand[k];
    return (h ^ (h >> 10)) % BUCKET_COUNT;
}

/* Constants are compared as bits: 0 and -0 differ, a NaN equals itself. */
static bool computes_same(const struct graph_node *a, const struct graph_node *b)
{
    if (a->op != b->op || !shape_equal(&a->shape, &b->shape))
        return false;
    for (int k = 0; k < a->operand_count; k++)
        if (a->operand[k] != b->operand[k])
            return false;
    return memcmp(&a->value, &b->value, sizeof(a->value)) == 0 && a->dim == b->dim &&
           memcmp(a->dims, b->dims, sizeof(a->dims)) == 0 &&
           a->lhs_contract == b->lhs_contract && a->rhs_contract == b->rhs_contract &&
           a->precision == b->precision && a->direction == b->direction &&
           a->reduce_kind == b->reduce_kind && a->reduce_mask == b->reduce_mask;
}

/* Parameters are all different; merging all-reduces would change who talks to whom when. */
static bool may_merge(const struct graph_node *n)
{
    return n->op != HLO_PARAMETER && n->op != HLO_ALL_REDUCE;
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
        while (same != NODE_NONE && !computes_same(&g->node[same], n))
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
