/*
 * Losses: a number per sample, and their mean over the global batch.
 *
 * Everything is computed in f32. What goes over the samples of a batch together (Dice, Tversky,
 * Circle, the rows that ignore_class leaves) goes over those of one replica that are there. Where a
 * model ends in softmax or sigmoid, cross-entropies work on what these are of, as Keras does on
 * TensorFlow: the same value, without losing digits in probabilities. Other probabilities are
 * clipped to 1e-7..1 - 1e-7. Steps that the prediction's mask leaves out count nothing, and a mean is
 * of those that are left on the replica. docs/keras.md has them all.
 */
#ifndef KERAS_LOSS_H
#define KERAS_LOSS_H
#include "keras/loss/arguments.h"
#include "keras/model/model.h"

enum loss_kind {
#define LOSS(id, name, class, labels, meaning) LOSS_##id,
#include "keras/loss/losses.def"
    LOSS_COUNT
};

struct loss {
    enum loss_kind kind;
    struct loss_arguments with;              /* from_logits: predictions are logits */
};

struct loss loss_standard(enum loss_kind kind);
/* Keras's name, class name or a short one ("mse"); -1 with the nearest name */
int loss_find(const char *name, enum loss_kind *kind, struct err *e);
const char *loss_name(enum loss_kind kind);
/* what the kinds take, for who reads them */
struct taken_list loss_arguments(void);

/* what a sample's label is for predictions whose samples have this shape */
struct shape loss_label_shape(const struct loss *l, const struct shape *prediction);
/*
 * -1 with both shapes unless labels of this shape fit; shapes are of samples. Sparse labels may
 * have a last dimension of 1 more.
 */
int loss_check(const struct loss *l, const struct shape *label, const struct shape *prediction,
               struct err *e);

/* -1 if the loss of predictions of which some steps are masked is none that can leave them out */
int loss_check_masked(const struct loss *l, const struct shape *prediction, struct err *e);

/*
 * f32 [batch]: of each sample the mean of its rows' losses, or their sum with reduction "sum".
 * `labels` has the batch in front; `there` f32 [batch], or NODE_NONE: samples of 0 only fill up;
 * `weights` likewise, or NODE_NONE for 1: only "mean_with_sample_weight" asks for them here, where
 * rows do not count.
 */
int loss_values(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction, int weights, int there);
/*
 * The loss of each row, [batch, ...]; *counted: f32 likewise, 1 where it counts, by ignore_class and
 * the prediction's mask, or NODE_NONE: all do. Not of losses over a batch.
 */
int loss_rows(struct graph *g, const struct loss *l, int labels,
              const struct model_result *prediction, int *counted);
/* scalar: this replica's sum of value times weight; `weights` f32 [batch], or NODE_NONE for 1 */
int loss_sum(struct graph *g, int values, int weights);
/* what loss_sum takes: with "mean_with_sample_weight" weights have the mean 1 on each replica */
int loss_weights(struct graph *g, const struct loss *l, int weights, int there);
/* the loss is the sum over samples, not their mean */
bool loss_is_sum(const struct loss *l);
#endif
