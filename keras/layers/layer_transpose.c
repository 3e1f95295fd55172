/*
 * Transposed convolutions: the gradient of a convolution by its input, as a layer. The input's
 * elements stand `strides` apart with zeros between, and the kernel goes over them reversed.
 */
#include "keras/layers/layer_window.h"

#include <inttypes.h>

/* elements of the output along one dimension */
static int64_t stretched(const struct layer_config *c, int axis, int64_t length)
{
    int64_t covered = layer_reach(c->size[axis], c->dilation[axis]), stride = c->strides[axis];

    if (c->padding == NN_SAME || covered < stride)
        return length * stride;
    return length * stride + covered - stride;
}

static int shape_transposed(const struct layer *l, const struct shape *in, int count,
                            struct shape *out, struct err *e)
{
    (void)count;
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++)
        out->dim[i] = stretched(&l->c, i, out->dim[i]);
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

/* what the convolution whose gradient this is would pad in front, seen from the other side */
static struct graph_window window_of(const struct layer_config *c, int axis, int64_t length)
{
    int64_t covered = layer_reach(c->size[axis], c->dilation[axis]), stride = c->strides[axis];
    int64_t out = stretched(c, axis, length), spread = (length - 1) * stride + 1;
    int64_t padded = c->padding == NN_SAME && covered > stride ? (covered - stride) / 2 : 0;
    struct graph_window w = {.size = c->size[axis], .stride = 1, .base_dilation = stride,
                             .window_dilation = c->dilation[axis], .is_reversed = true};

    w.pad_low = covered - 1 - padded;
    w.pad_high = out + covered - 1 - spread - w.pad_low;
    return w;
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
        windows[i] = window_of(l, i, g->node[x].shape.dim[1 + i]);
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
