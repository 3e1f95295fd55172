/*
 * Inside the reference machine (tests/reference/reference.h).
 */
#ifndef TESTS_REF_IMPL_H
#define TESTS_REF_IMPL_H
#include "base/units.h"
#include "hbm/hbm.h"
#include "interconnect/net.h"
#include "isa/matrix.h"
#include "isa/overlay.h"
#include "tests/reference/reference.h"

#define LANES 128

typedef uint32_t ref_tile[8][LANES];

/* a bit for each half of each word */
struct ref_mask {
    bool half[2][8][LANES];             /* low, high */
};

/* A tile between a unit and what pops it. */
struct ref_result {
    cycle_t ready_at;
    enum isa_opcode pop;
    bool is_integer;                    /* of a matrix unit */
    ref_tile tile;
};
struct ref_fifo {
    int depth, count, first, looked_at; /* looked_at: pops that the bundle has asked for so far */
    struct ref_result *item;            /* a ring of `depth` */
};

/* Words on the way to the scalar unit. */
struct ref_words {
    int depth, count, first, looked_at;
    struct {
        cycle_t ready_at;
        uint32_t word;
    } item[256];
};

enum ref_weights { WEIGHTS_NONE, WEIGHTS_FLOATS, WEIGHTS_INTEGERS };

struct ref_matrix {
    enum ref_weights kind;
    bool is_touched;                    /* else all zeros */
    float value[256][256];              /* [k][n]; the lower 128 of each in a small array */
    bool is_zero_row[256];              /* of a gain register: nothing but zeros at k */
};
struct ref_prep {
    bool is_full, takes_type_of_push;
    enum matrix_type type;
    ref_tile tile;
};
struct ref_accumulator {
    bool has_sum, is_integer;
    int popped;                         /* halves */
    int looked_at;                      /* as in struct ref_fifo */
    cycle_t ready_at[2];
    ref_tile sum[2];
};
struct ref_mxu {
    cycle_t array_free_at, port_free_at, staged_at[2];
    struct ref_prep weights, rows;
    struct ref_matrix *staging[2], *gain[2];
    struct ref_fifo result;
    struct ref_accumulator *accumulator;
};

struct ref_xlu {
    cycle_t free_at, next_xpose_at;
    struct ref_fifo result;
    bool is_open;
    int32_t type;
    int row_count;
    uint32_t row[LANES][LANES];         /* values of the open transpose */
};

struct ref_store {
    cycle_t at;
    bool is_anywhere;
    int64_t row[8];                     /* or REF_NO_ROW */
};

/* The units of a core that are counted, in the order of machine_counters. */
enum {
    REF_SCALAR, REF_VALU, REF_EUP, REF_LOAD, REF_STORE, REF_MISC, REF_DMA, REF_XLU,
    REF_UNIT_COUNT = REF_XLU + 4 + 2 * ISA_UNIT_MAX
};
struct ref_unit {
    cycle_t busy_cycles, busy_until, waiting_cycles;
    cycle_t last_single_at;             /* of the units that are busy for a cycle */
    int64_t op_count;
};

enum ref_state {
    REF_EMPTY,
    REF_LOOKS,                          /* at its bundle, at cycle look_at again */
    REF_SETTLES,                        /* goes on with the questions of its bundle at look_at */
    REF_ASKS,                           /* waits for an answer */
    REF_ISSUES,                         /* at look_at */
    REF_HALTED, REF_FAULTED
};

/* A copy. Addresses, strides and sizes count granules. */
struct ref_copy {
    enum memory source, destination;
    bool is_remote, is_used;
    int64_t source_at, destination_at, size, run;
    struct {
        int64_t count, source_stride, destination_stride;
    } level[3];
    int flag, source_flag, target;
    int64_t done, arrived;              /* granules */
    ps_t last_ps;
    cycle_t issued_at, stalled_from;
    unsigned char *data;                /* of a remote copy */
};

enum {
    REF_FROM_HBM, REF_TO_HBM, REF_FROM_CMEM, REF_TO_CMEM, REF_FROM_HOST, REF_TO_HOST, REF_LOCAL,
    REF_PORT_COUNT
};
struct ref_port {
    ps_t free_at;
    bool is_waiting;                    /* a turn of it is among the events */
    int *copy;                          /* in the order of their turns */
    int count;
    struct {
        ps_t leaves_at;                 /* not before those in front of it */
        int64_t bytes;
    } *staged;                          /* every chunk of the launch */
    size_t staged_count, staged_capacity;
};

/* HBM, or memory of the host */
struct ref_sparse {
    struct hbm_store *store;
    bool *is_touched;                   /* by page of REF_PAGE_BYTES: written by anybody */
    int64_t *page;                      /* those */
    size_t page_count, page_capacity;
};

struct ref_core {
    struct ref_machine *m;
    int number;
    const struct isa_program *program;
    enum ref_state state;
    uint32_t pc, branch_target;
    int branch_in;
    bool halts;

