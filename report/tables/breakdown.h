/*
 * A step in the parts that people ask for first: the matrix units at work,
 * waits for memory and for the network that nothing hides, the rest.
 *
 * Every core cycle belongs to one part, so parts up to BREAKDOWN_LAST_ON_CORE add
 * up to the cycles of a core; the two behind it are the host's, before the
 * launch, and all of them together are the step as the host sees it.
 * docs/report.md defines them. Worked out of counters alone, so that sums over
 * any interval of time (report/native_trace/ntrace.h) give the same.
 *
 * Not told apart: a wait for memory or network under which a matrix unit still
 * finishes its rows. Such cycles count as wait, and so as many cycles of the
 * core's own work count as compute.
 */
#ifndef REPORT_BREAKDOWN_H
#define REPORT_BREAKDOWN_H
#include "report/view/view.h"

#include <stdio.h>

enum breakdown_part {
    BREAKDOWN_COMPUTE,                  /* a matrix unit is busy */
    BREAKDOWN_VECTOR,                   /* it is not, and the core works or waits for itself */
    BREAKDOWN_HBM,                      /* stalled for copies to or from HBM */
    BREAKDOWN_ICI,                      /* stalled for another core or the network */
    BREAKDOWN_IDLE,                     /* this core has halted, others have not */
    BREAKDOWN_LAST_ON_CORE = BREAKDOWN_IDLE,
    BREAKDOWN_INPUT,                    /* the host sends the step's input */
    BREAKDOWN_DISPATCH,                 /* the host dispatches, the device starts the program */
    BREAKDOWN_PART_COUNT
};

struct breakdown {
    cycle_t part[BREAKDOWN_PART_COUNT];         /* in core cycles */
};

struct breakdown_text {
    const char *key, *name, *meaning;   /* "exposed_hbm", "exposed HBM", a line */
};
const struct breakdown_text *breakdown_text(enum breakdown_part p);

/*
 * Of one core over some interval of `cycles`: what it was idle and stalled for,
 * and the busy cycles of its busiest matrix unit. The host's parts are 0.
 */
void breakdown_of_counts(cycle_t cycles, cycle_t idle_cycles,
                         const cycle_t stall_cycles[STALL_COUNT], cycle_t mxu_busy_cycles,
                         struct breakdown *b);
/* of a launch, with the host's parts; not in functional mode */
void breakdown_of_core(const struct report_view *v, int core, struct breakdown *b);
/* summed over the cores that ran: cycles x active_count on the cores */
void breakdown_of_launch(const struct report_view *v, struct breakdown *b);

/* of the parts on the core; of all parts */
cycle_t breakdown_core_cycles(const struct breakdown *b);
cycle_t breakdown_cycles(const struct breakdown *b);

/* busy cycles of the busiest matrix unit of a core; 0 where it has none */
cycle_t breakdown_mxu_busy_cycles(const struct core_counters *c);

/* the table in report.txt */
void breakdown_print(const struct report_view *v, FILE *to);
#endif
