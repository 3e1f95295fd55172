/* Convolutions of sequences, images and volumes: plain, depthwise, and separable (one after the other). */
#include "keras/layers/layer_window.h"

#include <inttypes.h>

static bool is_depthwise(const struct layer *l)
{
    return l->kind == LAYER_DEPTHWISE_CONV1D || l->kind == LAYER_DEPTHWISE_CONV2D;
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
    bool has_strides = false, has_dilation = false;
    struct shape image;
    int64_t channels;

    (void)count;
    if (layer_image_shape(l, in, &image, e) != 0 ||
        layer_window_shape(l, &image, l->c.strides, out, e) != 0)
        return -1;
    channels = image.dim[image.rank - 1];
    if (!is_depthwise(l) && check_groups(l, channels, e) != 0)
        return -1;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        has_strides = has_strides || l->c.strides[i] > 1;
        has_dilation = has_dilation || l->c.dilation[i] > 1;
    }
    if (has_strides && has_dilation)
        return layer_fail(l, e, "\"strides\" and \"dilation_rate\" cannot both be above 1");
    out->dtype = DTYPE_F32;
    out->dim[out->rank - 1] = is_depthwise(l) ? channels * l->c.units : l->c.units;
    layer_sample_shape(l, out);
    return 0;
}

static int64_t channels_of(const struct layer *l)
{
    return l->input[0].dim[layer_spatial_dims(l->kind)];
}

static void build_conv(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    int64_t channels = channels_of(b->layer);
    int64_t outputs = is_depthwise(b->layer) ? channels * c->units : c->units;
    int64_t in = is_depthwise(b->layer) ? channels : channels / c->groups;

    layer_add_kernel(b, "kernel", layer_spatial_dims(b->layer->kind), c->size, in, c->units,
                     &c->kernel_initializer, &c->kernel_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "bias", SIZES(outputs), &c->bias_initializer, &c->bias_regularizer);
}

/* [h, w, channels, multiplier] as a kernel of `channels` groups: [h, w, 1, channels multiplier] */
static int depthwise_kernel(struct graph *g, int kernel)
{
    struct shape s = g->node[kernel].shape;

    s.dim[3] *= s.dim[2];
    s.dim[2] = 1;
    return graph_reshape(g, kernel, s);
}

/* images x by a kernel [size.., in, out] */
static int convolve(struct layer_call *c, int x, int kernel, const struct graph_window *windows,
                    int64_t groups)
{
    struct graph_conv conv = layer_conv_labels(layer_image_dims(c->layer->kind), false, groups);

    return graph_convolution(&c->t->graph, x, kernel, windows, &conv, c->dtype, c->precision);
}

/* by the layer's windows, each channel by itself or by groups */
static int convolve_windows(struct layer_call *c, int x, int kernel, bool by_channel)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    struct graph_window windows[3];
    int dims = layer_image_dims(c->layer->kind);
    int64_t groups = by_channel ? g->node[x].shape.dim[1 + dims] : l->groups;

    for (int i = 0; i < dims; i++)
        windows[i] = layer_window(l, i, g->node[x].shape.dim[1 + i]);
    kernel = layer_image_kernel(g, kernel, layer_spatial_dims(c->layer->kind));
    return convolve(c, x, by_channel ? depthwise_kernel(g, kernel) : kernel, windows, groups);
}

static int finish(struct layer_call *c, int x, int bias_place)
{
    x = layer_from_image(c, x);
    if (c->layer->c.use_bias)
        x = layer_bias(c, x, bias_place);
    return layer_activate(c, x);
}

static int call_conv(struct layer_call *c)
{
    int kernel = layer_read_cast(c, 0);

    layer_source(c, layer_class(c->layer->kind));
    return finish(c, convolve_windows(c, layer_to_image(c, c->input[0]), kernel,
                                      is_depthwise(c->layer)), 1);
}

const struct layer_functions layer_conv = {shape_conv, build_conv, call_conv};

/* ---- separable: a depthwise convolution, then one of 1 x 1 ---- */

static int shape_separable(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    return shape_conv(l, in, count, out, e);
}

static void build_separable(struct layer_build *b)
{
    static const int64_t point[2] = {1, 1};
    const struct layer_config *c = &b->layer->c;
    int64_t channels = channels_of(b->layer);
    int dims = layer_spatial_dims(b->layer->kind);

    layer_add_kernel(b, "depthwise_kernel", dims, c->size, channels, c->multiplier,
                     &c->kernel_initializer, &c->kernel_regularizer);
    layer_add_kernel(b, "pointwise_kernel", dims, point, channels * c->multiplier, c->units,
                     &c->pointwise_initializer, &c->pointwise_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "bias", SIZES(c->units), &c->bias_initializer, &c->bias_regularizer);
}

static int call_separable(struct layer_call *c)
{
    static const struct graph_window point = {.size = 1, .stride = 1, .base_dilation = 1,
                                              .window_dilation = 1};
    struct graph *g = &c->t->graph;
    int depthwise = layer_read_cast(c, 0), pointwise = layer_read_cast(c, 1), x;

    layer_source(c, "Depthwise");
    x = convolve_windows(c, layer_to_image(c, c->input[0]), depthwise, true);
    layer_source(c, "Pointwise");
    pointwise = layer_image_kernel(g, pointwise, layer_spatial_dims(c->layer->kind));
    x = convolve(c, x, pointwise, (struct graph_window[]){point, point}, 1);
    return finish(c, x, 2);
}

const struct layer_functions layer_separable = {shape_separable, build_separable, call_separable};
