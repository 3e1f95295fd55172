/*
 * Dead code elimination: marks what outputs need, from the last node to the first, and drops the
 * rest.
 */
#include "stack/hlo/graph.h"

static void mark(const struct graph *g, bool *is_needed)
{
    for (int i = 0; i < g->parameter_count; i++)
        is_needed[g->parameter[i]] = true;
    for (int i = 0; i < g->output_count; i++)
        is_needed[g->output[i].node] = true;
    for (int i = g->node_count - 1; i >= 0; i--)
        for (int k = 0; is_needed[i] && k < g->node[i].operand_count; k++)
            is_needed[g->node[i].operand[k]] = true;
}

void graph_eliminate_dead(struct graph *g)
{
    size_t count = (size_t)g->node_count;
    bool *is_needed = mem_alloc(count * sizeof(*is_needed));
    int *moved = mem_alloc(count * sizeof(*moved));
    int kept = 0;

    mark(g, is_needed);
    for (int i = 0; i < g->node_count; i++) {
        struct graph_node n = g->node[i];

        if (!is_needed[i])
            continue;
        for (int k = 0; k < n.operand_count; k++)
            n.operand[k] = moved[n.operand[k]];
        if (n.op != HLO_PARAMETER)
            n.name = arena_printf(g->arena, "%s.%d", graph_op_name(n.op), kept);
        moved[i] = kept;
        g->node[kept++] = n;
    }
    g->node_count = kept;
    for (int i = 0; i < g->parameter_count; i++)
        g->parameter[i] = moved[g->parameter[i]];
    for (int i = 0; i < g->output_count; i++)
        g->output[i].node = moved[g->output[i].node];
    mem_free(is_needed);
    mem_free(moved);
}
