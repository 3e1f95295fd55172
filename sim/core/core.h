/*
 * One simulated core: architectural state, "ready at" times, and what it has
 * asked of the world outside.
 *
 * A core runs alone until a bundle needs an answer that depends on others (a
 * flag, room in the DMA queue). It puts such questions, and everything it
 * sends out, into its outbox with the cycle they happen at; sim/machine/serial.c
 * commits the outboxes of all cores in time order and wakes the core.
 */
#ifndef SIM_CORE_H
#define SIM_CORE_H
#include "hbm/hbm.h"
#include "isa/matrix.h"
#include "sim/time/clock.h"
#include "sim/time/events.h"
#include "sim/lanes/mask.h"
#include "sim/core/program.h"
#include "sim/core/ranges.h"
#include "sim/lanes/simd.h"

#define TILE_BYTES 4096
#define XLU_ROWS 128                    /* of the transpose buffer */
#define ROW_BYTES 512                   /* a sublane row of VMEM */
#define VMEM_PAGE_ROWS 128              /* what is noted of VMEM together */
#define ROW_WORDS 128
#define STORE_RING 256                  /* more stores than fit into vmem.store_to_load_cycles */
#define STORE_BUCKET_BITS 6

typedef uint32_t tile_t[SIMD_TILE_WORDS];

/*
 * A FIFO of tiles between a unit and its pop, or of words on the way to a scalar register (from
 * vpush to spop, from sdivrem to spop.drf): timing and contents run apart.
 */
struct fifo {
    uint32_t depth, mask;               /* ring size is mask + 1 >= depth */
    uint32_t pushed, popped;            /* entries so far, timing side */
    uint32_t written, read;             /* entries so far, contents side */
    cycle_t *ready_at;
    uint16_t *code;                     /* of tiles: what pops it, timing_pop_key */
    tile_t *tile;                       /* contents: either these */
    uint32_t *word;                     /* or these */
    bool is_grown;                      /* the rings are its own */
};

/*
 * 128 x 128 of a staging register: 16 groups of 8 rows (or columns), the
 * newest at `top`. A 256-wide array has four, by halves: 2 * k + n.
 */
struct quadrant {
    bool is_columns;
    uint32_t filled;                    /* groups from the top on that pushes gave; the others are zeros */
    uint32_t top;
    uint32_t pair[SIMD_ARRAY_PAIRS * 128]; /* rows: [16][4][128]; columns: [16][64][8] */
};

/* What waits in a prep register, and what a staging or gain register holds: timing side. */
struct prepared {
    bool is_full, takes_type_of_push;
    enum matrix_type type;
};
enum loaded { LOADED_NOTHING, LOADED_FLOATS, LOADED_INTEGERS };

/* Results of 8 rows; its halves are popped one after the other. */
struct accumulator {
    bool has_sum, is_integer;
    int popped;                         /* halves, timing side */
    int written, read;                  /* bit per half that holds a sum; halves read: contents */
    cycle_t ready_at[2];
};

struct mxu {
    cycle_t array_free_at, port_free_at;
    cycle_t staged_at[2];               /* all pushes into staging A, B are done */
    struct prepared weights_prepared, rows_prepared;
    enum loaded staged[2], gain_loaded[2];
    struct fifo result;
    struct accumulator *accumulator;    /* mxu.accumulators; then the FIFO is not used */
    tile_t (*sum)[2];                   /* by accumulator and half */
    struct quadrant *staging[2];        /* 1 or 4 each */
    uint32_t (*gain[2])[SIMD_ARRAY_PAIRS][128];
    uint32_t (*array)[SIMD_ARRAY_PAIRS][128];   /* gain registers are two of MXU_ARRAYS, or all */
    int old_array[2], next_old;         /* the others hold weights of before */
    bool is_finite[4];                  /* by array where it is 128 wide: what are_finite says */
    uint8_t *deferred;                  /* by place in the FIFO: 1 + array, 0: it is there */
    tile_t weights_prep, rows_prep;
};

struct xlu {
    cycle_t free_at;
    struct fifo result;
    bool is_open;                       /* between vxpose.start and vxpose.end */
    int pushed_rows;                    /* of the open transpose, timing side */
    int32_t type;                       /* of the open transpose, ISA_XPOSE_TYPE */
    cycle_t next_xpose_at;              /* first cycle the next transpose may begin */
    int row_count;                      /* rows in the transpose buffer, contents side */
    uint32_t (*buffer)[128];            /* XLU_ROWS, a value per word, also of packed tiles */
};

