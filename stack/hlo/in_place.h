/*
 * Which operand a node may change where it lies: what no other node reads afterwards need not be
 * copied before (stack/module/module_reuse.c decides, stack/passes/pass_readers.c helps).
 */
#ifndef STACK_IN_PLACE_H
#define STACK_IN_PLACE_H
#include "stack/hlo/graph.h"

/* Operand k of the node may become one of its results. */
bool graph_may_change(const struct graph *g, int node, int k);

/*
 * The operand, from 1 on, whose place result `result` of a conditional may have: a branch passes it
 * on or changes it, no result before has its place and none is what it was; -1: none.
 */
int graph_branch_operand(const struct graph *g, int node, int result);
/* both branches give the same operand: its number, from 1 on, or -1 */
int graph_branch_passes(const struct graph_node *n, int result);
#endif
