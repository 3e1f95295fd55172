/*
 * Lines of a kernel's source with the cycles of their bundles, and what was made of one of them:
 * operations before they were scheduled, and bundles. Of traces that have a listing
 * (report/native_trace/ntrace_listing.h).
 */
#ifndef VIZ_MODEL_SOURCE_H
#define VIZ_MODEL_SOURCE_H
#include "report/native_trace/ntrace.h"
#include "report/view/line_share.h"
#include "viz/models/model_code.h"

struct source_model {
    const struct ntrace_listing *listing;       /* NULL: empty */
    const struct isa_program *program;
    struct line_sums *sums;             /* by line of the listing */
    double most;                        /* cycles of one line */
    int *order, order_count;            /* lines by file and number; line 0 last, where it has cycles */
    enum stall_reason reason[STALL_COUNT];      /* that somebody waited for, longest first */
    int reason_count;
    int chosen;                         /* line, and what was made of it: */
    size_t *llo, llo_count;
    uint32_t *bundle;
    size_t bundle_count;
};

/* false, and nothing is kept, where the run has no listing of the core's program */
bool source_model_init(struct source_model *m, const struct ntrace *run, int core);
void source_model_fini(struct source_model *m);
/* sums of what has been counted */
void source_model_sum(struct source_model *m, const struct code_counts *c);
void source_model_choose(struct source_model *m, int line);

/* The line with most cycles, but for line 0; that of a bundle's first operation that has one. */
int source_model_dearest(const struct source_model *m);
int source_model_line_of(const struct source_model *m, uint32_t bundle);
static inline double source_model_cycles(const struct source_model *m, int line)
{
    return m->sums[line].issued + m->sums[line].waited;
}

/* The bundle's operations, those of the line first, then how many others; returns buf. */
char *source_model_print(const struct source_model *m, uint32_t bundle, int line, char *buf,
                         size_t bytes);
#endif
