/*
 * The pipeline of a streaming kernel: a grid of steps, windows of its arrays in
 * VMEM, copies that run a step ahead. What Pallas calls a pipeline.
 *
 * A kernel declares its grid (up to PIPELINE_DIM_MAX dimensions, the last one
 * innermost) and its windows: for each array the box of tiles that one step
 * works on and how it moves along the grid. Between pipeline_begin and pipeline_end
 * it emits the code of one step with vcode. The pipeline
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
 * Registers. The pipeline has scalar registers s16..s31 and predicates p8..p13,
 * the step s0..s15 and p1..p7 (p0 belongs to loops), which keep nothing from
 * step to step. Vector registers keep nothing either, unless pinned.
 *
 * Addresses. All first buffers lie together, all second buffers as far behind
 * them as the pipeline says, so one register per class of windows (those that
 * move along the same innermost grid dimension) tells where the current boxes
 * are: box row = S[pipeline_base(f, w)] + pipeline_row(f, w). A window in place has a
 * register per way of moving. Tiles of a box stand pipeline_stride rows apart, which
 * differs: copied boxes are dense, those in place have the array's strides.
 *
 * Parts: a window of an operand may ask for its first box in `parts` parts, cut along a box
 * dimension. The pipeline neither copies that box nor waits for it. Code before pipeline_begin
 * starts parts and waits for the first PIPELINE_PARTS_BEFORE, the first step does the same with all
 * others and leaves their flags 0. pipeline_part tells where they lie.
 *
 * Two cores (megacore): pipeline_share gives each of them half of the steps along one
 * dimension. Indices count on over both halves; what is first and last is each
 * core's own.
 *
 * A result that lies where an operand of the same kernel lies (an updated
 * variable) is sent only when the operand's next box has come. Only along the
 * innermost grid dimension may its boxes overlap then, and in VMEM, where nothing
 * is sent, not at all: kernels refuse such boxes by pipeline_updates_twice.
 */
#ifndef STACK_PIPELINE_H
#define STACK_PIPELINE_H
#include "stack/kernels/pipeline/kernel.h"

#define PIPELINE_DIM_MAX 5
#define PIPELINE_WINDOW_MAX 24
#define PIPELINE_BOX_MAX 4
#define PIPELINE_PARTS_BEFORE 2                 /* of a box in parts: they are there before all */

/* A box as nested counts: box[0] is innermost. It lies dense in VMEM, in this order. */
struct pipeline_window {
    const struct array *array;
    bool is_result;
    int64_t first;                              /* tiles of the array before its first box */
    int box_dims;                               /* 1..PIPELINE_BOX_MAX */
    int64_t box_count[PIPELINE_BOX_MAX];        /* tiles */
    int64_t box_stride[PIPELINE_BOX_MAX];       /* tiles of the array from one to the next */
    int64_t step[PIPELINE_DIM_MAX];             /* tiles of the array per step of the grid */
    int64_t limit[PIPELINE_DIM_MAX];            /* largest offset along it, in tiles; 0: none */
    /* in the last step along short_dim the box has so many fewer of its last box dimension */
    int short_dim;
    int64_t short_count;
    int valid_sublanes;                         /* copied of each tile, from its first; 0: all 8 */
    int parts, part_dim;                        /* of the first box, along box_dims; 0: whole */
    int64_t part_count;                         /* of part_dim in a part; the last may have fewer */
    /*
     * A result of one box, of which two cores may each have a part along core_dim of the grid: a
     * step has core_units units, core_align units have core_tiles tiles; 0: it is one core's.
     */
    int core_dim;
    int64_t core_units, core_align, core_tiles;
    int64_t skipped;                            /* by pipeline_share: tiles before the part */
};

/* Part i of a first box: granules from + i * from_step to VMEM granule to + i * to_step. */
struct pipeline_part {
    int64_t from, from_step, to, to_step;
    int64_t granules, last_granules;
    int64_t array_stride, vmem_stride, run;     /* of the copy, in granules */
};

