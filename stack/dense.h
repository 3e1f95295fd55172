/*
 * Data-parallel training of a model on a simulated slice, or on the host
 * reference interpreter behind the same calls.
 *
 * One replica per core; variables are mirrored. A step splits the global batch
 * over the replicas in order, uploads it, launches the compiled step program on
 * all cores and reads loss and correct counts back.
 */
#ifndef STACK_DENSE_H
#define STACK_DENSE_H
#include "sim/machine.h"
#include "stack/interp.h"
#include "stack/model.h"
#include "stack/module.h"

struct dense_strategy;

struct dense_options {
    const struct model *model;
    struct model_options model_options; /* local_batch and replica_count are filled in */
    int64_t global_batch;
    uint64_t seed;
    struct machine *machine;            /* NULL: host reference interpreter */
    enum interp_dot reference_dot;      /* for the host interpreter */
};

struct dense_result {
    double loss_sum;                    /* over the samples that count */
    int64_t correct;
    int64_t samples;
    cycle_t cycles;                     /* of the launch; 0 on the host and in functional mode */
};

/* 0 if `batch` divides evenly; else -1, naming the nearest sizes that do */
int dense_check_batch(int64_t batch, int replica_count, struct err *e);

/*
 * Builds and compiles the training and the evaluation graph and sets the
 * variables to their initial values, the same on every replica. `a` holds the
 * strategy; model and machine must outlive it. NULL with *e set when the batch
 * is not divisible by the replicas, the model does not fit or the machine is in
 * timing mode.
 */
struct dense_strategy *dense_create(const struct dense_options *o, struct arena *a, struct err *e);
void dense_destroy(struct dense_strategy *s);

/*
 * x: (global_batch, input_elems) f32; labels: (global_batch). All steps take
 * the same number of cycles (asserted): nothing in them depends on the data.
 */
int dense_train_step(struct dense_strategy *s, const float *x, const int32_t *labels,
                        struct dense_result *r, struct err *e);

/* `valid` <= global_batch samples count, the rest is masked */
int dense_eval_step(struct dense_strategy *s, const float *x, const int32_t *labels, int64_t valid,
                       struct dense_result *r, struct err *e);

/* variable `parameter` of the training graph as replica `replica` has it, dense f32 */
int dense_read_parameter(struct dense_strategy *s, int replica, int parameter, float *to,
                            struct err *e);
const struct model_graph *dense_train_graph(const struct dense_strategy *s);
const struct module *dense_train_program(const struct dense_strategy *s);  /* NULL on the host */

/*
 * Launch the training step once more on the batch in memory and put all
 * variables back, so that the machine's counters and trace are those of a
 * training step again. Not for the host interpreter (asserted).
 */
int dense_replay_step(struct dense_strategy *s, struct dense_result *r, struct err *e);

/* 0 if all variables are bit-identical on all replicas, else -1 naming the first that differs */
int dense_check_replicas(struct dense_strategy *s, struct err *e);
#endif
