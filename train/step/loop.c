/*
 * Turns a traced step into the body of a device loop: slices its inputs, and carries variables and
 * results as state.
 */
#include "train/step/loop.h"

#include <assert.h>
#include <string.h>

#include "stack/hlo/rewrite.h"

/* The loop's state, one array after the other: counter, inputs, variables, results so far. */
struct loop {
    struct trace *outer;
    const struct trace *body;
    int64_t rounds;
    const enum loop_result *kind;
    int inputs, variables, results;     /* where they begin */
    int count;
    int *operand;                       /* of the outer graph */
    struct graph *graph;                /* of one round */
    int *moved;                         /* by node of the body's graph */
};

static int add_operand(struct loop *l, int node)
{
    l->operand[l->count] = node;
    return l->count++;
}

static const struct shape *shape_of(const struct graph *g, int node)
{
    return &g->node[node].shape;
}

/* variables in the order of the body's parameters, then the results' beginnings */
static void list_operands(struct loop *l, const int *input)
{
    struct graph *g = &l->outer->graph;
    const struct trace *b = l->body;

    l->operand = arena_array(l->outer->arena,
                             (size_t)(1 + b->graph.parameter_count + b->result_count),
                             sizeof(*l->operand));
    add_operand(l, graph_constant(g, shape_scalar(DTYPE_S32), 0));
    l->inputs = l->count;
    for (int i = 0; i < b->input_count; i++) {
        assert(shape_of(g, input[i])->rank > 0 && shape_of(g, input[i])->dim[0] == l->rounds);
        add_operand(l, input[i]);
    }
    l->variables = l->count;
    for (int i = 0; i < b->graph.parameter_count; i++)
        if (b->parameter[i].kind == TRACE_VARIABLE)     /* as it lies in memory */
            add_operand(l, graph_reshape(g, trace_read(l->outer, b->parameter[i].index),
                                         *shape_of(&b->graph, b->graph.parameter[i])));
    l->results = l->count;
    for (int r = 0; r < b->result_count; r++) {
        struct shape s = *shape_of(&b->graph, b->graph.output[r].node);

        if (l->kind[r] == LOOP_STACK) {
            for (int d = s.rank; d > 0; d--)
                s.dim[d] = s.dim[d - 1];
            s.dim[0] = l->rounds;
            s.rank++;
        }
        add_operand(l, graph_constant(g, s, 0));
    }
}

/* element `round` of the first dimension: starts and sizes of the box */
static void choose(struct loop *l, int node, int *start, int64_t *sizes)
{
    struct shape s = *shape_of(l->graph, node);

    start[0] = l->graph->parameter[0];
    sizes[0] = 1;
    for (int d = 1; d < s.rank; d++) {
        start[d] = graph_constant(l->graph, shape_scalar(DTYPE_S32), 0);
        sizes[d] = s.dim[d];
    }
}

static int take_input(struct loop *l, int index)
{
    int start[GRAPH_RANK_MAX], stacked = l->graph->parameter[l->inputs + index], one;
    int64_t sizes[GRAPH_RANK_MAX];
    struct shape s;

    l->graph->source = "steps/input";
    choose(l, stacked, start, sizes);
    one = graph_dynamic_slice(l->graph, stacked, start, sizes);
    s = *shape_of(l->graph, one);
    for (int d = 0; d + 1 < s.rank; d++)
        s.dim[d] = s.dim[d + 1];
    s.rank--;
    return graph_reshape(l->graph, one, s);
}

/* a number per round: elementwise, for a kernel of one element at a changing place is slow */
static int put_number(struct loop *l, int so_far, int node)
{
    struct shape s = *shape_of(l->graph, so_far);
    int round, place;

    s.dtype = DTYPE_S32;
    place = graph_iota(l->graph, s, 0);
    round = graph_broadcast(l->graph, l->graph->parameter[0], s, NULL);
    int third = graph_broadcast(l->graph, node, *shape_of(l->graph, so_far), NULL);
    return graph_select(l->graph, graph_compare(l->graph, COMPARE_EQ, place, round), third,
                        so_far);
}

static int put_result(struct loop *l, int so_far, int node, enum loop_result kind)
{
    int start[GRAPH_RANK_MAX];
    int64_t sizes[GRAPH_RANK_MAX];
    struct shape s = *shape_of(l->graph, so_far);

    if (kind == LOOP_SUM)
        return graph_binary(l->graph, HLO_ADD, so_far, node);
    if (s.rank == 1)
        return put_number(l, so_far, node);
    choose(l, so_far, start, sizes);
    s.dim[0] = 1;
    return graph_dynamic_update_slice(l->graph, so_far, graph_reshape(l->graph, node, s), start);
}

static void begin_round(struct loop *l)
{
    struct arena *a = l->outer->arena;

    l->graph = arena_alloc(a, sizeof(*l->graph));
    graph_init(l->graph, a, arena_printf(a, "%s.round", l->body->graph.name));
    for (int k = 0; k < l->count; k++)
        graph_parameter(l->graph, *shape_of(&l->outer->graph, l->operand[k]),
                        arena_printf(a, "state.%d", k));
}

