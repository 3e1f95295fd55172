/*
 * The tables of the SIMD paths, for simd.c; NULL where the compiler's target
 * does not have the instructions. Whether the host has them is simd.c's matter.
 */
#ifndef SIM_SIMD_PATHS_H
#define SIM_SIMD_PATHS_H
#include "sim/lanes/simd.h"

extern const struct simd_path *const simd_path_c;
extern const struct simd_path *const simd_path_avx2;
extern const struct simd_path *const simd_path_avx512;
extern const struct simd_path *const simd_path_avx512bf16;

/* NULL when `path` computes what the plain path does, else the operation that differs */
const char *simd_selftest(const struct simd_path *path);
#endif
