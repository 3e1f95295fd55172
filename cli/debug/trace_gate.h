/*
 * Between a machine that goes back and forth and a trace that is written once:
 * docs/viewer.md.
 */
#ifndef CLI_TRACE_GATE_H
#define CLI_TRACE_GATE_H
#include "sim/observe/trace.h"

struct trace_gate {
    struct trace_sink sink;             /* for machine_set_trace; the gate stays where it is */
    const struct trace_sink *to;
    bool is_open, has_begun;
    cycle_t told_until;                 /* everything before it has gone through */
};

/* passes on to `to`, which outlives it; open */
void trace_gate_init(struct trace_gate *g, const struct trace_sink *to);
/* the machine has been put to an earlier cycle */
void trace_gate_close(struct trace_gate *g);
/* machine_advance, telling each cycle once */
enum machine_status trace_gate_advance(struct trace_gate *g, struct machine *m, cycle_t until);
#endif
