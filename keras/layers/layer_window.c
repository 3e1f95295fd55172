/* Windows over sequences and images: how many there are, and what padding they need. */
#include "keras/layers/layer_window.h"

#include <inttypes.h>
#include <string.h>

int layer_spatial_dims(enum layer_kind kind)
{
    const char *class = layer_class(kind);

    return strstr(class, "1D") ? 1 : strstr(class, "3D") ? 3 : 2;
}

int layer_image_dims(enum layer_kind kind)
{
    int dims = layer_spatial_dims(kind);

    return dims < 2 ? 2 : dims;
}

int layer_image_shape(const struct layer *l, const struct shape *in, struct shape *image,
                      struct err *e)
{
    static const char *const wanted[] = {"sequences of [steps, channels]",
                                         "images of [height, width, channels]",
                                         "volumes of [depth, height, width, channels]"};
    int dims = layer_spatial_dims(l->kind);

    if (layer_expect_rank(l, in, dims + 1, wanted[dims - 1], e) != 0)
        return -1;
    *image = *in;
    if (dims == 1) {
        image->rank = 3;
        image->dim[2] = in->dim[1];
        image->dim[1] = 1;
    }
    return 0;
}

void layer_sample_shape(const struct layer *l, struct shape *image)
{
    if (layer_spatial_dims(l->kind) > 1)
        return;
    image->rank = 2;
    image->dim[1] = image->dim[2];
}

int layer_to_image(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape;

    if (layer_spatial_dims(c->layer->kind) > 1)
        return x;
    s.rank = 4;
    s.dim[3] = s.dim[2];
    s.dim[2] = 1;
    return graph_reshape(g, x, s);
}

int layer_from_image(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape;

    if (layer_spatial_dims(c->layer->kind) > 1)
        return x;
    s.rank = 3;
    s.dim[2] = s.dim[3];
    return graph_reshape(g, x, s);
}

int64_t layer_reach(int64_t size, int64_t dilation)
{
    return (size - 1) * dilation + 1;
}

/* places of a window along one dimension, or 0 if it does not fit */
static int64_t places(int64_t length, int64_t covered, int64_t stride, enum nn_padding padding)
{
    if (padding != NN_VALID)
        return (length + stride - 1) / stride;
    return length < covered ? 0 : (length - covered) / stride + 1;
}

int layer_window_shape(const struct layer *l, const struct shape *image, const int64_t *strides,
                       struct shape *out, struct err *e)
{
    static const char *const names[3][3] = {{"steps"}, {"height", "width"},
                                            {"depth", "height", "width"}};
    char text[160];

    *out = *image;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        int64_t covered = layer_reach(l->c.size[i], l->c.dilation[i]);

        out->dim[i] = places(image->dim[i], covered, strides[i], l->c.padding);
        if (out->dim[i] == 0)
            return layer_fail(l, e, "a window of %" PRId64 " does not fit into the %s, %" PRId64
                              ", of samples %s; use padding \"same\" or a smaller window", covered,
                              names[layer_spatial_dims(l->kind) - 1][i],
                              image->dim[i], layer_shape_text(image, text, sizeof(text)));
    }
    return 0;
}

struct graph_window layer_window(const struct layer_config *c, int axis, int64_t length)
{
    int64_t covered = layer_reach(c->size[axis], c->dilation[axis]), stride = c->strides[axis];
    int64_t missing = (places(length, covered, stride, c->padding) - 1) * stride + covered - length;
    struct graph_window w = {.size = c->size[axis], .stride = stride, .base_dilation = 1,
                             .window_dilation = c->dilation[axis]};

    if (c->padding == NN_SAME && missing > 0) {
        w.pad_low = missing / 2;
        w.pad_high = missing - w.pad_low;
    }
    if (c->padding == NN_CAUSAL)
        w.pad_low = covered - 1;
    return w;
}

struct graph_conv layer_conv_labels(int dims, bool is_transposed, int64_t groups)
{
    struct graph_conv c = {.spatial_count = dims, .in_feature = dims + 1, .out_feature = dims + 1,
                           .kernel_in = is_transposed ? dims + 1 : dims,
                           .kernel_out = is_transposed ? dims : dims + 1,
                           .feature_groups = groups, .batch_groups = 1};

    for (int i = 0; i < dims; i++) {
        c.in_spatial[i] = c.out_spatial[i] = 1 + i;
        c.kernel_spatial[i] = i;
    }
    return c;
}

int layer_image_kernel(struct graph *g, int kernel, int dims)
{
    const struct shape *s = &g->node[kernel].shape;

    if (dims > 1)
        return kernel;
    return graph_reshape(g, kernel,
                         shape_make(s->dtype, 4, (int64_t[]){s->dim[0], 1, s->dim[1], s->dim[2]}));
}

int layer_add_kernel(struct layer_build *b, const char *name, int dims, const int64_t *size,
                     int64_t in, int64_t out, const struct initializer *i,
                     const struct regularizer *r)
{
    int64_t dim[5];

    for (int d = 0; d < dims; d++)
        dim[d] = size[d];
    dim[dims] = in;
    dim[dims + 1] = out;
    return layer_add_weight(b, name, dims + 2, dim, i, r);
}
