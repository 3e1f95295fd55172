/*
 * Narrow types in wider ones: a value is kept as itself, so an operation is that of the wider type
 * and its result is then made one that the narrow type has.
 */
#ifndef EXPAND_NARROW_H
#define EXPAND_NARROW_H
#include "import/types/repr.h"

int narrow_elementwise(struct expand_site *s);
/* x, a result in the wider type, as e has it: integers wrap around, floats are rounded */
int narrow_keep(struct hlo_builder *b, int x, enum hlo_element e);
/* an f32 with so many bits of exponent and mantissa, as reduce-precision rounds it */
int narrow_reduce_precision(struct hlo_builder *b, int x, int exponent_bits, int mantissa_bits);
/* the bits of a narrow value in a u32, and back in the form of e */
int narrow_to_bits(struct hlo_builder *b, int x, enum hlo_element e);
int narrow_from_bits(struct hlo_builder *b, int bits, enum hlo_element e);
#endif
