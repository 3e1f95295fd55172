/*
 * Inside a core: what sim/observe/trace.h promises to tell of it.
 *
 * The open run is all that has issued since run_at, without a stall or a jump:
 * it costs nothing per bundle, for where it ends is where the core is. Stalls,
 * jumps and failed guards end it; markers and accesses wait inside it until its
 * record is written.
 */
#ifndef SIM_RECORD_H
#define SIM_RECORD_H
#include "sim/core/core.h"
#include "sim/observe/trace.h"

#define RECORD_MAX 2048                 /* handed on at a time */
#define RECORD_INSIDE_MAX 256           /* more than one bundle can have */

struct recorder {
    const struct trace_sink *sink;
    int core;
    uint32_t run_bundle;                /* of the open run: its first bundle, */
    cycle_t run_at;                     /* and when that issues */
    uint32_t count, inside_count;
    struct trace_record inside[RECORD_INSIDE_MAX];
    struct trace_record record[RECORD_MAX];
};

/* NULL where `sink` is; `c` is where the recording begins. The old one is used again, or freed. */
struct recorder *record_begin(struct recorder *old, const struct core *c,
                              const struct trace_sink *sink);
/* all that there is goes to the sink; the core is between two bundles, or has faulted */
void record_hand_over(struct core *c);

/* The core's bundle issues at `at`, the last resume_cycles of its wait t->at being resume time. */
void record_stall(struct core *c, const struct issue_time *t, cycle_t at);
/* after its guards; before anything else of the bundle */
void record_live(struct core *c, const struct decoded_bundle *b, cycle_t at);
void record_mark(struct core *c, int32_t marker);
/* before it executes: addresses are in registers that it may write */
void record_accesses(struct core *c, const struct decoded_bundle *b, cycle_t at);
/* pc is the target */
void record_jump(struct core *c);
void record_halt(struct core *c);
/* a loop is about to go on `count` periods later; `r` counts one */
void record_repeat(struct core *c, const struct trace_repeat *r);
/* the core's time has changed by that */
void record_resume(struct core *c);
#endif
