/*
 * Two runs side by side: what differs in their settings, and where the
 * difference of their steps comes from.
 *
 * The cycles of one core are issue + stalls + idle, exactly, in each run; so
 * their differences add up to the difference of the steps (checked, an error
 * when a file breaks it). In microseconds a row's difference is in cycles of B,
 * and what another clock does to the cycles of A is a row of its own.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H
#include "report/view/run_folder.h"

#include <stdio.h>

enum diff_section {
    DIFF_STEP,                          /* cycles and times of the step */
    DIFF_CYCLES,                        /* where the difference comes from; ranked */
    DIFF_SOURCE,                        /* cycles of one core by source operation; ranked */
    DIFF_USE,                           /* of each resource, 0 to 100 % */
    DIFF_WORK,                          /* FLOP, bytes, copies: all cores, all chips */
    DIFF_UNITS,                         /* busy cycles by unit, all cores */
    DIFF_OPS,                           /* operations executed, all cores */
    DIFF_RESULTS,                       /* loss, accuracy */
    DIFF_SECTION_COUNT
};

struct diff_row {
    enum diff_section section;
    const char *name, *unit;            /* unit "cycles", "bytes", "us", "%", ""… */
    bool in_a, in_b;                    /* false: that run has no such thing */
    double a, b;                        /* whole numbers exact up to 2^53; 0 where not there */
    bool is_whole;
};

struct diff_setting {
    const char *name, *a, *b;           /* NULL: not in that run */
    bool is_chip;
};

struct diff {
    const struct run_folder *run[2];
    int core;                           /* whose cycles DIFF_CYCLES tells apart */
    bool is_timed;                      /* both are; otherwise no step, no cycles, no use */
    double mhz[2];
    size_t row_count, row_capacity, setting_count, setting_capacity;
    struct diff_row *row;               /* by section; within it ranked, or as in the file */
    struct diff_setting *setting;       /* those that differ */
    size_t number_count, number_differs;        /* of all of both stats.json, host times aside */
    struct arena *arena;
};

/* Runs stay open as long as *d is used. -1: a core that a run lacks, or broken sums. */
int diff_make(struct diff *d, const struct run_folder *a, const struct run_folder *b, int core,
              struct arena *arena, struct err *e);
void diff_fini(struct diff *d);

bool diff_is_equal(const struct diff *d);
static inline bool diff_row_differs(const struct diff_row *r)
{
    return r->a != r->b || r->in_a != r->in_b;
}
/* of the step, B - A; the part that the clock has in the latter */
double diff_step_cycles(const struct diff *d);
double diff_step_us(const struct diff *d);
double diff_clock_us(const struct diff *d);

void diff_print_text(const struct diff *d, FILE *to);
void diff_print_csv(const struct diff *d, FILE *to);
int diff_print_json(const struct diff *d, FILE *to);    /* -1 when `to` cannot be written */
#endif
