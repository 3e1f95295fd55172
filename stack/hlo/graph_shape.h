/*
 * Which shapes and types an operation of the graph IR takes, and what comes
 * out: the one place for these rules, used by the builders and the verifier.
 *
 *   source         dimensions at least 1, at most SHAPE_ELEMS_MAX elements
 *   elementwise    operands of equal dimensions and types; hlo_ops.def
 *                  says which operation takes which types
 *   select, clamp  predicate, low and high have the dimensions of the values, or are scalars
 *   convert        any type to any; bitcast-convert between f32, s32 and u32
 *   broadcast      dims rising, sizes equal (a 1 is not stretched)
 *   dot, convolution   both f32 or both bf16, to f32 or bf16; both s8 or both u8, to s32
 *   reduce ...     and, or: of predicates and integers; the others of numbers
 *   all others     as HLO has them
 */
#ifndef STACK_GRAPH_SHAPE_H
#define STACK_GRAPH_SHAPE_H
#include "stack/hlo/graph.h"

#define SHAPE_ELEMS_MAX (1LL << 40)

int graph_op_arity(enum graph_op op);   /* -1: varies */

const char *graph_dtype_name(enum graph_dtype dtype);           /* "f32" */
bool graph_dtype_is_float(enum graph_dtype dtype);
bool graph_dims_have(const int *dims, int count, int dim);      /* is it among these? */

/*
 * The shape of node `n` (of its only or first result) from its operands (which
 * are in `g`) and attributes. Where these leave it open (sources, convert, broadcast, reshape,
 * the element type of products) n->shape is what is wanted and is checked; `out` is not
 * n->shape. -1 with a message naming the node.
 */
int graph_infer(const struct graph *g, const struct graph_node *n, struct shape *out,
                struct err *e);

/* Of a node that graph_infer accepts: results in its tuple (0: one array), and one's shape */
int graph_result_count(const struct graph_node *n);
struct shape graph_result_shape(const struct graph *g, const struct graph_node *n, int result);
#endif
