/*
 * Keras 3's update rules in doubles, element by element, as its documentation gives them: what
 * compiled optimizers are held against. Knows nothing of graphs; 1 - beta^t is by pow().
 */
#ifndef CLI_OPTIMIZER_REFERENCE_H
#define CLI_OPTIMIZER_REFERENCE_H
#include "keras/optimizer/optimizer.h"

#define REFERENCE_SLOTS 3

struct reference_variable {
    const struct shape *shape;
    int64_t elems;
    double *value;
    double *slot[REFERENCE_SLOTS];      /* as optimizers.def counts them */
    double *gradient;                   /* of the step; clipped in place */
    double *accumulated, *average, *change, *before;
    bool decays, adapts, uses_adam;
};

struct optimizer_reference {
    const struct optimizer *o;
    struct reference_variable *variable;
    int count;
    int64_t iterations;                 /* Keras's _iterations */
    double product;                     /* Nadam's */
};

/* initial[variable]; names decide what is excluded */
void optimizer_reference_init(struct optimizer_reference *r, const struct optimizer *o, int count,
                              const struct shape *shape, const char *const *name,
                              const float *const *initial, struct arena *a);
void optimizer_reference_step(struct optimizer_reference *r, const float *const *gradient);
#endif
