/* For tests: a chain of dense layers, trained step by step on samples that the test has. */
#ifndef TESTS_MLP_H
#define TESTS_MLP_H
#include "train/fit/fit.h"

struct mlp {
    struct arena arena;
    struct model model;
    struct variable_set set;
    struct optimizer optimizer;
    struct metric accuracy;
    struct fit_options options;
    struct fit *fit;
    struct err err;
};

/* Adam, float32; all may be changed until mlp_start. machine NULL: the host */
void mlp_init(struct mlp *m, struct machine *machine, int64_t inputs, int64_t batch);
/* with a bias; the last one's activation should be softmax */
struct layer *mlp_add(struct mlp *m, const char *name, int64_t units, enum activation_kind a);
int mlp_start(struct mlp *m);
/* x (batch, inputs), one label each; *loss: the mean over them; `run` may be NULL */
int mlp_step(struct mlp *m, const float *x, const int32_t *label, double *loss,
             struct strategy_run *run);
void mlp_fini(struct mlp *m);

/* 20 -> 16 relu -> 10 softmax, and a batch of 64 for it */
#define MLP_INPUTS 20
#define MLP_BATCH 64
void mlp_init_small(struct mlp *m, struct machine *machine);
void mlp_small_batch(float *x, int32_t *label);
#endif
