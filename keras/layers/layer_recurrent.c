/*
 * Recurrent layers: SimpleRNN, LSTM and GRU, one way or both, written out step by step. The product
 * of all steps with the kernel comes first, as one; only that with the state is made in each step.
 */
#include "keras/layers/layer_fields.h"
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

#define STEPS_MAX 2048                  /* every step is code of its own */

static bool is_two_way(const struct layer *l)
{
    return l->c.both != LAYER_ONE_WAY;
}

/* vectors of `units` that the kernel makes of an input */
static int gate_count(enum layer_kind kind)
{
    return kind == LAYER_LSTM ? 4 : kind == LAYER_GRU ? 3 : 1;
}

static int shape_recurrent(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    int64_t width = l->c.units * (l->c.both == LAYER_CONCATENATED ? 2 : 1);

    (void)count;
    if (layer_expect_rank(l, in, 2, "sequences of [steps, features]", e) != 0)
        return -1;
    if (in->dim[0] > STEPS_MAX)
        return layer_fail(l, e, "its input has %" PRId64 " steps; at most %d are written out",
                          in->dim[0], STEPS_MAX);
    *out = shape_make(DTYPE_F32, l->c.returns_sequences ? 2 : 1,
                      l->c.returns_sequences ? (int64_t[]){in->dim[0], width}
                                             : (int64_t[]){width});
    return 0;
}

/* `direction`: the name of the layer inside a two-way one, or NULL */
static void build_direction(struct layer_build *b, const char *direction)
{
    const struct layer_config *c = &b->layer->c;
    const char *path = arena_printf(b->arena, "%s%s%s_cell", direction ? direction : "",
                                    direction ? "/" : "", layer_standard_name(b->layer->kind));
    int64_t wide = c->units * gate_count(b->layer->kind);
    struct initializer bias = c->bias_initializer;

    layer_add_weight(b, arena_printf(b->arena, "%s/kernel", path),
                     SIZES(b->layer->input[0].dim[1], wide), &c->kernel_initializer,
                     &c->kernel_regularizer);
    layer_add_weight(b, arena_printf(b->arena, "%s/recurrent_kernel", path), SIZES(c->units, wide),
                     &c->recurrent_initializer, &c->recurrent_regularizer);
    if (!c->use_bias)
        return;
    if (b->layer->kind == LAYER_LSTM && c->has_forget_bias && bias.kind == INITIALIZER_ZEROS)
        bias = initializer_standard(INITIALIZER_UNIT_FORGET);
    if (b->layer->kind == LAYER_GRU && c->resets_after)
        layer_add_weight(b, arena_printf(b->arena, "%s/bias", path), SIZES(2, wide), &bias,
                         &c->bias_regularizer);
    else
        layer_add_weight(b, arena_printf(b->arena, "%s/bias", path), SIZES(wide), &bias,
                         &c->bias_regularizer);
}

static void build_recurrent(struct layer_build *b)
{
    const char *const *inner = b->layer->wrapped;

    build_direction(b, inner[0]);
    if (is_two_way(b->layer))
        build_direction(b, inner[1]);
}

/* ---- one direction ---- */

struct direction {
    struct layer_call *c;
    struct graph *g;
    int recurrent;                      /* its kernel */
    int state_bias;                     /* of a GRU that resets after its product; or NODE_NONE */
    int inputs;                         /* [batch, steps, gates units] */
    int64_t batch, units;
};

static int product(struct direction *d, int a, int b)
{
    struct graph_dot dot = {.contract_count = 1,
                            .lhs_contract = {d->g->node[a].shape.rank - 1}};

    return graph_dot_general(d->g, a, b, &dot, d->c->dtype, d->c->precision);
}

static int row_of(struct graph *g, int matrix, int64_t row)
{
    int64_t wide = g->node[matrix].shape.dim[1];
    int x = graph_slice(g, matrix, (int64_t[]){row, 0}, (int64_t[]){row + 1, wide}, NULL);

    return graph_reshape(g, x, shape_make(g->node[matrix].shape.dtype, 1, &wide));
}

/* vector number `which` of units, of [batch, gates units] */
static int gate(const struct direction *d, int all, int which)
{
    return graph_slice(d->g, all, (int64_t[]){0, which * d->units},
                       (int64_t[]){d->batch, (which + 1) * d->units}, NULL);
}

static int part(const struct direction *d, int matrix, int first, int count)
{
    int64_t rows = d->g->node[matrix].shape.dim[0];

    return graph_slice(d->g, matrix, (int64_t[]){0, first * d->units},
                       (int64_t[]){rows, (first + count) * d->units}, NULL);
}

static int squashed(const struct direction *d, int x)
{
    return activation_apply(d->g, &d->c->layer->c.recurrent_activation, x);
}

static int activated(const struct direction *d, int x)
{
    return activation_apply(d->g, &d->c->layer->c.activation, x);
}

/* a b + c d */
static int mixed(struct graph *g, int a, int b, int c, int d)
{
    int third = nn_multiply(g, c, d);
    return nn_add(g, nn_multiply(g, a, b), third);
}

/* gates are input, forget, cell, output; *cell is replaced */
static int lstm_step(struct direction *d, int x, int h, int *cell)
{
    int all = nn_add(d->g, x, product(d, h, d->recurrent));

    int fifth = activated(d, gate(d, all, 2));
    int fourth = squashed(d, gate(d, all, 0));
    *cell = mixed(d->g, squashed(d, gate(d, all, 1)), *cell, fourth, fifth);
    int third = activated(d, *cell);
    return nn_multiply(d->g, squashed(d, gate(d, all, 3)), third);
}

