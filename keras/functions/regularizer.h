/*
 * Regularisers: l1 sum |x| + l2 sum x^2, Keras's L1, L2 and L1L2 (standard factors 0.01), and
 * OrthogonalRegularizer; beside them what else a layer says of a weight, its constraint.
 */
#ifndef KERAS_REGULARIZER_H
#define KERAS_REGULARIZER_H
#include "keras/functions/constraint.h"

struct regularizer {
    double l1, l2;                      /* both 0: none */
    /* the mean over pairs of a matrix's rows (or its columns) of how alike they are; 0: none */
    double orthogonal, by_columns;
    struct constraint constraint;       /* of what the weight becomes behind each update */
};

bool regularizer_is_none(const struct regularizer *r);
/* "l2", or {"class_name": "L2", "config": {"l2": 0.01}}; the constraint stays */
int regularizer_from_json(struct regularizer *r, const json_t *v, struct err *e);
/* an f32 scalar; `r` must not be none; an orthogonal one is of matrices (asserted) */
int regularizer_sum(struct graph *g, const struct regularizer *r, int x);
#endif
