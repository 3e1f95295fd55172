/* Of include/systole.h: Keras's models, compiled and trained. */
#ifndef SYSTOLE_MODEL_H
#define SYSTOLE_MODEL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "data.h"
#include "status.h"
#include "step.h"
#include "strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Models ----- */

typedef struct sy_model sy_model;
/* What a layer makes of its inputs, in a functional model. */
typedef struct sy_call { int number; } sy_call;

/* An empty model on a strategy, which must outlive it: free models first. */
sy_status sy_model_create(sy_strategy *s, const char *name, sy_model **out);
/* From what Keras's model.to_json() writes, of Keras 2 or 3, Sequential or functional. */
sy_status sy_model_load(sy_strategy *s, const char *path, sy_model **out);
void sy_model_free(sy_model *m);

/*
 * Sequential: one more layer, written as in Python: "Dense(128, activation='relu')". The first one
 * says input_shape=(28, 28), or sy_model_input comes first.
 */
sy_status sy_model_add(sy_model *m, const char *layer);
/* Functional: inputs of a sample's shape, layers of calls before them, outputs */
sy_status sy_model_input(sy_model *m, const char *name, sy_dtype dtype, sy_shape sample,
                         sy_call *out);
sy_status sy_model_call(sy_model *m, const char *layer, const sy_call *input, int count,
                        sy_call *out);
sy_status sy_model_output(sy_model *m, sy_call call);

/* Written as in Python too; NULL stands for what is named behind it. */
typedef struct sy_compile {
    const char *optimizer;              /* "AdamW(1e-3, weight_decay=0.01)"; "RMSprop" */
    const char *loss;                   /* "SparseCategoricalCrossentropy(from_logits=True)"; that
                                           of the model's labels must be told */
    const char *const *metrics;         /* "accuracy", ...; NULL ends; none */
    const char *const *weighted_metrics;        /* likewise, that count samples by their weights */
    const double *class_weight;         /* of class_count classes, in the loss of training; */
    int class_count;                    /* others weigh 1. Not beside sample_weights */
    const char *policy;                 /* that of the model's file, else "float32"; or
                                           "mixed_bfloat16" */
    const char *precision;              /* "default"; or "high", "highest" */
    int64_t batch;                      /* samples of a step, of all replicas; 0: 32 a replica */
    int steps_per_execution;            /* in one launch; 0: 1 */
    int micro_batches;                  /* whose gradients are added up in a step; 0: 1 */
    bool shard_optimizer_state;         /* each replica keeps and updates its part */
    bool check_numerics;                /* find the operation of a loss that is not finite */
    bool sample_weights;                /* training is given a weight for each sample */
    const char *pipeline_cuts;          /* "dense_1,dense_3": where stages begin but the first;
                                           NULL: where their predicted cycles are most alike */
    const char *layer_devices;          /* "dense_1=0,dense_2=1": logical devices of a replica that
                                           do layers; the others are where their first input is.
                                           NULL: all do all */
    const char *layouts;                /* "dense/kernel=-,model; out/kernel=model": which axes of
                                           the strategy cut variables, as Keras's LayoutMap; names
                                           may have * and ?. NULL: all are whole on each device */
} sy_compile;

/* Builds model, optimizer and metrics; after this the model has variables. Once per strategy. */
sy_status sy_model_compile(sy_model *m, const sy_compile *o);
int64_t sy_model_parameters(const sy_model *m, bool trainable_only);

/* What an epoch came to, or an evaluation; steps for callbacks. */
typedef struct sy_result {
    int64_t epoch, step;                /* the epoch from 1; the steps so far */
    int64_t steps, samples;             /* of this log */
    double loss;
    int metric_count;
    const double *metric;               /* as compiled; NULL in a log of a step */
    bool has_validation;
    double validation_loss;
    const double *validation_metric;
    double learning_rate;
    int64_t cycles;                     /* of one step; 0 on the host */
    double wall_us;                     /* of all steps by the host model; 0 on the host */
} sy_result;

