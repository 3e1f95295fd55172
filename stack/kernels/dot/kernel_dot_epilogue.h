/*
 * Private to the kernel of products: makes what is computed of results, as operations of a round.
 */
#ifndef STACK_KERNEL_DOT_EPILOGUE_H
#define STACK_KERNEL_DOT_EPILOGUE_H
#include "stack/kernels/dot/kernel_dot_grid.h"

/* -1: something in the body that cannot be computed in the place of a result */
int dot_epilogue_make(struct dot_epilogue *x, struct dot_grid *g, struct arena *a,
                      struct err *e);
#endif
