/* Recognises gradients by a kernel of one pixel, and makes products of them. */
#include "stack/expand/pixel_product.h"

#include "stack/kernels/dot/dot_form.h"

bool pixel_product_is(const struct graph *g, const struct graph_node *n, int lhs, int rhs)
{
    const struct graph_conv *c = n->conv;
    const struct shape *in = &g->node[lhs].shape, *other = &g->node[rhs].shape;
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

/* [features of the input, features of the other] is what a dot makes */
static bool ends_with_features(const struct graph_conv *c, int rank)
{
    return c->out_batch == rank - 2 && c->out_feature == rank - 1;
}

int pixel_product(struct graph *to, const struct graph_node *n, int lhs, int rhs)
{
    const struct graph_conv *c = n->conv;
    struct graph_dot dot = {.contract_count = c->spatial_count + 1};

    if (n->precision != PRECISION_DEFAULT || !ends_with_features(c, n->shape.rank) ||
        !pixel_product_is(to, n, lhs, rhs))
        return NODE_NONE;
    for (int i = 0; i < c->spatial_count; i++) {
        dot.lhs_contract[i] = c->in_spatial[i];
        dot.rhs_contract[i] = c->kernel_spatial[i];
    }
    dot.lhs_contract[c->spatial_count] = c->in_feature;
    dot.rhs_contract[c->spatial_count] = c->kernel_in;
    if (!dot_is_taken(to, lhs, rhs, &dot))
        return NODE_NONE;
    return graph_reshape(to, graph_dot_general(to, lhs, rhs, &dot, n->shape.dtype, n->precision),
                         n->shape);
}