/*
 * Samples to train on, to evaluate, to predict: arrays of the caller's, or a dataset.
 *
 *     sy_model_fit(m, &(sy_samples){.count = n, .input = x, .label = y}, NULL);
 *     sy_model_fit(m, &(sy_samples){.dataset = d}, &(sy_fit){.epochs = 5});
 *
 * Arrays are [count, ...] each: float where the model's input or label is SY_F32 (or SY_BF16),
 * int32_t where it is SY_S32.
 *
 * A dataset gives tuples of the inputs, the label and, of models compiled with sample_weights, the
 * weights; each SY_F32 or SY_S32 as the model wants it (sy_dataset_to_f32 and sy_dataset_to_s32
 * make them of bytes) with the batch as its first dimension. How large batches are is the model's
 * business: those of a dataset, of any size, are joined and cut as sy_compile.batch says. Epoch e
 * takes pass e; of a dataset that never ends (repeat) each epoch goes on where the one before
 * stopped, and sy_fit.steps_per_epoch or `count` must say how long it is. sy_model_predict takes
 * tuples with or without label.
 */
typedef struct sy_samples {
    int64_t count;                      /* of a dataset: at most so many of a pass; 0: all */
    const void *const *input;           /* as many as the model has */
    const void *label;
    const float *weight;                /* [count], of models compiled with sample_weights; of
                                           validation and evaluation it may be NULL: 1 */
    const sy_dataset *dataset;          /* instead of arrays, which are NULL then */
} sy_samples;

/*
 * A callback of the user's own; any of its functions may be NULL. SY_END stops the training after
 * this, as Keras's model.stop_training does; SY_ERROR makes it fail with sy_message. Callbacks are
 * called in their order, those of sy_fit.callbacks behind them.
 */
typedef struct sy_callback {
    sy_status (*train_begin)(void *user, sy_model *m);
    sy_status (*epoch_begin)(void *user, sy_model *m, int64_t epoch);   /* from 1 */
    /* before a launch of one or several steps, `step` of which are done already */
    sy_status (*step_begin)(void *user, sy_model *m, int64_t step);
    sy_status (*step_end)(void *user, sy_model *m, const sy_result *told);
    sy_status (*epoch_end)(void *user, sy_model *m, const sy_result *told);
    sy_status (*train_end)(void *user, sy_model *m);
    void *user;
} sy_callback;

typedef struct sy_fit {
    int64_t epochs;                     /* 0: 1 */
    int64_t initial_epoch, steps_per_epoch;     /* 0: from the first; all whole batches */
    bool no_shuffle;                    /* of arrays; else every epoch has an order of its own */
    uint64_t seed;                      /* of these orders */
    const sy_samples *validation;       /* NULL: none */
    int64_t validation_steps;           /* batches; 0: all */
    int64_t validation_frequency;       /* every so many epochs; 0: 1 */
    /* told after each epoch, after each launch; SY_END stops training, SY_ERROR fails */
    sy_status (*on_epoch)(void *user, sy_model *m, const sy_result *told);
    sy_status (*on_step)(void *user, sy_model *m, const sy_result *told);
    void *user;
    bool quiet;                         /* no line per epoch on standard output, nor on standard
                                           error how far it is (a terminal; else once a minute) */
    const char *csv_log;                /* a file with a row per epoch, or NULL */
    const char *early_stopping;         /* "val_loss": stops when it gets no better, or NULL */
    int patience;                       /* for so many epochs */
    double (*schedule)(void *user, int64_t epoch, double rate); /* the rate of each epoch */
    const char *checkpoint_folder;      /* a checkpoint after each epoch, or NULL; */
    int64_t checkpoint_steps;           /* also after every so many steps, within epochs; 0: none */
    int checkpoint_keep;                /* the newest so many stay; 0: all */
    bool checkpoint_overwrite;          /* removes what another training left there; else such a
                                           folder is refused: sy_model_restore goes on from it */
    const sy_callback *callback;        /* the user's own */
    int callback_count;
    /*
     * Keras's, written as in Python; NULL ends the list:
     *   EarlyStopping(monitor='val_loss', min_delta=0, patience=0, verbose=0, mode='auto',
     *                 baseline=None, restore_best_weights=False, start_from_epoch=0)
     *   ReduceLROnPlateau(monitor='val_loss', factor=0.1, patience=10, verbose=0, mode='auto',
     *                     min_delta=1e-4, cooldown=0, min_lr=0)
     *   LearningRateScheduler('0=0.1,10=0.01'), or a formula: 'lr * 0.5 ** (epoch // 10)'; see
     *                     `schedule` for a function
     *   TensorBoard(log_dir='logs', write_steps_per_second=False, update_freq='epoch'): event
     *                     files of scalars
     *   BackupAndRestore(backup_dir, double_checkpoint=False, delete_checkpoint=True): goes on
     *                     where a training that was stopped had come to
     *   ModelCheckpoint(filepath, monitor='val_loss', save_best_only=False, mode='auto',
     *                   save_freq='epoch', keep=0, overwrite=False): a folder; save_freq may be a
     *                   number of steps
     *   CSVLogger(filename, separator=',', append=False)
     *   TerminateOnNaN(raise_error=False): a loss that is not finite ends the training, instead of
     *                     being an error
     */
    const char *const *callbacks;
} sy_fit;

