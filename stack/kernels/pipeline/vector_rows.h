/*
 * Vectors of bf16 that products and convolutions spread along rows. Two tiles of 128 elements share
 * a row of words, so each step unpacks the whole vector, as it lies in VMEM, into rows of f32
 * first, 16 tiles at a time; from there they are loaded as those of a vector of f32 are.
 */
#ifndef STACK_VECTOR_ROWS_H
#define STACK_VECTOR_ROWS_H
#include "stack/backend/vcode.h"
#include "stack/hlo/array.h"

/* rows of VMEM that array `a` takes when it is unpacked: 0, it is no such vector */
int64_t vector_rows(const struct array *a);

/* code that unpacks it, row `from` on, to row `to` and those behind it */
void vector_rows_unpack(const struct array *a, int64_t from, int64_t to, struct vcode *c);
#endif
