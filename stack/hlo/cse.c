/*
 * Common subexpression elimination: nodes that hash alike and agree in operation, operands and
 * attributes become one. Of a program that is kept (kept.h) only those of one kernel: what its
 * compiler computes twice rather than write it, is computed twice.
 */
#include "stack/hlo/graph_attributes.h"

#define BUCKET_COUNT 1024

static unsigned bucket_of(const struct graph_node *n)
{
    unsigned h = (unsigned)n->op;

    for (int k = 0; k < n->operand_count; k++)
        h = h * 31u + (unsigned)n->operand[k];
    return (h ^ (h >> 10)) % BUCKET_COUNT;
}

static bool computes_same(const struct graph *g, const struct graph_node *a,
                          const struct graph_node *b)
{
    if (a->op != b->op || a->unit != b->unit || a->operand_count != b->operand_count ||
        !shape_equal(&a->shape, &b->shape))
        return false;
    for (int k = 0; k < a->operand_count; k++)
        if (a->operand[k] != b->operand[k])
            return false;
    return graph_same_attributes(g, a, b);
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
