/* The parts of mosaic_verify. */
#ifndef STACK_MOSAIC_VERIFY_IMPL_H
#define STACK_MOSAIC_VERIFY_IMPL_H
#include "stack/mosaic/mosaic.h"

int mosaic_verify_vector(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e);
int mosaic_verify_memory(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e);
#endif