/* The VMEM rows of an access: first + i * stride for each bit i of sublanes, or any. */
struct access_rows {
    bool is_scattered;
    int64_t first, stride;
    uint32_t sublanes;
};

struct store_record {
    cycle_t at;
    struct access_rows rows;
};

enum memory_space {
    SPACE_HBM, SPACE_VMEM, SPACE_SMEM, SPACE_CMEM,
    SPACE_HOST,                         /* the core's window of its host's memory */
    SPACE_COUNT
};

#define DMA_LEVEL_MAX 3

/*
 * A copy under way. Addresses, sizes and strides in bytes. The bytes go run by
 * run; level 0 counts runs, level 1 rounds of level 0, and so on.
 */
struct dma {
    int code;                           /* enum isa_opcode */
    uint8_t source_space, destination_space;    /* enum memory_space */
    bool is_remote;
    int64_t source, destination, bytes, run_bytes;
    struct dma_level {
        int64_t count, source_stride, destination_stride;
    } level[DMA_LEVEL_MAX];             /* innermost first */
    int64_t source_piece_bytes, destination_piece_bytes;  /* runs that touch, taken together */
    int32_t flag, source_flag;          /* on the destination core; on the own core, remote only */
    int32_t target;                     /* destination core */
    int64_t done_bytes;
    int64_t arrived_bytes;              /* at another core, or on the last link there */
    ps_t last_ps;                       /* latest completion of a chunk so far */
    cycle_t issued_at, stalled_from;    /* its bundle waited from then to issued_at */
    uint32_t bundle;
    unsigned char *data;                /* of a remote copy: what the source held at issue, or */
    struct hbm_hold *held;              /* its pages, where they get there as pages */
    struct ranges unknown;              /* of it, in timing mode: bytes that are not known */
    uint32_t number;                    /* of the copies of its core, in the order of issue */
    ps_t started_ps;                    /* its first byte was asked for */
};

enum core_state {
    CORE_EMPTY, CORE_RUNNING,
    CORE_PAUSED,                        /* its next bundle issues at stop_at or later */
    CORE_BLOCKED, CORE_HALTED, CORE_FAULTED
};

/* What a vector register stands for: sim/core/vregs.h. */
struct vreg {
    uint8_t form;                       /* enum vreg_form */
    bool is_finite;                     /* no weight of `pair` is infinite or NaN */
    int64_t row;                        /* first one in VMEM */
    const uint32_t *entry;              /* of a FIFO */
    const uint32_t (*pair)[128];        /* weights by which its rows are yet to be multiplied */
    const uint32_t *addend;             /* of a sum: rows, or a constant */
};

/* A point in time and the constraint that set it. */
struct issue_time {
    cycle_t at;
    enum stall_reason reason;           /* STALL_COUNT while nothing waits */
};

struct core {
    /* what the issue loop touches on every bundle */
    const struct decoded_program *program;
    const struct simd_path *simd;
    const struct chip *chip;
    enum run_mode mode;
    cycle_t now;                        /* first cycle the next bundle may issue */
    cycle_t issue_at;                   /* of the bundle that executes */
    cycle_t limit, delay_until;
    cycle_t stop_at;                    /* issues nothing from here on: machine_advance */
    cycle_t dma_issue_at;               /* first cycle the next DMA may issue */
    uint32_t pc, branch_target;
    int branch_in;                      /* bundles until the jump; 0 = none pending */
    enum core_state state;
    bool halts;                         /* shalt in this bundle */
    uint32_t live;                      /* operations of this bundle whose guard holds */
    int bank_extra;                     /* cycles its strided accesses add */
    uint64_t *bundle_count;             /* times each bundle issued */
    cycle_t *bundle_stall;              /* cycles it waited for that */
    struct bundle_copies *bundle_copies;
    uint64_t *guarded_count;            /* times each guarded operation executed, by source op */
    int32_t *s;                         /* registers, temporaries, constants */
    uint32_t **tile;                    /* likewise, where they stand: sim/core/vregs.h */
    uint64_t vreg_by_rows;              /* registers that stand for VMEM; */
    const uint32_t *ahead[2];           /* tiles of VMEM that will be read soon, it seems */
    uint64_t vreg_by_entry;             /* for a FIFO: apart, as one load of both waits for stores */
    int ahead_next;
    bool borrows;                       /* registers may */
    int32_t entry_s[ISA_SREG_COUNT];    /* scalar registers at launch */
    uint8_t p[P_COUNT];
    cycle_t ready_at[REG_COUNT + 1];
    cycle_t stall_cycles[STALL_COUNT];
    cycle_t waiting_cycles[MACHINE_UNIT_MAX];
    cycle_t busy_cycles[MACHINE_UNIT_MAX];
    cycle_t busy_until[MACHINE_UNIT_MAX];

