/* Builds layers that move elements, or change each by itself. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>
#include <math.h>

/* sample shapes have no batch, nodes do */
static struct shape with_batch(const struct graph *g, int like, const struct shape *sample)
{
    struct shape s = *sample;

    s.rank++;
    s.dtype = g->node[like].shape.dtype;
    s.dim[0] = g->node[like].shape.dim[0];
    for (int i = 0; i < sample->rank; i++)
        s.dim[1 + i] = sample->dim[i];
    return s;
}

static int64_t sample_elems(const struct shape *s)
{
    int64_t elems = 1;

    for (int i = 0; i < s->rank; i++)
        elems *= s->dim[i];
    return elems;
}

/* ---- flatten and reshape ---- */

static int shape_given(const struct layer *l, const struct shape *in, struct shape *out,
                       struct err *e)
{
    int64_t elems = sample_elems(in), known = 1, hole = -1;
    char from[160], to[160];

    if (l->c.shape_count < 1 || l->c.shape_count > 6)
        return layer_fail(l, e, "\"target_shape\" must have 1 to 6 dimensions");
    *out = shape_make(in->dtype, (int)l->c.shape_count, l->c.shape);
    for (int i = 0; i < out->rank; i++) {
        if (out->dim[i] == -1 && hole < 0)
            hole = i;
        else if (out->dim[i] < 1 || out->dim[i] > elems)
            return layer_fail(l, e, "\"target_shape\" is %s for samples of shape %s; each "
                              "dimension must be in 1..%" PRId64 ", one may be -1",
                              layer_shape_text(out, to, sizeof(to)),
                              layer_shape_text(in, from, sizeof(from)), elems);
        else
            known = known > elems ? known : known * out->dim[i];
    }
    if (hole >= 0)
        out->dim[hole] = elems / known;
    if (known * (hole >= 0 ? out->dim[hole] : 1) != elems)
        return layer_fail(l, e, "samples of shape %s have %" PRId64 " elements, which "
                          "\"target_shape\" %s does not hold",
                          layer_shape_text(in, from, sizeof(from)), elems,
                          layer_shape_text(&(struct shape){.rank = (int)l->c.shape_count,
                              .dim = {l->c.shape[0], l->c.shape[1], l->c.shape[2], l->c.shape[3],
                                      l->c.shape[4], l->c.shape[5]}}, to, sizeof(to)));
    return 0;
}

static int shape_reshape(const struct layer *l, const struct shape *in, int count,
                         struct shape *out, struct err *e)
{
    int64_t elems = sample_elems(in);

    (void)count;
    if (l->kind == LAYER_RESHAPE)
        return shape_given(l, in, out, e);
    *out = shape_make(in->dtype, 1, &elems);
    return 0;
}

static int call_reshape(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape in = g->node[c->input[0]].shape, sample = in, to;
    struct err e;

    sample.rank--;
    for (int i = 0; i < sample.rank; i++)
        sample.dim[i] = in.dim[1 + i];
    if (shape_reshape(c->layer, &sample, 1, &to, &e) != 0)
        return c->input[0];             /* layer_shape has refused it before */
    layer_source(c, "Reshape");
    return graph_reshape(g, c->input[0], with_batch(g, c->input[0], &to));
}

const struct layer_functions layer_reshape = {shape_reshape, NULL, call_reshape};

/* ---- permute ---- */

static int shape_permute(const struct layer *l, const struct shape *in, int count,
                         struct shape *out, struct err *e)
{
    char text[160];
    unsigned seen = 0;

    (void)count;
    *out = *in;
    for (int i = 0; i < in->rank && i < l->c.shape_count; i++) {
        if (l->c.shape[i] < 1 || l->c.shape[i] > in->rank)
            break;
        out->dim[i] = in->dim[l->c.shape[i] - 1];
        seen |= 1u << (l->c.shape[i] - 1);
    }
    if (l->c.shape_count == in->rank && seen == (1u << in->rank) - 1)
        return 0;
    return layer_fail(l, e, "\"dims\" must name each of 1..%d, the dimensions of samples %s, once",
                      in->rank, layer_shape_text(in, text, sizeof(text)));
}