/* gates are update, reset, new state */
static int gru_step(struct direction *d, int x, int h)
{
    bool resets_after = d->c->layer->c.resets_after;
    int of_state = product(d, h, resets_after ? d->recurrent : part(d, d->recurrent, 0, 2));
    int update, reset, fresh, one;

    if (d->state_bias != NODE_NONE)
        of_state = nn_bias(d->g, of_state, d->state_bias);
    int third_3 = gate(d, of_state, 0);
    update = squashed(d, nn_add(d->g, gate(d, x, 0), third_3));
    int third_2 = gate(d, of_state, 1);
    reset = squashed(d, nn_add(d->g, gate(d, x, 1), third_2));
    if (resets_after)
        fresh = nn_multiply(d->g, reset, gate(d, of_state, 2));
    else {
        int third = part(d, d->recurrent, 2, 1);

        fresh = product(d, nn_multiply(d->g, reset, h), third);
    }
    fresh = activated(d, nn_add(d->g, gate(d, x, 2), fresh));
    one = graph_splat(d->g, update, 1.0);
    return mixed(d->g, update, h, graph_binary(d->g, HLO_SUBTRACT, one, update), fresh);
}

static int one_step(struct direction *d, int x, int h, int *cell)
{
    switch (d->c->layer->kind) {
    case LAYER_LSTM: return lstm_step(d, x, h, cell);
    case LAYER_GRU: return gru_step(d, x, h);
    default: return activated(d, nn_add(d->g, x, product(d, h, d->recurrent)));
    }
}

/* step `t` of the inputs: [batch, gates units] */
static int input_at(const struct direction *d, int64_t t)
{
    const struct shape *s = &d->g->node[d->inputs].shape;
    int64_t wide = s->dim[2];
    int x = graph_slice(d->g, d->inputs, (int64_t[]){0, t, 0},
                        (int64_t[]){d->batch, t + 1, wide}, NULL);

    return graph_reshape(d->g, x, shape_make(d->c->dtype, 2, (int64_t[]){d->batch, wide}));
}

/* the direction's variables begin at `place` */
static void start(struct direction *d, struct layer_call *c, int x, int place)
{
    bool has_two = c->layer->kind == LAYER_GRU && c->layer->c.resets_after;
    int kernel = layer_read_cast(c, place);

    *d = (struct direction){.c = c, .g = &c->t->graph, .units = c->layer->c.units,
                            .state_bias = NODE_NONE};
    d->batch = d->g->node[x].shape.dim[0];
    d->recurrent = layer_read_cast(c, place + 1);
    layer_source(c, "MatMul");
    d->inputs = product(d, x, kernel);
    if (c->layer->c.use_bias && has_two) {
        int bias = layer_read_cast(c, place + 2);

        d->inputs = nn_bias(d->g, d->inputs, row_of(d->g, bias, 0));
        d->state_bias = row_of(d->g, bias, 1);
    } else if (c->layer->c.use_bias) {
        d->inputs = layer_bias(c, d->inputs, place + 2);
    }
}

/* states in the order of time if in_time, else in that in which they come; or the last one */
static int run(struct layer_call *c, int x, int place, bool is_backward, bool in_time)
{
    struct direction d;
    int64_t steps = c->t->graph.node[x].shape.dim[1];
    int *states = arena_array(c->t->graph.arena, (size_t)steps, sizeof(*states)), h, cell;
    struct shape one;

    start(&d, c, x, place);
    layer_source(c, layer_class(c->layer->kind));
    h = cell = graph_constant(d.g, shape_make(c->dtype, 2, (int64_t[]){d.batch, d.units}), 0.0);
    one = shape_make(c->dtype, 3, (int64_t[]){d.batch, 1, d.units});
    for (int64_t i = 0; i < steps; i++) {
        int64_t t = is_backward ? steps - 1 - i : i;

        h = one_step(&d, input_at(&d, t), h, &cell);
        if (c->layer->c.returns_sequences)
            states[in_time ? t : i] = graph_reshape(d.g, h, one);
    }
    return c->layer->c.returns_sequences && steps > 1
               ? graph_concatenate(d.g, states, (int)steps, 1)
               : c->layer->c.returns_sequences ? states[0] : h;
}

static int merged(struct layer_call *c, int a, int b)
{
    struct graph *g = &c->t->graph;

    switch (c->layer->c.both) {
    case LAYER_SUMMED: return nn_add(g, a, b);
    case LAYER_MULTIPLIED: return nn_multiply(g, a, b);
    case LAYER_AVERAGED: return nn_scale(g, nn_add(g, a, b), 0.5);
    default: return graph_concatenate(g, (int[]){a, b}, 2, g->node[a].shape.rank - 1);
    }
}

static int call_recurrent(struct layer_call *c)
{
    int each = c->layer->c.use_bias ? 3 : 2, x = c->input[0], forward;

    /* a mask for the features of each sample, the same in all steps */
    x = layer_drop_shared(c, x, 1u | 1u << 2);
    if (!is_two_way(c->layer))
        return run(c, x, 0, c->layer->c.goes_backward, false);
    forward = run(c, x, 0, false, true);
    return merged(c, forward, run(c, x, each, true, true));
}

const struct layer_functions layer_recurrent = {shape_recurrent, build_recurrent, call_recurrent};
