/* The copies of an export in the order of their issue, and the waits that they ended. */
#ifndef REPORT_EXPORT_COPIES_H
#define REPORT_EXPORT_COPIES_H
#include "report/export/export_model.h"

struct export_copy {
    struct trace_dma dma;
    int core;                           /* that issued it */
    uint64_t flow;                      /* 0: nobody waited for just this one */
};

/* A wait for a sync flag, and the flow of the copy that completed last in it. */
struct export_wait {
    int core;
    cycle_t start;
    uint64_t flow;
};

struct export_copies {
    struct export_copy *copy;           /* by core, issued_at, number */
    size_t count, capacity;
    struct export_wait *wait;           /* by core, start */
    size_t wait_count, wait_capacity;
};

bool export_has_core(const struct export_run *r, int core);
/* waits only where has_waits; walks all cores for them */
void export_copies_gather(struct export_run *r, bool has_waits, struct export_copies *c);
void export_copies_free(struct export_copies *c);
/* first of core `core`, behind the last of the cores before it */
size_t export_copies_first(const struct export_copies *c, int core);
size_t export_waits_first(const struct export_copies *c, int core);
/* a stall that a copy may end */
bool export_is_wait(enum stall_reason r);
#endif
