/*
 * Random moves: one to three operations that move data, over shapes of awkward
 * sizes in random orders of dimensions.
 */
#ifndef TESTS_RANDOM_MOVE_H
#define TESTS_RANDOM_MOVE_H
#include "base/rng.h"
#include "stack/hlo/graph.h"

struct random_move {
    struct arena arena;
    struct graph body;
    int order[24][GRAPH_RANK_MAX];      /* of the parameters, then of the result; minor first */
};

/* at most `elements` in each array; `steps` operations */
void random_move_make(struct random_move *m, uint64_t seed, int64_t elements, int steps);
void random_move_free(struct random_move *m);
#endif
