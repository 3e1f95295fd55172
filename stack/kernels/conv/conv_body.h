/*
 * What a body with a convolution is made of: the convolution, the operands that
 * are its input and kernel, those that its epilogue reads, the results, sums per
 * feature among them; and what its input and kernel are made of, where they are no operands.
 */
#ifndef STACK_CONV_BODY_H
#define STACK_CONV_BODY_H
#include "base/err.h"
#include "stack/kernels/conv/conv_impl.h"

enum conv_extra_kind {
    EXTRA_FULL,                         /* of the result's shape */
    EXTRA_FEATURES,                     /* one value per output feature */
    EXTRA_SCALAR
};
struct conv_extra { enum conv_extra_kind kind; int operand; int node; };

/* of CONV_LHS or CONV_RHS; full: of its shape; features: one value per index of dimension `dim` */
struct conv_maker { enum conv_role role; enum conv_extra_kind kind; int operand, node, dim; };

/*
 * Results are of the convolution's dimensions, or have one value per feature: a *total*, the sum
 * over all other dimensions, or what is computed of such.
 */
struct conv_body {
    const struct graph *graph;
    int conv;                           /* node */
    int lhs, rhs;                       /* operands of the kernel */
    int extra_count, out_count, total_count;
    struct conv_extra extra[CONV_EXTRA_MAX];
    bool is_of_features[CONV_OUT_MAX];  /* by result: one value per feature */
    int total[CONV_TOTALS_MAX];         /* nodes: reductions */

    /* by role: the input (the kernel) is computed, elementwise, this node of these operands, of
       which `lhs` (`rhs`) is the first that is full; else NODE_NONE. The result that is the input,
       or -1 */
    int made[CONV_RESULT], made_out, maker_count;
    struct conv_maker maker[CONV_MAKERS_MAX];
};

/* -1: more than one convolution, or a part that the epilogue cannot make */
int conv_body_of(const struct graph *g, struct conv_body *b, struct err *e);

/* by node of the body: what the input, or the kernel, is made of, but for leaves */
void conv_body_makers(const struct conv_body *b, enum conv_role role, bool *is_maker);

/* conv_windows.c: of a plan whose block and grid are set */
void conv_make_windows(struct conv_plan *p, const struct conv_body *b);

/* conv_make.c: whether what the input is made of lies like it; it can leave as a result */
int conv_check_made_shape(const struct conv_shape *s, const struct conv_body *b, struct err *e);
int conv_check_makers(const struct conv_plan *p, const struct conv_body *b, struct err *e);
int conv_check_made(const struct conv_plan *p, struct err *e);
#endif