    /* the instruction memory of a program that does not fit it: sim/core/overlay.h */
    uint32_t overlay_held[2];           /* by half; */
    cycle_t overlay_ready_at[2];
    int overlay_half;                   /* where the program runs */
    cycle_t overlay_free_at;            /* end of the last fetch */

    /* memories */
    tile_t *registers;                  /* vector registers and temporaries, */
    uint32_t *own[V_CONST];             /* and which of them each has; by number at a halt */
    struct vreg vreg[ISA_VREG_MAX];
    struct mask m[M_COUNT];             /* registers, temporaries, constants */
    unsigned char *vmem, *smem;
    int64_t smem_end;                   /* nothing has been written behind */
    int64_t vmem_rows;
    unsigned char *vmem_touched;        /* by page: may have been written since it was made */
    struct hbm_store *hbm;              /* that it sees: its own, or its chip's */
    int64_t hbm_bytes;
    struct ranges *unknown_hbm;         /* timing mode: written from vectors (sim/core/known.h) */
    bool shares_hbm;                    /* with the other cores of its chip */
    struct hbm_store *host;             /* host.window_bytes */
    struct ranges unknown_host;
    unsigned char *cmem;                /* its share, NULL where the chip has none */
    int64_t cmem_bytes;
    struct checks *checks;              /* NULL where no check is asked for */
    int32_t *flag;
    struct store_record store[STORE_RING];
    uint32_t store_count;
    cycle_t store_at[1 << STORE_BUCKET_BITS];   /* newest by rows (timing_note_store) */
    cycle_t wide_store_at;              /* of those that are in no bucket */
    cycle_t store_gap_cycles;           /* vmem.store_to_load_cycles of the chip */
    cycle_t last_store_at, last_sst_at;

    /* units */
    cycle_t eup_free_at;
    struct fifo eup, crf;
    struct fifo *fifo[RESULT_FIFO_COUNT]; /* by RESULT_EUP.., of units that the chip has */
    cycle_t cmem_free_at;               /* for the next cld */
    int32_t iar[2][8];                  /* index address registers: row offsets */
    bool iar_is_unknown[2];             /* timing mode: set from a vector */
    uint32_t rng_seed, rng_draw;
    uint32_t trace_mask;
    struct fifo v2s, drf;
    struct xlu *xlu;
    struct mxu *mxu;
    unsigned char *mxu_memory;          /* weights and sums of all of them */
    unsigned char *lanes;               /* what registers, FIFOs and transposes hold */
    size_t lane_bytes;                  /* of it, given out */
    bool sums_quads;                    /* mxu.sum is quad4 */

    /* the question a blocked bundle has asked, and the answer */
    struct issue_time pending;
    int sync_done;                      /* sync operations of the bundle already settled */
    bool is_resumed;                    /* a blocked or paused bundle goes on */
    int wait_code;                      /* what blocks: an opcode (a DMA: the queue) */
    int32_t wait_flag, wait_value;      /* value of a DMA: slots needed */
    bool is_waiting;                    /* asked, and the answer was: not yet */
    int32_t read_value[S_CONST];        /* flags read, by the register or temporary they go to */
    cycle_t resume_cycles;              /* part of the wait that is resume time */

    /* outside world */
    int number, core_count;
    int64_t clock_mhz;
    struct event_list outbox;
    uint32_t sequence, serial_sequence; /* of its posts, of its serial events: in the event key */
    struct dma *dma;                    /* dma.queue_depth slots */
    int *dma_free;
    int dma_free_count;
    int dma_active;                     /* started in the serial phase and not complete */
    cycle_t dma_busy_from;
    struct dma *copy;                   /* complete, in that order; contents not moved yet */
    size_t copy_count, copy_capacity;
    size_t copy_visible;                /* of them, complete before the core was last woken */

