/* Follows a branch's result back to the parameter that it is, changed step by step. */
#include "stack/hlo/in_place.h"

#include "stack/hlo/bitcast.h"

/* the value that result `result` of a loop or conditional changes or passes on; NODE_NONE: none */
static int changed_by_flow(const struct graph *g, int node, int result)
{
    const struct graph_node *n = &g->node[node];
    int k = -1;

    if (n->op == HLO_WHILE)
        k = result;
    if (n->op == HLO_CONDITIONAL) {
        k = graph_branch_passes(n, result);
        k = k >= 0 ? k : graph_branch_operand(g, node, result);
    }
    return k >= 0 ? n->operand[k] : NODE_NONE;
}

/* the value that this one is, or is made of where it lies; NODE_NONE: it is made anew */
static int changed_value(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];

    switch (n->op) {
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_SCATTER:
    case HLO_ADD_DEPENDENCY:
        return n->operand[0];
    case HLO_RESHAPE:
        return array_is_bitcast(&g->node[n->operand[0]].shape, &n->shape) ? n->operand[0]
                                                                          : NODE_NONE;
    case HLO_GET_TUPLE_ELEMENT:
        return changed_by_flow(g, n->operand[0], n->dim);
    default:
        return changed_by_flow(g, node, 0);
    }
}

/* the parameter that output `result` is, as it was or changed; -1: none */
static int parameter_of(const struct graph *branch, int result)
{
    int node = branch->output[result].node;

    while (node != NODE_NONE && branch->node[node].op != HLO_PARAMETER)
        node = changed_value(branch, node);
    return node == NODE_NONE ? -1 : branch->node[node].parameter_index;
}

static int passed_on(const struct graph *branch, int result)
{
    const struct graph_node *n = &branch->node[branch->output[result].node];

    return n->op == HLO_PARAMETER ? n->parameter_index : -1;
}

int graph_branch_passes(const struct graph_node *n, int result)
{
    int index = passed_on(n->called[0], result);

    return index >= 0 && index == passed_on(n->called[1], result) ? 1 + index : -1;
}

/* as graph_branch_operand, whatever the results before have */
static int wanted_operand(const struct graph *g, int node, int result)
{
    const struct graph_node *n = &g->node[node];
    const struct shape *s = n->tuple_count ? &n->tuple[result] : &n->shape;

    if (graph_branch_passes(n, result) >= 0)
        return -1;
    for (int which = 0; which < 2; which++) {
        int index = parameter_of(n->called[which], result);

        if (index >= 0 && shape_equal(&g->node[n->operand[1 + index]].shape, s))
            return 1 + index;
    }
    return -1;
}

int graph_branch_operand(const struct graph *g, int node, int result)
{
    const struct graph_node *n = &g->node[node];
    int k = wanted_operand(g, node, result);

    for (int i = 0; i < n->called[0]->output_count && k >= 0; i++) {
        int other = graph_branch_passes(n, i);

        if (other < 0 && i < result)
            other = wanted_operand(g, node, i);
        if (other >= 0 && n->operand[other] == n->operand[k])
            k = -1;
    }
    return k;
}

static bool is_branch_operand(const struct graph *g, int node, int k)
{
    for (int i = 0; i < g->node[node].called[0]->output_count; i++)
        if (graph_branch_operand(g, node, i) == k)
            return true;
    return false;
}

bool graph_may_change(const struct graph *g, int node, int k)
{
    const struct graph_node *n = &g->node[node];

    switch (n->op) {
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_SCATTER:
        return k == 0;
    case HLO_WHILE:
        return n->called[0]->output[k].node != n->called[0]->parameter[k];
    case HLO_CONDITIONAL:
        return k > 0 && is_branch_operand(g, node, k);
    default:
        return false;
    }
}
