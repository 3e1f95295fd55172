/*
 * Operations that code is not made of, as others of which it is: several reductions for one over
 * several dimensions, products of bf16 for exact products of f32, the bodies of functions for their
 * calls.
 */
#ifndef STACK_KERNELS_MOSAIC_EXPAND_H
#define STACK_KERNELS_MOSAIC_EXPAND_H
#include "sim/chip/chip.h"
#include "stack/mosaic/mosaic.h"

/* The kernel itself where there are none; else one in the arena, whose operations have the numbers and
 * lines of those that they stand for. NULL: failed. */
const struct mosaic_kernel *expand_kernel(const struct mosaic_kernel *k, const struct chip *chip,
                                          struct arena *a, struct err *e);
#endif
