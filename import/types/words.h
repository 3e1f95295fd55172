/*
 * Integers of 64 bits as two arrays of u32: part 0 is the low word, part 1 the high one. Signed and
 * unsigned ones are the same bits; where they differ a function is told which.
 */
#ifndef EXPAND_WORDS_H
#define EXPAND_WORDS_H
#include "import/types/repr.h"

static inline struct repr_value words_make(int low, int high)
{
    return (struct repr_value){.count = 2, .part = {low, high}};
}

/* any operation of elements on 64-bit operands */
int words_elementwise(struct expand_site *s);

struct repr_value words_constant(struct hlo_builder *b, int like, uint64_t value);
struct repr_value words_select(struct hlo_builder *b, int pred, struct repr_value x,
                               struct repr_value y);
struct repr_value words_add(struct hlo_builder *b, struct repr_value x, struct repr_value y);
struct repr_value words_subtract(struct hlo_builder *b, struct repr_value x, struct repr_value y);
struct repr_value words_negate(struct hlo_builder *b, struct repr_value x);
struct repr_value words_multiply(struct hlo_builder *b, struct repr_value x, struct repr_value y);
int words_compare(struct hlo_builder *b, enum hlo_direction d, struct repr_value x,
                  struct repr_value y, bool is_signed);
/* op: SHIFT_LEFT, SHIFT_RIGHT_LOGICAL, SHIFT_RIGHT_ARITHMETIC; by 64 or more: all bits out */
struct repr_value words_shift(struct hlo_builder *b, enum hlo_opcode op, struct repr_value x,
                              struct repr_value count);
/* by 0 to 63 that is known */
struct repr_value words_shift_left(struct hlo_builder *b, struct repr_value x, int count);
/* truncated; by zero: quotient all ones, remainder x */
void words_divide(struct hlo_builder *b, struct repr_value x, struct repr_value y, bool is_signed,
                  struct repr_value *quotient, struct repr_value *remainder);
int words_is_negative(struct hlo_builder *b, struct repr_value x);      /* as signed: a pred */
struct repr_value words_abs(struct hlo_builder *b, struct repr_value x);
int words_leading_zeros(struct hlo_builder *b, struct repr_value x);    /* u32 */

/* s32, at least -1 and at most 2^30: an index as far as one can mean anything */
int words_index(struct hlo_builder *b, struct repr_value x, bool is_signed);
/* nearest f32, ties to even */
int words_to_f32(struct hlo_builder *b, struct repr_value x, bool is_signed);
/* towards zero, the nearest end of the range beyond it, 0 of NaN */
struct repr_value words_from_f32(struct hlo_builder *b, int x, bool is_signed);
struct repr_value words_from_32(struct hlo_builder *b, int x);         /* s32, u32 */
#endif
