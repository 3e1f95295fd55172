/*
 * Recurrent layers: SimpleRNN, LSTM, GRU and ConvLSTM, one way or both, written out step by step.
 * The product of all steps with the kernel comes first, as one; only that with the state is made in
 * each step. A ConvLSTM is an LSTM whose products are convolutions.
 */
#include "keras/layers/layer_fields.h"
#include "keras/layers/layer_window.h"

#include <inttypes.h>

#define STEPS_MAX 2048                  /* every step is code of its own */

static bool is_two_way(const struct layer *l)
{
    return l->c.both != LAYER_ONE_WAY;
}

static bool is_conv(const struct layer *l)
{
    return layer_functions(l->kind) == &layer_conv_lstm;
}

static bool is_lstm(const struct layer *l)
{
    return l->kind == LAYER_LSTM || is_conv(l);
}

/* vectors of `units` that the kernel makes of an input */
static int gate_count(const struct layer *l)
{
    return is_lstm(l) ? 4 : l->kind == LAYER_GRU ? 3 : 1;
}

int layer_state_count(const struct layer *l)
{
    return (is_lstm(l) ? 2 : 1) * (is_two_way(l) ? 2 : 1);
}

static int check_steps(const struct layer *l, const struct shape *in, struct err *e)
{
    if (in->dim[0] > STEPS_MAX)
        return layer_fail(l, e, "its input has %" PRId64 " steps; at most %d are written out",
                          in->dim[0], STEPS_MAX);
    return 0;
}

/* the states that a call may bring along, each a vector of units */
static int check_states(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    char text[160];

    if (count != 1 && count != 1 + layer_state_count(l))
        return layer_fail(l, e, "it is called with %d initial states; it has %d", count - 1,
                          layer_state_count(l));
    for (int i = 1; i < count; i++)
        if (in[i].rank != 1 || in[i].dim[0] != l->c.units)
            return layer_fail(l, e, "an initial state has samples of shape %s; it must be [%" PRId64
                              "]", layer_shape_text(&in[i], text, sizeof(text)), l->c.units);
    return 0;
}

static int shape_recurrent(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    int64_t width = l->c.units * (l->c.both == LAYER_CONCATENATED ? 2 : 1);

    if (layer_expect_rank(l, in, 2, "sequences of [steps, features]", e) != 0 ||
        check_steps(l, in, e) != 0 || check_states(l, in, count, e) != 0)
        return -1;
    *out = shape_make(DTYPE_F32, l->c.returns_sequences ? 2 : 1,
                      l->c.returns_sequences ? (int64_t[]){in->dim[0], width}
                                             : (int64_t[]){width});
    return 0;
}

/* a sample without its steps */
static struct shape step_shape(const struct shape *in)
{
    struct shape s = *in;

    s.rank--;
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = in->dim[d + 1];
    return s;
}

static int shape_conv_lstm(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    struct shape image, one = step_shape(in);

    (void)count;
    if (in->rank != layer_spatial_dims(l->kind) + 2)
        return layer_expect_rank(l, in, layer_spatial_dims(l->kind) + 2,
                                 "steps of [sizes.., channels]", e);
    if (check_steps(l, in, e) != 0 || layer_image_shape(l, &one, &image, e) != 0 ||
        layer_window_shape(l, &image, l->c.strides, out, e) != 0)
        return -1;
    if (is_two_way(l))
        return layer_fail(l, e, "Bidirectional of a ConvLSTM is not supported");
    out->dtype = DTYPE_F32;
    out->dim[out->rank - 1] = l->c.units;
    layer_sample_shape(l, out);
    if (!l->c.returns_sequences)
        return 0;
    for (int d = out->rank++; d > 0; d--)
        out->dim[d] = out->dim[d - 1];
    out->dim[0] = in->dim[0];
    return 0;
}

static int add_kernel(struct layer_build *b, const char *name, int64_t in, int64_t out,
                      const struct initializer *i, const struct regularizer *r)
{
    int dims = is_conv(b->layer) ? layer_spatial_dims(b->layer->kind) : 0;

    return layer_add_kernel(b, name, dims, b->layer->c.size, in, out, i, r);
}

