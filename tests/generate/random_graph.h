/*
 * Random graphs of everything the compiler has kernels for, in awkward shapes.
 *
 * All values are small integers, so every sum and product is exact in f32 and
 * in whatever order: results can be compared bit for bit (zeros up to their
 * sign). Divisions are by parameters of ones, whose padding is zero: what
 * reads padding that it should not finds an infinity or a NaN.
 */
#ifndef TESTS_RANDOM_GRAPH_H
#define TESTS_RANDOM_GRAPH_H
#include "stack/hlo/graph.h"

struct random_graph {
    uint64_t seed;
    int op_count;                       /* about */
    int replica_count;                  /* above 1: with all-reduces, whose sums stay exact */
    bool is_small;                      /* no dimension above 130 */
};

/* into an initialised graph; with outputs, some of them updates of parameters in place */
void random_graph_build(struct graph *g, const struct random_graph *r);

/* dense data for a parameter of such a graph */
void *random_graph_input(const struct graph *g, int parameter, uint64_t seed, struct arena *a);

/*
 * Into an initialised graph: all replicas of `g` in one, with all-reduces as
 * sums, for the reference interpreter. Its parameters and outputs are those of
 * replica 0, then those of replica 1, ...
 */
void random_graph_replicate(const struct graph *g, int replica_count, struct graph *to);
#endif
