/*
 * What the files of the explanation share. explain.c gives each cycle to a
 * cause, explain_wait.c splits waits for copies and links, explain_gain.c
 * predicts, explain_text.c says it in words.
 */
#ifndef REPORT_EXPLAIN_IMPL_H
#define REPORT_EXPLAIN_IMPL_H
#include "report/explain/explain.h"

/* One core's cycles that no cause has taken yet. */
struct explain_pool {
    cycle_t issue_cycles, stall_cycles[STALL_COUNT];
};

/* Divides `total` in proportion to weight[]; of a sum of 0 all goes to part[count - 1]. */
void explain_divide(cycle_t total, const double weight[], int count, cycle_t part[]);

/* of reasons that have one, which waits for HBM and other cores have not */
enum cause explain_stall_cause(enum stall_reason r);
bool explain_is_spill(const char *note);

/* waits for HBM and for other cores of one core, all of them: cycles[] by cause grow */
void explain_waits(const struct explain_input *in, int core, const struct explain_pool *p,
                   cycle_t cycles[CAUSE_COUNT]);

/* the fullest of the slots of vector ALU, loads and stores, of a core's bundles: 0..1; *name */
double explain_fill(const struct core_counters *c, const char **name);

struct explain_copies {                 /* of one core, or of all added up */
    int64_t hbm_reads, hbm_writes, hbm_bytes, remote;
};
void explain_count_copies(const struct core_counters *c, struct explain_copies *n);
double explain_cycles_of_ns(const struct chip *c, double ns);
/* of a copy from or to HBM: its fixed part, in core cycles, as a mean of reads and writes */
double explain_copy_start_cycles(const struct chip *c, const struct explain_copies *n);

void explain_predict(struct explain *x);
void explain_tell(struct explain *x, struct arena *a);
#endif
