/* Builds convolutions and pooling over height and width of NHWC images. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

/* what a window of `size` elements, `dilation` apart, covers */
static int64_t reach(int64_t size, int64_t dilation)
{
    return (size - 1) * dilation + 1;
}

/* places of a window along one dimension, or 0 if it does not fit */
static int64_t places(int64_t length, int64_t covered, int64_t stride, enum nn_padding padding)
{
    if (padding == NN_SAME)
        return (length + stride - 1) / stride;
    return length < covered ? 0 : (length - covered) / stride + 1;
}

/* height and width of the output; -1: the window does not fit */
static int shape_windows(const struct layer *l, const struct shape *in, const int64_t *strides,
                         struct shape *out, struct err *e)
{
    char text[160];

    if (layer_expect_rank(l, in, 3, "images of [height, width, channels]", e) != 0)
        return -1;
    *out = *in;
    for (int i = 0; i < 2; i++) {
        int64_t covered = reach(l->c.size[i], l->c.dilation[i]);

        out->dim[i] = places(in->dim[i], covered, strides[i], l->c.padding);
        if (out->dim[i] == 0)
            return layer_fail(l, e, "a window of %" PRId64 " does not fit into the %s, %" PRId64
                              ", of images %s; use padding \"same\" or a smaller window", covered,
                              i ? "width" : "height", in->dim[i],
                              layer_shape_text(in, text, sizeof(text)));
    }
    return 0;
}

static bool is_depthwise(const struct layer *l)
{
    return l->kind == LAYER_DEPTHWISE_CONV2D;
}

static int check_groups(const struct layer *l, int64_t channels, struct err *e)
{
    if (channels % l->c.groups != 0 || l->c.units % l->c.groups != 0)
        return layer_fail(l, e, "\"groups\" is %" PRId64 ", which must divide the input's "
                          "channels, %" PRId64 ", and \"filters\", %" PRId64, l->c.groups, channels,
                          l->c.units);
    return 0;
}

static int shape_conv(const struct layer *l, const struct shape *in, int count,
                      struct shape *out, struct err *e)
{
    (void)count;
    if (shape_windows(l, in, l->c.strides, out, e) != 0)
        return -1;
    if (!is_depthwise(l) && check_groups(l, in->dim[2], e) != 0)
        return -1;
    if ((l->c.strides[0] > 1 || l->c.strides[1] > 1) &&
        (l->c.dilation[0] > 1 || l->c.dilation[1] > 1))
        return layer_fail(l, e, "\"strides\" and \"dilation_rate\" cannot both be above 1");
    out->dtype = DTYPE_F32;
    out->dim[2] = is_depthwise(l) ? in->dim[2] * l->c.units : l->c.units;
    return 0;
}

static void build_conv(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    int64_t channels = b->layer->input[0].dim[2];
    int64_t outputs = is_depthwise(b->layer) ? channels * c->units : c->units;
    int64_t in = is_depthwise(b->layer) ? channels : channels / c->groups;

    layer_add_weight(b, "kernel", SIZES(c->size[0], c->size[1], in, c->units),
                     &c->kernel_initializer, &c->kernel_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "bias", SIZES(outputs), &c->bias_initializer, &c->bias_regularizer);
}

static struct graph_window window_of(const struct layer_config *c, int axis, int64_t length)
{
    int64_t covered = reach(c->size[axis], c->dilation[axis]), stride = c->strides[axis];
    int64_t missing = (places(length, covered, stride, c->padding) - 1) * stride + covered - length;
    struct graph_window w = {.size = c->size[axis], .stride = stride, .base_dilation = 1,
                             .window_dilation = c->dilation[axis]};

    if (c->padding == NN_SAME && missing > 0) {
        w.pad_low = missing / 2;
        w.pad_high = missing - w.pad_low;
    }
    return w;
}

/* [h, w, channels, multiplier] as a kernel of `channels` groups: [h, w, 1, channels multiplier] */
static int depthwise_kernel(struct graph *g, int kernel)
{
    struct shape s = g->node[kernel].shape;

    s.dim[3] *= s.dim[2];
    s.dim[2] = 1;
    return graph_reshape(g, kernel, s);
}

