/*
 * An optimizer's step as it is compiled, on one simulated core, against Keras's equation in
 * doubles: the same variables, the same gradients, so many steps.
 */
#ifndef CLI_OPTIMIZER_CHECK_H
#define CLI_OPTIMIZER_CHECK_H
#include "base/err.h"

#include <stdint.h>

#define OPTIMIZER_CHECK_LIMIT 1e-5      /* relative */

struct optimizer_check {
    const char *call;                   /* "Adam(0.1, amsgrad=True)" */
    const char *slice;                  /* "v3-1" */
    int steps;
    uint64_t seed;
    /* filled in: |simulated - reference| over the element's largest size so far, the worst of all
     * elements behind the last step */
    double variables, slots;
    int64_t cycles;                     /* of a step */
};

/* calls that cover every rule, every number and every schedule */
extern const char *const optimizer_check_calls[];
extern const int optimizer_check_call_count;

int optimizer_check_run(struct optimizer_check *c, struct err *e);
#endif
