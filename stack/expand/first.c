/*
 * First layers: space to depth. Pixels 2i and 2i + 1 of either dimension become one with four
 * times the channels, so that a stride of two becomes one of one, and a window of 7x7 over 3
 * channels one of 4x4 over 12. As many products, zeros beside them, but with four times as many
 * in a row of k.
 */
#include "stack/expand/expand.h"

#include "base/units.h"

#define CHANNELS_MAX 4
#define IMAGES_MIN 16                   /* so many run along lanes, channels along rows; */
#define TRAINED_IMAGES_MIN 1            /* where pixels are no rows: with gradients by kernel */

struct first {
    const struct graph_node *node;
    bool is_gradient;
    int channel_dim, image_dim;         /* of the input */
    int64_t taps[2], out[2];            /* pixels of the kernel, of the result of the layer */
};

static bool recognise(const struct graph *g, const struct graph_node *n, bool is_trained,
                      struct first *f)
{
    const struct shape *in = &g->node[n->operand[0]].shape;
    const struct shape *kernel = &g->node[n->operand[1]].shape;
    const struct graph_conv *c = n->conv;

    if (n->op != HLO_CONVOLUTION || c->spatial_count != 2 || c->feature_groups != 1 ||
        c->batch_groups != 1)
        return false;
    *f = (struct first){.node = n, .is_gradient = n->window[0].stride == 1};
    f->channel_dim = f->is_gradient ? c->in_batch : c->in_feature;
    f->image_dim = f->is_gradient ? c->in_feature : c->in_batch;
    for (int i = 0; i < 2; i++) {
        const struct graph_window *w = &n->window[i];
        int64_t kernel_size = kernel->dim[c->kernel_spatial[i]];
        int64_t result_size = n->shape.dim[c->out_spatial[i]];

        if (w->base_dilation != 1 || w->is_reversed || w->stride != (f->is_gradient ? 1 : 2) ||
            w->window_dilation != (f->is_gradient ? 2 : 1))
            return false;
        f->taps[i] = f->is_gradient ? result_size : kernel_size;
        f->out[i] = f->is_gradient ? kernel_size : result_size;
        if (f->taps[i] < 3 || f->out[i] < f->taps[i])
            return false;
    }
    return in->dim[f->channel_dim] <= CHANNELS_MAX &&
           in->dim[f->image_dim] >= (is_trained ? TRAINED_IMAGES_MIN : IMAGES_MIN);
}

/* zeros before and behind dimensions 0 and 1; negative: cut off */
static int padded(struct graph *g, int x, const int64_t *low, const int64_t *high)
{
    int64_t before[GRAPH_RANK_MAX] = {0}, behind[GRAPH_RANK_MAX] = {0};
    int64_t between[GRAPH_RANK_MAX] = {0};
    int zero = graph_constant(g, shape_make(g->node[x].shape.dtype, 0, NULL), 0);

    for (int i = 0; i < 2; i++) {
        before[i] = low[i];
        behind[i] = high[i];
    }
    return graph_pad(g, x, zero, before, behind, between);
}

/* Dimensions 0 and 1 are even: [2h, 2w, c, ..] to [h, w, 4c, ..], a row and column after another */
static int to_depth(struct graph *g, int x)
{
    const struct shape from = g->node[x].shape;
    int part[4];

    for (int i = 0; i < 4; i++) {
        int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

        for (int k = 0; k < from.rank; k++) {
            limit[k] = from.dim[k];
            stride[k] = k < 2 ? 2 : 1;
        }
        start[0] = i / 2;
        start[1] = i % 2;
        part[i] = graph_slice(g, x, start, limit, stride);
    }
    return graph_concatenate(g, part, 4, 2);
}

