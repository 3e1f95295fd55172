/*
 * Declares the losses of rows by family; private to loss*.c. All return f32 without the last
 * dimension.
 */
#ifndef KERAS_LOSS_IMPL_H
#define KERAS_LOSS_IMPL_H
#include "keras/loss/loss.h"

#define LOSS_EPSILON 1e-7               /* Keras's backend.epsilon() */
#define HUGE_BOUND 1e300                /* none */

int loss_sparse(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction);
int loss_categorical(struct graph *g, const struct loss *l, int y,
                     const struct model_result *prediction);
int loss_binary(struct graph *g, const struct loss *l, int y,
                const struct model_result *prediction);
int loss_regression(struct graph *g, const struct loss *l, int y, int p);

int loss_mean_last(struct graph *g, int x);
int loss_sum_last(struct graph *g, int x);
/* one value per row in each element of it */
int loss_spread_last(struct graph *g, int rows, int like);
/* high at or above HUGE_BOUND: no bound there */
int loss_clip(struct graph *g, int x, double low, double high);
#endif
