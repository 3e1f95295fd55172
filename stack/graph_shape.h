/*
 * Which shapes and types an operation of the graph IR takes, and what comes
 * out: the one place for these rules, used by the builders and the verifier.
 *
 *   source         dimensions at least 1, at most SHAPE_ELEMS_MAX elements
 *   elementwise    operands of equal dimensions and types; exp .. logistic and
 *                  divide take f32 and bf16, not/and/or predicates, the rest
 *                  also s32; select's predicate has the dimensions of its values
 *   convert        any type to f32, bf16 or s32
 *   broadcast      dims rising, sizes equal (a 1 is not stretched)
 *   dot            two matrices, both f32 or both bf16; the result is f32
 *   reduce, all-reduce   not of predicates
 */
#ifndef STACK_GRAPH_SHAPE_H
#define STACK_GRAPH_SHAPE_H
#include "stack/graph.h"

#define SHAPE_ELEMS_MAX (1LL << 40)

int graph_op_arity(enum graph_op op);

/*
 * The shape of node `n` from its operands (which are in `g`) and attributes.
 * Where these leave it open (sources, convert, broadcast, reshape) n->shape is
 * what is wanted and is checked; `out` is not n->shape. -1 with a message naming the node.
 */
int graph_infer(const struct graph *g, const struct graph_node *n, struct shape *out,
                struct err *e);
#endif
