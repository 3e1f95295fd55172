/*
 * What a body with a convolution is made of: the convolution, the operands that
 * are its input and kernel, those that its epilogue reads, the results, sums per
 * feature among them.
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
};

/* -1: more than one convolution, or a part that the epilogue cannot make */
int conv_body_of(const struct graph *g, struct conv_body *b, struct err *e);

/* conv_windows.c: of a plan whose block and grid are set */
void conv_make_windows(struct conv_plan *p, const struct conv_body *b);
#endif
