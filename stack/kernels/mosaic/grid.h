/* The grid's windows (lower_window.c) and its steps (lower_grid.c). */
#ifndef STACK_KERNELS_MOSAIC_GRID_H
#define STACK_KERNELS_MOSAIC_GRID_H
#include "stack/kernels/mosaic/product.h"

#define WINDOWS_MAX 64
#define EDGES_MAX 3                     /* dimensions whose last block overhangs */
#define SLICES_MAX 64                   /* of a block that reaches out of its array */

struct window {
    const struct mosaic_window *w;
    struct place array, buffer;         /* the array; the first buffer */
    bool is_output, is_fixed;           /* its block never changes */
    int64_t rows;                       /* of a buffer */
    int64_t granules;                   /* of a block */
    int flag;                           /* of the first buffer, the other's behind it */
    struct scalar at, next;             /* row where the block begins, now and in the next step */
    struct scalar index[MOSAIC_RANK_MAX], next_index[MOSAIC_RANK_MAX];
    struct scalar parity, row, is_new;  /* the buffer, its row, and whether the block has changed */
    int64_t multiple[MOSAIC_RANK_MAX];  /* that an index surely is of */
    int edge[EDGES_MAX], edge_count;
    int64_t words;                      /* its blocks are so many rows of words and no whole tiles */
    int padded;                         /* a dimension where blocks reach out of the array; -1 */
};

struct words_window {
    int operand;
    struct place whole;
    bool is_cut;                        /* a step sees a block of it */
};

struct grid {
    struct lower *l;
    struct window window[WINDOWS_MAX];
    int count;
    bool is_single;                     /* one step */
    struct scalar is_last;
    struct words_window words[WINDOWS_MAX]; /* operands that stand in SMEM with all of their array */
    int words_count;
};

/* argument of the kernel's function for an operand; the array of a call's operand, in memory */
const struct mosaic_value *grid_argument(const struct lower *l, int operand);
struct place grid_array(struct lower *l, int array);

/* the index map's results for the steps in `step`; rows of HBM before the block of these indices */
int grid_window_index(struct grid *g, struct window *w, const struct scalar *step,
                      struct scalar *index);
int grid_window_row(struct grid *g, const struct window *w, const struct scalar *index,
               struct scalar *row);
/* the block at `row`, to or from the buffer `parity`; waiting for it */
int grid_window_copy(struct grid *g, struct window *w, const struct scalar *index,
                     struct scalar row, struct scalar parity);
void grid_window_await(struct grid *g, const struct window *w, struct scalar parity);
/* a window's buffers and flags, or the operand's place where it needs none; 1: there is a window */
int grid_window_open(struct grid *g, int operand);
/* where its blocks begin in the first step, and whether they ever change */
int grid_window_place(struct grid *g, int window, int operand);

/* an array into SMEM before the steps */
int grid_prefetch(struct lower *l, int array, int flag);
/* what this step sees of those that stand there */
int grid_window_words(struct grid *g);
#endif
