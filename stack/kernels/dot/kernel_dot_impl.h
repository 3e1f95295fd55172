/*
 * Inside the code of a step: kernel_dot_round.c makes what a round does,
 * kernel_dot_weights.c loads the arrays, kernel_dot_step.c puts rounds together
 * to passes, columns and the step.
 */
#ifndef STACK_KERNEL_DOT_IMPL_H
#define STACK_KERNEL_DOT_IMPL_H
#include "stack/backend/rounds.h"
#include "stack/kernels/dot/kernel_dot_code.h"

#define DOT_TILE_ROWS 8                 /* of VMEM */
#define DOT_RESULTS_MAX 64              /* tiles of results in a round */
#define DOT_TRANSPOSE_REGISTERS 2
#define DOT_ADDED_REGISTERS 4           /* of results that are added to others at once */
#define DOT_SPAN_ROUNDS_MAX 128         /* of a span with several columns */

enum dot_label {
    LABEL_COLUMN, LABEL_LOOP, LABEL_MIDDLE = LABEL_LOOP + 4, LABEL_COUNT = LABEL_MIDDLE + 3,
    LABEL_LAST_STEP = 2 * LABEL_COUNT, LABEL_STEP_END
};

/* what becomes of the results of a pass */
enum dot_use { USE_NONE, USE_SUM, USE_EPILOGUE };
enum dot_source { SOURCE_ZERO, SOURCE_MEMORY, SOURCE_GUARDED };  /* what they are added to */

struct dot_results {
    enum dot_use use;
    enum dot_source source;
    int guard;                          /* SOURCE_GUARDED: memory where true, else zero */
};

/* where rounds' sums and outputs are: behind the loop's registers, or the column's */
struct dot_place {
    bool is_loop;
    int64_t round;                      /* that the registers point to */
    int64_t columns;                    /* further on than they do */
};

struct dot_result {                     /* one tile of a round, in the order of the pops */
    int unit, part, tile;               /* tile of the column, -1: dropped */
    int into;                           /* the result to which it is added, -1: its own */
    bool is_whole;                      /* nothing more is added to it, or to that */
    int popped;                         /* its register */
    int64_t row;                        /* of its sum, behind the round's place */
};

struct dot_code {
    const struct dot_step *s;
    const struct chip *chip;
    struct bundler b;
    int label_base;
    int halves, passes;                 /* of a column, each one in every part of the units */
    int splits, split_units;            /* parts of the units, at least 1; units of each */
    bool last_is_half;                  /* the last pass has the lower half of the depth alone */
    bool last_differs;                  /* its weights are not loaded as others are */
    bool has_accumulators, unpacks_rows, unpacks_weights;
    int lhs_tiles;                      /* of a round and a unit, along the rows */
    int64_t pop_delay;                  /* rounds from a push to its pop */
    int span;                           /* passes in straight code: 1, or all of its columns */
    int span_columns;                   /* columns of a span, at least 1 */
    int64_t straight, loops;            /* rounds of a span outside its loop, and of the loop */
    int ii;
    int advanced_at[ISA_SREG_COUNT];    /* bundle of the loop in which a pointer goes on */
    int unit_tiles[DOT_UNITS_MAX], unit_first[DOT_UNITS_MAX];
    bool some_have_two;                 /* tiles of weights beside each other, pushed together */
    struct dot_result result[DOT_RESULTS_MAX];
    int result_count;
    int64_t column_rows;                /* VMEM rows from one tile of sums to the next */

    /* registers */
    int v_lhs, lhs_count, v_popped, popped_count, v_sum, sum_count, v_weights, weights_count;
    int weight_set;                     /* registers of a tile of weights */
    int v_lane_bits, v_row_bits;        /* ones where the last tile has no padding; -1: none */
    /* DOT_TRANSPOSE_REGISTERS of squares on their way; -1: none */
    int v_transpose;
    int v_pool, pool_count;             /* for the epilogue */
    struct isa_op *epilogue;            /* with physical registers */
    int next_lhs, next_weights;
    bool is_first_pass;                 /* weights are those of a step's first one */
    int v_zero;                         /* of those for weights one that holds zeros, or -1 */

    /* the section at work */
    struct rounds rounds;               /* of a span */
    int64_t from_rows;                  /* the round that S_LHS points to */
    int paced_from, paced_next;         /* straight code: what is computed of a round's results */
                                        /* begins here, of the next one's not before */
    int (*touched_at)[DOT_RESULTS_MAX]; /* sums of a round of rows: last load or store, */
    int (*stored_at)[DOT_RESULTS_MAX];  /* and last store */
    int *transposed_at;                 /* by pass of a span and round: last store of its rows, or -1 */
    int *trf_popped_at;                 /* by tile of squares beside passes: its pop, or -1 */
    int64_t trf_count;
};

int64_t dot_span_rounds(const struct dot_code *d);
/* where all passes are straight code, as v7x has them */
bool dot_units_keep_pace(const struct dot_code *d);
/* pass `pass` of a span is the last one of its column; only where a span has whole columns */
bool dot_ends_column(const struct dot_code *d, int64_t pass);

/* kernel_dot_units.c */
int dot_splits(const struct dot_step *s);
int dot_code_init(struct dot_code *d, const struct dot_step *s, struct arena *a, struct err *e);

/* kernel_dot_registers.c: physical ones for the epilogue */
int dot_epilogue_registers(struct dot_code *d, struct arena *a, struct err *e);

/* kernel_dot_round.c */
void dot_begin(struct dot_code *d, const char *note, int ii);
/* pushes round `round` of a span; is_last: its pass is the last one of a column */
void dot_push_round(struct dot_code *d, int64_t round, bool in_loop, bool is_last);
/* pops what was pushed `pop_delay` rounds before; `rows`: round of the rows it belongs to */
void dot_pop_round(struct dot_code *d, int64_t round, int64_t rows,
                   const struct dot_results *how, const struct dot_place *at);

/* kernel_dot_units.c: cycles that a round keeps a unit's array */
int64_t dot_round_cycles(const struct dot_step *s);

/* kernel_dot_transpose.c: what is transposed beside round `round` of the first column */
void dot_put_transposes(struct dot_code *d, int64_t round);


/* kernel_dot_batches.c: of later batches, beside round `round` of a span, a step's first or another */
void dot_put_batch_transposes(struct dot_code *d, int64_t round, bool is_first);

/* kernel_dot_parts.c: at the start of a step, at the end of a pass, and in the straight rounds of
 * the next one */
void dot_begin_parts(struct dot_code *d);
void dot_await_part(struct dot_code *d);
void dot_start_part(struct dot_code *d);

/* kernel_dot_weights.c */
int64_t dot_weight_items(const struct dot_code *d);
/* items first..end-1 of the weights at S[base] + offset; is_last: of the last pass of a column */
void dot_put_weights(struct dot_code *d, int base, int64_t offset, bool is_last, int64_t first,
                     int64_t end);
/* what takes padding out of tiles, into its registers */
void dot_put_bits(struct dot_code *d);
#endif
