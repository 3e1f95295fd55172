/*
 * A program with what a run of it cost, bundle by bundle: assembly text that
 * assembles to the same program, with comments.
 *
 *   // k3: fusion.36, dense_1/MatMul
 *   // k3: 1,184 cycles up to the next kernel: 1,056 issued, 128 waited (mxu_busy 96, operand 32)
 *   .note fusion.36
 *   k3:
 *
 * and in front of each bundle, in a C comment, how often it issued, how many
 * cycles it waited and for what most of them.
 */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H
#include "base/arena.h"
#include "isa/isa.h"
#include "sim/observe/trace.h"

#include <stdio.h>

struct annotate_counts {
    uint32_t bundle_count;
    int64_t *issued;                    /* by bundle: how often, */
    cycle_t (*waited)[STALL_COUNT];     /* and how long it waited, for what */
};

/* arrays from `a` */
void annotate_counts_init(struct annotate_counts *c, uint32_t bundle_count, struct arena *a);

/*
 * Records of one core (trace_sink.core). The sink must want accesses: repeats,
 * which do not tell of bundles, are not made then.
 */
void annotate_count(struct annotate_counts *c, const struct trace_record *r, size_t count);

/*
 * `c` NULL: what is known without a run. `tell` (may be NULL) says in words
 * what kernel k is, whose first bundle has the symbol "kK" (stack/module/link.h).
 */
void annotate_print(const struct isa_program *p, const struct annotate_counts *c,
                    const char *(*tell)(const void *context, int kernel), const void *context,
                    FILE *to);
#endif