    cycle_t arrived_at;                 /* the bundle is there to issue from this cycle on */
    cycle_t look_at;
    enum stall_reason reason;           /* what it waited for when it was last looked at */
    cycle_t resume_cycles;              /* part of its wait */
    int settled;                        /* questions of the bundle that are answered */
    const struct isa_op *asking;
    bool is_refused;                    /* the answer was: not yet */
    int32_t asked_flag, asked_value;
    int32_t answer[ISA_BUNDLE_OP_MAX];  /* flags read, by operation of the bundle */
    uint32_t live;                      /* operations of the bundle whose guard holds */

    int32_t s[ISA_SREG_COUNT], entry_s[ISA_SREG_COUNT];
    bool p[16];
    struct ref_mask mask[ISA_MASK_COUNT];
    ref_tile v[ISA_VREG_MAX];
    cycle_t s_ready[ISA_SREG_COUNT], p_ready[16], mask_ready[ISA_MASK_COUNT];
    cycle_t v_ready[ISA_VREG_MAX];

    unsigned char *vmem, *smem, *cmem;
    struct ref_sparse hbm, host;
    int32_t *flag;
    int32_t iar[2][8];
    uint32_t rng_seed, rng_draw;

    struct isa_overlays overlays;       /* of its program */
    struct arena overlay_arena;
    struct { uint32_t overlay; cycle_t ready_at; } half[2];  /* of the instruction memory */
    int running_half;
    cycle_t fetch_ends_at;
    cycle_t eup_free_at, cld_free_at, dma_free_at, delay_until, last_sst_at, last_vst_at;
    struct ref_store *store;            /* those that a load might still meet */
    size_t store_count, store_capacity;
    struct ref_fifo eup, crf;
    struct ref_words v2s, drf;
    struct ref_xlu xlu[4];
    struct ref_mxu mxu[ISA_UNIT_MAX];

    struct ref_copy *copy;              /* dma.queue_depth */
    int copies_queued, copies_running;
    struct ref_port port[REF_PORT_COUNT];
    struct ref_port sender;             /* to other cores: its time and what it has staged */
    ps_t staging_ps;
    ps_t peer_free_at, peer_busy_ps;    /* the way to the other core of the chip */
    ps_t hbm_free_at;                   /* its reads and writes of the HBM go at core_gbps */
    struct ref_copy *complete;          /* contents not moved yet */
    size_t complete_count, complete_capacity;

    uint32_t sequence;
    cycle_t halted_at;
    struct ref_fault fault;
    struct ref_unit unit[REF_UNIT_COUNT];
    struct core_counters counters;
};

#define REF_PAGE_BYTES 65536

/* What happens between cores, in the order in which it happens at one instant. */
enum ref_event_kind {
    REF_ASK_QUEUE, REF_ADD, REF_SET, REF_COPY_SENT, REF_COPY_DONE, REF_ON_LINK,
    REF_SEND_ADD, REF_SEND_SET,
    REF_PORT_TURN, REF_SEND_CHUNK, REF_CHUNK_ARRIVES, REF_COPY_BEGINS, REF_ASK_SET, REF_ASK_READ,
    REF_ASK_REMOTE_READ, REF_PEEK, REF_ANSWER, REF_ASK_WAIT
};
struct ref_event {
    ps_t at;
    enum ref_event_kind kind;
    int core;
    bool is_later;                      /* than those that the core itself made */
    uint32_t sequence;
    int target, flag, index;            /* index: of a copy, a port, an operation of the bundle; of
                                         * an addition to a flag: its bundle */
    int64_t value;
    enum stall_reason cause;            /* what a wait that this ends is charged to */
    /* REF_ON_LINK: what it will be, where its head is; of a chunk: its first granule, and an
     * instant before which it is not there */
    enum ref_event_kind then;
    struct net_route way;
    int chip;
    int64_t first;
    ps_t not_before;
};

struct ref_machine {
    struct slice slice;
    struct chip chip;
    int core_count, chip_count;
    int64_t share_bytes, cmem_bytes;    /* per core */
    struct ref_core *core;
    struct hbm **hbm;
    struct net *net;
    ps_t (*cmem_free_at)[2];            /* by chip: for reads, for writes */
    ps_t (*host_free_at)[2];            /* the same of the link to the host */
    struct ref_event *event;            /* sorted */
    size_t event_count, event_capacity;
    uint32_t later_sequence;
    struct ref_op *op;                  /* those of the bundle that issues */
    ps_t now_ps;
    cycle_t now, limit;
    cycle_t cycles;
    struct ref_fault fault;             /* of the last launch */
};

