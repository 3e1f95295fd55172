/* Lowers loops and conditionals: tuples of state become flat lists, computations become graphs. */
#include "import/lower/lower_impl.h"

#include "stack/hlo/rewrite.h"

/* leaves that are arrays with elements */
static int array_leaves(const struct lower_value *value, int *node)
{
    int n = 0;

    for (int l = 0; l < value->count; l++)
        if (value->node[l] != NODE_NONE)
            node[n++] = value->node[l];
    return n;
}

/* parameters as `outer` has them, of which the computation's leaves are those from `first` on */
static void add_parameters(struct lower_scope *inner, const struct lower_scope *outer,
                           const int *node, int count)
{
    for (int k = 0; k < count; k++)
        graph_parameter(inner->g, outer->g->node[node[k]].shape,
                        arena_printf(inner->l->arena, "p%d", k));
}

static void take_parameters(struct lower_scope *inner, int computation, int first,
                            struct lower_value *parameter)
{
    const struct hlo_computation *c = &inner->l->module->computation[computation];

    for (int k = 0; k < c->parameter_count; k++) {
        const struct hlo_type *t = c->instruction[c->parameter[k]].type;

        parameter[k].count = hlo_type_leaves(t);
        parameter[k].node = arena_array(inner->l->arena, (size_t)parameter[k].count + 1,
                                        sizeof(int));
        for (int l = 0; l < parameter[k].count; l++)
            parameter[k].node[l] = lower_is_empty(hlo_type_leaf(t, l)) ? NODE_NONE
                                                                       : inner->g->parameter[first++];
    }
}

/* the computation as a graph with all of `node` as parameters; its own leaves begin at `first` */
static struct graph *called_graph(struct lower_scope *outer, int computation, const int *node,
                                  int count, int first)
{
    const struct hlo_computation *c = &outer->l->module->computation[computation];
    struct lower_scope inner = {.l = outer->l};
    struct lower_value *parameter = arena_array(outer->l->arena, (size_t)c->parameter_count + 1,
                                                sizeof(*parameter));
    const struct lower_value *root;

    inner.g = arena_alloc(outer->l->arena, sizeof(*inner.g));
    graph_init(inner.g, outer->l->arena, c->name);
    inner.g->source = outer->g->source;
    inner.g->unit = outer->g->unit;
    add_parameters(&inner, outer, node, count);
    take_parameters(&inner, computation, first, parameter);
    lower_computation(&inner, computation, parameter, c->parameter_count);
    root = &inner.value[c->root];
    for (int l = 0; l < root->count; l++)
        if (root->node[l] != NODE_NONE)
            graph_output(inner.g, root->node[l], arena_printf(outer->l->arena, "r%d", l), -1);
    graph_freeze(inner.g);
    return inner.g;
}

/* results of a call in the places of the value's leaves that are arrays */
static void set_called(struct lower_scope *s, int node)
{
    int count = hlo_type_leaves(s->now->type), result = 0;
    int *leaf = mem_alloc(((size_t)count + 1) * sizeof(*leaf));

    for (int l = 0; l < count; l++) {
        if (node == NODE_NONE || lower_is_empty(hlo_type_leaf(s->now->type, l)))
            leaf[l] = NODE_NONE;
        else if (s->g->node[node].tuple_count > 0)
            leaf[l] = graph_tuple_element(s->g, node, result++);
        else
            leaf[l] = node;
    }
    lower_set_leaves(s, count, leaf);
    mem_free(leaf);
}

void lower_while(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct lower_value *state = lower_leaves(s, 0);
    int *node = mem_alloc(((size_t)state->count + 1) * sizeof(*node));
    int count = array_leaves(state, node);
    struct graph_node n = {.op = (enum graph_op)op, .count = structure_trips(i)};

    if (n.count < 0)
        n.count = GRAPH_TRIPS_UNKNOWN;
    n.called[0] = called_graph(s, hlo_detail(i)->computation[0], node, count, 0);
    if (n.count == GRAPH_TRIPS_UNKNOWN)
        n.called[1] = called_graph(s, hlo_detail(i)->computation[1], node, count, 0);
    s->now = i;
    if (count == 0)
        lower_set_leaves(s, state->count, state->node);
    else
        set_called(s, lower_add(s, &n, node, count));
    mem_free(node);
}

/* s32, and outside of the branches the last one: HLO's rule for numbers that are none */
static int choice_of(struct lower_scope *s, int branches)
{
    int index = lower_operand(s, 0);
    int last = graph_constant(s->g, shape_scalar(DTYPE_S32), branches - 1), low, high;

    if (index == NODE_NONE || s->g->node[index].shape.dtype == DTYPE_PRED)
        return index;
    index = graph_convert(s->g, index, DTYPE_S32);
    low = graph_compare(s->g, COMPARE_LT, index,
                        graph_constant(s->g, shape_scalar(DTYPE_S32), 0.0));
    high = graph_compare(s->g, COMPARE_GE, index, last);
    return graph_select(s->g, graph_binary(s->g, HLO_OR, low, high), last, index);
}

static int choose(struct lower_scope *s, int index, const int *node, int count,
                  const struct graph *const *branch, int branches)
{
    if (s->g->node[index].shape.dtype == DTYPE_PRED)
        return graph_conditional(s->g, index, node, count, branch[0], branch[branches - 1]);
    return graph_switch(s->g, index, node, count, branch, branches);
}

void lower_conditional(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    int branches = hlo_detail(i)->computation_count, leaves = 0, count = 0,
        refusals = s->l->refusal_count;
    const struct lower_value **value = mem_alloc(((size_t)branches + 1) * sizeof(*value));
    const struct graph **branch = mem_alloc(((size_t)branches + 1) * sizeof(*branch));
    int index = choice_of(s, branches), *node, *first = mem_alloc(((size_t)branches + 1) *
                                                                  sizeof(*first));

    (void)op;
    for (int k = 0; k < branches; k++) {
        value[k] = lower_leaves(s, k + 1);
        leaves += value[k]->count;
    }
    node = mem_alloc(((size_t)leaves + 1) * sizeof(*node));
    for (int k = 0; k < branches; k++) {
        first[k] = count;
        count += array_leaves(value[k], node + count);
    }
    for (int k = 0; k < branches; k++)
        branch[k] = called_graph(s, hlo_detail(i)->computation[k], node, count, first[k]);
    s->now = i;
    if (s->l->refusal_count > refusals || index == NODE_NONE)
        lower_refuse(s, "one of its branches cannot be lowered");
    else if (branch[0]->output_count == 0)
        set_called(s, NODE_NONE);
    else
        set_called(s, choose(s, index, node, count, branch, branches));
    mem_free(first);
    mem_free(node);
    mem_free(branch);
    mem_free(value);
}
