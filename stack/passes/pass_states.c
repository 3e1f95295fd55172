/*
 * Narrow arrays that loops carry: the states of many small systems, f32[500,3], positions of
 * particles. Row-major each is mostly padding in every round, and what cuts its columns apart and
 * joins them shifts lanes. Where the loop's body is lighter with the short dimensions first
 * (narrow.h), it gets and gives the array so; before and behind the loop the array is turned.
 */
#include "stack/passes/layout/layout_order.h"
#include "stack/passes/layout/narrow.h"
#include "stack/passes/pass.h"

/* by state: how many of its last dimensions go first; NULL: none does so */
static int *counts_of(const struct graph *body, const struct graph *condition)
{
    bool *is_fixed = mem_alloc((size_t)body->node_count + 1), is_any = false;
    int *by_node = narrow_find(body, is_fixed, true);
    int *count = mem_alloc(((size_t)body->parameter_count + 1) * sizeof(*count));

    for (int i = 0; i < body->parameter_count; i++)
        count[i] = by_node[body->parameter[i]];
    for (int i = 0; condition && i < condition->node_count; i++)
        for (int k = 0; k < condition->node[i].operand_count; k++) {
            const struct graph_node *read = &condition->node[condition->node[i].operand[k]];

            if (read->op == HLO_PARAMETER)      /* as it is */
                count[read->parameter_index] = 0;
        }
    for (int i = 0; i < body->parameter_count; i++)
        is_any |= count[i] > 0;
    mem_free(is_fixed);
    mem_free(by_node);
    if (is_any)
        return count;
    mem_free(count);
    return NULL;
}

static int transposed(struct graph *g, int node, int count, bool is_back)
{
    int rank = g->node[node].shape.rank;
    struct layout_order o = narrow_order(rank, is_back ? rank - count : count);

    return graph_transpose(g, node, o.dim);
}

static int turned_parameter(struct graph *to, const struct graph_node *n, int count)
{
    struct layout_order o = narrow_order(n->shape.rank, count);

    graph_stand_for(to, n);
    return graph_parameter(to, layout_shape(&n->shape, &o), n->name);
}

/* a copy of the body, or of the condition, that gets and gives such states turned */
static const struct graph *turned_graph(struct arena *a, const struct graph *from, const int *count)
{
    struct graph *to = arena_alloc(a, sizeof(*to));
    int *moved = mem_alloc(((size_t)from->node_count + 1) * sizeof(*moved));

    graph_init(to, a, from->name);
    for (int i = 0; i < from->parameter_count; i++)
        moved[from->parameter[i]] =
            turned_parameter(to, &from->node[from->parameter[i]], count[i]);
    for (int i = 0; i < from->parameter_count; i++)
        if (count[i])
            moved[from->parameter[i]] = transposed(to, to->parameter[i], count[i], true);
    for (int i = 0; i < from->node_count; i++) {
        struct graph_node n = from->node[i];
        int *operand = arena_array(a, (size_t)n.operand_count + 1, sizeof(*operand));

        if (n.op == HLO_PARAMETER)
            continue;
        for (int k = 0; k < n.operand_count; k++)
            operand[k] = moved[n.operand[k]];
        n.operand = operand;
        moved[i] = rewrite_add(to, &n);
    }
    for (int i = 0; i < from->output_count; i++) {
        int node = moved[from->output[i].node];

        if (count[i] && from->output_count == from->parameter_count)
            node = transposed(to, node, count[i], false);
        graph_output(to, node, from->output[i].name, from->output[i].alias_parameter);
    }
    mem_free(moved);
    graph_eliminate_dead(to);
    graph_freeze(to);
    return to;
}

/* the loop with such states; by node of `from`, their counts stand in `counts` for its readers */
static int turned_loop(struct rewrite *w, int node, int *count)
{
    struct graph_node n = rewrite_node(w, node);
    int *operand = arena_array(w->to.arena, (size_t)n.operand_count, sizeof(*operand)), made;

    for (int i = 0; i < n.operand_count; i++)
        operand[i] = count[i] ? transposed(&w->to, n.operand[i], count[i], false) : n.operand[i];
    n.operand = operand;
    n.called[0] = turned_graph(w->to.arena, n.called[0], count);
    if (n.called[1])
        n.called[1] = turned_graph(w->to.arena, n.called[1], count);
    made = rewrite_add(&w->to, &n);
    if (w->to.node[made].tuple_count == 0 && count[0])
        made = transposed(&w->to, made, count[0], true);
    return made;
}

/* what one takes of a loop's states, row-major again */
static int turned_element(struct rewrite *w, int node, int *const *counts)
{
    const struct graph_node *old = &w->from->node[node];
    const int *count = counts[old->operand[0]];
    struct graph_node n = rewrite_node(w, node);
    int made = rewrite_add(&w->to, &n);

    return count && count[old->dim] ? transposed(&w->to, made, count[old->dim], true) : made;
}

int pass_states(struct graph *g, const struct pass_context *c, struct err *e)
{
    int **counts = mem_alloc(((size_t)g->node_count + 1) * sizeof(*counts));
    int nodes = g->node_count, loops = 0;
    struct rewrite w;

    (void)c;
    (void)e;
    for (int i = 0; i < nodes; i++)
        if (g->node[i].op == HLO_WHILE) {
            counts[i] = counts_of(g->node[i].called[0], g->node[i].called[1]);
            loops += counts[i] != NULL;
        }
    if (loops > 0) {
        rewrite_begin(&w, g);
        for (int i = 0; i < nodes; i++)
            w.moved[i] = counts[i] ? turned_loop(&w, i, counts[i])
                         : g->node[i].op == HLO_GET_TUPLE_ELEMENT ? turned_element(&w, i, counts)
                                                                  : rewrite_copy(&w, i);
        rewrite_end(&w);
    }
    for (int i = 0; i < nodes; i++)
        mem_free(counts[i]);
    mem_free(counts);
    return 0;
}
