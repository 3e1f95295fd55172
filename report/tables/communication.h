/*
 * What a launch spends on communication: from how often each bundle issued and waited, so that
 * no trace is needed.
 *
 * A collective is a source operation that sends to other cores. Kernels follow one another in the
 * order of the program, so it is *in flight* from its first bundle to its last one, with all that
 * stands between: where the compiler has cut it into parts, other kernels. *Exposed* are the
 * cycles of its own bundles, issued and stalled: the core carries it out or waits for it, and
 * does nothing else. The rest is *hidden*.
 */
#ifndef REPORT_COMMUNICATION_H
#define REPORT_COMMUNICATION_H
#include "report/tables/op_stats.h"

struct collective_stat {
    const struct op_stat *op;
    cycle_t total, hidden, exposed;
    int parts;                          /* intervals of its bundles that issued */
};

struct communication {
    struct collective_stat *collective; /* in the order of the program */
    int count;
    cycle_t total;                      /* in which any of them is in flight */
    cycle_t hidden, exposed;
};

/* Of core v->ops_core; all 0 where there is none, or in functional mode. */
void communication_of_launch(const struct report_view *v, struct arena *a,
                             struct communication *out);
void communication_fill_table(const struct report_view *v, struct table *t);
void communication_print(const struct report_view *v, FILE *to);
#endif
