/*
 * What the user has said in the environment about the simulated machine:
 *
 *     SYSTOLE_TPU      the slice, "v5e-8" (which it is by default)
 *     SYSTOLE_MODE     both, timing, functional, host
 *     SYSTOLE_THREADS  of the host; never changes a result or a cycle
 *     SYSTOLE_CODEGEN  xla (default) or best
 *     SYSTOLE_PRECISION  program (default): products are as exact as it says; highest: all f32's as
 *                      exact as they can be
 *     SYSTOLE_QUEUE_ENTRIES  how often a loop whose end is computed may call back in a launch
 *     SYSTOLE_ASSUME_TRIPS  in timing mode: rounds of loops whose ends are computed
 *     SYSTOLE_ASSUME_BRANCH  likewise: which computation a conditional takes, true or false
 */
#ifndef PJRT_SETTINGS_H
#define PJRT_SETTINGS_H
#include "base/err.h"
#include "sim/machine/machine.h"
#include "stack/module/module.h"

struct settings {
    const char *slice;                  /* of the environment: copied by who keeps it */
    bool is_host;                       /* values by the evaluator, no simulated core */
    enum run_mode mode;
    int thread_count;
    enum codegen codegen;
    bool is_highest;                    /* all products of f32 */
    int64_t assume_trips, queue_entries;
    enum assumed_branch assume_branch;
};

int settings_read(struct settings *s, struct err *e);
#endif