/*
 * Trains; a last batch that is not full is left out. `o` may be NULL. SY_ERROR: samples that do
 * not go with the model (both shapes are named), damaged records, a loss that is not finite (the
 * step and, if the model is small or check_numerics is set, the operation that made it); steps
 * done until then stay done.
 */
sy_status sy_model_fit(sy_model *m, const sy_samples *train, const sy_fit *o);
/* a last batch that is not full counts as far as it goes; out->metric is valid until the model's
   next call */
sy_status sy_model_evaluate(sy_model *m, const sy_samples *data, sy_result *out);
/* [samples, ...] of the output, SY_F32, for the caller to free; labels are not read */
sy_status sy_model_predict(sy_model *m, const sy_samples *data, sy_array **out);
/*
 * One training step (with steps_per_execution, one launch of them) for what it costs, on whatever
 * data is there; variables stay as they are. What models in mode "timing" can do: they have no
 * values to be fitted.
 */
sy_status sy_model_time_step(sy_model *m, sy_costs *out);
/*
 * As model.summary(): layers, shapes, parameters, FLOP; of a simulated chip also the cycles that
 * are predicted for each layer on one core, forward and back. Of a compiled model.
 */
sy_status sy_model_summary(const sy_model *m, FILE *to);

/* The host around the launches of fit, by a model (docs/training.md): all steps so far, in us. */
typedef struct sy_host_time {
    int64_t executions, steps;
    double wall_us;                     /* = the next three */
    double device_us;                   /* the slice at work, */
    double batches_us, loop_us;         /* waiting for batches, for the user's loop */
    double prepare_us, link_us;         /* the pipeline and the links at work, mostly hidden */
} sy_host_time;
sy_status sy_model_host_time(const sy_model *m, sy_host_time *out);
sy_status sy_model_print_host_time(const sy_model *m, FILE *to);        /* in a line */

/* names of metrics as compiled; NULL if there is no such one */
const char *sy_model_metric_name(const sy_model *m, int metric);
sy_status sy_model_set_learning_rate(sy_model *m, double rate);

/* FOLDER/ckpt-STEP.safetensors: whole or not there, whenever the program is killed; locked and
   refused as by sy_checkpoint_save in another training's folder */
sy_status sy_model_save(sy_model *m, const char *folder, int64_t epoch, int keep);
/*
 * From the newest whole checkpoint: training goes on to the bit, from *epoch (for
 * sy_fit.initial_epoch). sy_message then tells which newer ones were damaged and passed over, ""
 * if none. SY_END: there is none. SY_ERROR: all are damaged (the tensor and byte), other variables
 * or shapes than the model's; nothing has changed then.
 */
sy_status sy_model_restore(sy_model *m, const char *folder, int64_t *epoch);

#ifdef __cplusplus
}
#endif
#endif
