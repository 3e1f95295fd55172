/*
 * Dimensions that become others by weighted sums of their elements: images of another size, means
 * of windows that differ in size. The sums are a product with a matrix [to, from], in f32.
 */
#ifndef KERAS_BLEND_H
#define KERAS_BLEND_H
#include "keras/layers/layer_impl.h"

/*
 * Pixels between pixels. Centres lie half a pixel inside; what a kernel would take from beyond an
 * edge is left out, and the weights of the rest sum to 1. Antialiased, the kernel of an image that
 * becomes smaller is as much wider.
 */
int blend_pixels(struct graph *g, int how, bool antialiases, int64_t to, int64_t from);
/* means of the windows of adaptive pooling */
int blend_means(struct graph *g, int64_t to, int64_t from);
/* -1: the matrix would have more elements than a host should hold for one layer */
int blend_check(const struct layer *l, int64_t to, int64_t from, struct err *e);
/* dimension `dim` of x by the matrix: a product in f32, then the dimension back to its place */
int layer_blend(struct graph *g, int x, int dim, int matrix);

/* the window that one of `to` elements is of: `from` elements cut as evenly as may be */
int64_t adaptive_start(int64_t which, int64_t to, int64_t from);
int64_t adaptive_end(int64_t which, int64_t to, int64_t from);
#endif
