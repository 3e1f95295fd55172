/* Noise of training: added, multiplied, or in the place of what is dropped. */
#include "keras/layers/layer_impl.h"

#include <math.h>

/* selu's lowest value, which AlphaDropout has in the place of what it drops */
#define SELU_LOWEST (-1.6732632423543772848170429916717 * 1.0507009873554804934193349852946)

/* 24 random bits as a number in (0, 1] */
static int uniform(struct layer_call *c, struct shape s)
{
    struct graph *g = &c->t->graph;
    int bits = graph_rng_bits(g, s, c->seed, (*c->stream)++);
    int x = graph_binary(g, HLO_SHIFT_RIGHT_LOGICAL, bits, graph_splat(g, bits, 8.0));

    x = graph_convert(g, graph_convert(g, x, DTYPE_S32), DTYPE_F32);
    return nn_scale(g, nn_shift(g, x, 1.0), 0x1p-24);
}

int layer_uniform(struct layer_call *c, struct shape s, double low, double high)
{
    s.dtype = DTYPE_U32;
    return graph_hold(&c->t->graph,
                      nn_shift(&c->t->graph, nn_scale(&c->t->graph, uniform(c, s), high - low), low));
}

/* Box and Muller's: sqrt(-2 ln u) cos(2 pi v) */
static int normal(struct layer_call *c, struct shape s)
{
    struct graph *g = &c->t->graph;
    int u, v;

    s.dtype = DTYPE_U32;
    u = uniform(c, s);
    v = uniform(c, s);
    u = graph_unary(g, HLO_SQRT, nn_scale(g, graph_unary(g, HLO_LOG, u), -2.0));
    v = graph_unary(g, HLO_COSINE, nn_scale(g, v, 2.0 * acos(-1.0)));
    return graph_hold(g, nn_multiply(g, u, v));
}

static int shape_noise(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    if (l->c.shape_count > 0)
        return layer_fail(l, e, "\"noise_shape\" of AlphaDropout is not supported");
    (void)count;
    *out = *in;
    out->dtype = DTYPE_F32;
    return 0;
}

/* scale and shift are chosen so that mean and variance stay, for inputs of mean 0, variance 1 */
static int alpha_dropout(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    double rate = c->layer->c.rate;
    double scale = 1.0 / sqrt((1.0 - rate) * (1.0 + rate * SELU_LOWEST * SELU_LOWEST));
    int drawn = layer_uniform(c, g->node[x].shape, 0.0, 1.0);
    int dropped = graph_splat(g, x, SELU_LOWEST);

    x = graph_select(g, graph_compare(g, COMPARE_GT, drawn, graph_splat(g, drawn, rate)), x,
                     dropped);
    return nn_shift(g, nn_scale(g, x, scale), -scale * SELU_LOWEST * rate);
}

static int call_noise(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    int x = c->input[0], n;

    if (!layer_trains(c) || (l->rate <= 0.0 && l->stddev <= 0.0))
        return x;
    layer_source(c, "Noise");
    if (c->layer->kind == LAYER_ALPHA_DROPOUT)
        return alpha_dropout(c, x);
    n = normal(c, g->node[x].shape);
    if (c->layer->kind == LAYER_GAUSSIAN_NOISE)
        return nn_add(g, x, graph_convert(g, nn_scale(g, n, l->stddev), c->dtype));
    n = nn_shift(g, nn_scale(g, n, sqrt(l->rate / (1.0 - l->rate))), 1.0);
    return nn_multiply(g, x, graph_convert(g, n, c->dtype));
}

const struct layer_functions layer_noise = {shape_noise, NULL, call_noise};
