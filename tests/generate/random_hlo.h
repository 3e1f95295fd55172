/*
 * Random graphs of the operations of HLO, in awkward shapes, for differential
 * tests of kernels and passes.
 *
 * All values are integers small enough that every result is exact in its type, in
 * whatever order sums are formed and whether or not bf16 is rounded between two operations:
 * results are compared bit for bit, zeros up to their sign. Operations whose results depend on
 * the order of updates, or on a machine's approximations, are left out.
 */
#ifndef TESTS_RANDOM_HLO_H
#define TESTS_RANDOM_HLO_H
#include "stack/hlo/graph.h"

enum random_hlo_group {
    RANDOM_ELEMENTWISE = 1 << 0,        /* of floats, words, bytes, predicates */
    RANDOM_MOVE = 1 << 1,               /* transpose, reshape, broadcast, slice, pad, ... */
    RANDOM_DOT = 1 << 2,
    RANDOM_CONV = 1 << 3,
    RANDOM_REDUCE = 1 << 4,             /* also argmax and argmin */
    RANDOM_WINDOW = 1 << 5,             /* reduce-window, select-and-scatter */
    RANDOM_INDEX = 1 << 6,              /* dynamic-slice, -update-slice, gather, scatter */
    RANDOM_SORT = 1 << 7,               /* sort, top-k */
    RANDOM_BITS = 1 << 8,               /* rng-bit-generator */
    RANDOM_LOOP = 1 << 9,               /* while */
    RANDOM_FLOW = 1 << 10,              /* while with a condition, conditional: of all groups */
    RANDOM_ALL = (1 << 10) - 1          /* but for these */
};

struct random_hlo {
    uint64_t seed;
    unsigned groups;                    /* of random_hlo_group */
    unsigned dtypes;                    /* bit 1 << DTYPE_..; 0: all. Indices are s32 anyway */
    int op_count;                       /* about; 1: one operation on fresh parameters */
    int64_t elems_max;                  /* of one array; 0: 20000 */
};

/* into an initialised graph; what nothing else reads is an output */
void random_hlo_build(struct graph *g, const struct random_hlo *r);

/* dense data, as in stack/interp/interp.h, for a parameter of such a graph */
void *random_hlo_input(const struct graph *g, int parameter, uint64_t seed, struct arena *a);
#endif
