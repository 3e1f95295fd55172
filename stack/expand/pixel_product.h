/*
 * Gradients by a kernel of one pixel: the product of two images' features, contracted over batch
 * and pixels, each pixel with the same one of the other image. As a product it reads both images
 * where they lie, and turns the first of them beside its passes.
 */
#ifndef STACK_PIXEL_PRODUCT_H
#define STACK_PIXEL_PRODUCT_H
#include "stack/hlo/graph.h"

/* whether CONVOLUTION `n`, of operands lhs and rhs of `g`, is one of more than one pixel */
bool pixel_product_is(const struct graph *g, const struct graph_node *n, int lhs, int rhs);

/*
 * Such a convolution as a dot of operands in `to` that lie as its labels say, of the shape of `n`.
 * NODE_NONE where it is none, or products do not take operands or result so.
 */
int pixel_product(struct graph *to, const struct graph_node *n, int lhs, int rhs);
#endif
