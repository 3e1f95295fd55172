/*
 * A matrix unit from inside: which row of which operation every processing
 * element (PE) of the array works on, at any cycle.
 *
 * The trace says when weights go into a staging register, when rows enter the
 * array and when results are popped; the chip says when sums are ready
 * (docs/mxu.md). Between these instants the picture is this: the PE of array
 * row k and column n meets a left-hand row delay(k + n) cycles after that row
 * entered, its sum goes down one PE at a time. So a row is a diagonal that
 * marches through the array, and one table by k + n tells the state of all PEs.
 *
 * Where a chip's sums are ready sooner than one PE a cycle allows, the wave is
 * quicker by a constant factor (span_cycles < 2 x size - 2); what its adders do
 * inside is not published.
 */
#ifndef VIZ_MODEL_WAVEFRONT_H
#define VIZ_MODEL_WAVEFRONT_H
#include "report/native_trace/ntrace.h"

#define WAVE_SIZE_MAX 256
#define WAVE_DIAGONALS (2 * WAVE_SIZE_MAX - 1)

#define WAVE_OP_CYCLES_MAX 320          /* a latch and the slowest vmatmul (sim/chip/params.def) */

enum wave_kind { WAVE_PUSH, WAVE_MULTIPLY, WAVE_POP, WAVE_KIND_COUNT };

/* What the unit did, in the order of issue. */
struct wave_op {
    enum wave_kind kind;
    uint32_t bundle, op;                /* op: index into isa_program.op */
    cycle_t start, end;                 /* on its port or array; of a pop both its issue */
    cycle_t enters;                     /* of a vmatmul: its first row; after the latch */
    int tile_cycles;                    /* of a vmatmul with its prep: rows enter and results
                                         * leave at that rate, while the next one's prep holds the
                                         * array */
    int rows;                           /* in its tile */
    int mode;                           /* of a push: the digit behind vmatpush */
    int reg;                            /* staging register of a push, gain register of a vmatmul */
    int latches;                        /* staging register that it latches first, -1 none */
    bool is_xpose;
    int accumulator;                    /* -1: results go to the FIFO */
    int64_t rows_before;                /* with the same weights, before this one; of a push: into
                                         * its register, since that was latched last */
    int64_t weights;                    /* number of the latch whose weights it uses; 0: not seen;
                                         * of a push: latches of its register before it */
    int64_t results_before;             /* tiles that operations before it gave; of a pop: popped */
    int64_t number;                     /* of its kind, since the beginning of what was fed */
};

struct wavefront {
    const struct isa_program *program;
    int unit;                           /* mxu0, mxu1.. */
    int size, tiles_per_group;          /* result tiles of eight rows: 1, or 2 halves */
    int latency_cycles, latch_cycles, fifo_depth, accumulators;
    int span_cycles;                    /* from the first PE to the last */
    struct wave_op *op;
    size_t count, capacity;
    cycle_t known_from, known_end;      /* what has been fed */
    bool is_from_start;                 /* known_from is the beginning of a launch */
    int64_t result_count, pop_count;
    int64_t older_results;              /* that the FIFO held at known_from, at least */
    int64_t latches_of_staging[2], rows_of_staging[2];
    int64_t latch_count, rows_of_gain[2], weights_of_gain[2], kind_count[WAVE_KIND_COUNT];
};

/* Nothing fed yet. The program is not copied. */
void wavefront_init(struct wavefront *w, const struct chip *chip,
                    const struct isa_program *program, int unit);
void wavefront_fini(struct wavefront *w);
/* forget what was fed; what follows is of `from` on */
void wavefront_restart(struct wavefront *w, cycle_t from, bool is_from_start);
/* one event of the core, in order (ntrace_walk_core with wants_ops); others are left aside */
void wavefront_feed(struct wavefront *w, const struct trace_event *e);
/*
 * Feeds from the run what frames from `from` to `end` need, and some history; nothing where that
 * is known already. Moves operations: frames made before are void.
 */
void wavefront_gather(struct wavefront *w, struct ntrace *run, int core, cycle_t from,
                      cycle_t end);

/* cycles from the entry of a row to diagonal k + n */
int wavefront_delay(const struct wavefront *w, int diagonal);
/* PEs on diagonal k + n */
int wavefront_diagonal_length(const struct wavefront *w, int diagonal);
/* when result tile `tile` of a vmatmul is ready to pop */
cycle_t wavefront_result_ready(const struct wavefront *w, const struct wave_op *o, int tile);
int wavefront_result_tiles(const struct wavefront *w, const struct wave_op *o);

/* What a diagonal of PEs does in one cycle. */
struct wave_diagonal {
    const struct wave_op *op;           /* whose rows are multiplied; NULL: idle */
    int row, rows;                      /* the first of its tile, and how many (usually 1) */
};

/* A register for weights: what is in it, along the direction in which it is filled. */
struct wave_register {
    const struct wave_op *push[WAVE_SIZE_MAX];  /* that filled row (or column) i; NULL: zeros */
    bool is_columns;                    /* .xpose: filled by columns */
    int filled;                         /* rows that pushes have filled, */
    int fresh;                          /* of them, the first so many have not been latched */
    const struct wave_op *filling;      /* under way, its newest row at 0; or NULL */
};

struct wave_frame {
    cycle_t at;
    struct wave_diagonal diagonal[WAVE_DIAGONALS];
    int active;                         /* PEs that multiply */
    int64_t products;                   /* active x rows a PE takes in a cycle */
    const struct wave_op *entering;     /* the vmatmul whose row enters, or that latches; or NULL */
    int entering_row;                   /* -1: it latches its weights */
    struct wave_register staging[2];
    const struct wave_op *gain[2];      /* the vmatmul that loaded the gain register, or NULL */
    int64_t under_way, ready;           /* result tiles in the array, and waiting for a pop */
    int leaving, popped;                /* tiles that become ready, and are popped, in this cycle */
    int sums;                           /* accumulators that hold a sum, of chips that have them */
};
void wavefront_frame(const struct wavefront *w, cycle_t t, struct wave_frame *f);
/* the register as the pushes that ended by `t`, or are under way then, have left it */
void wavefront_register(const struct wavefront *w, int staging, cycle_t t,
                        struct wave_register *r);
/* index of the first operation that starts after `t` */
size_t wavefront_after(const struct wavefront *w, cycle_t t);

/* "vmatmul.f32.gmra.mxu0 at bundle 212 (x.tasm:88)"; returns buf */
char *wavefront_describe(const struct wavefront *w, const struct wave_op *o, char *buf,
                         size_t bytes);
/* one sentence: what is seen at this very cycle; returns buf */
char *wavefront_explain(const struct wavefront *w, const struct wave_frame *f, char *buf,
                        size_t bytes);
#endif
