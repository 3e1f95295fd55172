/*
 * Gradients by a kernel of one pixel: a product of two images' pixels, whose first operand's
 * features the cross-lane unit turns, tile by tile. Where the input has more tiles of features than
 * the result, the two change places, and the small product is turned instead.
 */
#include "stack/passes/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"

/* contracts batch and pixels, each pixel with the same one of the other image */
static bool is_by_one_pixel(const struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    const struct shape *in = &g->node[n->operand[0]].shape, *other = &g->node[n->operand[1]].shape;
    int64_t pixels = 1;

    if (c->feature_groups != 1 || c->batch_groups != 1)
        return false;
    for (int i = 0; i < c->spatial_count; i++) {
        const struct graph_window *w = &n->window[i];
        int64_t size = in->dim[c->in_spatial[i]];

        if (w->stride != 1 || w->base_dilation != 1 || w->window_dilation != 1 || w->is_reversed ||
            w->pad_low != 0 || w->pad_high != 0 || other->dim[c->kernel_spatial[i]] != size)
            return false;
        pixels *= size;
    }
    return pixels > 1;
}

int expand_turned(struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    struct graph_conv turned;
    int order[GRAPH_RANK_MAX];
    int64_t in, out;

    if (n->op != HLO_CONVOLUTION || !is_by_one_pixel(g, n))
        return NODE_NONE;
    in = g->node[n->operand[0]].shape.dim[c->in_batch];
    out = g->node[n->operand[1]].shape.dim[c->kernel_out];
    if (div_up(in, ARRAY_LANES) <= div_up(out, ARRAY_LANES))
        return NODE_NONE;
    turned = *c;
    turned.in_batch = c->kernel_out;
    turned.in_feature = c->kernel_in;
    turned.kernel_in = c->in_feature;
    turned.kernel_out = c->in_batch;
    for (int i = 0; i < c->spatial_count; i++) {
        turned.in_spatial[i] = c->kernel_spatial[i];
        turned.kernel_spatial[i] = c->in_spatial[i];
    }
    for (int i = 0; i < n->shape.rank; i++)
        order[i] = i == c->out_batch     ? c->out_feature
                   : i == c->out_feature ? c->out_batch
                                         : i;
    return graph_transpose(g, graph_convolution(g, n->operand[1], n->operand[0], n->window, &turned,
                                                n->shape.dtype, n->precision), order);
}
