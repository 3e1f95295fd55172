/*
 * Which operand of a product is copied into vector memory before its kernel.
 *
 * XLA is seen to do so on chips with a large vector memory (docs/accuracy.md):
 * the largest operand that fits what windows and other scratch leave is copied
 * as a whole; copy and product run one after the other unless something else
 * runs in between. A product of one row streams its matrix.
 */
#ifndef STACK_DOT_RESIDENCY_H
#define STACK_DOT_RESIDENCY_H
#include "stack/kernel.h"

/* of VMEM, kept for windows and scratch of kernels */
#define DOT_RESIDENCY_KEPT_BYTES (32 * 1024 * 1024)

/* what arrays may take of a chip's VMEM altogether; 0: nothing is copied ahead on this chip */
int64_t dot_residency_bytes(const struct chip *chip);

/*
 * The operand of `job`, whose operands lie in HBM, that is worth it, or -1. `free_bytes` of VMEM
 * are left for it, at most dot_residency_bytes.
 */
int dot_residency(const struct kernel_job *job, int64_t free_bytes);
#endif
