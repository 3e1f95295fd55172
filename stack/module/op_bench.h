/*
 * One product of given blocks on one simulated core, in timing mode: a Pallas
 * kernel. Operands and result lie in HBM, and every step fetches its boxes.
 */
#ifndef STACK_OP_BENCH_H
#define STACK_OP_BENCH_H
#include "stack/kernels/pipeline/kernel.h"

/*
 * Cycles of C[m][n] = A[m][k] x B[k][n] in bf16 with --codegen best, cut into the blocks of
 * `tiling` (rows, k, columns). -1: the kernel refuses, does not fit, or faults.
 */
int op_bench_dot(int64_t m, int64_t k, int64_t n, const struct chip *chip,
                 const struct tiling *tiling, int64_t *cycles, struct err *e);

/*
 * The program of such a product with the tiling that costs least. Its operands and then its
 * result lie in HBM from 0 on; *operand_bytes, unless NULL, is what the operands take.
 */
int op_bench_program(int64_t m, int64_t k, int64_t n, const struct chip *chip, struct arena *a,
                     struct isa_program *out, int64_t *operand_bytes, struct err *e);
#endif
