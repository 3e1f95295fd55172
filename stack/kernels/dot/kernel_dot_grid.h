/*
 * Inside the kernel of products: a tiling as a grid of steps with windows.
 *
 * Sizes of a tiling: rows, contraction and columns of a step (bm, bk, bn), as
 * Pallas has them; then, 0 where the kernel shall choose: tiles of 128 columns
 * that the units share (width); what each unit has of its own (0 columns, 1 rows, 2 batches,
 * 3 columns, and every other half of them every other pass);
 * 1 for a grid that goes along the columns outside of the rows; batches of a step; 1 for a first
 * step whose operands come before all else, in parts where that will do, and for one buffer of
 * results where that will.
 *
 * A step of several batches has a whole contraction and one column of `width` tiles of each.
 */
#ifndef STACK_KERNEL_DOT_GRID_H
#define STACK_KERNEL_DOT_GRID_H
#include "stack/kernels/pipeline/pipeline.h"
#include "stack/kernels/dot/kernel_dot_body.h"
#include "stack/kernels/dot/kernel_dot_code.h"
#include "stack/kernels/dot/kernel_dot_fused.h"

enum dot_size {
    DOT_BM, DOT_BK, DOT_BN, DOT_WIDTH, DOT_SHARE, DOT_COLUMNS_OUTSIDE, DOT_BATCHES,
    DOT_PARTS, DOT_SIZES
};
enum dot_share { SHARE_COLUMNS, SHARE_ROWS, SHARE_BATCHES, SHARE_DEPTH, DOT_SHARES };
enum dot_dim { DIM_OUTER, DIM_M = DOT_OUTER_MAX, DIM_N, DIM_K, DOT_DIMS };

struct dot_block {                      /* of a fused loop, in VMEM, in place of a window */
    struct dot_fused_loop *fused;       /* or NULL */
    int64_t lanes, rows, batches;       /* tiles; and as many times that */
    int64_t row;                        /* of the pipeline's scratch */
    uint32_t moves;                     /* grid dimensions along which it changes */
    int first_window;                   /* of its own arrays */
};

struct dot_grid {
    const struct dot_problem *p;
    struct pipeline pipeline;
    int dim[DOT_DIMS];                  /* the pipeline's, of each of ours; -1: it has one index */
    /* dimensions of the pipeline along which sums are added up */
    uint32_t contraction;
    int64_t groups, tiles, depth;       /* of a step: rounds of rows, tiles of n, tiles of k, */
    int64_t batches;                    /* and matrices */
    enum dot_share share;
    int window[DOT_ARRAYS_MAX], lhs_window, rhs_window;
    int64_t sum_rows;                   /* VMEM rows of sums */
    int64_t columns_row[DOT_ARRAYS_MAX];        /* of the scratch, of unpacked vectors; or -1 */
    struct dot_block lhs_block, rhs_block, result_block;        /* windows are -1 then */
    int is_tail;                        /* predicate: the end of a contraction that is cut */
    bool is_inside;                     /* passes are in the loop that makes the right operand */
    bool transposes_first;              /* all of a left operand, none beside passes */
    struct dot_step step;               /* what does not depend on registers */
};

/* -1: the tiling does not go with the problem, or does not fit the job's VMEM */
int dot_grid_make(struct dot_grid *g, const struct dot_problem *p, const struct kernel_job *job,
                  const struct tiling *t, struct err *e);

/* kernel_dot_cost.c, of a grid with windows: its first boxes come before all else, in parts where
 * that will do, and results have one buffer where that will */
void dot_grid_begin_early(struct dot_grid *g);

/* the innermost grid dimension along which an operand moves, -1: it does not */
int dot_grid_moves_along(const struct dot_grid *g, bool is_rhs);
/* grid dimensions inside of those along which an operand moves: it is new when all are first */
uint32_t dot_grid_inside(const struct dot_grid *g, bool is_rhs);

/*
 * kernel_dot_cut.c: axes of a fused loop as the grid's steps have them, its windows in the
 * pipeline
 */
int dot_cut_fused(struct dot_grid *g, struct dot_block *b, const struct dot_matrix *m,
                  enum dot_dim along, enum dot_dim down, struct err *e);

/* behind pipeline_begin: the row of a vector's first 128 elements, as rounds load it */
int64_t dot_columns_row(const struct dot_grid *g, int extra);

/* the dimension outside of rows and columns that is cut into steps of several batches */
int dot_batch_dim(const struct dot_problem *p);          /* -1: there is none */
int64_t dot_batch_count(const struct dot_problem *p);

/* VMEM rows of a window from batch to batch, 0: they share it; behind pipeline_begin */
int64_t dot_batch_stride(const struct dot_grid *g, int window, const struct dot_matrix *m);

int64_t dot_grid_steps(const struct dot_grid *g);
/* kernel_dot_cost.c */
void dot_grid_cost(const struct dot_grid *g, struct kernel_cost *out);

/* tilings that fit, cheapest first */
int dot_tilings(const struct kernel_job *job, struct tiling *list, int max);
#endif