static int call_conv(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    struct graph_conv conv = {
        .spatial_count = 2, .in_batch = 0, .in_feature = 3, .in_spatial = {1, 2}, .kernel_in = 2,
        .kernel_out = 3, .kernel_spatial = {0, 1}, .out_batch = 0, .out_feature = 3,
        .out_spatial = {1, 2}, .feature_groups = l->groups, .batch_groups = 1};
    struct graph_window windows[2];
    int x = c->input[0], kernel = layer_read_cast(c, 0);

    for (int i = 0; i < 2; i++)
        windows[i] = window_of(l, i, g->node[x].shape.dim[1 + i]);
    layer_source(c, is_depthwise(c->layer) ? "DepthwiseConv2D" : "Conv2D");
    if (is_depthwise(c->layer)) {
        conv.feature_groups = g->node[x].shape.dim[3];
        kernel = depthwise_kernel(g, kernel);
    }
    x = graph_convolution(g, x, kernel, windows, &conv, c->dtype, c->precision);
    if (l->use_bias)
        x = layer_bias(c, x, 1);
    return layer_activate(c, x);
}

const struct layer_functions layer_conv = {shape_conv, build_conv, call_conv};

/* ---- pooling ---- */

/* Keras: as large as the window unless given */
static struct nn_window pool_window(const struct layer *l)
{
    struct nn_window w = {.padding = l->c.padding};

    for (int i = 0; i < 2; i++) {
        w.size[i] = l->c.size[i];
        w.stride[i] = l->c.strides[i] ? l->c.strides[i] : l->c.size[i];
    }
    return w;
}

static int shape_pool(const struct layer *l, const struct shape *in, int count,
                      struct shape *out, struct err *e)
{
    struct nn_window w = pool_window(l);

    (void)count;
    return shape_windows(l, in, w.stride, out, e);
}

static int call_pool(struct layer_call *c)
{
    struct nn_window w = pool_window(c->layer);
    bool is_max = c->layer->kind == LAYER_MAX_POOLING2D;

    layer_source(c, is_max ? "MaxPool" : "AvgPool");
    return is_max ? nn_max_pool(&c->t->graph, c->input[0], &w)
                  : nn_average_pool(&c->t->graph, c->input[0], &w);
}

const struct layer_functions layer_pool = {shape_pool, NULL, call_pool};

/* of images, or of sequences: dimensions of a sample that are pooled, all but the channels */
static int pooled_dims(enum layer_kind kind)
{
    return kind == LAYER_GLOBAL_AVERAGE_POOLING1D || kind == LAYER_GLOBAL_MAX_POOLING1D ? 1 : 2;
}

static int shape_global_pool(const struct layer *l, const struct shape *in, int count,
                             struct shape *out, struct err *e)
{
    int dims = pooled_dims(l->kind);
    const char *wanted = dims == 1 ? "sequences of [steps, channels]"
                                   : "images of [height, width, channels]";

    (void)count;
    if (layer_expect_rank(l, in, dims + 1, wanted, e) != 0)
        return -1;
    *out = shape_make(in->dtype, 1, &in->dim[dims]);
    if (l->c.keeps_dims) {
        *out = *in;
        for (int d = 0; d < dims; d++)
            out->dim[d] = 1;
    }
    return 0;
}

static int call_global_pool(struct layer_call *c)
{
    enum layer_kind kind = c->layer->kind;
    bool is_max = kind == LAYER_GLOBAL_MAX_POOLING2D || kind == LAYER_GLOBAL_MAX_POOLING1D;
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape;
    uint32_t mask = 0;
    int x;

    for (int d = 1; d <= pooled_dims(kind); d++) {
        mask |= 1u << d;
        s.dim[d] = 1;
    }
    layer_source(c, is_max ? "Max" : "Mean");
    if (is_max)
        x = graph_reduce(g, REDUCE_MAX, c->input[0], mask);
    else
        x = graph_convert(g, nn_mean(g, c->input[0], mask), c->dtype);
    return c->layer->c.keeps_dims ? graph_reshape(g, x, s) : x;
}

const struct layer_functions layer_global_pool = {shape_global_pool, NULL, call_global_pool};
