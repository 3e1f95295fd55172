/*
 * Private to the kernel of products: makes what is computed of results, as operations of a round.
 */
#ifndef STACK_KERNEL_DOT_EPILOGUE_H
#define STACK_KERNEL_DOT_EPILOGUE_H
#include "stack/kernels/dot/kernel_dot_grid.h"

/* -1: something in the body that cannot be computed in the place of a result */
int dot_epilogue_make(struct dot_epilogue *x, struct dot_grid *g, struct arena *a,
                      struct err *e);

/* kernel_dot_long.c: a loop behind the product is faster; `rows` of a round */
bool dot_epilogue_is_long(const struct graph *body, int rows, const struct chip *chip);

/* kernel_dot_order.c: its operations in the order in which they need the fewest registers */
void dot_epilogue_order(struct dot_epilogue *x, bool *is_edge, struct arena *a);
#endif
