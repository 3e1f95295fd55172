/*
 * A small model of mlp.h that is trained some steps on a slice of its own, or on the host, and
 * how far its variables are from another one's: for tests of models that are cut over cores.
 */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H
#include "tests/mlp.h"

#define TRIAL_BATCH 64
#define TRIAL_STEPS 3

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
/* the largest difference of any variable's element, relative to the largest element */
double trial_distance(struct trial *a, struct trial *b);
#endif