struct pipeline {
    const struct kernel_job *job;
    int dims;
    int64_t count[PIPELINE_DIM_MAX];            /* of steps, all cores together */
    int window_count;
    struct pipeline_window window[PIPELINE_WINDOW_MAX];
    int64_t scratch_rows;                       /* kept over all steps, behind the windows */
    bool is_first_alone;                        /* the next boxes are asked for when the first */
                                                /* are there: both at once would come later */
    uint32_t late_dims;                         /* results are written in the last step along */
                                                /* these dimensions alone; 0: in any step */
    /* of this core, by pipeline_share: its first index */
    int64_t first[PIPELINE_DIM_MAX];
    int64_t share[PIPELINE_DIM_MAX];            /* and its steps; 0: all of them */
    bool is_idle;                               /* the other core does all of it */
    struct pipeline_state *state;               /* the pipeline's own */
};

/*
 * For valid_sublanes: XLA makes the tiles of few rows smaller, f32[256,1] lies in T(2,128). Ours are
 * whole, but only so many sublanes of an array in HBM are copied, a power of two.
 */
int pipeline_valid_sublanes(const struct array *a);

/*
 * Once windows are declared: a core's part of the steps, along a dimension along which all results
 * move, or are parted, and which is most evenly halved, of those the one with the fewest bytes to copy. Core 0 has
 * the larger half, or, where there is no such dimension, everything: then the other core is idle.
 * Nothing happens where the job is for one core. What a kernel decides by cost it decides as core
 * 0, so that both cores decide alike.
 */
void pipeline_share(struct pipeline *f, int core);
/* of this core: steps along a dimension, and all of them */
int64_t pipeline_steps(const struct pipeline *f, int dim);
int64_t pipeline_total_steps(const struct pipeline *f);

/* the innermost grid dimension of several steps along which a window moves; -1: it does not */
int pipeline_class(const struct pipeline *f, int window);

/* Sync flags that it takes, from job->first_flag on. */
int pipeline_flag_count(const struct pipeline *f);

/* VMEM that the windows and scratch take, in rows; > job->vmem_rows: it does not fit. */
int64_t pipeline_vmem_rows(const struct pipeline *f);

/* Once windows are declared: a box of a result in place has what another has already updated. */
bool pipeline_updates_twice(const struct pipeline *f);

/* Bytes of the copies of all steps. */
int64_t pipeline_copy_bytes(const struct pipeline *f);

/*
 * Cycles that the copies of all steps keep the core's port to the HBM busy, about, and of what
 * nothing hides: the first boxes on their way in, the last ones on their way out.
 */
int64_t pipeline_copy_cycles(const struct pipeline *f, int64_t *exposed_cycles);

/* -1: too many registers, flags or descriptors (64 bytes of job->smem per box of 3 strides) */
int pipeline_begin(struct pipeline *f, struct vcode *c, struct arena *a, struct err *e);
/* Optional, before pipeline_end: ends the steps; code behind it runs once, before results that
 * never move are sent. */
void pipeline_finish(struct pipeline *f, struct vcode *c);
void pipeline_end(struct pipeline *f, struct vcode *c);

/* For code of the step: */
/* rows of a whole box before what this core has of it */
int64_t pipeline_skipped_rows(const struct pipeline *f, int window);
int pipeline_base(const struct pipeline *f, int window); /* scalar register, or -1: none needed */
int64_t pipeline_row(const struct pipeline *f, int window); /* immediate to add, VMEM rows */
/* VMEM rows from a tile of the box to the next along box dimension `box_dim` */
int64_t pipeline_stride(const struct pipeline *f, int window, int box_dim);
bool pipeline_is_in_place(const struct pipeline *f, int window);
/* of a window with parts, before pipeline_begin too; the flag of part 0, the next ones behind it */
void pipeline_part(const struct pipeline *f, int window, struct pipeline_part *out);
int pipeline_part_flag(const struct pipeline *f);
int64_t pipeline_scratch_row(const struct pipeline *f);
int pipeline_index(const struct pipeline *f, int dim);  /* register: 0..count - 1; -1: always 0 */
/*
 * A predicate that the step keeps: all of these grid dimensions are at their first (last). Emits
 * the code for it; ask at the start of a step, for at most five different ones.
 */
int pipeline_is_first(struct pipeline *f, uint32_t dim_mask);
int pipeline_is_last(struct pipeline *f, uint32_t dim_mask);
/* spilled registers go here: rows behind everything */
int64_t pipeline_spill_row(const struct pipeline *f);
#endif
