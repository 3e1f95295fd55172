/*
 * What can be changed, as options of the command that made the run, and what
 * it is predicted to gain: docs/explain.md has the model of each.
 */
#ifndef REPORT_EXPLAIN_CHANGE_H
#define REPORT_EXPLAIN_CHANGE_H
#include "report/explain/explain.h"

#define EXPLAIN_CHANGE_MAX 24
#define EXPLAIN_ARGUMENT_MAX 24

struct explain_change {
    const char *key, *what;             /* "batch", "four times the batch" */
    bool is_hardware;                   /* an experiment: no user has such a chip */
    /* options, which hold behind those of the command; or MxNxK in the place of its own */
    const char *argument[EXPLAIN_ARGUMENT_MAX];
    int argument_count;
    double work;                        /* of one step, in steps of the run */
    double removes[CAUSE_COUNT];        /* share of each cause's cycles, for the same work */
    double gain_cycles;                 /* predicted, without the host: per step of the run */
};

/* Those that belong to causes with cycles, the command's own before experiments, each by gain. */
size_t explain_changes(const struct explain *x, struct arena *a,
                       struct explain_change change[EXPLAIN_CHANGE_MAX]);

/* the first that removes something of the cause; NULL if none does */
const struct explain_change *explain_change_for(const struct explain_change *change,
                                                size_t count, enum cause c);
/* "--batch 2048"; returns a string of `a` */
const char *explain_change_text(const struct explain_change *change, struct arena *a);
#endif