static int call_permute(struct layer_call *c)
{
    int dims[GRAPH_RANK_MAX] = {0};

    for (int i = 0; i < c->layer->c.shape_count; i++)
        dims[1 + i] = (int)c->layer->c.shape[i];
    layer_source(c, "Transpose");
    return graph_transpose(&c->t->graph, c->input[0], dims);
}

const struct layer_functions layer_permute = {shape_permute, NULL, call_permute};

/* ---- padding ---- */

static int shape_pad(const struct layer *l, const struct shape *in, int count, struct shape *out,
                     struct err *e)
{
    (void)count;
    if (layer_expect_rank(l, in, 3, "images of [height, width, channels]", e) != 0)
        return -1;
    *out = *in;
    out->dim[0] += l->c.pads[0] + l->c.pads[1];
    out->dim[1] += l->c.pads[2] + l->c.pads[3];
    return 0;
}

static int call_pad(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    const int64_t *p = c->layer->c.pads;
    int64_t low[4] = {0, p[0], p[2], 0}, high[4] = {0, p[1], p[3], 0}, interior[4] = {0};

    layer_source(c, "Pad");
    return graph_pad(g, c->input[0],
                     graph_constant(g, shape_scalar(g->node[c->input[0]].shape.dtype), 0.0), low,
                     high, interior);
}

const struct layer_functions layer_pad = {shape_pad, NULL, call_pad};

/* ---- functions of each element ---- */

static int shape_function(const struct layer *l, const struct shape *in, int count,
                          struct shape *out, struct err *e)
{
    (void)count;
    if (in->rank < 1 && l->kind == LAYER_SOFTMAX)
        return layer_expect_rank(l, in, 1, "at least one dimension", e);
    *out = *in;
    out->dtype = DTYPE_F32;
    return l->kind == LAYER_SOFTMAX ? layer_expect_last_axis(l, in, e) : 0;
}

static int call_rescaling(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x;

    layer_source(c, "Rescaling");
    x = nn_scale(g, c->input[0], c->layer->c.scale);
    return c->layer->c.offset != 0.0 ? nn_shift(g, x, c->layer->c.offset) : x;
}

const struct layer_functions layer_rescaling = {shape_function, NULL, call_rescaling};

/* max_value at the top, x from threshold on, negative_slope (x - threshold) below */
static int bounded_relu(struct graph *g, const struct layer_config *l, int x)
{
    int below, y = x;

    if (l->threshold == 0.0 && l->negative_slope == 0.0) {
        y = nn_relu(g, x);
    } else {
        below = nn_scale(g, nn_shift(g, x, -l->threshold), l->negative_slope);
        y = graph_select(g, graph_compare(g, COMPARE_GE, x, graph_splat(g, x, l->threshold)), x,
                         below);
    }
    return isnan(l->max_value) ? y : graph_binary(g, HLO_MINIMUM, y,
                                                  graph_splat(g, y, l->max_value));
}

static struct activation activation_of(const struct layer *l)
{
    switch (l->kind) {
    case LAYER_LEAKY_RELU:
        return (struct activation){ACTIVATION_LEAKY_RELU, l->c.negative_slope};
    case LAYER_ELU:
        return (struct activation){ACTIVATION_ELU, l->c.alpha};
    case LAYER_SOFTMAX:
        return activation_standard(ACTIVATION_SOFTMAX);
    default:
        return l->c.activation;
    }
}

static int call_function(struct layer_call *c)
{
    struct activation a = activation_of(c->layer);

    layer_source(c, layer_class(c->layer->kind));
    if (c->layer->kind == LAYER_RELU)
        return bounded_relu(&c->t->graph, &c->layer->c, c->input[0]);
    if (a.kind == ACTIVATION_SOFTMAX || a.kind == ACTIVATION_SIGMOID)
        c->logits = c->input[0];
    return activation_apply(&c->t->graph, &a, c->input[0]);
}

const struct layer_functions layer_function = {shape_function, NULL, call_function};
