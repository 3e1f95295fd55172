/*
 * Regularisers: l1 sum |x| + l2 sum x^2, Keras's L1, L2 and L1L2 (standard factors 0.01).
 */
#ifndef KERAS_REGULARIZER_H
#define KERAS_REGULARIZER_H
#include "stack/hlo/graph.h"

struct regularizer {
    double l1, l2;                      /* both 0: none */
};

bool regularizer_is_none(const struct regularizer *r);
/* an f32 scalar; `r` must not be none */
int regularizer_sum(struct graph *g, const struct regularizer *r, int x);
#endif
