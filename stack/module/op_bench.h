/* One product as a program of its own: what benchmarks of the simulator run. */
#ifndef STACK_OP_BENCH_H
#define STACK_OP_BENCH_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include "sim/chip/chip.h"

/*
 * The program of C[m][n] = A[m][k] x B[k][n] in bf16, --codegen best, with the tiling that costs
 * least. Its operands and then its
 * result lie in HBM from 0 on; *operand_bytes, unless NULL, is what the operands take.
 */
int op_bench_program(int64_t m, int64_t k, int64_t n, const struct chip *chip, struct arena *a,
                     struct isa_program *out, int64_t *operand_bytes, struct err *e);
#endif
