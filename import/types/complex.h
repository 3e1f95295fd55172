/* Complex numbers as two arrays of f32: part 0 is the real, part 1 the imaginary one. */
#ifndef EXPAND_COMPLEX_H
#define EXPAND_COMPLEX_H
#include "import/types/repr.h"

static inline struct repr_value complex_make(int real, int imaginary)
{
    return (struct repr_value){.count = 2, .part = {real, imaginary}};
}

/* any operation of elements with complex operands or result */
int complex_elementwise(struct expand_site *s);

struct repr_value complex_multiply(struct hlo_builder *b, struct repr_value x, struct repr_value y);
struct repr_value complex_divide(struct hlo_builder *b, struct repr_value x, struct repr_value y);
int complex_abs(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_exp(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_log(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_log1p(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_sqrt(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_rsqrt(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_power(struct hlo_builder *b, struct repr_value x, struct repr_value y);
struct repr_value complex_expm1(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_sine(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_cosine(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_tanh(struct hlo_builder *b, struct repr_value x);
struct repr_value complex_sign(struct hlo_builder *b, struct repr_value x);
#endif
