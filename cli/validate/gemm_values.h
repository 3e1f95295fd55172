/*
 * systole gemm: the values of its matrices. They go to all devices that share the product, each
 * with its share of the rows of A and all of B, and the result is held against OpenBLAS.
 */
#ifndef CLI_GEMM_VALUES_H
#define CLI_GEMM_VALUES_H
#include "cli/operation/op_run.h"
#include "cli/validate/gemm_check.h"

struct gemm_values {
    const char *a, *b, *c;              /* .npy of f32; NULL: random; nothing is written */
    int64_t seed;
    int64_t share;                      /* rows of a device */
    bool is_result_bf16;
    struct gemm_operands x;             /* sizes are given, values made */
    float *rows;                        /* of a device */
};

/* The values of A and B, in `a`. -1: files that do not fit, or too large for the host. */
int gemm_values_make(struct gemm_values *v, struct arena *a, struct err *e);

/* for op_run; user is a struct gemm_values */
int gemm_values_write(void *user, const struct loaded_device *d, struct err *e);
int gemm_values_read(void *user, const struct loaded_device *d, struct err *e);
/* writes C where that is asked for, and prints how far it is from OpenBLAS's */
int gemm_values_check(struct gemm_values *v, const struct chip *chip, struct arena *a,
                      struct err *e);
#endif
