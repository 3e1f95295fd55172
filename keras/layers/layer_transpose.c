/*
 * Transposed convolutions: the gradient of a convolution by its input, as a layer. The input's
 * elements stand `strides` apart with zeros between, and the kernel goes over them reversed.
 */
#include "keras/layers/layer_window.h"

#include <inttypes.h>

/* zeros around the spread input, from which the reversed kernel makes the output */
struct edges {
    int64_t low, high;
};

/* as Keras reckons them where the layer has an output_padding, which the sizes then follow */
static struct edges stated_edges(const struct layer_config *c, int axis, int64_t covered)
{
    int64_t more = c->output_padding[axis], all = covered + covered % 2 - 2 + more;
    struct edges e = {covered - 1, covered - 1 + more};

    if (c->padding == NN_SAME) {
        e.low = all / 2 + all % 2 < covered - 1 ? all / 2 + all % 2 : covered - 1;
        e.high = all - e.low;
    }
    return e;
}

/* what the convolution whose gradient this is would pad in front, seen from the other side */
static struct edges edges_of(const struct layer *l, int axis, int64_t length)
{
    const struct layer_config *c = &l->c;
    int64_t covered = layer_reach(c->size[axis], c->dilation[axis]), stride = c->strides[axis];
    int64_t padded = c->padding == NN_SAME && covered > stride ? (covered - stride) / 2 : 0;
    int64_t out = length * stride, spread = (length - 1) * stride + 1;
    struct edges e = {.low = covered - 1 - padded};

    if (axis < layer_spatial_dims(l->kind) && c->output_padding[axis] >= 0)
        return stated_edges(c, axis, covered);
    out += c->padding == NN_SAME || covered < stride ? 0 : covered - stride;
    e.high = out + covered - 1 - spread - e.low;
    return e;
}

/* elements of the output along one dimension */
static int64_t stretched(const struct layer *l, int axis, int64_t length)
{
    int64_t covered = layer_reach(l->c.size[axis], l->c.dilation[axis]);
    struct edges e = edges_of(l, axis, length);

    return (length - 1) * l->c.strides[axis] + 1 + e.low + e.high - (covered - 1);
}

static int shape_transposed(const struct layer *l, const struct shape *in, int count,
                            struct shape *out, struct err *e)
{
    (void)count;
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++)
        out->dim[i] = stretched(l, i, out->dim[i]);
    out->dtype = DTYPE_F32;
    out->dim[out->rank - 1] = l->c.units;
    layer_sample_shape(l, out);
    return 0;
}

/* [size.., out, in] */
static void build_transposed(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    int dims = layer_spatial_dims(b->layer->kind);

    layer_add_kernel(b, "kernel", dims, c->size, c->units, b->layer->input[0].dim[dims],
                     &c->kernel_initializer, &c->kernel_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "bias", SIZES(c->units), &c->bias_initializer, &c->bias_regularizer);
}

static struct graph_window window_of(const struct layer *l, int axis, int64_t length)
{
    struct edges e = edges_of(l, axis, length);

    return (struct graph_window){.size = l->c.size[axis], .stride = 1,
                                 .pad_low = e.low, .pad_high = e.high,
                                 .base_dilation = l->c.strides[axis],
                                 .window_dilation = l->c.dilation[axis], .is_reversed = true};
}

static int call_transposed(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    int dims = layer_image_dims(c->layer->kind);
    struct graph_conv conv = layer_conv_labels(dims, true, 1);
    struct graph_window windows[3];
    int kernel = layer_read_cast(c, 0), x = layer_to_image(c, c->input[0]);

    for (int i = 0; i < dims; i++)
        windows[i] = window_of(c->layer, i, g->node[x].shape.dim[1 + i]);
    layer_source(c, layer_class(c->layer->kind));
    kernel = layer_image_kernel(g, kernel, layer_spatial_dims(c->layer->kind));
    x = graph_convolution(g, x, kernel, windows, &conv, c->dtype, c->precision);
    x = layer_from_image(c, x);
    if (l->use_bias)
        x = layer_bias(c, x, 1);
    return layer_activate(c, x);
}

const struct layer_functions layer_conv_transpose = {shape_transposed, build_transposed,
                                                     call_transposed};
