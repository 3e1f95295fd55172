/*
 * The frame of a streaming kernel: a grid of steps, windows of its arrays in
 * VMEM, copies that run a step ahead. What Pallas calls a pipeline.
 *
 * A kernel declares its grid (up to FRAME_DIM_MAX dimensions, the last one
 * innermost) and its windows: for each array the box of tiles that one step
 * works on and how it moves along the grid. Between frame_begin and frame_end
 * it emits the code of one step with vcode. The frame
 *   - keeps two buffers per window (one where the window never moves, or where a
 *     result is written in the last of its box's steps alone), starts
 *     the copy of the next box before the step and waits for this one's, only
 *     where the box has changed;
 *   - sends result boxes to HBM when the grid leaves them and waits before a
 *     buffer is used again;
 *   - does not copy windows of arrays that lie in VMEM: the step works on them
 *     in place.
 *
 * Edges: `limit` keeps the last box along a grid dimension inside the array by
 * moving it back (it overlaps the one before, which is right for results that
 * depend on their own elements alone). `short_count` makes the last box shorter:
 * what lies behind the array's end is neither read nor written, and that part of
 * the box in VMEM holds anything; not for results in place. Otherwise boxes must
 * divide the array.
 *
 * Registers. The frame has scalar registers s16..s31 and predicates p8..p13,
 * the step s0..s15 and p1..p7 (p0 belongs to loops), which keep nothing from
 * step to step. Vector registers keep nothing either, unless pinned.
 *
 * Addresses. All first buffers lie together, all second buffers as far behind
 * them as the frame says, so one register per class of windows (those that
 * move along the same innermost grid dimension) tells where the current boxes
 * are: box row = S[frame_base(f, w)] + frame_row(f, w). A window in place has a
 * register per way of moving. Tiles of a box stand frame_stride rows apart, which
 * differs: copied boxes are dense, those in place have the array's strides.
 *
 * Parts: a window of an operand may ask for its first box in `parts` parts, cut along a box
 * dimension. The frame neither copies that box nor waits for it. Code before frame_begin starts
 * parts and waits for the first FRAME_PARTS_BEFORE, the first step does the same with all others
 * and leaves their flags 0. frame_part tells where they lie.
 *
 * Two cores (megacore): frame_share gives each of them half of the steps along one
 * dimension. Indices count on over both halves; what is first and last is each
 * core's own.
 *
 * A result that lies where an operand of the same kernel lies (an updated
 * variable) is sent only when the operand's next box has come. Only along the
 * innermost grid dimension may its boxes overlap then, and in VMEM, where nothing
 * is sent, not at all: kernels refuse such boxes by frame_updates_twice.
 */
#ifndef STACK_FRAME_H
#define STACK_FRAME_H
#include "stack/kernels/pipeline/kernel.h"

#define FRAME_DIM_MAX 5
#define FRAME_WINDOW_MAX 24
#define FRAME_BOX_MAX 4
#define FRAME_PARTS_BEFORE 2                    /* of a box in parts: they are there before all */

/* A box as nested counts: box[0] is innermost. It lies dense in VMEM, in this order. */
struct frame_window {
    const struct array *array;
    bool is_result;
    int64_t first;                              /* tiles of the array before its first box */
    int box_dims;                               /* 1..FRAME_BOX_MAX */
    int64_t box_count[FRAME_BOX_MAX];           /* tiles */
    int64_t box_stride[FRAME_BOX_MAX];          /* tiles of the array from one to the next */
    int64_t step[FRAME_DIM_MAX];                /* tiles of the array per step of the grid */
    int64_t limit[FRAME_DIM_MAX];               /* largest offset along it, in tiles; 0: none */
    /* in the last step along short_dim the box has so many fewer of its last box dimension */
    int short_dim;
    int64_t short_count;
    int valid_sublanes;                         /* copied of each tile, from its first; 0: all 8 */
    int parts, part_dim;                        /* of the first box, along box_dims; 0: whole */
    int64_t part_count;                         /* of part_dim in a part; the last may have fewer */
};

