/*
 * A small model of mlp.h that is trained some steps on a slice of its own, or on the host, and
 * how far its variables are from another one's: for tests of models that are cut over cores.
 */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H
#include "tests/rigs/mlp.h"

#define TRIAL_BATCH 64
#define TRIAL_STEPS 3
#define TRIAL_ROUNDS_BATCH 48           /* so that there can be three micro batches */

struct trial {
    struct arena arena;
    struct machine *machine;            /* NULL: the host */
    struct mlp m;
    double loss[TRIAL_STEPS];
    cycle_t cycles;                     /* of each step */
};

/* a model without layers, products in full precision, whose replicas are compared */
void trial_init(struct trial *t, const char *slice, bool checks_races);
void trial_fini(struct trial *t);
/* all steps with one batch of TRIAL_BATCH samples; fails the test where a step does */
void trial_run(struct trial *t, const float *x, const int32_t *label);
/* samples of ten classes that can be told apart */
void trial_batch(float x[TRIAL_BATCH * MLP_INPUTS], int32_t label[TRIAL_BATCH]);
/*
 * TRIAL_STEPS batches of TRIAL_ROUNDS_BATCH one behind the other, twice, in launches of `rounds`
 * steps each, which divide TRIAL_STEPS; the steps' losses.
 */
void trial_rounds(struct trial *t, int rounds, float loss[2 * TRIAL_STEPS]);
/* the largest difference of any variable's element, relative to the largest element */
double trial_distance(struct trial *a, struct trial *b);
#endif
