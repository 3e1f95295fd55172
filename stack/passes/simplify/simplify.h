/*
 * What the rules of pass_simplify share (stack/passes/simplify/simplify.def).
 *
 * A rule looks at a node `n` whose operands are in `g` and returns the node of
 * `g` that stands for it, making what it needs, or NODE_NONE where it has
 * nothing to say.
 */
#ifndef STACK_SIMPLIFY_H
#define STACK_SIMPLIFY_H
#include "stack/hlo/graph.h"

#define RULE(function, text) int function(struct graph *g, const struct graph_node *n);
#include "stack/passes/simplify/simplify.def"

/* Whether every element of `node` is the same known number, and which. */
bool simplify_splat_value(const struct graph *g, int node, double *value);

int simplify_slice(struct graph *g, const struct graph_node *n);

/* the same as such a product, transposed and reshaped before and behind it as need be */
int simplify_dot_flatten(struct graph *g, const struct graph_node *n);

/*
 * The finest runs of dimensions of two shapes of equal size whose products are
 * equal: run i is dimensions from[i] to from[i + 1] - 1 of the one and to[i] to
 * to[i + 1] - 1 of the other. A side of sizes 1 may be empty.
 */
struct reshape_runs {
    int count;
    int from[2 * GRAPH_RANK_MAX + 1], to[2 * GRAPH_RANK_MAX + 1];
};
void reshape_runs_find(const struct shape *from, const struct shape *to, struct reshape_runs *r);

/* the shape without dimensions of size 1 */
struct shape shape_squeeze(const struct shape *s);
#endif