/* `direction`: the name of the layer inside a two-way one, or NULL */
static void build_direction(struct layer_build *b, const char *direction)
{
    const struct layer_config *c = &b->layer->c;
    const struct shape *in = &b->layer->input[0];
    const char *standard = is_conv(b->layer) ? "conv_lstm"
                                             : layer_standard_name(b->layer->kind);
    const char *cell = b->layer->cell ? b->layer->cell : arena_printf(b->arena, "%s_cell", standard);
    const char *path = arena_printf(b->arena, "%s%s%s%s", direction ? direction : "",
                                    direction ? "/" : "", cell, *cell ? "/" : "");
    int64_t wide = c->units * gate_count(b->layer);
    struct initializer bias = c->bias_initializer;

    add_kernel(b, arena_printf(b->arena, "%skernel", path), in->dim[in->rank - 1], wide,
               &c->kernel_initializer, &c->kernel_regularizer);
    add_kernel(b, arena_printf(b->arena, "%srecurrent_kernel", path), c->units, wide,
               &c->recurrent_initializer, &c->recurrent_regularizer);
    if (!c->use_bias)
        return;
    if (is_lstm(b->layer) && c->has_forget_bias && bias.kind == INITIALIZER_ZEROS)
        bias = initializer_standard(INITIALIZER_UNIT_FORGET);
    if (b->layer->kind == LAYER_GRU && c->resets_after)
        layer_add_weight(b, arena_printf(b->arena, "%sbias", path), SIZES(2, wide), &bias,
                         &c->bias_regularizer);
    else
        layer_add_weight(b, arena_printf(b->arena, "%sbias", path), SIZES(wide), &bias,
                         &c->bias_regularizer);
}

static void build_recurrent(struct layer_build *b)
{
    const char *const *inner = b->layer->wrapped;

    build_direction(b, is_two_way(b->layer) ? inner[0] : NULL);
    if (is_two_way(b->layer))
        build_direction(b, inner[1]);
}

/* ---- one direction ---- */

struct direction {
    struct layer_call *c;
    struct graph *g;
    int recurrent;                      /* its kernel */
    int state_bias;                     /* of a GRU that resets after its product; or NODE_NONE */
    int inputs;                         /* [batch, steps, .., gates units] */
    int kept;                           /* what recurrent dropout multiplies states by; or NODE_NONE */
    struct shape state;
    int64_t units;
};

/* [batch.., size.., channels], the first dimensions joined, by a kernel */
static int convolve(struct direction *d, int x, int kernel, bool is_input)
{
    static const struct layer_config still = {.strides = {1, 1, 1}, .dilation = {1, 1, 1},
                                              .padding = NN_SAME};
    const struct layer *l = d->c->layer;
    int dims = layer_image_dims(l->kind);
    struct graph_conv conv = layer_conv_labels(dims, false, 1);
    struct layer_config c = is_input ? l->c : still;
    struct graph_window windows[3];

    for (int i = 0; i < dims; i++)
        c.size[i] = i < layer_spatial_dims(l->kind) ? l->c.size[i] : 1;
    x = layer_to_image(d->c, x);
    for (int i = 0; i < dims; i++)
        windows[i] = layer_window(&c, i, d->g->node[x].shape.dim[1 + i]);
    kernel = layer_image_kernel(d->g, kernel, layer_spatial_dims(l->kind));
    x = graph_convolution(d->g, x, kernel, windows, &conv, d->c->dtype, d->c->precision);
    return layer_from_image(d->c, x);
}

static int product(struct direction *d, int a, int b)
{
    struct graph_dot dot = {.contract_count = 1,
                            .lhs_contract = {d->g->node[a].shape.rank - 1}};

    if (is_conv(d->c->layer))
        return convolve(d, a, b, false);
    return graph_dot_general(d->g, a, b, &dot, d->c->dtype, d->c->precision);
}

/* all steps by the kernel: as one product, or as images one behind the other */
static int input_product(struct direction *d, int x, int kernel)
{
    struct shape s = d->g->node[x].shape, one = s;

    if (!is_conv(d->c->layer))
        return product(d, x, kernel);
    one.rank--;
    one.dim[0] = s.dim[0] * s.dim[1];
    for (int i = 1; i < one.rank; i++)
        one.dim[i] = s.dim[i + 1];
    x = convolve(d, graph_reshape(d->g, x, one), kernel, true);
    one = d->g->node[x].shape;
    for (int i = one.rank++; i > 1; i--)
        one.dim[i] = one.dim[i - 1];
    one.dim[0] = s.dim[0];
    one.dim[1] = s.dim[1];
    return graph_reshape(d->g, x, one);
}

