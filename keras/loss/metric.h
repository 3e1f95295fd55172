/*
 * Metrics: sums kept in variables, from which the host computes a number, or several.
 *
 * State variables are f32 and SYNC_ON_READ SUM: each replica counts its own samples, and reading
 * adds these up. metric_update writes a step's additions into the trace, metric_result makes the
 * number of what was read. Zeros start them again.
 */
#ifndef KERAS_METRIC_H
#define KERAS_METRIC_H
#include "keras/loss/arguments.h"
#include "keras/model/model.h"

#define METRIC_STATES_MAX 5

enum metric_kind {
#define METRIC(id, name, class, labels, update, states, meaning) METRIC_##id,
#include "keras/loss/metrics.def"
    METRIC_COUNT
};

struct metric {
    enum metric_kind kind;
    const char *name;                   /* of results and variables: "accuracy" */
    struct loss_arguments with;              /* from_logits: predictions are logits */
    bool is_weighted;                   /* weighted_metrics: samples' weights count */
    int variable[METRIC_STATES_MAX];    /* once built */
    int variable_count;
};

/* with Keras's name and numbers; both may be changed before it is built */
struct metric metric_standard(enum metric_kind kind);
/* Keras's name, class name or a short one ("mse"); -1 with the nearest name. "accuracy" alone is
 * metric_accuracy's business. */
int metric_find(const char *name, enum metric_kind *kind, struct err *e);
/* what Keras takes "accuracy" for: by the shapes of predictions' and labels' samples */
enum metric_kind metric_accuracy(const struct shape *label, const struct shape *prediction);
/* what the kinds take, for who reads them */
struct taken_list metric_arguments(void);

/* -1 with what does not fit; shapes are of samples (label is not read by MEAN and SUM) */
int metric_check(const struct metric *m, const struct shape *label,
                 const struct shape *prediction, struct err *e);
/* -1: the set has a variable "NAME/..." already */
int metric_check_name(const struct metric *m, const struct variable_set *set, struct err *e);
/* its sums are as many as predictions have classes or labels: metric_build must know them */
bool metric_sums_by_prediction(const struct metric *m);
/* adds its state: "accuracy/total", "accuracy/count" */
void metric_build(struct metric *m, struct variable_set *set, const struct shape *prediction);

/*
 * `prediction`: a node [batch, ...]; of MEAN and SUM the values, [batch]. `labels` with the batch
 * in front, NODE_NONE for MEAN and SUM; `weights` f32 [batch] or NODE_NONE for 1. `mask`: f32
 * [batch, steps], or NODE_NONE; means of steps leave out those of 0, counts and sums do not, as in
 * Keras.
 */
void metric_update(struct trace *t, const struct metric *m, int labels, int prediction, int mask,
                   int weights);

/*
 * Of states as read, summed over replicas, variable by variable; 0 of nothing, as Keras has it.
 * What Keras gives a list of, by threshold or by class, is the mean of the list.
 */
double metric_result(const struct metric *m, const struct variable_set *set,
                     const float *const *state);
/* the list, in a new array of `a`, and its length: 1 of most */
int metric_results(const struct metric *m, const struct variable_set *set,
                   const float *const *state, struct arena *a, double **list);
#endif