/* the body's nodes, with slices of the inputs and the state's variables as parameters */
static void copy_body(struct loop *l)
{
    const struct graph *from = &l->body->graph;
    int variable = l->variables, operand_count = 0;
    int *operand;

    for (int i = 0; i < from->node_count; i++)
        if (from->node[i].operand_count > operand_count)
            operand_count = from->node[i].operand_count;
    operand = arena_array(l->outer->arena, (size_t)operand_count + 1, sizeof(*operand));
    l->moved = arena_array(l->outer->arena, (size_t)from->node_count + 1, sizeof(*l->moved));
    for (int p = 0; p < from->parameter_count; p++)
        l->moved[from->parameter[p]] =
            l->body->parameter[p].kind == TRACE_VARIABLE
                ? l->graph->parameter[variable++]
                : take_input(l, l->body->parameter[p].index);
    for (int i = 0; i < from->node_count; i++) {
        const struct graph_node *n = &from->node[i];

        if (n->op == HLO_PARAMETER)
            continue;
        for (int k = 0; k < n->operand_count; k++)
            operand[k] = l->moved[n->operand[k]];
        l->graph->source = n->source;
        l->moved[i] = graph_add(l->graph, n, operand, n->operand_count);
    }
}

/* the samples of all rounds lie as one round's do */
static void note_input(struct loop *l, int node, const struct sharding *s)
{
    struct sharding_note all = {.node = node};

    for (int d = 0; d + 1 < GRAPH_RANK_MAX; d++)
        all.sharding.axis[d + 1] = s->axis[d];
    for (int i = 0; i < l->outer->note_count; i++)
        if (l->outer->note[i].node == node && !l->outer->note[i].body)
            return;
    trace_note(l->outer, &all);
}

/* how the body's arrays lie over logical devices, loops in it among them */
static void take_notes(struct loop *l, const int *input)
{
    for (int i = 0; i < l->body->note_count; i++) {
        struct sharding_note note = l->body->note[i];
        const struct graph_node *n;

        if (!note.body) {
            n = &l->body->graph.node[note.node];
            if (n->op == HLO_PARAMETER &&
                l->body->parameter[n->parameter_index].kind == TRACE_INPUT)
                note_input(l, input[l->body->parameter[n->parameter_index].index],
                           &note.sharding);
            note.node = l->moved[note.node];
            note.body = l->graph;
        }
        trace_note(l->outer, &note);
    }
}

/*
 * What becomes of the state: the body's outputs behind its results are assigned variables, or
 * stand before the count.
 */
static void end_round(struct loop *l)
{
    const struct graph *from = &l->body->graph;
    int *out = arena_array(l->outer->arena, (size_t)l->count, sizeof(*out));
    int *variable_of = arena_array(l->outer->arena, (size_t)from->parameter_count + 1,
                                   sizeof(*variable_of));
    int next = l->variables, counter = l->graph->parameter[0];

    for (int k = 0; k < l->count; k++)
        out[k] = l->graph->parameter[k];
    for (int p = 0; p < from->parameter_count; p++)
        variable_of[p] = l->body->parameter[p].kind == TRACE_VARIABLE ? next++ : -1;
    l->graph->source = "steps/results";
    for (int r = 0; r < l->body->result_count; r++)
        out[l->results + r] = put_result(l, out[l->results + r], l->moved[from->output[r].node],
                                         l->kind[r]);
    l->graph->source = "steps/count";
    for (int o = l->body->result_count; o < from->output_count; o++) {
        int alias = from->output[o].alias_parameter, node = l->moved[from->output[o].node];

        if (alias < 0)
            counter = graph_add_dependency(l->graph, counter, node);
        else
            out[variable_of[alias]] = node;
    }
    out[0] = graph_binary(l->graph, HLO_ADD, counter,
                          graph_constant(l->graph, shape_scalar(DTYPE_S32), 1));
    for (int k = 0; k < l->count; k++)
        graph_output(l->graph, out[k], arena_printf(l->outer->arena, "next.%d", k), -1);
}

static void take_results(struct loop *l, int loop, int *result)
{
    const struct graph *from = &l->body->graph;
    struct graph *g = &l->outer->graph;

    for (int r = 0; r < l->body->result_count; r++)
        result[r] = graph_tuple_element(g, loop, l->results + r);
    for (int p = 0, k = l->variables; p < from->parameter_count; p++) {
        int variable = l->body->parameter[p].index, value;

        if (l->body->parameter[p].kind != TRACE_VARIABLE)
            continue;
        if (l->body->variable[variable].is_assigned) {
            struct shape whole = *shape_of(g, trace_read(l->outer, variable));

            value = graph_tuple_element(g, loop, k);
            trace_assign(l->outer, variable, graph_reshape(g, value, whole));
        }
        k++;
    }
}

int loop_repeat(struct trace *t, const struct trace *body, int64_t rounds, const int *input,
                const enum loop_result *kind, int *result)
{
    struct loop l = {.outer = t, .body = body, .rounds = rounds, .kind = kind};
    int loop;

    assert(body->is_finished && body->set == t->set && body->replica_count == t->replica_count);
    assert(rounds > 0);
    list_operands(&l, input);
    begin_round(&l);
    copy_body(&l);
    take_notes(&l, input);
    end_round(&l);
    graph_freeze(l.graph);
    trace_source(t, NULL, "steps");
    loop = graph_while(&t->graph, l.operand, l.count, l.graph, rounds);
    take_results(&l, loop, result);
    return loop;
}

int loop_steps(struct trace *t, struct trace *body, int64_t rounds, const int *input)
{
    int count = body->result_count, loop;
    int *result = arena_array(t->arena, (size_t)count + 1, sizeof(*result));
    enum loop_result *kind = arena_array(t->arena, (size_t)count + 1, sizeof(*kind));

    assert(t->graph.node_count == t->input_count && !t->round);
    for (int r = 0; r < count; r++)
        kind[r] = LOOP_STACK;
    loop = loop_repeat(t, body, rounds, input, kind, result);
    for (int r = 0; r < count; r++)
        trace_result(t, body->graph.output[r].name, result[r]);
    t->round = arena_alloc(t->arena, sizeof(*t->round));
    *t->round = *body;
    t->round_count = rounds;
    memset(body, 0, sizeof(*body));
    return loop;
}
