/* Layers that move elements, or change each by itself. */
#include "keras/layers/layer_window.h"

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
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++)
        out->dim[i] += l->c.pads[2 * i] + l->c.pads[2 * i + 1];
    layer_sample_shape(l, out);
    return 0;
}

static int call_pad(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0}, interior[GRAPH_RANK_MAX] = {0};

    for (int i = 0; i < layer_spatial_dims(c->layer->kind); i++) {
        low[1 + i] = c->layer->c.pads[2 * i];
        high[1 + i] = c->layer->c.pads[2 * i + 1];
    }
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

static int shape_rescaling(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    int64_t features = in->rank > 0 ? in->dim[in->rank - 1] : 1;

    if (layer_check_reals(l, "scale", &l->c.scale, features, e) != 0 ||
        layer_check_reals(l, "offset", &l->c.offset, features, e) != 0)
        return -1;
    return shape_function(l, in, count, out, e);
}

/* one number for all, or one for each feature; scale x + offset */
static int call_rescaling(struct layer_call *c)
{
    const struct layer_reals *scale = &c->layer->c.scale, *offset = &c->layer->c.offset;
    struct graph *g = &c->t->graph;
    int x = c->input[0];

    layer_source(c, "Rescaling");
    if (scale->count == 1)
        x = nn_scale(g, x, scale->value[0]);
    else if (scale->count > 1)
        x = nn_multiply(g, x, nn_spread(g, graph_convert(g, layer_literal(c, scale), c->dtype), x));
    if (offset->count == 1 && offset->value[0] != 0.0)
        x = nn_shift(g, x, offset->value[0]);
    else if (offset->count > 1)
        x = nn_add(g, x, nn_spread(g, graph_convert(g, layer_literal(c, offset), c->dtype), x));
    return x;
}

const struct layer_functions layer_rescaling = {shape_rescaling, NULL, call_rescaling};

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

/* ---- a slope that is learnt ---- */

/* the slope's shape: a sample's, 1 along the axes that share one (counted with the batch) */
static struct shape slope_shape(const struct layer *l, const struct shape *in)
{
    struct shape s = *in;

    for (int64_t i = 0; i < l->c.shape_count; i++)
        s.dim[l->c.shape[i] - 1] = 1;
    return s;
}

static int shape_prelu(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    char text[160];

    (void)count;
    for (int64_t i = 0; i < l->c.shape_count; i++)
        if (l->c.shape[i] < 1 || l->c.shape[i] > in->rank)
            return layer_fail(l, e, "\"shared_axes\" names %" PRId64 "; samples of shape %s have "
                              "1..%d", l->c.shape[i], layer_shape_text(in, text, sizeof(text)),
                              in->rank);
    *out = *in;
    out->dtype = DTYPE_F32;
    return 0;
}

static void build_prelu(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    struct shape s = slope_shape(b->layer, &b->layer->input[0]);

    layer_add_weight(b, "alpha", s.rank, s.dim, &c->kernel_initializer, &c->kernel_regularizer);
}

/* relu(x) - alpha relu(-x) */
static int call_prelu(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x = c->input[0], alpha = layer_read_cast(c, 0), dims[GRAPH_RANK_MAX], kept = 0, below;
    struct shape like = g->node[x].shape, s = g->node[alpha].shape, squeezed = s;

    squeezed.rank = 0;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] == like.dim[1 + i]) {
            squeezed.dim[squeezed.rank++] = s.dim[i];
            dims[kept++] = 1 + i;
        }
    layer_source(c, "PReLU");
    alpha = graph_broadcast(g, graph_reshape(g, alpha, squeezed), like, dims);
    below = nn_relu(g, graph_unary(g, HLO_NEGATE, x));
    int leak = graph_binary(g, HLO_MULTIPLY, alpha, below);
    return graph_binary(g, HLO_SUBTRACT, nn_relu(g, x), leak);
}

const struct layer_functions layer_prelu = {shape_prelu, build_prelu, call_prelu};
