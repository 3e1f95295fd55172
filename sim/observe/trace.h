/*
 * Recording what a launch does: who issued what when, told as briefly as it can
 * be told, and handed on in pieces while the launch runs. docs/native_trace.md has
 * the design; report/native_trace/ntrace_writer.h makes a file of it.
 *
 * A core's stream has runs of bundles and the stalls between them. What a unit
 * is busy with is not recorded: it follows from the bundles, their times and
 * how long each operation occupies its unit (trace_op_table), and
 * sim/observe/trace_expand.h works it out. Copies, HBM and links are streams of their
 * own, for they do not follow the program's order.
 *
 * Recording changes neither a result nor a cycle. Times are core cycles since
 * the launch began, of HBM and links picoseconds.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H
#include "sim/machine/machine.h"

/* A core's stream: `at` never decreases but for TRACE_MARK and TRACE_ACCESS, which lie within the
 * run before them. */
enum trace_kind {
    TRACE_RUN,          /* bundles bundle.. bundle + value - 1 issued at at.. at + value - 1 */
    TRACE_STALL,        /* nothing issued at at.. at + value - 1; `bundle` is the one that waits */
    TRACE_LIVE,         /* of the bundle that issues at `at`, a guard kept some operations from
                         * executing: bit i of value is 1 where its operation i did; precedes a
                         * run that starts there */
    TRACE_MARK,         /* vtrace issued at `at` in `bundle`: value is its marker */
    TRACE_ACCESS,       /* where wanted: operation `op` of `bundle`, issued at `at`, touched VMEM
                         * rows value, value + stride.. of the sublanes in `mask` */
    TRACE_HALT,         /* shalt: the bundle before `at` was the last */
    TRACE_KIND_COUNT
};

struct trace_record {
    cycle_t at;
    int64_t value;
    uint32_t bundle;
    uint8_t kind;                       /* enum trace_kind */
    uint8_t reason;                     /* enum stall_reason of a stall */
    uint8_t op, mask;                   /* of an access */
    int32_t stride;                     /* of an access; one by an index register is told row by
                                         * row */
};

/*
 * What the core did in the `period` cycles before `at` it did `count` times
 * more, up to at + period * count; nothing else is told of that time. Of one
 * period: bundles issued, stall and busy cycles (whole operations of those that
 * issue in it). The window may hold repeats; no run or stall reaches into it or
 * out of it. Units are busy alike in all of them but, perhaps, the first cycles
 * of the window, with what was issued before it.
 */
struct trace_repeat {
    cycle_t at, period;
    int64_t count;
    cycle_t issue_cycles, stall_cycles[STALL_COUNT], busy_cycles[MACHINE_UNIT_MAX];
};

/* A copy, told when it is complete: one that a fault breaks off is not. Addresses are in bytes,
 * of a core's own share. */
struct trace_dma {
    cycle_t issued_at, done_at;         /* as its core sees it: queued at, flag added to at */
    cycle_t started_at;                 /* its first byte was asked for */
    uint32_t bundle;                    /* of its core's program */
    uint16_t code;                      /* enum isa_opcode */
    uint8_t source_space, destination_space;        /* enum memory of sim/observe/inspect.h */
    int32_t target;                     /* core that gets it; its own of a local copy */
    int64_t source_address, destination_address, bytes;
    int64_t run_bytes;                  /* of a strided copy, else `bytes` */
    int32_t flag;                       /* of the target */
    uint32_t number;                    /* of its core's copies, from 0 on in the order of issue */
};

enum trace_row { TRACE_ROW_HIT, TRACE_ROW_CLOSED, TRACE_ROW_CONFLICT };

/* Bursts on one row of one bank, one behind the other (struct hbm_run of hbm/hbm.h). */
struct trace_hbm {
    ps_t asked_at;                      /* in the order told; a write held back may be before it */
    ps_t data_at, end_at;               /* data bus taken from data_at to end_at: struct hbm_run */
    int16_t channel, bank;
    uint8_t row;                        /* enum trace_row */
    bool is_write, has_met_refresh;
    int64_t bytes;
};
static inline ps_t trace_hbm_begins_at(const struct trace_hbm *h)
{
    return h->asked_at < h->data_at ? h->asked_at : h->data_at;
}

/* A message's use of one directed link. */
struct trace_link {
    ps_t start, end;
    int64_t payload_bytes, wire_bytes;
    int32_t core;                       /* whose copy or flag it is, */
    uint32_t dma;                       /* and its trace_dma.number; UINT32_MAX: no copy */
};

struct trace_launch {
    const struct machine *machine;      /* ask it for chip, slice, programs */
    cycle_t resumed_at;                 /* of a launch taken up from a snapshot, else 0: nothing
                                         * that issues before it is told */
};

/*
 * Who is told. `core` and `repeat` are called on the host thread that simulates
 * that core, for several cores at once, the rest on one thread at a time. Arrays
 * are the machine's and last for the call. NULL members are not called (without
 * `core` there are no repeats). The order across streams is the machine's
 * business; within each stream it is the same for any number of host threads.
 * All that has happened up to a pause of machine_advance has been told when it
 * returns: a pause may cut a run into two, and changes nothing else.
 *
 * A `begin` without an `end` before it is a snapshot that was taken up while a
 * launch was paused, as debuggers do to step back. What follows has been told
 * before, as far as the launch had come: the same but for where runs are cut.
 */
struct trace_sink {
    void *context;
    bool wants_access;                  /* TRACE_ACCESS too; loops are simulated to their end, in
                                         * timing mode by the slower way */
    void (*begin)(void *context, const struct trace_launch *l);
    void (*core)(void *context, int core, const struct trace_record *r, size_t count);
    void (*repeat)(void *context, int core, const struct trace_repeat *r);
    void (*dma)(void *context, int core, const struct trace_dma *d);
    void (*hbm)(void *context, int chip, const struct trace_hbm *h);
    void (*link)(void *context, int link, const struct trace_link *l);
    /* machine_cycles and the counters are there; after a fault as well */
    void (*end)(void *context, const struct machine *m);
};

/*
 * From the next launch on, or from this one on where it has not been advanced
 * since machine_start or machine_restore; NULL: nobody. *sink outlives its use.
 * Not in functional mode (asserted).
 */
void machine_set_trace(struct machine *m, const struct trace_sink *sink);

/* What an operation of a program occupies, beside the table of operations. */
struct trace_op {
    uint16_t code;                      /* enum isa_opcode */
    int16_t track;                      /* index into core_counters.unit */
    uint32_t busy_cycles;               /* from its issue on, or from when the unit is free; of a
                                         * copy 0: its time is told */
};
/* one entry per operation of `p`, in the order of isa_program.op; from the arena */
struct trace_op *trace_op_table(const struct machine *m, const struct isa_program *p,
                                struct arena *a);
#endif
