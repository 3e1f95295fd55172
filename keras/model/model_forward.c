/* Calls a model's layers in order, as part of a step. */
#include "keras/model/model.h"

#include <assert.h>

#include "keras/layers/layer_impl.h"
#include "keras/model/model_impl.h"

struct walk {
    struct trace *t;
    const struct model *m;
    int *value, *logits, *mask;         /* by call */
    int seed;
    int64_t stream;
    int penalty;
};

enum graph_dtype model_dtype_of(const struct model *m, const struct layer *l)
{
    enum keras_policy p = l->policy < 0 ? m->policy : (enum keras_policy)l->policy;

    return p == KERAS_FLOAT32 ? DTYPE_F32 : DTYPE_BF16;
}

static void add_penalty(struct walk *w, int node, double share)
{
    struct graph *g = &w->t->graph;

    node = share == 1.0 ? node : nn_scale(g, node, share);
    w->penalty = w->penalty == NODE_NONE ? node : nn_add(g, w->penalty, node);
}

/* of the weights, each replica its part */
static void add_weight_penalties(struct walk *w)
{
    for (int i = 0; i < w->m->layer_count; i++) {
        const struct layer *l = w->m->layer[i];

        for (int k = 0; k < l->variable_count; k++) {
            if (regularizer_is_none(&l->regularizer[k]))
                continue;
            trace_source(w->t, l->name, "Regularizer");
            add_penalty(w, regularizer_sum(&w->t->graph, &l->regularizer[k],
                                           trace_read_whole(w->t, l->variable[k])),
                        1.0 / w->t->replica_count);
        }
    }
}

/* of an output: its mean over the samples of all replicas */
static void add_activity_penalty(struct walk *w, const struct layer *l, int node)
{
    const struct regularizer *r = &l->c.activity_regularizer;
    double batch = (double)w->t->graph.node[node].shape.dim[0];

    if (regularizer_is_none(r))
        return;
    trace_source(w->t, l->name, "ActivityRegularizer");
    add_penalty(w, regularizer_sum(&w->t->graph, r, node), 1.0 / (batch * w->t->replica_count));
}

/* in the type that the layer computes in, unless it takes whole numbers */
static int cast(struct walk *w, const struct layer *l, int value)
{
    if (layer_takes_whole(l->kind))
        return value;
    trace_source(w->t, l->name, "Cast");
    return graph_convert(&w->t->graph, value, model_dtype_of(w->m, l));
}

/* the steps of all samples as samples */
static int join_steps(struct walk *w, const struct layer *l, int node)
{
    struct shape s = w->t->graph.node[node].shape;

    if (!l->is_distributed)
        return node;
    s.dim[1] *= s.dim[0];
    s.rank--;
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = s.dim[d + 1];
    return graph_reshape(&w->t->graph, node, s);
}

/* and back: `shape` is that of a sample of all steps */
static int part_steps(struct walk *w, const struct layer *l, const struct shape *shape, int node)
{
    struct shape s = w->t->graph.node[node].shape, to = *shape;

    if (!l->is_distributed)
        return node;
    to.dtype = s.dtype;
    to.rank++;
    for (int d = shape->rank; d > 0; d--)
        to.dim[d] = shape->dim[d - 1];
    to.dim[0] = s.dim[0] / shape->dim[0];
    return graph_reshape(&w->t->graph, node, to);
}

/* the device that is said makes what the layer gives, and so what that is made of */
static int place(struct walk *w, const struct layer *l, int node)
{
    int placed = node, status;
    struct err e;

    if (l->device < 0 || !w->t->mesh)
        return node;
    trace_source(w->t, l->name, "Device");
    status = trace_place(w->t, node, l->device, &placed, &e);
    assert(status == 0);
    (void)status;
    return placed;
}

/* dimensions of the layer's samples, without the steps that it is distributed over */
static int sample_rank(const struct walk *w, const struct layer *l, int number)
{
    return w->m->node[number].shape.rank - (l->is_distributed ? 1 : 0);
}

