/*
 * Layouts of a program that is kept as its own compiler left it (stack/hlo/kept.h): what a unit
 * leaves to others lies in the order of dimensions that it had, and inside the unit whatever comes
 * before it follows, as far as it can be made in any order.
 *
 * Not kept, and noted: the order of results of the program and of what loops and conditionals
 * take, which are row-major; tiles, which are ours (stack/hlo/array.h).
 */
#include "stack/hlo/kept.h"
#include "stack/passes/layout/layout_order.h"

static bool is_row_major(const struct layout_assignment *l, int node,
                         const struct layout_order *o)
{
    int rank = l->w.from->node[node].shape.rank;
    struct layout_order plain = layout_order_identity(rank);

    return layout_order_is_same(o, &plain, rank);
}

/* gives the node this order if it may have it; true: it has it */
static bool take(struct layout_assignment *l, int node, const struct layout_order *o)
{
    const struct graph *g = l->w.from;
    const struct graph_node *n = &g->node[node];

    if (l->is_transposed[node])
        return layout_order_is_same(&l->order[node], o, n->shape.rank);
    if (!layout_keeps_order(n) && !layout_has_any_order(n) &&
        !layout_product_takes(g, node, o) && n->op != HLO_TRANSPOSE)
        return is_row_major(l, node, o);
    if (n->op == HLO_TRANSPOSE) {       /* nothing moves if its operand has the order behind it */
        struct layout_order behind = {.is_set = true};

        for (int i = 0; i < n->shape.rank; i++)
            behind.dim[i] = n->dims[o->dim[i]];
        if (!take(l, n->operand[0], &behind))
            return false;
    }
    if (is_row_major(l, node, o))
        return true;
    l->order[node] = *o;
    l->is_transposed[node] = true;
    return true;
}

/* from what is left to others back to what it is made of */
static void go_back(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;

    for (int i = g->node_count - 1; i >= 0; i--) {
        const struct graph_node *n = &g->node[i];

        if (!l->is_transposed[i] || !(n->edge || layout_keeps_order(n)))
            continue;
        for (int k = 0; k < n->operand_count; k++)
            if (g->node[n->operand[k]].shape.rank == n->shape.rank)
                take(l, n->operand[k], &l->order[i]);
    }
}

/* by node: somebody takes it who has it row-major */
static bool *find_fixed(const struct graph *g)
{
    bool *is_fixed = mem_alloc((size_t)g->node_count + 1);

    for (int i = 0; i < g->node_count; i++) {
        enum graph_op op = g->node[i].op;
        bool fixes = op == HLO_WHILE || op == HLO_CONDITIONAL || op == HLO_TUPLE;

        for (int k = 0; fixes && k < g->node[i].operand_count; k++)
            is_fixed[g->node[i].operand[k]] = true;
    }
    for (int i = 0; i < g->output_count; i++)
        is_fixed[g->output[i].node] = true;
    return is_fixed;
}

void layout_keep_edges(struct layout_assignment *l, struct kept_program *kept)
{
    const struct graph *g = l->w.from;
    bool *is_fixed = find_fixed(g);

    for (int i = 0; i < g->node_count; i++) {
        const struct kept_edge *edge = g->node[i].edge;
        int rank = g->node[i].shape.rank;

        if (!edge || !edge->rank)
            continue;
        if (is_fixed[i] || edge->rank != rank) {
            kept->layouts_lost++;
            kept_note(kept, edge->unit, "its result lies row-major: %s",
                      is_fixed[i] ? "it leaves the program, or goes round in a loop"
                                  : "its dimensions are others here");
            continue;
        }
        kept->layouts_kept++;
        l->order[i].is_set = l->is_transposed[i] = true;
        for (int d = 0; d < rank; d++)
            l->order[i].dim[d] = edge->order[d];
    }
    mem_free(is_fixed);
    go_back(l);
}

int layout_rebuild_edge(struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];
    int value = layout_in_order(l, n->operand[0], &l->order[node]);

    return graph_add(&l->w.to, n, (int[]){value, value}, 2);
}
