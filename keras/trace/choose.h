/*
 * Old or new, element by element, by bits: exact whatever stands on the other side, and without
 * the mask register that a select holds for each tile under way, of which there are few.
 */
#ifndef KERAS_CHOOSE_H
#define KERAS_CHOOSE_H
#include "stack/hlo/graph.h"

/* u32 of the pred's shape: all bits where it is true, else none */
int choose_bits(struct graph *g, int pred);
/* of 4 bytes: `a` where all bits are set, `b` where none is; bits: of their shape, or a scalar */
int choose_value(struct graph *g, int bits, int a, int b);
#endif
