/*
 * Gradients by a kernel of one pixel: a product of two images' pixels, whose first operand's
 * features the cross-lane unit turns, tile by tile. Where the input has more tiles of features than
 * the result, the two change places, and the small product is turned instead.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/expand/pixel_product.h"

int expand_turned(struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    struct graph_conv turned;
    int order[GRAPH_RANK_MAX];
    int64_t in, out;

    if (n->op != HLO_CONVOLUTION || !pixel_product_is(g, n, n->operand[0], n->operand[1]))
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
