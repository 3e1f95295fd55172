/* Of include/systole.h: models, losses, metrics and optimizers in a step of one's own. */
#ifndef SYSTOLE_LOOP_H
#define SYSTOLE_LOOP_H
#include <stdbool.h>
#include <stdint.h>
#include "model.h"
#include "status.h"
#include "step.h"
#include "strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Loops of one's own with Keras's parts ----- */

/*
 * A training step as TensorFlow's guide of custom training writes it, for sy_strategy_run; values
 * of a loop are the same bits as sy_model_fit's on the same batches.
 *
 *     static sy_status train_step(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
 *                                 int outputs, void *user)
 *     {
 *         struct loop *l = user;
 *         sy_tensor guess = sy_model_forward(c, l->model, in[0], true);
 *         sy_tensor each = sy_loss(c, "SparseCategoricalCrossentropy()", in[1], guess);
 *
 *         out[0] = sy_average_loss(c, each, GLOBAL_BATCH);
 *         sy_metric_update(c, l->accuracy, &in[1], guess, NULL);
 *         return sy_optimizer_minimize(c, l->optimizer, out[0]);
 *     }
 *
 * Instead of sy_model_compile: adds the model's variables to the strategy, no loss, no optimizer.
 * policy and precision are sy_compile's. Several models may be built on a strategy, whose layers
 * need names that differ. SY_ERROR: a layer's name is taken; the strategy has pipeline stages.
 */
sy_status sy_model_build(sy_model *m, const char *policy, const char *precision);
/*
 * Variables of a model that is built or compiled, layer by layer, the first `most` of them into
 * out[] (NULL: none); returns how many there are. They are what sy_optimizer_create takes, and with
 * sy_read what sy_gradients does.
 */
int sy_model_variables(const sy_model *m, bool trainable_only, sy_variable **out, int most);

/*
 * In a step: what a model of one input and one output makes of [samples, ...]. Training: with
 * dropout, and batch normalisation by the batch, whose averages are assigned. SY_ERROR, as an
 * invalid tensor: it is not built, of another strategy, the input is not what it takes (both shapes
 * are named). A model may be called several times in a step.
 */
sy_tensor sy_model_forward(sy_context *c, const sy_model *m, sy_tensor input, bool training);
/* the same of several inputs and outputs, as many as the model has */
sy_status sy_model_forward_all(sy_context *c, const sy_model *m, const sy_tensor *input,
                               int input_count, bool training, sy_tensor *output,
                               int output_count);
/*
 * Of the model's last call in this step: the sum of its regularisers, an f32 scalar, this replica's
 * share of it (0 without regularisers): to be added to the average loss.
 */
sy_tensor sy_model_losses(sy_context *c, const sy_model *m);

/*
 * In a step: a loss as sy_compile.loss writes it, f32 [samples], reduction none. Of what a softmax
 * or sigmoid at a model's end makes it is computed from its operand, as by fit.
 */
sy_tensor sy_loss(sy_context *c, const char *loss, sy_tensor labels, sy_tensor prediction);
/* their sum / global_batch (the samples of all replicas; 0: as many on each as here): f32 scalar */
sy_tensor sy_average_loss(sy_context *c, sy_tensor each, int64_t global_batch);

/* Belongs to the strategy, which frees it. */
typedef struct sy_metric sy_metric;
/*
 * "SparseCategoricalAccuracy(name='test_accuracy')", "accuracy", "Mean(name='loss')": as
 * sy_compile.metrics; MeanIoU says num_classes. Its sums are variables "NAME/total" and so on, kept
 * by each replica, in checkpoints. SY_ERROR: the name is taken.
 */
sy_status sy_metric_create(sy_strategy *s, const char *metric, sy_metric **out);
/*
 * In a step: labels and predictions with the samples first; weights f32 [samples] or NULL. Mean and
 * Sum take values [samples], or one, and no labels (NULL).
 */
sy_status sy_metric_update(sy_context *c, sy_metric *m, const sy_tensor *labels, sy_tensor value,
                           const sy_tensor *weights);
/* of all replicas, since it was created or reset; 0 of nothing */
sy_status sy_metric_result(const sy_metric *m, double *out);
sy_status sy_metric_reset(sy_metric *m);

/* Belongs to the strategy, which frees it. */
typedef struct sy_optimizer sy_optimizer;
/*
 * "AdamW(1e-3, weight_decay=0.01)", as sy_compile.optimizer, of these trainable variables. Slots
 * are variables "VARIABLE/m"; "iterations" and "learning_rate" have "NAME/" before them if a name
 * is given, which the second optimizer of a strategy needs. SY_ERROR: a name is taken, a variable
 * is another strategy's or not f32.
 */
sy_status sy_optimizer_create(sy_strategy *s, const char *optimizer, const char *name,
                              sy_variable *const *of, int count, sy_optimizer **out);
/*
 * In a step, once: gradient[i] is this replica's of variable i. They are summed over the replicas
 * first, as apply_gradients does, so that the loss is to be divided by the global batch.
 */
sy_status sy_optimizer_apply(sy_context *c, sy_optimizer *o, const sy_tensor *gradient,
                             int count);
/* the same with the derivatives of a scalar f32 loss, times loss_scale_factor if there is one */
sy_status sy_optimizer_minimize(sy_context *c, sy_optimizer *o, sy_tensor loss);
/* from the next step on; SY_ERROR: not a number from 0 up, or a schedule makes the rate */
sy_status sy_optimizer_set_learning_rate(sy_optimizer *o, double rate);

#ifdef __cplusplus
}
#endif
#endif
