/*
 * For tests of layers: a model of one or a few, its values as doubles, gradients, the core.
 *
 * Variables and inputs get distinct values between -1 and 1 unless a test changes them, moving
 * variances between 0.5 and 1.5; `value` holds them by parameter of the trace's graph.
 */
#ifndef TESTS_KERAS_RIG_H
#define TESTS_KERAS_RIG_H
#include "keras/model/model.h"
#include "tests/rigs/graph_rig.h"

struct keras_rig {
    struct graph_rig graph;             /* its graph is the trace's, once krig_trace was called */
    struct arena arena;
    struct variable_set set;
    struct model m;
    struct trace t;
    bool is_traced, is_training;
    int replica_count;                  /* 1 */
    int batch;                          /* 2 */
    struct model_result result;         /* of the model's first output */
    struct model_result results[8];     /* of all */
    int penalty;
    struct err e;
};

void krig_init(struct keras_rig *k);
void krig_fini(struct keras_rig *k);
#define KRIG_SETUP(rig) \
    static int set_up(void **state) { (void)state; krig_init(&rig); return 0; } \
    static int tear_down(void **state) { (void)state; krig_fini(&rig); return 0; }
#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* an input of samples of this shape: its call */
int krig_input(struct keras_rig *k, enum graph_dtype dtype, int rank, const int64_t *dim);
/* the layer called on these; fails the test if it cannot be */
int krig_call(struct keras_rig *k, struct layer *l, int count, const int *input);
/* the layer called on an f32 input of its own */
int krig_on(struct keras_rig *k, struct layer *l, int rank, const int64_t *dim);
/* the message of a call that must fail */
const char *krig_refused(struct keras_rig *k, struct layer *l, int count, const int *input);

/* builds the model and traces it: parameters are then known */
void krig_trace(struct keras_rig *k);
/* values of the variable or input of this name, which may be changed before krig_output */
double *krig_value(struct keras_rig *k, const char *name);
/* the model's first output in doubles */
const double *krig_output(struct keras_rig *k);
/* any node likewise: it becomes an output */
const double *krig_node(struct keras_rig *k, int node);

/* after krig_trace: the output's gradients by every parameter, against differences */
void krig_check_gradients(struct keras_rig *k);
/* the output and all gradients on a simulated core, against the interpreter */
void krig_check_core(struct keras_rig *k, double tolerance);
#endif
