/*
 * The host reference interpreter: slow and obvious, for checks and as the
 * strategy without a TPU. Products of two matrices by OpenBLAS sgemm in f32, other dots and
 * convolutions by dgemm; everything else in double, rounded to the node's type after each
 * operation.
 *
 * Several devices run one graph in step, node by node, each with inputs of its own: the reference
 * for everything parallel. Sums go by rank, ((x0 + x1) + x2) + .., rounded to the type after each
 * addition; the machine's algorithms add in other orders (docs/collectives.md). With one device
 * an all-reduce without groups is the identity.
 */
#ifndef STACK_INTERP_H
#define STACK_INTERP_H
#include "stack/hlo/graph.h"

enum interp_dot {
    INTERP_DOT_F32,                     /* operands as they are, as with precision=highest */
    INTERP_DOT_BF16,                    /* f32 ones rounded to bf16 where precision is default */
    INTERP_WIDE                         /* f32 and bf16 values are doubles, never rounded */
};

/*
 * Values are dense row-major arrays, one 4-byte element per value: float for
 * f32 and bf16, int32_t for s32 and s8, uint32_t for u32 and u8, 0/1 int32_t for pred. With
 * INTERP_WIDE, f32 and bf16 values are 8-byte doubles, parameters and outputs too.
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

/*
 * The same on devices 0..device_count - 1: input[device][parameter], output[device][output].
 * -1 also where groups or pairs are of other devices.
 */
int interp_run_devices(const struct graph *g, enum interp_dot dot, int device_count,
                       const struct interp_value *const *input, struct interp_value *const *output,
                       struct arena *a, struct err *e);
#endif
