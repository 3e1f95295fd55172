/*
 * Inside the kernel of products: the code of one step of its grid.
 *
 * A step multiplies a box of the left operand by a box of the right one. It
 * cuts the result into *columns*, `width` tiles each, and the contraction into
 * *passes*: a pass puts weights into the arrays of all units and sends all rows
 * of the step through them, *round* by round; a round is `group_rows` rows. The
 * passes of a column follow each other, then comes the next column. Sums of a
 * column stand in VMEM between passes (on v7x in the accumulators); the last
 * pass hands them to the epilogue, which is part of its rounds.
 *
 * Of a product with batches a column is one batch, or one batch for each unit:
 * the steps from column to column say which. Nothing drains between them.
 *
 * docs/gemm.md tells the whole. Not here: copies, waits, the grid
 * (stack/kernels/pipeline/pipeline.h); what the operands are made of
 * (stack/kernels/dot/kernel_dot_body.c).
 */
#ifndef STACK_KERNEL_DOT_CODE_H
#define STACK_KERNEL_DOT_CODE_H
#include "isa/matrix.h"
#include "stack/backend/bundler.h"
#include "stack/backend/vcode.h"
#include "stack/kernels/pipeline/pipeline.h"

#define DOT_UNITS_MAX 8
#define DOT_PARTS_MAX 4                 /* registers of 8 rows in a round */
#define DOT_WIDTH_MAX 16                /* tiles of a column */
#define DOT_SPLITS 2                    /* parts of the units that share passes */
#define DOT_SETS_MAX 2
#define DOT_POINTERS_MAX 4              /* into windows of the epilogue */
#define DOT_ROUNDS_MAX 1024             /* of a pass */
#define DOT_ROUND_OPS_MAX 2048

enum dot_scalar {
    S_LHS,                              /* left-hand tiles of this round */
    S_LHS_PASS,                         /* of this pass, first round */
    S_SUM,                              /* sums of this round */
    S_SUM_COLUMN,                       /* of this column */
    S_WEIGHTS,                          /* of the next pass */
    S_LOOP, S_PASSES, S_COLUMNS,        /* left to run */
    S_NEXT_WEIGHTS = S_PASSES,          /* in the last pass of a column: of the next column */
    S_SQUARES = S_LOOP,                 /* in spans without a loop: of batches to be transposed */
    S_OUT = S_COLUMNS + 1,              /* pointers of the epilogue, this round */
    S_OUT_COLUMN = S_OUT + DOT_POINTERS_MAX,    /* this column, first round */
    S_PART = S_OUT_COLUMN + DOT_POINTERS_MAX - 1        /* of the operands: awaited next */
};

/* a step may use p1 to p7; p0 belongs to loops */
enum dot_predicate { P_LOOP, P_LATER, P_LAST_ADD, P_MORE, P_PART, P_LAST_PART };

struct dot_box {                        /* of an operand in VMEM */
    int base;                           /* scalar register, -1: none */
    int64_t row;                        /* to add, rows of 512 bytes */
    int64_t depth_step;                 /* rows to the next tile along the contraction */
    int64_t side_step;                  /* and along the rows, or columns, of the result */
};

/*
 * What is done with a round's results, per set of its rows and tile of the column: operations of
 * virtual registers, in order. Loads and stores through pointer i have S_OUT + i
 * as their base and the place of round 0 as their offset.
 */
struct dot_epilogue {
    struct isa_op *op;
    int op_count, vreg_count, mask_count;
    int input[DOT_WIDTH_MAX][DOT_PARTS_MAX];    /* virtual registers of the sums */
    int sets;                           /* of rows, one behind the other */
    int first_op[DOT_SETS_MAX * DOT_WIDTH_MAX]; /* by set, and tile of the column */
    bool *is_late;                      /* by operation: placed behind the transcendental unit's push */
    const bool *is_edge;                /* by operation: left out in the last round, whose rows */
                                        /* end before it does */
    int pointer_count;
    struct dot_pointer {
        int base;                       /* as in dot_box */
        int64_t row, round_step, column_step, unit_step;        /* as in dot_step */
        int64_t base_scale, base_max;   /* scale not 0: min(S[base] x scale, max) is the base */
    } pointer[DOT_POINTERS_MAX];
};

/*
 * A left operand contracted along its rows is transposed in squares of 128 by the
 * cross-lane units: those of its first passes before the step, all others
 * beside the passes of the first column, each some passes before its own.
 */
