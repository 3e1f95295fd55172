/*
 * A kernel as a string of bytes: equal for kernels that nobody can tell apart, different for others.
 * All that a kernel says goes in, names and lines of its source too. It is no file format.
 *
 * Elements of operands that the program says (mosaic_kernel.known) do not: they are the call's, as
 * constants of the graph around (stack/hlo/graph_key.h). Which there are is said here.
 */
#ifndef STACK_MOSAIC_KEY_H
#define STACK_MOSAIC_KEY_H
#include "base/archive.h"
#include "stack/mosaic/mosaic.h"

/* appends to `key` */
void mosaic_key(const struct mosaic_kernel *k, struct bytes *key);
#endif
