/* Shows how far a launch is that takes long: cycles, the share of those predicted, time left. */
#ifndef CLI_RUN_PROGRESS_H
#define CLI_RUN_PROGRESS_H
#include "base/progress.h"
#include "sim/machine/machine.h"

struct module;

struct run_progress {
    struct progress progress;
    struct machine *machine;
    const char *what;                   /* "gemm" */
    double expected_cycles;             /* 0: not known */
};

/* until run_progress_end; *r stays where it is, `what` is borrowed */
void run_progress_begin(struct run_progress *r, struct machine *m, const char *what,
                        double expected_cycles);
/* what the kernels of core 0 are predicted to take, one behind the other */
double run_progress_expected(const struct module *m);
void run_progress_end(struct run_progress *r);
#endif
