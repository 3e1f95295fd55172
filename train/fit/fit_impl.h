/* Private to fit*.c: the state of a fit, which its files share. */
#ifndef TRAIN_FIT_IMPL_H
#define TRAIN_FIT_IMPL_H
#include "train/fit/fit.h"

/* one program's inputs and results on the host */
struct fit_feed {
    struct strategy_program *program;
    int rounds;                         /* steps of a launch */
    int tensor_count;
    int64_t elems[DATA_TUPLE_MAX];      /* of a sample */
    void *tensor[DATA_TUPLE_MAX];       /* [replica][round][local batch], elems each */
    const void **input;                 /* as strategy_run wants them, */
    void **result;                      /* all results: program's shapes */
    void *batch[DATA_TUPLE_MAX];        /* where rounds > 1: one global batch as it comes */
};

struct fit_training {                   /* of one number of rounds */
    struct fit *fit;
    int rounds;
    struct fit_feed feed;
    struct fit_training *next;
};

struct fit {
    struct fit_options options;
    struct arena arena;
    struct strategy *strategy;
    struct variable_set *set;
    struct fit_output output[FIT_OUTPUTS_MAX];  /* as the options say, or the one of them */
    int output_count;
    struct shape prediction[FIT_OUTPUTS_MAX], label[FIT_OUTPUTS_MAX];   /* of a sample */
    double output_loss[FIT_OUTPUTS_MAX];    /* of the last evaluation */
    int64_t batch, local_batch;
    int replicas;
    int devices;                        /* of a replica, for its layers; 1 without them */
    struct mesh mesh;                   /* of those, for a strategy of its own */
    struct fit_training *training;      /* by rounds */
    struct fit_training *last;          /* that ran last */
    struct fit_feed evaluation, prediction_feed;
    struct host_loop host;
    struct model_stages stages;         /* where options.stages says so */
    int64_t step;
    struct fit_part { int64_t epoch, steps, samples, cycles; double loss_sum, wall_us; } part;
                                        /* of an epoch that was cut: what is done of it */
    double *metric, *validation;        /* room for values */
    struct strategy_snapshot *before;   /* the last execution, where it is kept */
    bool keeps;
    struct fit_kept *kept, *restored;   /* of callbacks: now, and out of the checkpoint */
    int kept_count, restored_count;
    size_t kept_capacity;
};

/* what a callback keeps; of a checkpoint in the fit's arena */
struct fit_kept {
    const char *name;
    void *data;
    int64_t bytes;
};

/* which output a metric is of */
int fit_metric_output(const struct fit *f, int metric);

/* traces and compiles where that has not been done; feeds */
struct fit_training *fit_training_of(struct fit *f, int rounds, struct err *e);
int fit_prepare_evaluation(struct fit *f, struct err *e);
int fit_prepare_prediction(struct fit *f, struct err *e);

/* a trace of one training step, of one replica's samples, for whoever asks what went wrong */
int fit_trace_step(struct fit *f, struct trace *t, struct err *e);

int fit_trace_evaluation(struct fit *f, struct trace *t, struct err *e);

/* fills the feed with the next batches: steps that are full, 0 at the end, -1 */
int64_t fit_fill(struct fit *f, struct fit_feed *feed, const struct batches *b, int64_t most,
                 struct err *e);
/* full rounds of one feed to another with as many rounds */
void fit_move_batches(const struct fit *f, const struct fit_feed *from, struct fit_feed *to);
int fit_execute(struct fit *f, struct fit_feed *feed, struct strategy_run *run, struct err *e);

int fit_keep_values(struct fit *f, struct err *e);
/* always -1: names the step and, where values were kept, the operation */
int fit_explain_loss(struct fit *f, const struct fit_feed *feed, int64_t step, double loss,
                     struct err *e);
#endif
