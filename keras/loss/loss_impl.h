/*
 * Declares the losses by family; private to loss*.c. Losses of rows return f32 without the last
 * dimension, over which they go.
 */
#ifndef KERAS_LOSS_IMPL_H
#define KERAS_LOSS_IMPL_H
#include "keras/loss/loss.h"

#define LOSS_EPSILON 1e-7               /* Keras's backend.epsilon() */
#define HUGE_BOUND 1e300                /* none */

/* y of 0 to 1 moved towards `even` by the smoothing, f32 */
int loss_smooth(struct graph *g, const struct loss *l, int y, double even);
/* x to the power; exactly of 0, 1 and 2 */
int loss_power(struct graph *g, int x, double power);
/* 1 where the last dimension's index is the row's label, f32 in the shape of `like` */
int loss_one_hot(struct graph *g, int labels, int like);

int loss_sparse(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction);
int loss_categorical(struct graph *g, const struct loss *l, int y,
                     const struct model_result *prediction);
int loss_binary(struct graph *g, const struct loss *l, int y,
                const struct model_result *prediction);
int loss_focal_binary(struct graph *g, const struct loss *l, int y, int p);
int loss_focal_categorical(struct graph *g, const struct loss *l, int y, int p);
int loss_generalized(struct graph *g, const struct loss *l, int labels, int p);
int loss_regression(struct graph *g, const struct loss *l, int y, int p);

/* over a batch: [batch]; `there` f32 [batch]: 0 for samples that are left out, or NODE_NONE */
int loss_overlap(struct graph *g, const struct loss *l, int y, int p, int there);
int loss_circle(struct graph *g, const struct loss *l, int labels, int p, int there);
/* of sequences: [batch] */
int loss_ctc(struct graph *g, int labels, int p);

int loss_mean_last(struct graph *g, int x);
int loss_sum_last(struct graph *g, int x);
/* one value per row in each element of it */
int loss_spread_last(struct graph *g, int rows, int like);
/* high at or above HUGE_BOUND: no bound there */
/* one value per sample in each element of it */
int loss_spread_first(struct graph *g, int samples, int like);
int loss_clip(struct graph *g, int x, double low, double high);
#endif
