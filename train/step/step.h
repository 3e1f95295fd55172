/*
 * The steps that fit runs: training, evaluation, prediction, written into a trace.
 *
 * What is trained comes as a function that writes the forward pass and the loss of one replica's
 * samples; train/fit/fit.h makes it of a Keras model, a custom loop writes its own. Gradients are of
 * the loss over the global batch: each replica's is its samples' sum divided by the samples of
 * all, and gradients are summed over replicas.
 */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H
#include "keras/embedding/embedding.h"

struct step_loss {
    int sum;                            /* f32 scalar: over this replica's samples, weighted */
    int penalty;                        /* f32 scalar: its share of a penalty; or NODE_NONE */
    struct embedding_step *embedding;   /* of the trace's arena: what was looked up; or NULL */
};

/*
 * Reads inputs (nodes, the first dimension the replica's samples) and variables, assigns state
 * such as metrics and moving averages, may leave results. -1 with *e set.
 */
typedef int (*step_forward)(struct trace *t, const int *input, int count, void *context,
                            struct step_loss *loss, struct err *e);

struct step_options {
    struct optimizer *optimizer;        /* built; its variables are what gradients are taken of */
    int64_t global_batch;               /* samples of one launch's step, of all replicas */
    bool is_sum;                        /* the loss is their sum, not their mean */
    int micro_batches;                  /* that each replica's samples are cut into; 0: 1 */
    /* micro batches one behind the other, for stages and logical devices */
    bool is_unrolled;
    step_forward forward;
    void *context;
};

/*
 * A training step: forward, gradients, their sum over replicas, the optimizer. Slots that the
 * optimizer has sharded (optimizer_shard) get their part of the gradient's sum by reduce-scatter,
 * and the new value is gathered. With micro batches forward runs once for each, one after the
 * other, gradients added up, state going from one to the next, results of all of them summed.
 * Unrolled they stand in the graph as often as there are, pass by pass (trace_begin_phase), which
 * pipelines cut into stages; forward may leave no results of its own then.
 * Embedding tables that forward has looked things up in are changed by their own optimizers; with
 * micro batches they are refused.
 * *loss: f32 scalar, the loss as trained, of this replica's samples: the global one is the sum
 * over replicas. -1: what forward refuses, samples that cannot be cut, no gradient.
 */
int step_train(struct trace *t, const struct step_options *o, const int *input, int count,
               int *loss, struct err *e);
#endif
