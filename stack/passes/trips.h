/*
 * Which starts of dynamic slices and updates follow from how often the loops around them have run:
 * struct graph_trips of stack/hlo/graph.h.
 */
#ifndef STACK_TRIPS_H
#define STACK_TRIPS_H
#include "stack/passes/pass.h"

/*
 * Writes what is known into the slices of `g` and of what its loops and conditionals call, which
 * become copies of its own; counters of loops that nothing else needs are no longer counted. A
 * second time it changes nothing.
 */
void graph_know_trips(struct graph *g);
#endif
