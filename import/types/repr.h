/*
 * Programs in the forms of struct expand_leaf: arrays as their parts, operation by operation.
 *
 * An array of one part is that part, one of several a tuple of them, in parameters, results, loop
 * states and calls alike. Moving data moves each part; arithmetic is that of the form (words.h,
 * complex.h, narrow.h, double.h); regions of scalars take parts as scalars behind each other.
 */
#ifndef EXPAND_REPR_H
#define EXPAND_REPR_H
#include "import/expand/expand.h"
#include "import/expand/site.h"

#define REPR_PARTS_MAX 4

struct repr_value {
    int count;
    int part[REPR_PARTS_MAX];
};

/* the pass: forms for all elements that the compiler does not know */
int repr_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                 struct err *e);

enum expand_form repr_form(enum hlo_element e);
/* the type that stands for another, tuples in depth */
struct hlo_type repr_type(struct arena *a, const struct hlo_type *t);
bool repr_is_same(const struct hlo_type *t);

/* parts of what stands for an array of element e, and the other way */
struct repr_value repr_take(struct hlo_builder *b, enum hlo_element e, int x);
int repr_make(struct hlo_builder *b, struct repr_value v);
/* those of the site's operand */
struct repr_value repr_operand(struct expand_site *s, int operand);
/* an integer of any form as s32 that an index is: what s32 does not hold is clamped */
int repr_index(struct expand_site *s, int operand);

/* by their ranges (int_ranges.h), s32 has all values of the operand, and of the site's instruction */
bool repr_fits(const struct expand_site *s, int operand);
bool repr_result_fits(const struct expand_site *s);

/* operations by kind; each returns as expand_function does */
int repr_move(struct expand_site *s);           /* data that only moves: part by part */
int repr_region(struct expand_site *s);         /* with computations of scalars */
int repr_elementwise(struct expand_site *s);
int repr_constant(struct expand_site *s);
int repr_iota(struct expand_site *s);
int repr_convert(struct expand_site *s);
int repr_bitcast(struct expand_site *s);
int repr_product(struct expand_site *s);        /* dot, convolution */
int repr_kernel(struct expand_site *s);         /* a kernel of Pallas */
/* `from` with these operands and the type that stands for its own */
int repr_copy(struct expand_site *s);

/* a value of element `from` as element `to`: convert's rule */
struct repr_value repr_convert_value(struct hlo_builder *b, struct repr_value v,
                                     enum hlo_element from, enum hlo_element to);
#endif
