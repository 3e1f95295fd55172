/*
 * The explanation for people and for programs. The first three lines of the
 * text are the answer.
 */
#ifndef REPORT_EXPLAIN_PRINT_H
#define REPORT_EXPLAIN_PRINT_H
#include "report/explain/explain_change.h"

#include <stdio.h>

/* What came of a change when it was simulated. */
struct explain_verified {
    const struct explain_change *change;
    bool is_known;                      /* else `message` says why the run failed */
    cycle_t step_cycles;                /* with it */
    double gain_cycles;                 /* measured, for the work of one step of the run */
    const char *message;
};

struct explain_text {
    const struct explain *x;
    const char *title;                  /* "mnist_mlp, v3-8: …" */
    const char *command;                /* that made the run; NULL: not known */
    const struct explain_change *change;
    size_t change_count;
    size_t top;                         /* causes told in detail */
    bool is_verified;
    const struct explain_verified *verified;
    size_t verified_count;
};

void explain_print_text(const struct explain_text *t, FILE *to);
int explain_print_json(const struct explain_text *t, FILE *to);         /* -1: cannot be written */
#endif
