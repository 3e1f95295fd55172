/*
 * How a product of f32 matrices is made of bf16 products: docs/numerics.md,
 * "f32 products".
 *
 * The matrix unit rounds its operands to bf16. A higher precision splits each
 * operand into parts, x = hi + mid + lo, and multiplies some pairs of parts, a
 * pass each. A pass runs over the whole contraction before the next begins; all
 * are added into one f32 result, smallest products first.
 *
 * Not here: the programs (stack/kernels/dot/kernel_dot_prepare.c).
 */
#ifndef STACK_PRECISION_H
#define STACK_PRECISION_H
#include "stack/hlo/graph.h"

/*
 * The parts of x as programs make them: hi = bf16(x), mid = bf16(x - hi),
 * lo = bf16(x - hi - mid), by the rules of the vector unit. They add up to x
 * exactly from |x| = 2^-103 to below 2^128 - 2^119; below, to within 2^-126.
 */
enum precision_part { PART_HI, PART_MID, PART_LO, PART_COUNT };

struct precision_pass {
    enum precision_part lhs, rhs;
};

struct precision_passes {
    int part_count;                     /* parts of each operand that some pass needs */
    int pass_count;
    const struct precision_pass *pass;  /* in the order of their addition */
    double dropped;                     /* what is left out: at most this times sum |a||b| */
};

const struct precision_passes *precision_passes(enum graph_precision precision);

/*
 * The bound on |result - exact| / sum |a||b| for f32 operands with a
 * contraction of `length` in blocks of `block_length` (the array's rows), away
 * from overflow and underflow.
 */
double precision_error_bound(enum graph_precision precision, int64_t length,
                             int64_t block_length);
#endif
