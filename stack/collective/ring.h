/*
 * The order of cores in the ring of an all-reduce.
 *
 * Replica r runs on core[r]. Both cores of a chip follow each other, and the
 * chips follow each other along the grid so that neighbours in the ring are
 * neighbours in the network. The ring closes over one link too, unless the
 * grid is a line or both its sides are odd: then the last step is longer.
 */
#ifndef STACK_RING_H
#define STACK_RING_H
#include "sim/chip/chip.h"

/* core: slice->core_count global core numbers */
void ring_order(const struct slice *slice, int *core);
#endif