/* An operation that executes: what it reads is as it was before the bundle. */
struct ref_op {
    struct ref_core *c;
    const struct isa_op *op;
    int index;                          /* in the bundle */
    cycle_t at;                         /* cycle of issue */
    struct ref_fifo *fifo;              /* of a push: where its result goes, and when it is there */
    cycle_t ready_at;
    ref_tile splat[3];                  /* immediates as tiles */
    int splat_count;
    union {
        int32_t s;
        bool p;
    } result;
    struct ref_mask mask;
    ref_tile tile;
};
typedef void ref_fn(struct ref_op *x);

/* tests/reference/ref_ops.c */
ref_fn *ref_function(enum isa_opcode code);
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) ref_fn ref_##id;
#include "isa/ops.def"

/* operands as values; tests/reference/ref_ops.c */
int32_t ref_s(const struct ref_op *x, int operand);
bool ref_p(const struct ref_op *x, int operand);
const struct ref_mask *ref_m(const struct ref_op *x, int operand);
const uint32_t (*ref_v(struct ref_op *x, int operand))[LANES];
int ref_choice(const struct ref_op *x, int choice);     /* of the mnemonic, from 0 */

/* tests/reference/ref_machine.c */
void ref_fault(struct ref_core *c, cycle_t at, enum fault_kind kind, const char *why);

/* tests/reference/ref_issue.c: try to go on at m->now */
void ref_look(struct ref_core *c);
void ref_first_overlay(struct ref_core *c);     /* at a launch */

/* tests/reference/ref_units.c */
int ref_track(const struct ref_core *c, const struct isa_op *op);
int ref_latency(const struct chip *chip, const struct isa_op *op);
void ref_occupy(struct ref_core *c, const struct isa_op *op, cycle_t start, cycle_t end);
/* of an operation of the EUP, an XLU or of CMEM: from when its unit is taken, its result there */
void ref_take_unit(struct ref_op *x);
void ref_push(struct ref_op *x, struct ref_fifo *f, cycle_t ready_at, enum isa_opcode pop,
              bool is_integer, const uint32_t (*tile)[LANES]);
void ref_push_word(struct ref_op *x, struct ref_words *f, cycle_t ready_at, uint32_t word);
uint32_t ref_pop_word(struct ref_words *f);
void ref_pop(struct ref_op *x, struct ref_fifo *f);     /* into x->tile */
struct ref_fifo *ref_fifo_of_pop(struct ref_core *c, const struct isa_op *op);  /* or NULL */

/* tests/reference/ref_mxu.c */
int ref_matrix_cycles(const struct chip *chip, const struct matrix_op *m);
void ref_mxu_reset(struct ref_mxu *u, const struct chip *chip);

/* tests/reference/ref_memory.c: the VMEM rows of an access, which may not exist; REF_NO_ROW for sublanes
 * left out */
#define REF_NO_ROW INT64_MIN
void ref_rows(const struct ref_core *c, const struct isa_op *op, int64_t row[8]);
bool ref_is_load(const struct isa_op *op);
bool ref_is_store(const struct isa_op *op);

/* tests/reference/ref_events.c */
ps_t ref_edge_ps(const struct ref_machine *m, cycle_t cycle);
cycle_t ref_cycle_at(const struct ref_machine *m, ps_t at);     /* first edge at or after */
void ref_add_event(struct ref_machine *m, const struct ref_event *e);
/* an event that core c makes at cycle `at`, of its own */
void ref_post(struct ref_core *c, cycle_t at, struct ref_event e);
/* one that follows from others */
void ref_follow(struct ref_core *c, ps_t at, struct ref_event e);
void ref_commit(struct ref_machine *m, const struct ref_event *e);
void ref_raise_flag(struct ref_core *c, int flag, int64_t by, enum stall_reason cause);
bool ref_check_flag(struct ref_core *c, cycle_t at, int32_t flag);
bool ref_check_core(struct ref_core *c, cycle_t at, int32_t number);

/* tests/reference/ref_dma.c */
ps_t ref_chunk_on_link(struct ref_machine *m, struct ref_core *c, const struct ref_event *e);
ps_t ref_cross_chip(struct ref_core *c, int to, int64_t bytes, ps_t not_before);
void ref_copy_begins(struct ref_machine *m, struct ref_core *c, int index);
void ref_port_turn(struct ref_machine *m, struct ref_core *c, int port);
void ref_send_chunk(struct ref_machine *m, struct ref_core *c, const struct ref_event *e);
void ref_chunk_arrives(struct ref_machine *m, struct ref_core *c, const struct ref_event *e);
void ref_copy_done(struct ref_machine *m, struct ref_core *c, int index);
void ref_copy_sent(struct ref_core *c, int index);
void ref_move_complete(struct ref_core *c);             /* contents of all complete copies */
int64_t ref_memory_bytes(const struct ref_core *c, enum memory memory);
void ref_memory_read(const struct ref_core *c, enum memory memory, int64_t at, void *to,
                     int64_t bytes);
void ref_memory_write(struct ref_core *c, enum memory memory, int64_t at, const void *from,
                      int64_t bytes);
#endif
