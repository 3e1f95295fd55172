/*
 * A launch recorded twice: into a .strace and into memory (tests/rigs/trace_log.h),
 * and what the two must agree on.
 */
#ifndef TESTS_NTRACE_RIG_H
#define TESTS_NTRACE_RIG_H
#include "report/native_trace/ntrace.h"
#include "tests/rigs/trace_log.h"

struct tee {
    struct trace_log log;
    struct ntrace_writer *writer;
    struct trace_sink sink;
    char path[64];
};
/* from the next launch of `m` on; into a new file of /tmp */
void tee_open(struct tee *t, struct machine *m, const struct ntrace_options *o);
/* no more launches: closes the file and opens it for reading, which must leave nothing out */
struct ntrace *tee_read(struct tee *t);
void tee_close(struct tee *t);          /* forgets the log and removes the file */

/* What a core did at each cycle of a launch, out of the log: member by cycle, and notes. */
struct by_cycle {
    cycle_t cycles;
    int64_t (*cell)[NTRACE_CELL_COUNT];
    uint32_t *note;                     /* as in ntrace_note_cycles */
    bool *has_note;
};
void by_cycle_make(struct by_cycle *b, const struct tee *t, const struct machine *m, int core);
void by_cycle_free(struct by_cycle *b);
/* ntrace_note_cycles, and ntrace_sum with it, of a trace of this launch alone */
void assert_notes(const struct by_cycle *b, struct ntrace *s, int core, cycle_t from,
                  cycle_t end);
void assert_sum(const struct by_cycle *b, struct ntrace *s, int core, cycle_t from, cycle_t end);
/* one cell of a trace that begins with this launch: repeats may be spread evenly in it */
void assert_cell(const struct by_cycle *b, const struct tee *t, int core, bool is_exact,
                 cycle_t from, cycle_t end, const int64_t *got);

/* ntrace_walk_core and ntrace_walk_ops of from..end - 1 against the log */
void assert_walk(const struct tee *t, struct ntrace *s, const struct machine *m, int core,
                 cycle_t from, cycle_t end);

/* copies, accesses of HBM and uses of links of a whole launch against the log, one by one */
void assert_streams(const struct tee *t, struct ntrace *s);

/* ntrace_sum over a launch against the machine's counters of it: cores, HBM, links */
void assert_counters(struct ntrace *s, const struct machine *m, cycle_t start, cycle_t end);
#endif