struct dot_transpose {
    int passes_before;                  /* transposed before the step; 0: all of them are */
    int span_columns;                   /* with batches: columns of a span; 0: all come before */
    int batches;                        /* of a span, */
    int lead;                           /* and those that are transposed before the step */
    int64_t tiles;                      /* of each square of a batch, that are not padding */
    int64_t batch_step, to_batch_step;  /* VMEM rows from batch to batch */
    int is_new;                         /* predicate: else they stand there already; -1: never */
    int64_t squares;                    /* of a tile of the contraction */
    struct dot_box from;                /* steps from square to square */
    int64_t group_step, to_group_step;  /* VMEM rows from tile to tile in a square, */
    int64_t to_square_step;             /* and from square to square along the rows */
};

/*
 * The first step's operands come in parts, one for each pass of a column: all steps ask before a
 * pass whether there is a part to wait for (kernel_dot_parts.c).
 */
struct dot_parts {
    int count;                          /* 0: whole boxes are there before every step */
    int under_way;                      /* so many at a time, the first ones before the pipeline, */
    int64_t pace_cycles;                /* one behind the other */
    int is_first;                       /* predicate: this is the first step */
    int flag;                           /* of part 0 */
    int operands;
    struct pipeline_part operand[2];
};

struct dot_step {
    const struct chip *chip;
    enum matrix_type lhs_type, rhs_type;        /* as the tiles lie in VMEM */
    bool is_rhs_transposed;             /* its tiles hold columns of the result as rows */
    int units;
    bool by_rows;                       /* each unit has rows, or a batch, of its own; */
                                        /* else units share the tiles of the column, */
    int splits;                         /* and so many parts of them the passes, in turn; 0: one */
    int group_rows;                     /* 8, 16, 32 */
    int64_t rounds;                     /* of a pass */
    int64_t lhs_row_tiles;              /* that there are, where the last round has fewer; or 0 */
    int width;                          /* tiles of 128 columns in a column */
    int64_t columns;
    int64_t depth_tiles;                /* tiles of 128 of the contraction, */
    int64_t lhs_depth, rhs_depth;       /* and what of it is not padding; 0: no padding */
    int64_t valid_columns;              /* of the only column, or of each batch; 0: all */
    struct dot_box lhs, rhs;
    struct dot_transpose transpose;
    struct dot_parts parts;
    int64_t lhs_column_step, rhs_column_step;   /* VMEM rows from column to column, */
    int64_t lhs_unit_step, rhs_unit_step;       /* and, by_rows, from unit to unit */
    int64_t sum_row, sum_column_step;   /* rows of VMEM; step 0: every column in its turn */
    int64_t sum_tile_step;              /* from a column of 128 to the next; 0: as they follow */
    int gap_cycles;                     /* between two passes, beyond what code takes */
    bool keeps_pace;                    /* with accumulators: no unit's weights hold up another unit */
    int first_step;                     /* predicate: false where sums stand there already; */
                                        /* -1: none do */
    bool adds_up;                       /* the contraction goes on in later steps: no epilogue */
    const struct dot_epilogue *epilogue;
    int64_t epilogue_cycles;            /* of a round, about: what its slots take */
};

/* whether this chip's units and registers do it, with a reason when not */
int dot_step_check(const struct dot_step *s, struct err *e);

/*
 * Passes whose part of a left operand that is transposed, `squares` of each tile of the
 * contraction, must stand there before the step: then the others come in time. 0: all.
 */
int dot_transpose_passes(const struct dot_step *s, int64_t squares);

/*
 * Of a step whose columns are `at_once` batches each: columns of a span, where all but the first
 * `lead` come in time beside those before theirs; 0: all must be transposed before the step.
 */
int dot_transpose_columns(const struct dot_step *s, int at_once, int64_t squares, int64_t tiles,
                          int *lead);


/* whether each pass is code of its own, and there are enough of them for operands in parts */
bool dot_step_takes_parts(const struct dot_step *s);

/* what starts the first parts and waits for those that the first pass needs: once, ahead of all */
void dot_first_parts(const struct dot_parts *p, const struct chip *chip, struct arena *a,
                     struct isa_program *out);

/* what a step comes to where arrays count whole */
int64_t dot_step_flops(const struct dot_step *s);

/* of a column, each one in every part of the units */
int64_t dot_step_passes(const struct dot_step *s);

/* what is computed of a round's results takes longer than its rows keep an array */
bool dot_epilogue_is_slow(const struct dot_step *s);

/* cycles of a pass without an epilogue and of a step, about */
int64_t dot_pass_cycles(const struct dot_step *s);
int64_t dot_step_cycles(const struct dot_step *s);

/*
 * The code, into `a`: that of `s`, or, where predicate `is_last` (if there is one, else -1) is
 * false, that of the same step without an epilogue. -1 when the epilogue needs more registers
 * than there are.
 */
int dot_step_code(const struct dot_step *s, int is_last, struct arena *a,
                  struct isa_program *out, struct err *e);

/* tiles of 128 in the array's depth and width; rows of weights per push; multiplies per cycle */
int dot_halves(const struct chip *chip);
#endif
