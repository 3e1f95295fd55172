/* Elementwise operations on blocks of elements: the kernel, with its type's widening and rounding
 * around it. */
#ifndef IMPORT_EVAL_APPLY_H
#define IMPORT_EVAL_APPLY_H
#include "import/lanes/kernel.h"

enum { APPLY_BLOCK = 512, APPLY_OPERANDS_MAX = 3 };

/* an elementwise operation, ready to be carried out */
struct apply {
    enum hlo_opcode op;
    kernel k;                           /* NULL: convert, bitcast-convert, reduce-precision, .. */
    int operand_count;
    enum hlo_element from, to;          /* of operands (of the last ones where the first is pred) */
    int exponent_bits, mantissa_bits;
    enum hlo_direction direction;       /* of a comparison */
    bool is_total;
    size_t from_bytes, to_bytes;        /* of lanes */
    bool is_small, is_rounded;          /* `from` is narrower than its lane; `to` is */
};
bool apply_equal(const struct apply *a, const struct apply *b);

/* false where the operation is none of elements, or has no such element */
bool apply_init(struct apply *a, const struct hlo_instruction *i, enum hlo_element from);
/* the kernel, where it may go over arrays as they are; NULL where elements must be widened first */
kernel apply_kernel(const struct apply *a);
/* on values of lanes */
void apply_wide(const struct apply *a, void *to, const void *const *from, int64_t n);
/* on elements as arrays have them; `to` may be from[k] where elements are as large */
void apply_array(const struct apply *a, void *to, const void *const *from, int64_t n);
#endif
