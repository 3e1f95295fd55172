/* Products of matrices of any lane: C (m x n) = A (m x k) B (k x n), row-major and dense. */
#ifndef IMPORT_EVAL_GEMM_H
#define IMPORT_EVAL_GEMM_H
#include "import/lanes/lane.h"

/* of integers modulo their width. Sizes below 2^31. */
void gemm(enum lane l, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c);
/* the type that operands of these types are converted to, so that their product becomes `to` */
enum hlo_element gemm_element(enum hlo_element to, enum hlo_element a, enum hlo_element b);
#endif
