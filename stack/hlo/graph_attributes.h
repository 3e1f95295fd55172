/* Compares the attributes of nodes, as hlo_ops.def gives them to operations. */
#ifndef STACK_GRAPH_ATTRIBUTES_H
#define STACK_GRAPH_ATTRIBUTES_H
#include "stack/hlo/graph.h"

/*
 * Whether two nodes of one operation, with equal operands in `g`, have the same attributes. Numbers
 * are compared as bits: 0 and -0 differ, a NaN equals itself. Groups, pairs and messages are the
 * same where they lie in one place.
 */
bool graph_same_attributes(const struct graph *g, const struct graph_node *a,
                           const struct graph_node *b);

/* a field of the node that is not zero although its operation does not have it, or NULL */
const char *graph_stray_attribute(const struct graph_node *n);
#endif
