/*
 * Narrow arrays, f32[4096,3], that are lighter with their short dimensions first: found by what all
 * that is computed of each other weighs in either order (narrow.c).
 */
#ifndef STACK_NARROW_H
#define STACK_NARROW_H
#include "stack/hlo/graph.h"

struct layout_order;

/* an order with the last `count` of `rank` dimensions first */
struct layout_order narrow_order(int rank, int count);

/*
 * By node: how many of its last dimensions go first, 0: it stays as it is. `is_fixed` says by node
 * whose order is somebody else's choice. With `has_states` g is the body of a loop, whose parameters
 * and outputs are told, too: output i has the count of parameter i, where that is not 0. The caller
 * frees what it gets with mem_free.
 */
int *narrow_find(const struct graph *g, const bool *is_fixed, bool has_states);
#endif
