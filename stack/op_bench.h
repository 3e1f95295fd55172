/*
 * One operation on one simulated core, in timing mode: what it takes as a
 * program by itself, its launch with it, as device traces of one have it.
 * Operands and results lie in HBM.
 */
#ifndef STACK_OP_BENCH_H
#define STACK_OP_BENCH_H
#include "stack/kernel.h"

struct op_bench {
    int64_t cycles;                     /* of the core */
    double ns;                          /* with launch.program_ns */
    int resident;                       /* operand copied into VMEM first, -1: none */
    int64_t resident_bytes;
    struct tiling tiling;
    struct kernel_cost cost;
    uint32_t bundles;
};

/*
 * C[m][n] = A[m][k] x B[k][n], operands and result of `dtype`; `tiling` NULL: the compiler's.
 * -1: the kernel refuses, does not fit, or faults.
 */
int op_bench_dot(int64_t m, int64_t k, int64_t n, enum graph_dtype dtype,
                 const struct chip *chip, enum codegen codegen, const struct tiling *tiling,
                 struct op_bench *out, struct err *e);
#endif
