/*
 * A collective operation by operation, without bundles: the parts of the
 * machine (links, HBM, copy engine, the adding loop) as resources that are
 * free from an instant on. For pods beyond what bundles can be simulated for;
 * how nearly the two agree stands in docs/accuracy.md.
 */
#ifndef STACK_COLLECTIVE_STEPS_H
#define STACK_COLLECTIVE_STEPS_H
#include "base/units.h"
#include "stack/collective.h"

struct collective_result {
    ps_t time_ps;                       /* from the first operation to the end of the last rank */
    int64_t op_count, message_count;
    int64_t sent_bytes;                 /* payload over links between chips, all chips */
    double link_use_min, link_use_mean, link_use_max;   /* 0..1 of time_ps, over all links */
    bool used_symmetry;                 /* one chip stood for all */
};

struct collective_steps_options {
    bool no_symmetry;
    void (*progress)(void *context, double fraction);   /* may be NULL */
    void *context;
};

int collective_steps_run(const struct collective_plan *p, const struct collective_steps_options *o,
                         struct collective_result *out, struct err *e);

/* Closed-form bounds of a request (docs/collectives.md), each from the chip's parameters. */
struct collective_bound {
    double bandwidth_seconds;           /* bytes that must pass over the links of the worst chip */
    double latency_seconds;             /* steps that must follow each other */
    double seconds;                     /* the larger */
    double book_seconds;                /* the published equation, with 1 us per hop; 0: none */
    double bus_factor;                  /* bus bandwidth = factor x bytes / time */
};
void collective_find_bound(const struct collective_request *r, struct collective_bound *out);
#endif
