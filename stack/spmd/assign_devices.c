/*
 * Which device makes a node, in this order:
 *
 * 1. the one it is assigned to;
 * 2. a part of a gradient: the one that made the node which the gradient goes through;
 * 3. what an assigned node is made of: that node's device, back to inputs, variables and other
 *    assigned nodes; where several devices want it, that of the first one in the graph's order;
 * 4. that of its first operand which has one;
 * 5. device 0.
 */
#include "stack/spmd/assign_impl.h"

static void mark_live(struct assign *x)
{
    const struct graph *g = x->g;

    for (int i = 0; i < g->output_count; i++)
        x->is_live[g->output[i].node] = true;
    for (int i = g->node_count - 1; i >= 0; i--)
        for (int k = 0; x->is_live[i] && k < g->node[i].operand_count; k++)
            x->is_live[g->node[i].operand[k]] = true;
}

/* whether it is made wherever it is needed: cheap, and of nothing that only one device has */
static bool is_of_any(const struct assign *x, int node, bool *is_constant)
{
    const struct graph_node *n = &x->g->node[node];
    enum graph_op_kind kind = graph_op_kind(n->op);

    is_constant[node] = false;
    if (n->op == HLO_RNG_BITS || kind == KIND_COLLECTIVE || kind == KIND_CALL || n->tuple_count)
        return false;
    is_constant[node] = n->op != HLO_PARAMETER;
    for (int k = 0; k < n->operand_count; k++) {
        if (x->device_of[n->operand[k]] != DEVICE_ANY)
            return is_constant[node] = false;
        is_constant[node] &= is_constant[n->operand[k]];
    }
    return n->operand_count == 0 || is_constant[node] || shape_elems(&n->shape) == 1 ||
           n->op == HLO_RESHAPE || n->op == HLO_BROADCAST;
}

/* by node: the device of the first assigned node that is made of it; -1: there is none */
static int *find_wants(const struct assign *x)
{
    const struct graph *g = x->g;
    int *want = arena_array(x->arena, (size_t)g->node_count + 1, sizeof(*want));

    for (int i = 0; i < g->node_count; i++)
        want[i] = DEVICE_ANY;
    for (int i = g->node_count - 1; i >= 0; i--) {
        const struct graph_node *n = &g->node[i];
        int device = x->r->device[i] >= 0 ? x->r->device[i] : want[i];

        if (!x->is_live[i] || device < 0 || n->gradient_of != NODE_NONE)
            continue;
        for (int k = 0; k < n->operand_count; k++)
            if (x->r->device[n->operand[k]] < 0)
                want[n->operand[k]] = device;
    }
    return want;
}

static int choose(const struct assign *x, int node, int want)
{
    const struct graph_node *n = &x->g->node[node];

    if (n->gradient_of != NODE_NONE && x->device_of[n->gradient_of] != DEVICE_ANY)
        return x->device_of[n->gradient_of];
    if (want >= 0)
        return want;
    for (int k = 0; k < n->operand_count; k++)
        if (x->device_of[n->operand[k]] != DEVICE_ANY)
            return x->device_of[n->operand[k]];
    return 0;
}

void assign_devices(struct assign *x)
{
    const struct graph *g = x->g;
    bool *is_constant = arena_array(x->arena, (size_t)g->node_count + 1, sizeof(*is_constant));
    int *want;

    mark_live(x);
    want = find_wants(x);
    for (int i = 0; i < g->node_count; i++) {
        bool is_any = is_of_any(x, i, is_constant);

        if (x->r->device[i] >= 0)
            x->device_of[i] = x->r->device[i];
        else if (g->node[i].op == HLO_GET_TUPLE_ELEMENT)
            x->device_of[i] = x->device_of[g->node[i].operand[0]];
        else
            x->device_of[i] = is_any ? DEVICE_ANY : choose(x, i, want[i]);
    }
}
