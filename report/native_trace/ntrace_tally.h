/*
 * Inside report/native_trace/ntrace_*.c: sums of what a core does, run by run.
 *
 * Tables over a program say how busy the units are up to each bundle, so that
 * a run costs a subtraction per unit that is busy for just the cycle of issue,
 * and a step per operation of the others, which may go on after it.
 */
#ifndef REPORT_NTRACE_TALLY_H
#define REPORT_NTRACE_TALLY_H
#include "report/native_trace/ntrace.h"

#define TALLY_SIMPLE 8                  /* tracks 0..7 have a column, those that are simple count */

struct ntrace_tally_long {              /* an operation that may hold its unit for longer */
    uint32_t bundle, busy_cycles, track;
};

struct ntrace_tally_program {
    const struct isa_program *program;
    const struct trace_op *op;
    uint32_t (*simple)[TALLY_SIMPLE];   /* busy cycles of bundles 0..i - 1 by track */
    uint32_t *first_long;               /* bundle i has long_op[first_long[i]..] */
    struct ntrace_tally_long *long_op;
    uint32_t *note_end;                 /* first bundle from i on with another note */
    uint32_t bundle_count;
};
void ntrace_tally_prepare(struct ntrace_tally_program *t, const struct isa_program *p,
                          const struct trace_op *op, struct arena *a);

struct ntrace_tally {
    int64_t value[NTRACE_CELL_COUNT];
    cycle_t busy_until[MACHINE_UNIT_MAX];
    uint32_t long_tracks;               /* that have a busy_until */
};
/* `count` bundles that issue from `at` on */
void ntrace_tally_run(struct ntrace_tally *t, const struct ntrace_tally_program *p, uint32_t bundle,
                      int64_t count, cycle_t at);
/* one bundle, of whose operations only those of the bits of `live` execute */
void ntrace_tally_live(struct ntrace_tally *t, const struct ntrace_tally_program *p,
                       uint32_t bundle, uint64_t live, cycle_t at);
/* work that goes on behind `border` leaves the sums before it; and enters the sums after it */
void ntrace_tally_cut(struct ntrace_tally *t, cycle_t border);
void ntrace_tally_carry(struct ntrace_tally *t, cycle_t border);
static inline bool ntrace_tally_is_busy(const struct ntrace_tally *t, cycle_t at)
{
    for (uint32_t left = t->long_tracks; left; left &= left - 1)
        if (t->busy_until[__builtin_ctz(left)] > at)
            return true;
    return false;
}
#endif
