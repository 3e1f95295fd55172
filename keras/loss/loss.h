/*
 * Losses: a number per sample, and their mean over the global batch.
 *
 * Everything is computed in f32. Where a model ends in softmax or sigmoid, cross-entropies work
 * on what these are of, as Keras does on TensorFlow: the same value, without losing digits in
 * probabilities. Other probabilities are clipped to 1e-7..1 - 1e-7. docs/keras.md has them all.
 */
#ifndef KERAS_LOSS_H
#define KERAS_LOSS_H
#include "keras/model/model.h"

enum loss_kind {
#define LOSS(id, name, class, labels, delta, meaning) LOSS_##id,
#include "keras/loss/losses.def"
    LOSS_COUNT
};

struct loss {
    enum loss_kind kind;
    bool from_logits;                   /* cross-entropies: predictions are logits */
    double label_smoothing;             /* categorical and binary: 0..1 */
    double delta;                       /* Huber */
};

struct loss loss_standard(enum loss_kind kind);
/* Keras's name, class name or a short one ("mse"); -1 with the nearest name */
int loss_find(const char *name, enum loss_kind *kind, struct err *e);
const char *loss_name(enum loss_kind kind);

/* what a sample's label is for predictions whose samples have this shape */
struct shape loss_label_shape(const struct loss *l, const struct shape *prediction);
/*
 * -1 with both shapes unless labels of this shape fit; shapes are of samples. Sparse labels may
 * have a last dimension of 1 more.
 */
int loss_check(const struct loss *l, const struct shape *label, const struct shape *prediction,
               struct err *e);

/* f32 [batch]: of each sample the mean of its rows' losses. `labels` has the batch in front. */
int loss_values(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction);
/* scalar: this replica's sum of value times weight; `weights` f32 [batch], or NODE_NONE for 1 */
int loss_sum(struct graph *g, int values, int weights);
#endif
