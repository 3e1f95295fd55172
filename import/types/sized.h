/*
 * Arrays of a bounded size, as in f32[<=12,5]: an array on the bound with an s32 scalar for the size
 * of each bounded dimension beside it, as a tuple. What lies beyond a size may be anything, so who
 * reads across a bounded dimension puts what changes nothing there first.
 */
#ifndef EXPAND_SIZED_H
#define EXPAND_SIZED_H
#include "import/expand/site.h"

#define SIZED_RANK_MAX 16

struct sized {
    int x;                              /* on the bound */
    int size[SIZED_RANK_MAX];           /* s32 scalars; -1: the dimension is whole */
};

/* the pass: no bounded dimensions any more. Where a program has none, a copy */
int sized_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                  struct err *e);

struct hlo_type sized_type(struct arena *a, const struct hlo_type *t);
/* the type on the bound, without sizes */
struct hlo_type sized_bound(struct arena *a, const struct hlo_type *t);
struct sized sized_take(struct hlo_builder *b, const struct hlo_type *t, int x);
/* as a value of type t: sizes that t bounds, the whole dimension where v knows no size */
int sized_make(struct hlo_builder *b, const struct hlo_type *t, struct sized v);
struct sized sized_operand(struct expand_site *s, int operand);
/* an s32 scalar: the size, or the bound of a whole dimension */
int sized_size(struct hlo_builder *b, const struct sized *v, int dim);
/* `value` (a scalar of x's type) beyond the sizes, in these dimensions or, mask NULL, in all */
int sized_fill(struct hlo_builder *b, const struct sized *v, int value, const bool *mask);

/* by computation: the type that its callers have its result in, NULL where nobody calls it */
const struct hlo_type **sized_wanted(const struct hlo_module *m, struct arena *a);
/* x of type `have`, the result of a computation that is wanted in that type (may be NULL) */
int sized_result(struct hlo_builder *b, int x, const struct hlo_type *have,
                 const struct hlo_type *want);
/* the operands of a call, conditional or loop as the computations that take them have them */
const int *sized_operands(struct expand_site *s);

/* operations by kind; each returns as expand_function does */
int sized_move(struct expand_site *s);
int sized_reshape(struct expand_site *s);
int sized_across(struct expand_site *s);        /* reduce, sort, windows, dot, scatter, gather */
/* the operation of `from` on these operands, with its type on the bound */
int sized_apply(struct expand_site *s, const int *operand);
#endif
