/*
 * Whole numbers that count: an array of s32 whose elements are a base and a step along each
 * dimension, as programs compute indices from iotas and constants.
 */
#ifndef STACK_AFFINE_H
#define STACK_AFFINE_H
#include "stack/hlo/graph.h"

struct affine { int64_t base, step[GRAPH_RANK_MAX]; };  /* step 0 along dimensions of one element */

/*
 * Of number `k` along dimension `vector_dim` of node `indices`, as index vectors have it; all of
 * the node where it has no such dimension. False: its elements do not count, or nobody can tell;
 * true: no element leaves s32. `out` has a step for each dimension of the node.
 */
bool affine_component(const struct graph *g, int indices, int vector_dim, int k, struct affine *out);

/* the least and the greatest element of an array of that shape */
void affine_range(const struct affine *a, const struct shape *s, int64_t *low, int64_t *high);
#endif
