/*
 * Numbers of 64 bits as the sum of two f32: part 0 is the nearest f32, part 1 what is missing, so
 * that about 48 bits are kept and the exponents are those of f32.
 */
#ifndef EXPAND_DOUBLE_H
#define EXPAND_DOUBLE_H
#include "import/types/repr.h"

/* any operation of elements on f64 */
int double_elementwise(struct expand_site *s);
struct repr_value double_add(struct hlo_builder *b, struct repr_value x, struct repr_value y);
struct repr_value double_multiply(struct hlo_builder *b, struct repr_value x, struct repr_value y);
struct repr_value double_from_words(struct hlo_builder *b, struct repr_value x, bool is_signed);
struct repr_value double_to_words(struct hlo_builder *b, struct repr_value x, bool is_signed);
/* the 64 bits of a number; beyond the range of f32 it is infinite or zero */
struct repr_value double_from_bits(struct hlo_builder *b, struct repr_value words);
#endif
