/*
 * Products of many dimensions: whether their kernel takes operands as they
 * lie, row-major, and in which order their result should lie.
 *
 * Of each operand the last two dimensions are tiled; the kernel wants one of
 * them contracted, the same in both operands, and the other free. It counts the
 * others, or takes them together with those (docs/gemm.md). Where that would
 * leave tiles or passes much emptier than a plain product's, it is not worth it.
 */
#ifndef STACK_DOT_FORM_H
#define STACK_DOT_FORM_H
#include "sim/chip/chip.h"
#include "stack/hlo/graph.h"
#include "stack/kernels/pipeline/kernel.h"

/* [M,K] x [K,N], either operand the other way round, or such in one leading batch dimension */
bool dot_is_plain(const struct graph *g, const struct graph_node *n);

/* of the product `dot` of nodes lhs and rhs */
bool dot_is_taken(const struct graph *g, int lhs, int rhs, const struct graph_dot *dot);

/* whether the kernel makes dot `node` alone of row-major operands, its result in the dot's order */
bool dot_is_made(const struct graph *g, int node, const struct chip *chip);

/*
 * The order of the dimensions of dot `node`'s result that spares a transpose behind it: that of
 * what reads it, or as it is. XLA has a third, with the outer dimensions of columns before the rows,
 * behind which the result is copied where the program wants it otherwise (docs/accuracy.md, What
 * peak memory tells); without that, columns are one dimension and the operand is copied, which is
 * mostly smaller. False where the kernel makes none of them.
 */
bool dot_result_order(const struct graph *g, int node, const struct chip *chip,
                      enum codegen codegen, int *order);
#endif
