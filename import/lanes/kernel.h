/*
 * Loops over elements of a lane: one function for each operation and lane. Operands that an
 * operation does not have are not read. The result may take an operand's place if its elements are
 * as large.
 */
#ifndef IMPORT_EVAL_KERNEL_H
#define IMPORT_EVAL_KERNEL_H
#include "import/lanes/lane.h"

typedef void (*kernel)(void *to, const void *a, const void *b, const void *c, int64_t n);

/* by the lane of the first operand; NULL where the operation has no such element. The result's
 * lane is the operand's, but: compare, is-finite, is-inf.. give pred; abs, real, imag of complex
 * numbers their parts' type; complex takes two arrays of parts. */
kernel kernel_of(enum hlo_opcode op, enum lane l);
kernel kernel_compare(enum hlo_direction d, bool is_total, enum lane l);
/* a: pred, b where it holds, c where not; elements of 1, 2, 4, 8 or 16 bytes */
kernel kernel_select(size_t element_bytes);
/* x's float rounded to this many bits of exponent and mantissa, in place; of a float lane */
void kernel_reduce_precision(enum lane l, void *x, int exponent_bits, int mantissa_bits, int64_t n);

/* tables of the parts (kernel_integer.c, ..) */
kernel kernel_integer(enum hlo_opcode op, enum lane l);
kernel kernel_float(enum hlo_opcode op, enum lane l);
kernel kernel_math(enum hlo_opcode op, enum lane l);
kernel kernel_complex(enum hlo_opcode op, enum lane l);

#define KERNEL_UNARY(name, T, R, value) \
    static void name(void *to, const void *a, const void *b, const void *c, int64_t n) \
    { \
        const T *x = a; \
        R *z = to; \
        (void)b; \
        (void)c; \
        LANE_IVDEP \
        for (int64_t i = 0; i < n; i++) \
            z[i] = (R)(value); \
    }
#define KERNEL_BINARY(name, T, R, value) \
    static void name(void *to, const void *a, const void *b, const void *c, int64_t n) \
    { \
        const T *x = a, *y = b; \
        R *z = to; \
        (void)c; \
        LANE_IVDEP \
        for (int64_t i = 0; i < n; i++) \
            z[i] = (R)(value); \
    }
#endif