    /* who listens, by sim/core/hooks.h; NULL where nobody does */
    const struct core_hooks *hooks;     /* never NULL */
    struct memo *memo;                  /* where not every iteration is simulated */
    struct recorder *recorder;          /* where somebody wants a trace, */
    bool tells_accesses;                /* and in it where loads and stores go */
    struct hbm_log *hbm_log;            /* where a launch of timing mode may be repeated, */
    struct launch_log *log;             /* where one of mode both is logged, */
    struct origins *origins;            /* and followed */
    struct replay_core *replay;         /* only in a launch that is repeated */
    struct core_watch *watch;           /* where host time is measured */

    /* results */
    cycle_t halted_at;
    struct fault fault;
    struct fault late_fault;            /* of a bundle behind it, found in the serial phase */
    struct stand_in_site stand_in;
    bool is_listing;                    /* its program is a compiler's: machine_load_listing */
    int branch_delay_bundles;           /* the chip's; fewer in a listing without room for them */
    struct core_counters counters;
    uint32_t dma_issued;                /* copies; dma_count: of them, those that have started */
    int64_t dma_count, hbm_read_bytes, hbm_write_bytes, ici_sent_bytes, ici_received_bytes;
    int64_t cmem_read_bytes, cmem_write_bytes, host_read_bytes, host_write_bytes;
    int64_t peer_sent_bytes;            /* to the other core of its chip */
    ps_t peer_busy_ps;                  /* of the link there */
    ps_t dma_staging_ps;                /* that its ports waited for room in their staging */
};

/* sim/core/core.c */
void core_init(struct core *c, int number, const struct chip *chip, int core_count,
               enum run_mode mode, struct arena *a);
void core_fini(struct core *c);
void core_set_program(struct core *c, const struct decoded_program *p);
void core_launch(struct core *c, cycle_t limit);

/* sim/core/core_run.c: run until the core blocks, halts, faults or comes to stop_at */
void core_run(struct core *c);
/* the answer to a blocked core: its bundle issues at `at`, the last resume_cycles of the wait
 * being resume time; STALL_COUNT when it never had to wait */
void core_wake(struct core *c, cycle_t at, enum stall_reason reason, cycle_t resume_cycles);

/* sim/core/exec_mxu.c */
size_t mxu_bytes(const struct chip *chip);      /* of memory, zeroed, that mxu_init takes */
void mxu_init(struct mxu *m, const struct chip *chip, unsigned char *memory, struct arena *a);
void mxu_reset(struct mxu *m, const struct chip *chip);
void mxu_finish_results(struct core *c);        /* work out all that its FIFOs hold */

static inline void issue_not_before(struct issue_time *t, cycle_t at, enum stall_reason reason)
{
    if (at > t->at || (at == t->at && reason < t->reason && t->reason != STALL_COUNT)) {
        t->at = at;
        t->reason = reason;
    }
}

