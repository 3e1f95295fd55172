/*
 * Programs that a test draws, each on one core of a chip that is drawn, too: values are those of the
 * interpreter on the graph as it is (module_rig.h). Seeds are those of seeds.h.
 */
#ifndef TESTS_DRAWN_GRAPHS_H
#define TESTS_DRAWN_GRAPHS_H
#include "base/rng.h"

/* `draw` takes of *rng, which has begun anew, what it puts into the empty graph of one_graph.h */
void drawn_graphs_check(int usual, struct rng *rng, void (*draw)(void));
#endif
