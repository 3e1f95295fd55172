/* Builds a choice of one among several computations out of conditionals. */
#include "stack/hlo/rewrite.h"

/* the computation with one parameter more, behind its own, that it does not read */
static struct graph *with_index(struct graph *g, const struct graph *branch)
{
    struct graph *copy = arena_alloc(g->arena, sizeof(*copy));

    graph_copy(branch, g->arena, copy);
    graph_parameter(copy, shape_scalar(DTYPE_S32), "switch_index");
    graph_freeze(copy);
    return copy;
}

/* pred: the index is `number` */
static int is_number(struct graph *g, int index, int number)
{
    return graph_compare(g, COMPARE_EQ, index,
                         graph_constant(g, shape_scalar(DTYPE_S32), number));
}

/* what branch number `first` or one behind it makes; the index is the last parameter */
static struct graph *rest_of(struct graph *g, const struct graph *const *branch, int branches,
                             int first)
{
    struct graph *rest = with_index(g, branch[branches - 1]);

    for (int i = branches - 2; i >= first; i--) {
        struct graph *one = with_index(g, branch[i]), *both = arena_alloc(g->arena, sizeof(*both));
        int all;

        graph_init(both, g->arena, "switch");
        both->source = g->source;
        both->unit = g->unit;
        for (int k = 0; k < one->parameter_count; k++) {
            const struct graph_node *n = &one->node[one->parameter[k]];

            graph_parameter(both, n->shape, n->name);
        }
        all = graph_conditional(both, is_number(both, both->parameter[both->parameter_count - 1], i),
                                both->parameter, both->parameter_count, one, rest);
        for (int k = 0; k < one->output_count; k++)
            graph_output(both, one->output_count > 1 ? graph_tuple_element(both, all, k) : all,
                         one->output[k].name, -1);
        graph_freeze(both);
        rest = both;
    }
    return rest;
}

int graph_switch(struct graph *g, int index, const int *operand, int count,
                 const struct graph *const *branch, int branches)
{
    const struct graph *first;
    int *all, pred, node;

    if (branches <= 2)
        return graph_conditional(g, is_number(g, index, 0), operand, count, branch[0],
                                 branch[branches - 1]);
    all = mem_alloc(((size_t)count + 1) * sizeof(*all));
    for (int i = 0; i < count; i++)
        all[i] = operand[i];
    all[count] = index;
    pred = is_number(g, index, 0);
    first = with_index(g, branch[0]);
    node = graph_conditional(g, pred, all, count + 1, first, rest_of(g, branch, branches, 1));
    mem_free(all);
    return node;
}
