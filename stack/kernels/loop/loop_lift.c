/*
 * Loop fusions: columns as whole tiles.
 *
 * Where the space is one tile of lanes wide, a value of its rows alone takes as many registers as
 * one of rows and lanes. So a reduction over the lanes that is spread over them again (of a
 * softmax both of them) need not end its phase: the cross-lane unit leaves the result in all
 * lanes, and what is computed of it on the way is computed there. Such values are *lifted* to all
 * axes of the space.
 */
#include "stack/kernels/loop/loop_plan.h"

#include "base/units.h"

#define LANES (1u << AXIS_LANES)

static bool is_result(const struct loop_plan *p, int node)
{
    for (int i = 0; i < p->body.output_count; i++)
        if (p->body.output[i].node == node)
            return true;
    return false;
}

static bool reads(const struct graph_node *n, int node)
{
    for (int k = 0; k < n->operand_count; k++)
        if (n->operand[k] == node)
            return true;
    return false;
}

/* by its readers: none reduces it, and it is spread over nothing but the lanes */
static bool may_be_whole(const struct loop_plan *p, int node)
{
    for (int i = node + 1; i < p->body.node_count; i++) {
        const struct graph_node *n = &p->body.node[i];

        if (reads(n, node) && (n->op == HLO_REDUCE || n->op == HLO_IOTA
                               || (n->op == HLO_BROADCAST && p->mask[i] != p->full_mask)))
            return false;
    }
    return !is_result(p, node);
}

static bool depends_on_lifted(const struct loop_plan *p, int node)
{
    for (int k = 0; k < p->body.node[node].operand_count; k++)
        if (p->is_lifted[p->body.node[node].operand[k]])
            return true;
    return false;
}

/* whether it is spread over the lanes, or something lifted is made of it */
static bool comes_back(const struct loop_plan *p, int node)
{
    for (int i = node + 1; i < p->body.node_count; i++)
        if (reads(&p->body.node[i], node)
            && (p->is_lifted[i] || p->body.node[i].op == HLO_BROADCAST))
            return true;
    return false;
}

void loop_lift(struct loop_plan *p)
{
    int count = p->body.node_count;
    uint32_t column = p->full_mask & ~LANES;

    if (p->is_linear || p->axis[AXIS_LANES].units != 1)
        return;
    for (int i = 0; i < count; i++) {
        const struct graph_node *n = &p->body.node[i];

        if (p->mask[i] != column || !may_be_whole(p, i))
            continue;
        p->is_lifted[i] = n->op == HLO_REDUCE
                              ? loop_reduced_axes(p, i) == LANES && loop_sums_lanes(p, i)
                              : fused_is_elementwise(n) && depends_on_lifted(p, i);
    }
    for (int i = count - 1; i >= 0; i--)
        p->is_lifted[i] &= comes_back(p, i);
    for (int i = 0; i < count; i++)
        if (p->is_lifted[i]) {
            p->mask[i] = p->full_mask;
            p->reduced_mask |= LANES;
            p->once_mask |= LANES;
            p->has_lifted = true;
        }
}
