/* Holds the result of systole gemm against OpenBLAS. */
#ifndef CLI_GEMM_CHECK_H
#define CLI_GEMM_CHECK_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* dense, row-major; the operands are values of bf16 */
struct gemm_operands {
    int64_t m, n, k;
    float *a, *b, *c;
};

/*
 * Prints how far C, of units with `array` rows, is from sgemm's, as a share of what both may err.
 * -1 when an element is beyond that: docs/gemm.md derives the bound.
 */
int gemm_check(const struct gemm_operands *x, int64_t array, bool is_result_bf16, struct arena *a,
               struct err *e);
#endif