static int row_of(struct graph *g, int matrix, int64_t row)
{
    int64_t wide = g->node[matrix].shape.dim[1];
    int x = graph_slice(g, matrix, (int64_t[]){row, 0}, (int64_t[]){row + 1, wide}, NULL);

    return graph_reshape(g, x, shape_make(g->node[matrix].shape.dtype, 1, &wide));
}

/* vector number `which` of units along the last dimension */
static int gate(const struct direction *d, int all, int which)
{
    const struct shape *s = &d->g->node[all].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int i = 0; i < s->rank; i++)
        limit[i] = s->dim[i];
    start[s->rank - 1] = which * d->units;
    limit[s->rank - 1] = (which + 1) * d->units;
    return graph_slice(d->g, all, start, limit, NULL);
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
    int right = nn_multiply(g, c, d);
    return nn_add(g, nn_multiply(g, a, b), right);
}

/* the state as the product with the recurrent kernel sees it */
static int dropped(const struct direction *d, int h)
{
    return d->kept == NODE_NONE ? h : nn_multiply(d->g, h, d->kept);
}

/* gates are input, forget, cell, output; *cell is replaced */
static int lstm_step(struct direction *d, int x, int h, int *cell)
{
    int all = nn_add(d->g, x, product(d, dropped(d, h), d->recurrent));

    int fresh = activated(d, gate(d, all, 2));
    int taken = squashed(d, gate(d, all, 0));
    *cell = mixed(d->g, squashed(d, gate(d, all, 1)), *cell, taken, fresh);
    int shown = activated(d, *cell);
    return nn_multiply(d->g, squashed(d, gate(d, all, 3)), shown);
}

/* gates are update, reset, new state */
static int gru_step(struct direction *d, int x, int h)
{
    bool resets_after = d->c->layer->c.resets_after;
    int seen = dropped(d, h);
    int of_state = product(d, seen, resets_after ? d->recurrent : part(d, d->recurrent, 0, 2));
    int update, reset, fresh, one;

    if (d->state_bias != NODE_NONE)
        of_state = nn_bias(d->g, of_state, d->state_bias);
    int update_of_state = gate(d, of_state, 0);
    update = squashed(d, nn_add(d->g, gate(d, x, 0), update_of_state));
    int reset_of_state = gate(d, of_state, 1);
    reset = squashed(d, nn_add(d->g, gate(d, x, 1), reset_of_state));
    if (resets_after) {
        fresh = nn_multiply(d->g, reset, gate(d, of_state, 2));
    } else {
        int kernel = part(d, d->recurrent, 2, 1);

        fresh = product(d, nn_multiply(d->g, reset, seen), kernel);
    }
    fresh = activated(d, nn_add(d->g, gate(d, x, 2), fresh));
    one = graph_splat(d->g, update, 1.0);
    return mixed(d->g, update, h, graph_binary(d->g, HLO_SUBTRACT, one, update), fresh);
}

static int one_step(struct direction *d, int x, int h, int *cell)
{
    if (is_lstm(d->c->layer))
        return lstm_step(d, x, h, cell);
    if (d->c->layer->kind == LAYER_GRU)
        return gru_step(d, x, h);
    return activated(d, nn_add(d->g, x, product(d, dropped(d, h), d->recurrent)));
}

