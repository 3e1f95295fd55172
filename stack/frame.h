/*
 * The frame of a streaming kernel: a grid of steps, windows of its arrays in
 * VMEM, copies that run a step ahead. What Pallas calls a pipeline.
 *
 * A kernel declares its grid (up to FRAME_DIM_MAX dimensions, the last one
 * innermost) and its windows: for each array the box of tiles that one step
 * works on and how it moves along the grid. Between frame_begin and frame_end
 * it emits the code of one step with vcode. The frame
 *   - keeps two buffers per window (one where the window never moves), starts
 *     the copy of the next box before the step and waits for this one's, only
 *     where the box has changed;
 *   - sends result boxes to HBM when the grid leaves them and waits before a
 *     buffer is used again;
 *   - does not copy windows of arrays that lie in VMEM: the step works on them
 *     in place.
 *
 * Edges: `limit` keeps the last box along a grid dimension inside the array by
 * moving it back (it overlaps the one before, which is right for results that
 * depend on their own elements alone); where that is not allowed, boxes must
 * divide the array.
 *
 * Registers. The frame has scalar registers s16..s31 and predicates p8..p13,
 * the step s0..s15 and p1..p7 (p0 belongs to loops), which keep nothing from
 * step to step. Vector registers keep nothing either, unless pinned.
 *
 * Addresses. All first buffers lie together, all second buffers as far behind
 * them as the frame says, so one register per class of windows (those that
 * move along the same innermost grid dimension) tells where the current boxes
 * are: box row = S[frame_base(f, w)] + frame_row(f, w).
 */
#ifndef STACK_FRAME_H
#define STACK_FRAME_H
#include "stack/kernel.h"

#define FRAME_DIM_MAX 5
#define FRAME_WINDOW_MAX 24
#define FRAME_BOX_MAX 4

/* A box as nested counts: box[0] is innermost. It lies dense in VMEM, in this order. */
struct frame_window {
    const struct array *array;
    bool is_result;
    int box_dims;                               /* 1..FRAME_BOX_MAX */
    int64_t box_count[FRAME_BOX_MAX];           /* tiles */
    int64_t box_stride[FRAME_BOX_MAX];          /* tiles of the array from one to the next */
    int64_t step[FRAME_DIM_MAX];                /* tiles of the array per step of the grid */
    int64_t limit[FRAME_DIM_MAX];               /* largest offset along it, in tiles; 0: none needed */
    int valid_sublanes;                         /* copied of each tile, from its first; 0: all 8 */
};

struct frame {
    const struct kernel_job *job;
    int dims;
    int64_t count[FRAME_DIM_MAX];
    int window_count;
    struct frame_window window[FRAME_WINDOW_MAX];
    int64_t scratch_rows;                       /* kept over all steps, behind the windows */
    struct frame_state *state;                  /* the frame's own */
};

/* VMEM that the windows and scratch take, in rows; > job->vmem_rows: it does not fit. */
int64_t frame_vmem_rows(const struct frame *f);

/* Cycles of the copies of all steps, and of what nothing hides (first in, last out). */
int64_t frame_copy_cycles(const struct frame *f, int64_t *exposed_cycles);

int frame_begin(struct frame *f, struct vcode *c, struct arena *a, struct err *e);
void frame_end(struct frame *f, struct vcode *c);

/* For code of the step: */
int frame_base(const struct frame *f, int window);      /* scalar register, or -1: none needed */
int64_t frame_row(const struct frame *f, int window);   /* immediate to add, VMEM rows */
int64_t frame_scratch_row(const struct frame *f);
int frame_index(const struct frame *f, int dim);        /* scalar register: 0..count - 1 */
/* predicate, valid at the start of a step: all of these grid dimensions are at their first (last) */
int frame_is_first(const struct frame *f, uint32_t dim_mask);
int frame_is_last(const struct frame *f, uint32_t dim_mask);
/* spilled registers go here: rows behind everything */
int64_t frame_spill_row(const struct frame *f);
#endif
