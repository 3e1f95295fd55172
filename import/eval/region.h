/*
 * Computations of scalars, as reduce, sort, scatter and others call them for each element: compiled
 * into a list of operations on registers, each of which holds a block of elements, so that many
 * independent calls go at once. A computation that is not of scalars alone is evaluated call by
 * call.
 */
#ifndef IMPORT_EVAL_REGION_H
#define IMPORT_EVAL_REGION_H
#include "import/eval/eval_impl.h"

/* the computation's; made at its first use, belongs to the evaluation */
struct region *region_of(struct eval *ev, int computation);

/*
 * n calls. in[p]: n elements of parameter p's type; out[r]: of result r's (a tuple's leaves). An
 * `out` may be an `in` of the same type. -1 with the error set.
 */
int region_run(struct call *c, struct region *r, int64_t n, const void *const *in,
               void *const *out);

/* the operation of its two parameters that it is, where the order of the two means nothing;
 * OPCODE_COUNT where it is something else */
enum hlo_opcode region_operation(const struct region *r);
/*
 * A comparison of two parameters 2p and 2p + 1, each seen through the same function: *pair is p,
 * then how what they become is compared. False where it is something else.
 */
bool region_comparison(const struct region *r, int *pair, enum hlo_element *e,
                       enum hlo_direction *d, bool *is_total);
/* what n values of that parameter become, as values of the lane of *e */
void region_keys(struct region *r, int pair, int64_t n, const void *in, void *to);
/* is result k parameter number k + results, unchanged? */
bool region_is_second(const struct region *r);

/*
 * A region of operations that a caller puts together: inputs are instructions of `c`, each of its
 * type's elements; what the others give is a register, -1 where the operation is none of elements.
 */
struct region_builder;
struct region_builder *region_begin(struct eval *ev, const struct hlo_computation *c,
                                    const int *input, int input_count, int64_t block);
int region_input(const struct region_builder *b, int instruction);
int region_constant(struct region_builder *b, const struct hlo_instruction *i);  /* of one number */
int region_operation_of(struct region_builder *b, const struct hlo_instruction *i,
                        const int *from);
void region_output(struct region_builder *b, int reg, enum hlo_element e);
/* NULL: an output is of another type. `block`: so many elements go through it at once, at most. */
struct region *region_end(struct region_builder *b);
#endif
