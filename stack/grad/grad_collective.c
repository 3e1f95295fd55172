/*
 * Collectives: every device runs the same graph, and the loss is the sum of all devices' losses.
 * So what goes from one device to another on the way forward goes back on the way back.
 */
#include "stack/grad/grad_impl.h"

static int back_through(struct graph *g, const struct graph_node *n, int dy)
{
    struct graph_node back = *n;

    if (n->op == HLO_REDUCE_SCATTER)
        back.op = HLO_ALL_GATHER;
    if (n->op == HLO_ALL_GATHER)
        back.op = HLO_REDUCE_SCATTER;
    return graph_add(g, &back, &dy, 1);
}

/* from each target to its source */
static int permute_back(struct graph *g, const struct graph_node *n, int dy)
{
    struct graph_pair *pair = arena_array(g->arena, (size_t)n->count, sizeof(*pair));

    for (int64_t i = 0; i < n->count; i++)
        pair[i] = (struct graph_pair){n->pair[i].target, n->pair[i].source};
    return graph_collective_permute(g, dy, pair, (int)n->count);
}

bool grad_collective(struct grad *gr, const struct graph_node *n, const int *part)
{
    for (int i = 0; i < n->operand_count; i++)
        if (part[i] != NODE_NONE && grad_wants(gr, n, i))
            grad_accumulate(gr, n, i, n->op == HLO_COLLECTIVE_PERMUTE
                                      ? permute_back(gr->g, n, part[i])
                                      : back_through(gr->g, n, part[i]));
    return n->reduce_kind == REDUCE_ADD;
}
