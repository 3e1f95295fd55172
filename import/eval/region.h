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
#endif
