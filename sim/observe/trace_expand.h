/*
 * From a core's trace records to what each unit did: intervals of work.
 *
 * An expander is fed records in their order and calls back with one event per
 * operation that occupies its unit, per stall and per marker. It needs no
 * machine, only the program and its table of occupancy. Fed from the middle of
 * a stream, it does not know what units still do from before: such work is
 * missing, and a unit that would have been busy is taken to be free.
 */
#ifndef SIM_TRACE_EXPAND_H
#define SIM_TRACE_EXPAND_H
#include "base/arena.h"
#include "sim/observe/trace.h"

/* `track` where that is no unit */
enum trace_track { TRACK_IS_STALL = -1, TRACK_IS_BUNDLE = -2, TRACK_IS_MARK = -3 };

/* One interval of work on a track, or a marker (no length). */
struct trace_event {
    cycle_t start, end;
    uint32_t bundle;                    /* index in the core's program */
    uint16_t code;                      /* enum isa_opcode */
    int16_t track;                      /* index into core_counters.unit, or enum trace_track */
    int16_t stall;                      /* enum stall_reason where track is TRACK_IS_STALL */
    uint32_t op;                        /* 1 + index into isa_program.op; 0: stall or bundle */
    int64_t bytes;                      /* of a vtrace: its marker */
};

struct trace_expander {
    const struct isa_program *program;
    const struct trace_op *op;          /* by index into program->op */
    bool wants_bundles;                 /* an event per bundle too, TRACK_IS_BUNDLE */
    bool wants_ops;                     /* every executed operation but copies, those that keep no
                                         * unit busy (pops) with no length; else at most one a
                                         * cycle for units that are busy for just the cycle of
                                         * issue */
    void (*event)(void *context, const struct trace_event *e);
    void *context;
    bool has_live;                      /* the run that comes next begins with guards that fail: */
    uint32_t live;                      /* which operations execute, */
    cycle_t live_at;                    /* at that cycle */
    cycle_t busy_until[MACHINE_UNIT_MAX];
};

/*
 * `e` has the first six members, the rest zero. Records name bundles of the
 * program: who reads them from a file looks after that. Of two operations of a
 * bundle on one unit the one that is written first is told first.
 */
void trace_expand(struct trace_expander *e, const struct trace_record *r, size_t count);
#endif
