/*
 * Slices of vectors as kernels move them well, before anything is known or assumed of where they
 * begin: of index_assume.c and of the pass.
 */
#ifndef STACK_VECTORS_H
#define STACK_VECTORS_H
#include "stack/hlo/graph.h"

/* in `g` and the bodies of its loops and conditionals; not of a program that is kept */
void graph_expand_vectors(struct graph *g);
#endif
