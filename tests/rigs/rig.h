/*
 * A machine on the bench: a chip with some parameters changed, programs from
 * assembly text, and readings of what a run did.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H
#include "base/arena.h"
#include "isa/isa.h"
#include "sim/machine/machine.h"
#include "tests/rigs/trace_log.h"

struct rig {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct machine *m;
    struct err err;                     /* of the last run */
    bool is_traced;
    struct trace_log log;               /* where it is */
    struct log_events events;           /* of rig_events */
};

/* what differs from mode both, one host thread, simd "auto", no trace, a million cycles at most */
struct rig_options {
    const char *set[4];                 /* "section.key=value", in front of NULLs */
    enum run_mode mode;
    int thread_count;
    const char *simd;
    bool trace;
    bool check_races, check_unwritten, shared_hbm;
    cycle_t cycle_limit;
    bool no_memo, no_dedup;
};

/* everything fails the test on an error, except a fault in rig_run */
void rig_open(struct rig *r, const char *slice, const struct rig_options *options);
void rig_close(struct rig *r);
void rig_load(struct rig *r, int core, const char *text);
const struct isa_program *rig_assemble(struct rig *r, const char *text);
int rig_run(struct rig *r);             /* all loaded cores; checks the identities once more */
void rig_check(const struct rig *r);    /* the same of a launch that the test has run in parts */
/* of a core of the last launch, one per operation; the rig's until the next call */
const struct log_events *rig_events(struct rig *r, int core);

/* assemble, load on core 0, run; returns the cycles */
cycle_t rig_cycles(struct rig *r, const char *text);
cycle_t rig_stall(const struct rig *r, int core, enum stall_reason reason);
/* of two machines with the same cores: every counter of every core */
void assert_equal_counters(const struct machine *a, const struct machine *b);
const struct unit_counters *rig_unit(const struct rig *r, int core, const char *name);

/* the message of the fault that a run must end with */
const char *rig_fault(struct rig *r, enum fault_kind kind);

/* run `text` on core 0 of a v3 and expect a fault of that kind with `part` in its message */
void assert_fault(const char *text, enum fault_kind kind, const char *part);
void assert_fault_in(enum run_mode mode, const char *text, enum fault_kind kind, const char *part);
#endif
