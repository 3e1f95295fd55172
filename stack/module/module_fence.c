/*
 * Fences: sums of one number behind collectives of which it is not known how often they run.
 *
 * A collective may not follow itself, for its flags are the same (module_collective.c), and in a
 * loop within a conditional, or the other way round, a round that leaves away what stands between
 * would let it. So each has a fence there, in the same groups or along the same pairs and with
 * flags of its own: who has left the fence knows that the collective has ended everywhere. Those of
 * one communicator share flags, and so do their fences, for they take turns.
 */
#include "stack/module/module_walk.h"

#include "stack/hlo/rewrite.h"
#include "stack/kernels/registry.h"

static int fence_node(struct graph *g, int x, const struct graph_node *n)
{
    if (n->op == HLO_COLLECTIVE_PERMUTE)
        return graph_collective_permute(g, x, n->pair, (int)n->count);
    return graph_all_reduce_groups(g, &x, 1, n->groups);
}

int module_plan_add_fence(struct module_plan *p, const struct graph_node *n, struct err *e)
{
    static const float zero = 0;
    const char *name = arena_printf(p->arena, "%s.fence", n->name);
    struct graph *g = arena_alloc(p->arena, sizeof(*g)), *body;
    struct shape one = shape_make(DTYPE_F32, 1, (int64_t[]){1});
    struct module_value **operand = module_walk_values(p, 1), **result = module_walk_values(p, 1);
    int node, status;

    graph_init(g, p->arena, name);
    node = graph_parameter(g, one, "x");
    node = fence_node(g, node, n);
    g->node[node].name = name;
    graph_output(g, node, name, -1);
    graph_freeze(g);
    body = kernel_body_of(g, node, p->arena);
    graph_freeze(body);
    operand[0] = module_plan_add_literal(p, arena_printf(p->arena, "%s.zero", name), &one, &zero);
    p->is_fence = true;
    status = module_plan_add_collective(p, (struct module_step){
        .kind = STEP_KERNEL, .name = name, .source = n->source, .unit = n->unit, .body = body,
        .operand = operand, .result = result, .operand_count = 1, .result_count = 1}, g, node, e);
    p->is_fence = false;
    return status;
}