/* sim/core/fault.c: stop this core; "core 3 cycle 1234 bundle 17 (line 42): " goes before the text */
void core_fault(struct core *c, enum fault_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* the same for a bundle that it has issued already; it goes on, the launch ends there */
void core_late_fault(struct core *c, enum fault_kind kind, cycle_t at, uint32_t bundle,
                     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* "core 3 cycle 1234 bundle 17 (line 42)" into buf, no line where it is 0; returns the length */
int core_print_site(int core, cycle_t at, uint32_t bundle, uint32_t line, char *buf,
                    size_t buf_bytes);
/* the same and ": " for the bundle where the core is */
int core_print_place(const struct core *c, cycle_t at, char *buf, size_t buf_bytes);

/* sim/core/exec_sync.c: into the outbox at cycle `at`; fills in time, source and sequence */
void core_post(struct core *c, cycle_t at, const struct event *e);
bool core_check_flag(struct core *c, const struct decoded_op *o, int32_t flag);

/* sim/core/exec_sync.c */
bool core_check_core(struct core *c, const struct decoded_op *o, int32_t number);

/* sim/core/exec_dma.c: whether a copy is one that an operation could have started */
bool dma_is_possible(const struct core *c, const struct dma *d);

/* sim/core/exec_memory.c, sim/core/exec_misc.c: false after a fault, `first`: the base among the operands */
bool core_check_rows(struct core *c, const struct decoded_op *o, int first);
void core_check_indexed_rows(struct core *c, const struct decoded_op *o);
bool core_check_cmem_rows(struct core *c, const struct decoded_op *o);

static inline int64_t core_vmem_pages(const struct core *c)
{
    return (c->vmem_rows + VMEM_PAGE_ROWS - 1) / VMEM_PAGE_ROWS;
}

/* rows of VMEM from `first` up to `end` may be written; those outside of it are not */
static inline void core_note_vmem(struct core *c, int64_t first, int64_t end)
{
    int64_t page = (first > 0 ? first : 0) / VMEM_PAGE_ROWS;
    int64_t last = ((end < c->vmem_rows ? end : c->vmem_rows) - 1) / VMEM_PAGE_ROWS;

    for (; page <= last; page++)
        c->vmem_touched[page] = 1;
}

/* bytes of SMEM up to `end` may have been written */
static inline void core_note_smem(struct core *c, int64_t end)
{
    if (end > c->smem_end)
        c->smem_end = end;
}

/* sim/core/copy.c: contents of copies */
struct dma_piece { int64_t address, bytes; };
/* where the next bytes, at most `most`, from byte `at` of the copy on lie in one piece */
struct dma_piece dma_piece(const struct dma *d, bool is_destination, int64_t at, int64_t most);
/* how many bytes touching runs of one side make up */
int64_t dma_piece_bytes(const struct dma *d, bool is_destination);
/* a copy is issued: it takes its bytes along, if it does and they are not in a shared HBM */
void copy_issued(const struct core *from, struct dma *d);
/* serial phase: its issue is committed; it is complete */
void copy_started(const struct core *from, struct dma *d);
void copy_done(struct core *from, struct core *to, struct dma *d);
/* some bytes of the copy, that lie in one piece on both sides */
void copy_piece(const struct core *c, const struct dma *d, int64_t source, int64_t destination,
                int64_t bytes);
/* whether it holds bytes of its own now, as long as it is under way or when it is complete */
bool dma_takes_data(const struct core *from, const struct dma *d, bool is_complete);
void dma_drop_data(struct dma *d);
void copy_apply(struct core *c, struct dma *d);         /* move its contents */
/* move the contents of the first `count` copies */
void core_apply_copies(struct core *c, size_t count);

/* sim/core/counters.c */
void core_count_wait(struct core *c, const struct decoded_bundle *b, cycle_t from, cycle_t to);
void core_finish_counters(struct core *c, cycle_t cycles, bool is_complete);

/* sim/core/exec_*.c: one handler per operation */
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) exec_fn exec_##id;
#include "isa/ops.def"
exec_fn exec_copy_s, exec_copy_p, exec_copy_m, exec_copy_v;
/* the same where nobody reads the operands again: sim/core/decode_live.c */
exec_fn exec_last_VADD_F32, exec_last_VST;
enum { VADD_LAST_READS = ISA_OPERAND_MAX - 1 };     /* operand that tells the former which */

/* sim/core/fifo.c; …_grow doubles the depth, contents stay; false at the largest there is */
size_t fifo_tile_bytes(int64_t depth);         /* of memory that fifo_init takes for tiles */
void fifo_init(struct fifo *f, int64_t depth, void *tiles, struct arena *a); /* NULL: words */
void fifo_reset(struct fifo *f);
void fifo_fini(struct fifo *f);
bool fifo_grow(struct fifo *f);
bool fifo_resize(struct fifo *f, uint32_t mask);   /* contents are lost; false: no size */

static inline void word_fifo_write(struct fifo *f, uint32_t word)
{
    f->word[f->written++ & f->mask] = word;
}

static inline int32_t word_fifo_read(struct fifo *f)
{
    return (int32_t)f->word[f->read++ & f->mask];
}

/* FIFO contents: the slot a push fills, the slot a pop empties */
static inline uint32_t *fifo_write(struct fifo *f)
{
    return f->tile[f->written++ & f->mask];
}

static inline uint32_t *fifo_read(struct fifo *f)
{
    return f->tile[f->read++ & f->mask];
}
#endif
