/*
 * Dot products the way mxu.sum = quad4 adds them (docs/numerics.md): exact
 * sums of four products, each rounded once to f32, added one after the other.
 * Plain C, the same on every host, about a hundred times slower than the chain
 * of a SIMD path.
 */
#ifndef SIM_QUAD4_H
#define SIM_QUAD4_H
#include "sim/lanes/simd.h"

simd_matmul_fn quad4_matmul;

/* the exact sum of four products of bf16 values, rounded once by the rules for f32 */
float quad4_sum(const double product[4]);
#endif
