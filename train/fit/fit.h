/*
 * compile, fit, evaluate, predict: a Keras model trained on a strategy.
 *
 *     fit_create      adds model, optimizer and metrics to a variable set, makes the strategy
 *     fit_train       epochs of training steps, validation, callbacks
 *     fit_evaluate    loss and metrics; a last batch that is not full counts as far as it goes
 *     fit_predict     what the model makes of samples
 *
 * Values on the host are dense elements of 4 bytes (train/strategy/strategy.h).
 */
#ifndef TRAIN_FIT_H
#define TRAIN_FIT_H
#include "keras/loss/loss.h"
#include "keras/loss/metric.h"
#include "train/fit/batches.h"
#include "train/fit/host_loop.h"
#include "train/strategy/model_stages.h"
#include "train/step/step.h"
#include "train/strategy/strategy.h"

struct fit;

#define FIT_OUTPUTS_MAX 8

/* of a model of several outputs: each has labels of its own, in the order of the outputs */
struct fit_output {
    struct loss loss;
    double weight;                      /* the training's loss is the sum of loss times weight */
};

struct fit_options {
    struct model *model;                /* not built yet */
    struct loss loss;                   /* of a model of one output */
    const struct fit_output *output;    /* by output; NULL: it has one, with `loss` */
    int output_count;
    struct metric *metric;              /* not built yet; the caller's */
    const int *metric_output;           /* by metric: which output it is of; NULL: the first */
    int metric_count;
    struct optimizer *optimizer;        /* not built yet */
    struct strategy_options strategy;   /* set: without these variables */
    struct strategy *on;                /* over that set, to run on; NULL: made as above says */
    int64_t batch;                      /* samples of a step, of all replicas */
    int steps_per_execution;            /* 0: 1 */
    int micro_batches;                  /* 0: 1 */
    /*
     * The model in so many stages on different cores (train/strategy/model_stages.h), micro batches one
     * behind the other; 0: whole on each core.
     */
    int stages;
    const char *stage_cuts;             /* "dense_1,dense_3": where they begin; NULL: chosen */
    /*
     * "dense_1=0,dense_2=1": layers on logical devices (train/strategy/layer_devices.h), which on a machine
     * are those of `on`, else as many cores of each replica as it names; NULL: they are alike.
     * Beside stages, and with several steps per execution, refused.
     */
    const char *layer_devices;
    /*
     * "dense/kernel=-,model": how the model's variables lie on the logical devices of `on`'s mesh
     * or strategy.mesh (train/strategy/model_layouts.h); NULL: whole on each. In stages it is the mesh
     * of each. Beside layers on devices refused.
     */
    const char *layouts;
    bool shards_state;                  /* slots in parts: train/step/sharded_update.h */
    bool has_weights;                   /* training batches come with a weight per sample */
    const double *class_weight;         /* by class, instead of these; others weigh 1 */
    int class_count;
    /* values of variables are kept before each execution, so that a loss that is not finite can be
     * traced to its operation; done without being asked where they are small */
    bool checks_numerics;
    const struct host_loop_options *host;       /* NULL: no time of the host */
};

/*
 * All that the options point to must outlive it. NULL with *e set: shapes of model and loss that
 * do not go together, a batch that cannot be split, what strategy_create refuses.
 */
struct fit *fit_create(const struct fit_options *o, struct err *e);
void fit_destroy(struct fit *f);                        /* NULL is fine */

/*
 * Keras's standard loss of this kind; a cross-entropy of a model whose last layer is dense without
 * an activation takes its outputs as logits.
 */
struct loss fit_loss(const struct model *m, int output, enum loss_kind kind);

/*
 * One step by itself, without a strategy: into a trace of the options' set and number of replicas
 * (strategy.replica_count; 0: 1), just begun; finished here. Loss as its result, of an evaluation
 * the sum of the samples'.
 */
int fit_trace(const struct fit_options *o, bool is_training, struct trace *t, struct err *e);

struct strategy *fit_strategy(const struct fit *f);
const struct fit_options *fit_options(const struct fit *f);
const struct model_stages *fit_stages(const struct fit *f);     /* NULL: the model is whole */
const struct host_loop *fit_host_loop(const struct fit *f);     /* NULL: none was asked for */
int64_t fit_step(const struct fit *f);                  /* training steps done */
/* steps and epochs that a checkpoint tells have been done: fit_train goes on behind them */
void fit_resume(struct fit *f, int64_t step);

/* compiles training and evaluation now, which else happens when they are first wanted */
int fit_compile(struct fit *f, struct err *e);
/* the training program for so many steps per launch; compiled if it is not yet */
struct strategy_program *fit_program(struct fit *f, int steps, struct err *e);
/* that was last trained with; NULL: none yet */
struct strategy_program *fit_last_program(const struct fit *f);
/*
 * One execution of training for its time: on whatever batch is there, variables stay as they are,
 * no callback is told. The only way to train in mode timing. Not on the host (asserted).
 */
