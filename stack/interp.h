/*
 * The host reference interpreter: slow and obvious, for checks and as the
 * strategy without a TPU. Dots by OpenBLAS sgemm in f32; everything else in
 * double, rounded to the node's type after each operation. All-reduce is the
 * identity: the interpreter runs the whole global batch in one piece.
 */
#ifndef STACK_INTERP_H
#define STACK_INTERP_H
#include "stack/graph.h"

enum interp_dot {
    INTERP_DOT_F32,                     /* operands as they are, as with precision=highest */
    INTERP_DOT_BF16                     /* rounded to bf16 where the dot's precision is default */
};

/*
 * Values are dense row-major arrays, one 4-byte element per value: float for
 * f32 and bf16, int32_t for s32, 0/1 int32_t for pred.
 */
struct interp_value {
    void *data;
};

/*
 * Evaluate `g` on parameter values input[parameter_count]; output[output_count]
 * arrays are allocated from `a`. -1 for a matrix too large for BLAS's int.
 */
int interp_run(const struct graph *g, enum interp_dot dot, const struct interp_value *input,
               struct interp_value *output, struct arena *a, struct err *e);
#endif
