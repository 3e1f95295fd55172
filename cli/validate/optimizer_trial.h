/*
 * An optimizer at work on one simulated core: its step compiled, launched as often as wanted with
 * given gradients. systole check optimizers, and tests.
 */
#ifndef CLI_OPTIMIZER_TRIAL_H
#define CLI_OPTIMIZER_TRIAL_H
#include "keras/optimizer/optimizer.h"

struct optimizer_trial {
    struct optimizer *optimizer;        /* not built yet */
    const char *slice;                  /* NULL: "v3-1" */
    int variable_count, steps;
    int32_t first_iteration;            /* steps that were before */
    const struct shape *shape;          /* by variable, named "v0", "v1"... unless */
    const char *const *name;            /* names are given */
    const float *const *initial;        /* by variable */
    const float *const *gradient;       /* [step * variable_count + variable] */
    /* filled in, in the arena */
    struct variable_set set;
    float **value;                      /* [step * set.count + variable]: behind each step */
    int64_t cycles;                     /* of the last launch */
};

/* s32 variables are as float has their bits */
int optimizer_trial_run(struct optimizer_trial *t, struct arena *a, struct err *e);
void optimizer_trial_fini(struct optimizer_trial *t);
#endif
