/*
 * Inside the kernel of products: vectors of bf16 that the rounds of the last pass spread along the
 * rows. Two tiles of such a vector share a row of words, so each step unpacks all of it into rows
 * of f32 first, 16 tiles at a time, which the rounds load as they load a vector of f32.
 */
#ifndef STACK_KERNEL_DOT_COLUMNS_H
#define STACK_KERNEL_DOT_COLUMNS_H
#include "stack/kernels/dot/kernel_dot_grid.h"

/* gives each such vector of the epilogue rows of the pipeline's scratch */
void dot_columns_place(struct dot_grid *g);

/* behind pipeline_begin: VMEM row of a vector's first tile, as the rounds load it */
int64_t dot_columns_row(const struct dot_grid *g, int extra);

/* code into `c` that unpacks them all */
void dot_columns_unpack(const struct dot_grid *g, struct vcode *c);
#endif
