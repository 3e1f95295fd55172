/*
 * What a launch looks like from outside while it is paused, or after its end:
 * for debuggers, and for tests that hold registers against a reference.
 *
 * Nothing here changes the machine. Values are those that the bundles issued so
 * far have left: a result is there when its bundle has issued, and "ready" says
 * from which cycle on another bundle may use it. Registers of a core without a
 * program, or of a chip that does not have them, read as 0. In mode timing lanes,
 * masks, VMEM and CMEM are unknown and read as anything: machine_knows_lanes.
 * Core, register and bundle numbers are in range, asserted.
 */
#ifndef SIM_INSPECT_H
#define SIM_INSPECT_H
#include "sim/machine/machine.h"

bool machine_knows_lanes(const struct machine *m);

/* 1024 words of 8 sublanes x 128 lanes; the machine's, valid until it goes on */
const uint32_t *machine_vector(const struct machine *m, int core, int number);
int32_t machine_scalar(const struct machine *m, int core, int number);
bool machine_predicate(const struct machine *m, int core, int number);

/* Bit j % 16 of word 8 * i + j / 16 is for sublane i, lane j: its low and its high 16 bits. */
struct mask_view {
    uint16_t low[64], high[64];
};
void machine_mask(const struct machine *m, int core, int number, struct mask_view *to);
/* the row offsets in index address register 0 or 1 */
const int32_t *machine_index_rows(const struct machine *m, int core, int number);

enum register_kind { REGISTER_SCALAR, REGISTER_PREDICATE, REGISTER_MASK, REGISTER_VECTOR };
/* when what was written last can be used; a time long ago where that is the next cycle anyway */
cycle_t machine_ready_at(const struct machine *m, int core, enum register_kind kind, int number);

enum core_activity {
    CORE_HAS_NO_PROGRAM,
    CORE_IS_READY,                      /* issues its bundle at `issues_at` */
    CORE_WAITS,                         /* for what `wait` says */
    CORE_HAS_HALTED, CORE_HAS_FAULTED
};

struct core_view {
    enum core_activity activity;
    uint32_t bundle, line;              /* next bundle, or the one of the halt or fault; line 0:
                                         * not known */
    int64_t issued;                     /* bundles so far */
    cycle_t now;                        /* after the last issue; what follows is waiting */
    cycle_t issues_at;                  /* of a ready core: not earlier than this */
    enum stall_reason reason;           /* what the wait up to there is charged to, STALL_COUNT if
                                         * there is none */
    int branch_in;                      /* a branch is taken after so many bundles; 0: none */
    uint32_t branch_target;
    struct {
        enum isa_opcode code;           /* the operation that waits; a DMA: for its queue */
        int32_t flag, value;            /* value of a DMA: slots needed */
    } wait;
};
void machine_core(const struct machine *m, int core, struct core_view *to);
/* the program that was loaded, NULL if none */
const struct isa_program *machine_program(const struct machine *m, int core);
/* how often a bundle has issued, and the cycles it waited for that */
int64_t machine_bundle_count(const struct machine *m, int core, uint32_t bundle);
cycle_t machine_bundle_stall(const struct machine *m, int core, uint32_t bundle);
/* and what its copies came to; loops that are not simulated again have none */
const struct bundle_copies *machine_bundle_copies(const struct machine *m, int core,
                                                  uint32_t bundle);
/* how often operation `op` of that bundle, from 0 on, has executed, its guard holding */
int64_t machine_op_executed(const struct machine *m, int core, uint32_t bundle, int op);
/* as in struct core_counters, but up to now */
cycle_t machine_stall_cycles(const struct machine *m, int core, enum stall_reason reason);
void machine_op_counts(const struct machine *m, int core, int64_t count[OP_COUNT]);

struct unit_view {
    const char *name;                   /* as in struct unit_counters */
    cycle_t free_at;                    /* may take its next operation from here on */
};
int machine_unit_count(const struct machine *m);
void machine_unit(const struct machine *m, int core, int unit, struct unit_view *to);

/* Results on their way: "eup", "xlu0", "mxu0", "cmem"; as words: "v2s" (vpush), "drf" (sdivrem). */
struct fifo_view {
    char name[16];
    uint32_t depth, count;
};
struct fifo_entry {
    cycle_t ready_at;
    enum isa_opcode pop;                /* what takes it out */
    const uint32_t *data;               /* 1024 words, of a word FIFO 1; NULL where unknown */
};
int machine_fifo_count(const struct machine *m);
void machine_fifo(const struct machine *m, int core, int fifo, struct fifo_view *to);
/* index 0 is the head */
void machine_fifo_entry(const struct machine *m, int core, int fifo, uint32_t index,
                        struct fifo_entry *to);

/* Accumulators that hold a sum, of chips that have them; index in the order of unit and number. */
struct accumulator_view {
    int unit, number;
    bool is_integer;
    cycle_t ready_at;                   /* both halves of it */
    const uint32_t *half[2];            /* 1024 words each, columns 0..127 and 128..255; NULL where
                                         * unknown or where there is but one half */
};
int machine_accumulator_count(const struct machine *m, int core);
void machine_accumulator(const struct machine *m, int core, int index,
                         struct accumulator_view *to);

enum memory { MEMORY_HBM, MEMORY_VMEM, MEMORY_SMEM, MEMORY_CMEM, MEMORY_HOST, MEMORY_COUNT };
const char *memory_name(enum memory memory);
int64_t machine_memory_bytes(const struct machine *m, enum memory memory);      /* of a core */
/* as machine_vmem_read for any memory */
int machine_memory_read(struct machine *m, int core, enum memory memory, int64_t address, void *to,
                        int64_t bytes, struct err *e);

/* A copy that a core has issued, or that has arrived at it, and that its program cannot see yet. */
struct copy_view {
    enum isa_opcode code;
    enum memory source, destination;
    bool is_remote;
    bool is_complete;                   /* its contents wait for the core to be woken */
    int64_t source_address, destination_address, bytes, done_bytes;
    bool is_strided;                    /* in runs of run_bytes */
    int64_t run_bytes;
    int32_t flag, source_flag;          /* of core `target`; of the own core, remote only */
    int target;
    cycle_t issued_at;
    uint32_t bundle;
};
int machine_copy_count(const struct machine *m, int core);
void machine_copy(const struct machine *m, int core, int index, struct copy_view *to);
/* does it read (or write) one of these bytes */
bool machine_copy_touches(const struct machine *m, int core, int index, bool is_destination,
                          int64_t address, int64_t bytes);
/* copies issued since the start of the launch */
int64_t machine_copies_issued(const struct machine *m, int core);
#endif