/* Part i of a first box: granules from + i * from_step to VMEM granule to + i * to_step. */
struct frame_part {
    int64_t from, from_step, to, to_step;
    int64_t granules, last_granules;
    int64_t array_stride, vmem_stride, run;     /* of the copy, in granules */
};

struct frame {
    const struct kernel_job *job;
    int dims;
    int64_t count[FRAME_DIM_MAX];               /* of steps, all cores together */
    int window_count;
    struct frame_window window[FRAME_WINDOW_MAX];
    int64_t scratch_rows;                       /* kept over all steps, behind the windows */
    bool is_first_alone;                        /* the next boxes are asked for when the first */
                                                /* are there: both at once would come later */
    uint32_t late_dims;                         /* results are written in the last step along */
                                                /* these dimensions alone; 0: in any step */
    int64_t first[FRAME_DIM_MAX];               /* of this core, by frame_share: its first index */
    int64_t share[FRAME_DIM_MAX];               /* and its steps; 0: all of them */
    bool is_idle;                               /* the other core does all of it */
    struct frame_state *state;                  /* the frame's own */
};

/*
 * Once windows are declared: a core's part of the steps, along a dimension along which all results
 * move and which is most evenly halved, of those the one with the fewest bytes to copy. Core 0 has
 * the larger half, or, where there is no such dimension, everything: then the other core is idle.
 * Nothing happens where the job is for one core. What a kernel decides by cost it decides as core
 * 0, so that both cores decide alike.
 */
void frame_share(struct frame *f, int core);
/* of this core: steps along a dimension, and all of them */
int64_t frame_steps(const struct frame *f, int dim);
int64_t frame_total_steps(const struct frame *f);

/* the innermost grid dimension of several steps along which a window moves; -1: it does not */
int frame_class(const struct frame *f, int window);

/* Sync flags that it takes, from job->first_flag on. */
int frame_flag_count(const struct frame *f);

/* VMEM that the windows and scratch take, in rows; > job->vmem_rows: it does not fit. */
int64_t frame_vmem_rows(const struct frame *f);

/* Once windows are declared: a box of a result in place has what another has already updated. */
bool frame_updates_twice(const struct frame *f);

/* Bytes of the copies of all steps. */
int64_t frame_copy_bytes(const struct frame *f);

/*
 * Cycles that the copies of all steps keep the core's port to the HBM busy, about, and of what
 * nothing hides: the first boxes on their way in, the last ones on their way out.
 */
int64_t frame_copy_cycles(const struct frame *f, int64_t *exposed_cycles);

/* -1: too many registers, flags or descriptors (64 bytes of job->smem per box of 3 strides) */
int frame_begin(struct frame *f, struct vcode *c, struct arena *a, struct err *e);
/* Optional, before frame_end: ends the steps; code behind it runs once, before results that never
 * move are sent. */
void frame_finish(struct frame *f, struct vcode *c);
void frame_end(struct frame *f, struct vcode *c);

/* For code of the step: */
int frame_base(const struct frame *f, int window);      /* scalar register, or -1: none needed */
int64_t frame_row(const struct frame *f, int window);   /* immediate to add, VMEM rows */
/* VMEM rows from a tile of the box to the next along box dimension `box_dim` */
int64_t frame_stride(const struct frame *f, int window, int box_dim);
bool frame_is_in_place(const struct frame *f, int window);
/* of a window with parts, before frame_begin too; the flag of part 0, the next ones behind it */
void frame_part(const struct frame *f, int window, struct frame_part *out);
int frame_part_flag(const struct frame *f);
int64_t frame_scratch_row(const struct frame *f);
int frame_index(const struct frame *f, int dim);        /* register: 0..count - 1; -1: always 0 */
/*
 * A predicate that the step keeps: all of these grid dimensions are at their first (last). Emits
 * the code for it; ask at the start of a step, for at most five different ones.
 */
int frame_is_first(struct frame *f, uint32_t dim_mask);
int frame_is_last(struct frame *f, uint32_t dim_mask);
/* spilled registers go here: rows behind everything */
int64_t frame_spill_row(const struct frame *f);
#endif
