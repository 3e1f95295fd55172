/*
 * Inside the kernel of products: passes in the body of the fused loop that computes the right
 * operand, where that has all of the contraction in each of its blocks and the rows are few: the
 * values of attention behind a softmax. Not here: left operands that are transposed or computed,
 * anything computed of the results, chips with accumulators.
 */
#ifndef STACK_KERNEL_DOT_INSIDE_H
#define STACK_KERNEL_DOT_INSIDE_H
#include "stack/kernels/dot/kernel_dot_grid.h"

/* whether that can be made of a grid with windows, and takes fewer cycles */
bool dot_goes_inside(const struct dot_grid *g);
/* of a step: the loop and the passes in it */
int64_t dot_inside_cycles(const struct dot_grid *g);
/* what the fused loop gives its tiles to; `g` must outlive the loop's code */
const struct loop_sink *dot_inside_sink(const struct dot_grid *g, struct arena *a);
#endif