int fit_time_step(struct fit *f, struct strategy_run *run, struct err *e);
/* once more on the batch that was last trained on: strategy_replay */
int fit_replay(struct fit *f, bool keeps_variables, struct strategy_run *run, struct err *e);

/* Of one execution, of an epoch, of an evaluation. */
struct fit_log {
    int64_t epoch, step;                /* the epoch from 1; training steps done so far */
    int64_t steps, samples;             /* of this log */
    double loss;                        /* the mean over them, penalties included */
    const double *output_loss;          /* of an evaluation of several outputs: each, unweighted */
    const double *metric;               /* of the epoch so far; NULL in a log of a step */
    bool has_validation;
    double validation_loss;
    const double *validation_metric;
    double learning_rate;
    cycle_t launch_cycles;              /* of all steps of the log */
    cycle_t cycles;                     /* the same of one step, rounded down */
    double wall_us;                     /* by the host model, of all its steps; 0 without one */
    bool is_cut;                        /* of an epoch: training ends within it */
};

/*
 * 0: go on; 1: stop training after this; FIT_STOP_NOW: and do not validate an epoch that is cut so; -1: *e is set.
 * Any of them may be NULL.
 */
#define FIT_STOP_NOW 2
struct fit_callback {
    /* before all else: goes on from what it finds, *epoch of which are done: 1; 0: nothing */
    int (*restore)(void *context, struct fit *f, int64_t *epoch, struct err *e);
    int (*begin)(void *context, struct fit *f, struct err *e);
    int (*epoch_begin)(void *context, struct fit *f, int64_t epoch, struct err *e);
    /* before an execution: log has epoch, steps done before, steps to come; the rest is 0 */
    int (*step_begin)(void *context, struct fit *f, const struct fit_log *log, struct err *e);
    int (*step)(void *context, struct fit *f, const struct fit_log *log, struct err *e);
    int (*epoch)(void *context, struct fit *f, const struct fit_log *log, struct err *e);
    /* before the validation of an epoch that is cut: metrics are still those of training */
    int (*cut)(void *context, struct fit *f, const struct fit_log *log, struct err *e);
    int (*end)(void *context, struct fit *f, struct err *e);
    void (*close)(void *context);               /* behind all others, also of a training that failed */
    /* told before each execution: traces */
    void (*launch)(void *context, struct fit *f, int64_t epoch, bool is_before);
    bool is_last;                               /* told of an epoch when all others have been */
    void *context;
};

/*
 * From a callback's `begin`: what it keeps besides variables, so that checkpoints have it and a
 * training that goes on from one goes on with it. `data` must outlive the training; things of
 * one name are told apart by their order. True: the checkpoint that was gone on from had it, and `data` is what it was.
 */
bool fit_keep(struct fit *f, const char *name, void *data, int64_t bytes);

struct fit_run {
    const struct batches *train, *validation;   /* validation may be NULL */
    int64_t epochs, initial_epoch;              /* epochs initial_epoch + 1 .. epochs */
    int64_t steps_per_epoch;                    /* 0: all whole batches */
    int64_t validation_steps;                   /* 0: all */
    int64_t validation_frequency;               /* every so many epochs; 0: 1 */
    int64_t step_limit;                         /* training steps in all; 0: none */
    bool ends_on_nan;                           /* a loss that is not finite ends it: no mistake */
    const struct fit_callback *callback;
    int callback_count;
};

/*
 * Batches that are not full are left out. A loss that is not finite stops with the step and, where
 * values were kept, the operation that made it (with ends_on_nan training ends as if a callback
 * had stopped it, and the loss is in the log). -1 also where callbacks say so.
 */
int fit_train(struct fit *f, const struct fit_run *run, struct err *e);

/* `steps` 0: all of it. log->metric is valid until the next call of any fit_ function. */
int fit_evaluate(struct fit *f, const struct batches *data, int64_t steps, struct fit_log *log,
                 struct err *e);

/*
 * Predictions of `samples` samples, to[k]: [samples, ...] of the model's output k as f32; x[i]:
 * samples of input i, one behind the other. *log, if not NULL: how many launches and cycles it took.
 */
int fit_predict(struct fit *f, const void *const *x, int64_t samples, float *const *to,
                struct fit_log *log, struct err *e);

/* samples of the epoch that begins which were done before the checkpoint that was gone on from */
int64_t fit_samples_before(const struct fit *f);
/* of the epoch so far, from the replicas' states; out has a place per metric */
int fit_metrics(struct fit *f, double *out, struct err *e);
/* -1: not a number from 0 up, or the optimizer's is made by a schedule */
int fit_set_learning_rate(struct fit *f, double rate, struct err *e);
/* a schedule's: that of the next step */
int fit_learning_rate(struct fit *f, double *rate, struct err *e);
#endif
