/*
 * Convolutions: the layouts that their kernel (stack/kernels/conv/kernel_conv.c) wants.
 *
 * A convolution is a product of *rows* (pixel of the result, batch) by columns
 * (features of the result), contracted over *taps* (pixel of the window,
 * features of the input). Three layouts of the input serve all of them:
 *
 *   rows        features along lanes, batch along sublanes: forward and
 *               gradient by input. A tap is an offset of whole tiles.
 *   pixels      likewise, but the last spatial dimension along sublanes: small
 *               batches, which would leave most sublanes empty, in graphs
 *               without gradients by kernel.
 *   transposed  batch along lanes, features along sublanes: gradient by
 *               kernel, where HLO's "batch" is the input's features and the
 *               window is an image; and first layers with few features.
 *
 * In all but pixels the result has its features along lanes and its batch along
 * sublanes, so that activations and their gradients have one layout,
 * features, batch, then pixels, in every convolution of a network. The kernel
 * has its result's features along lanes and its input's features along
 * sublanes, or, where the input lies in rows and no groups are there, the
 * other way round. The order of the other dimensions is free.
 *
 * Depthwise convolutions (a group per feature) run on the vector unit, in the
 * same layouts.
 */
#ifndef STACK_CONV_H
#define STACK_CONV_H
#include "base/err.h"
#include "sim/chip/chip.h"
#include "stack/hlo/graph.h"

struct conv_layouts {                   /* minor first, as array.order */
    int lhs[GRAPH_RANK_MAX], rhs[GRAPH_RANK_MAX], result[GRAPH_RANK_MAX];
};

/* The order of dimensions for CONVOLUTION `node` of `g`. */
void conv_layouts(const struct graph *g, int node, const struct chip *chip,
                  struct conv_layouts *out);

/* the graph trains convolutions: then images are rows (or lanes) everywhere, pixels nowhere */
bool conv_has_gradients_by_kernel(const struct graph *g);
#endif