static void keep(struct walk *w, struct layer_call *c, int number, int value)
{
    const struct layer *l = c->layer;

    w->value[number] = place(w, l, value);
    w->logits[number] = l->is_distributed || l->features != 0 ? NODE_NONE : c->logits;
    w->mask[number] = w->m->node[number].has_mask ? layer_mask_of(c, value) : NODE_NONE;
    for (int k = 1; k < layer_output_count(l); k++) {
        w->value[number + k] = place(w, l, c->more[k]);
        w->logits[number + k] = NODE_NONE;
        w->mask[number + k] = w->m->node[number + k].has_mask ? w->mask[number] : NODE_NONE;
    }
}

static void call(struct walk *w, int number)
{
    const struct model_node *n = &w->m->node[number];
    const struct layer *l = w->m->layer[n->layer];
    int input[LAYER_INPUTS_MAX], mask[LAYER_INPUTS_MAX], value;
    struct layer_call c = {.t = w->t, .layer = l, .dtype = model_dtype_of(w->m, l),
                           .precision = w->m->precision, .input = input,
                           .input_count = n->input_count, .seed = w->seed, .stream = &w->stream,
                           .mask = mask, .logits = NODE_NONE, .made_mask = NODE_NONE};

    for (int i = 0; i < n->input_count; i++) {
        input[i] = join_steps(w, l, cast(w, l, w->value[n->input[i]]));
        input[i] = model_move_features(&w->t->graph, l, input[i], sample_rank(w, l, n->input[i]),
                                       false);
        mask[i] = w->mask[n->input[i]];
    }
    value = layer_functions(l->kind)->call(&c);
    if (sample_rank(w, l, number) == sample_rank(w, l, n->input[0]))
        value = model_move_features(&w->t->graph, l, value, sample_rank(w, l, number), true);
    keep(w, &c, number, part_steps(w, l, &n->shape, value));
    add_activity_penalty(w, l, w->value[number]);
}

/* one number per step and call of the model: the next one's is another */
static void draw_seed(struct walk *w)
{
    struct graph *g = &w->t->graph;
    int next;

    w->seed = NODE_NONE;
    if (w->m->seed_variable < 0 || !w->t->is_training)
        return;
    trace_source(w->t, NULL, "seed_generator");
    w->seed = trace_read(w->t, w->m->seed_variable);
    next = graph_binary(g, HLO_ADD, w->seed, graph_splat(g, w->seed, 1.0));
    trace_assign(w->t, w->m->seed_variable, next);
}

static void take_inputs(struct walk *w, const int *input)
{
    for (int i = 0; i < w->m->input_count; i++) {
        const struct shape *is = &w->t->graph.node[input[i]].shape;
        const struct shape *sample = &w->m->node[w->m->input[i]].shape;

        assert(is->rank == sample->rank + 1 && is->dtype == sample->dtype);
        for (int k = 0; k < sample->rank; k++)
            assert(is->dim[1 + k] == sample->dim[k]);
        w->value[w->m->input[i]] = input[i];
        (void)is;
    }
}

static enum activation_kind last_activation(const struct layer *l)
{
    return l->kind == LAYER_SOFTMAX ? ACTIVATION_SOFTMAX : l->c.activation.kind;
}

void model_forward(struct trace *t, const struct model *m, const int *input,
                   struct model_result *result, int *penalty)
{
    struct walk w = {.t = t, .m = m, .penalty = NODE_NONE};

    assert(m->set == t->set);
    w.value = arena_array(t->arena, (size_t)m->node_count, sizeof(*w.value));
    w.logits = arena_array(t->arena, (size_t)m->node_count, sizeof(*w.logits));
    w.mask = arena_array(t->arena, (size_t)m->node_count, sizeof(*w.mask));
    take_inputs(&w, input);
    draw_seed(&w);
    for (int i = 0; i < m->node_count; i++)
        if (m->layer[m->node[i].layer]->kind == LAYER_INPUT)
            w.logits[i] = w.mask[i] = NODE_NONE;
        else if (m->node[i].part == 0)
            call(&w, i);
    for (int i = 0; i < m->output_count; i++) {
        int n = m->output[i];

        result[i].value = w.value[n];
        result[i].logits = w.logits[n];
        result[i].last = w.logits[n] == NODE_NONE ? ACTIVATION_LINEAR
                                                  : last_activation(m->layer[m->node[n].layer]);
        result[i].mask = w.mask[n];
    }
    if (penalty) {
        add_weight_penalties(&w);
        *penalty = w.penalty;
    }
}