/* step `t` along dimension 1, which is then no more */
static int step_of(const struct direction *d, int all, int64_t t)
{
    struct shape s = d->g->node[all].shape;
    int64_t start[GRAPH_RANK_MAX] = {0, t}, limit[GRAPH_RANK_MAX];
    int x;

    for (int i = 0; i < s.rank; i++)
        limit[i] = i == 1 ? t + 1 : s.dim[i];
    x = graph_slice(d->g, all, start, limit, NULL);
    s.rank--;
    for (int i = 1; i < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    return graph_reshape(d->g, x, s);
}

/* the direction's variables begin at `place` */
static void start(struct direction *d, struct layer_call *c, int x, int place)
{
    bool has_two = c->layer->kind == LAYER_GRU && c->layer->c.resets_after;
    int kernel = layer_read_cast(c, place);

    *d = (struct direction){.c = c, .g = &c->t->graph, .units = c->layer->c.units,
                            .state_bias = NODE_NONE, .kept = NODE_NONE};
    d->recurrent = layer_read_cast(c, place + 1);
    layer_source(c, "MatMul");
    d->inputs = input_product(d, x, kernel);
    if (c->layer->c.use_bias && has_two) {
        int bias = layer_read_cast(c, place + 2);

        d->inputs = nn_bias(d->g, d->inputs, row_of(d->g, bias, 0));
        d->state_bias = row_of(d->g, bias, 1);
    } else if (c->layer->c.use_bias) {
        d->inputs = layer_bias(c, d->inputs, place + 2);
    }
    d->state = d->g->node[d->inputs].shape;
    d->state.rank--;
    for (int i = 1; i < d->state.rank; i++)
        d->state.dim[i] = d->state.dim[i + 1];
    d->state.dim[d->state.rank - 1] = d->units;
}

/* one factor for each unit of each sample, the same in all steps */
static void drop_states(struct direction *d)
{
    double rate = d->c->layer->c.recurrent_rate;

    if (layer_trains(d->c) && rate > 0.0)
        d->kept = layer_drop_rate(d->c, graph_constant(d->g, d->state, 1.0), rate);
}

/* a state as one step of several: [batch, 1, ..] */
static int as_step(const struct direction *d, int h)
{
    struct shape one = d->state;

    for (int i = one.rank++; i > 1; i--)
        one.dim[i] = one.dim[i - 1];
    one.dim[1] = 1;
    return graph_reshape(d->g, h, one);
}

/* What a masked step would change stays as it was; *output is what the step gives. */
static int masked_step(struct direction *d, int mask, int64_t t, int h, int *cell, int *output)
{
    int old_cell = *cell, fresh = one_step(d, step_of(d, d->inputs, t), h, cell), counts;

    *output = fresh;
    if (mask == NODE_NONE)
        return fresh;
    counts = step_of(d, mask, t);
    if (old_cell != *cell)
        *cell = layer_where(d->g, counts, *cell, old_cell);
    fresh = layer_where(d->g, counts, fresh, h);
    *output = d->c->layer->c.zeroes_masked ? layer_where(d->g, counts, *output, NODE_NONE) : fresh;
    return fresh;
}

/*
 * States in the order of time if in_time, else in that in which they come; or the last one. The
 * states that it begins with are the inputs from `first_state` on, if there are any; those that it
 * ends with are outputs of the layer of the same numbers, or one further on behind a second output.
 */
static int run(struct layer_call *c, int x, int place, bool is_backward, bool in_time,
               int first_state)
{
    struct direction d;
    int64_t steps = c->t->graph.node[x].shape.dim[1];
    int *states = arena_array(c->t->graph.arena, (size_t)steps, sizeof(*states)), h, cell, output;
    int *last;
    bool has_all = c->layer->c.returns_sequences;

    start(&d, c, x, place);
    drop_states(&d);
    layer_source(c, layer_class(c->layer->kind));
    if (first_state < c->input_count)
        h = c->input[first_state];
    else
        h = graph_constant(d.g, d.state, 0.0);
    cell = is_lstm(c->layer) && first_state < c->input_count ? c->input[first_state + 1] : h;
    output = h;
    for (int64_t i = 0; i < steps; i++) {
        int64_t t = is_backward ? steps - 1 - i : i;

        /* Keras gives a call with initial states no mask */
        h = masked_step(&d, c->input_count > 1 ? NODE_NONE : c->mask[0], t, h, &cell, &output);
        if (has_all)
            states[in_time ? t : i] = as_step(&d, output);
    }
    last = &c->more[first_state + (c->layer->c.both == LAYER_APART)];
    last[0] = h;
    if (is_lstm(c->layer))
        last[1] = cell;
    return has_all && steps > 1 ? graph_concatenate(d.g, states, (int)steps, 1)
           : has_all            ? states[0]
                                : output;
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
    int each = c->layer->c.use_bias ? 3 : 2, x = c->input[0], forward, backward;
    int second = 1 + layer_state_count(c->layer) / 2;

    /* a mask for the features of each sample, the same in all steps */
    x = layer_drop_shared(c, x, ~(1u << 1));
    if (!is_two_way(c->layer))
        return run(c, x, 0, c->layer->c.goes_backward, false, 1);
    forward = run(c, x, 0, false, true, 1);
    backward = run(c, x, each, true, true, second);
    if (c->layer->c.both != LAYER_APART)
        return merged(c, forward, backward);
    c->more[1] = backward;
    return forward;
}

const struct layer_functions layer_recurrent = {shape_recurrent, build_recurrent, call_recurrent};
const struct layer_functions layer_conv_lstm = {shape_conv_lstm, build_recurrent, call_recurrent};
