/*
 * One shape compiled and run in a process of its own, so that an abort ends that one alone.
 */
#ifndef CLI_SHAPE_RUN_H
#define CLI_SHAPE_RUN_H
#include "cli/common/options.h"
#include "cli/validate/shape_case.h"

enum shape_outcome {
    SHAPE_DONE,
    SHAPE_ILLEGAL,                      /* no such operation: its sizes do not go together */
    SHAPE_REFUSED,                      /* the compiler refuses it */
    SHAPE_FAULT,                        /* the core does */
    SHAPE_WRONG,                        /* a value is not the interpreter's */
    SHAPE_ABORT,                        /* the compiler or the simulator ends by a signal */
    SHAPE_SLOW,                         /* it is not done in the time that it is given */
    SHAPE_OUTCOMES
};
extern const char *const shape_outcome_names[SHAPE_OUTCOMES];

struct shape_result {
    enum shape_outcome outcome;
    int64_t cycles;
    int kernels;
    char message[512];
};

struct shape_trial {
    bool has_values;                    /* beside the interpreter; else in timing mode */
    int64_t seed;                       /* of the values */
    const struct cli_list *set;         /* of the chip's parameters */
};

/* -1: there is no process for it */
int shape_run(const struct shape_case *c, const struct shape_trial *t, struct shape_result *out,
              struct err *e);

/* makes it smaller step by step while its outcome stays what it is */
int shape_shrink(struct shape_case *c, const struct shape_trial *t, struct shape_result *r,
                 struct err *e);
#endif