/* the images, padded as the window asks, along lanes, with their labels */
static int image(struct graph *g, const struct first *f, struct graph_conv *conv)
{
    const struct graph_conv *c = f->node->conv;
    int x = f->node->operand[0];
    const struct shape from = g->node[x].shape;
    const int order[] = {c->in_spatial[0], c->in_spatial[1], f->channel_dim, f->image_dim};
    int64_t low[2], high[2];

    for (int i = 0; i < 2; i++) {
        int64_t wanted = 2 * (f->out[i] + div_up(f->taps[i], 2) - 1);

        low[i] = f->node->window[i].pad_low;
        high[i] = wanted - low[i] - from.dim[c->in_spatial[i]];
        conv->in_spatial[i] = i;
    }
    conv->in_batch = f->is_gradient ? 2 : 3;
    conv->in_feature = f->is_gradient ? 3 : 2;
    return to_depth(g, padded(g, graph_transpose(g, x, order), low, high));
}

static int forward(struct graph *g, const struct first *f, int x, struct graph_conv *conv,
                   struct graph_window *w)
{
    const struct graph_conv *c = f->node->conv;
    const int order[] = {c->kernel_spatial[0], c->kernel_spatial[1], c->kernel_in, c->kernel_out};
    const int64_t none[2] = {0, 0}, high[2] = {f->taps[0] % 2, f->taps[1] % 2};
    int k = graph_transpose(g, f->node->operand[1], order);

    k = to_depth(g, padded(g, k, none, high));
    for (int i = 0; i < 2; i++) {
        conv->kernel_spatial[i] = i;
        w[i].size = div_up(f->taps[i], 2);
    }
    conv->kernel_in = 2;
    conv->kernel_out = 3;
    return graph_convolution(g, x, k, w, conv, f->node->shape.dtype, f->node->precision);
}

/* [h, w, 4c, k] of the gradient back to [2h, 2w, c, k], what the kernel has of it */
static int from_depth(struct graph *g, const struct first *f, int y)
{
    static const int turn[] = {0, 2, 1, 3, 4, 5};
    const struct shape from = g->node[y].shape;
    const int64_t h = from.dim[0], w = from.dim[1], c = from.dim[2] / 4, k = from.dim[3];
    const int64_t none[2] = {0, 0}, high[2] = {f->taps[0] - 2 * h, f->taps[1] - 2 * w};

    y = graph_reshape(g, y, shape_make(from.dtype, 6, (const int64_t[]){h, w, 2, 2, c, k}));
    y = graph_reshape(g, graph_transpose(g, y, turn),
                      shape_make(from.dtype, 4, (const int64_t[]){2 * h, 2 * w, c, k}));
    return padded(g, y, none, high);
}

static int gradient(struct graph *g, const struct first *f, int x, struct graph_conv *conv,
                    struct graph_window *w)
{
    const struct graph_conv *c = f->node->conv;
    const int order[] = {c->out_spatial[0], c->out_spatial[1], c->out_batch, c->out_feature};
    int back[4], y;

    for (int i = 0; i < 4; i++)
        back[order[i]] = i;
    for (int i = 0; i < 2; i++) {
        conv->out_spatial[i] = i;
        w[i].size = f->out[i];
    }
    conv->out_batch = 2;
    conv->out_feature = 3;
    y = graph_convolution(g, x, f->node->operand[1], w, conv, f->node->shape.dtype,
                          f->node->precision);
    return graph_transpose(g, from_depth(g, f, y), back);
}

int expand_first_layer(struct graph *g, const struct graph_node *n, bool is_trained)
{
    const struct graph_window plain = {1, 1, 0, 0, 1, 1, false};
    struct graph_window w[2] = {plain, plain};
    struct graph_conv conv;
    struct first f;
    int x;

    if (n->op != HLO_CONVOLUTION || !recognise(g, n, is_trained, &f))
        return NODE_NONE;
    conv = *n->conv;
    x = image(g, &f, &conv);
    return f.is_gradient ? gradient(g, &f, x, &conv, w) : forward(g, &f, x, &conv, w);
}
