/* What pipeline.c plans and pipeline_emit.c turns into code. */
#ifndef STACK_PIPELINE_IMPL_H
#define STACK_PIPELINE_IMPL_H
#include "stack/kernels/pipeline/pipeline.h"

#define PIPELINE_CLASS_NONE (-1)        /* never moves */
#define PIPELINE_FIRST_SREG 16
#define PIPELINE_FIRST_PRED 8
#define PIPELINE_PRED_COUNT 5           /* behind them one for sums of conditions */
#define PIPELINE_DESCRIPTOR_BYTES 64

/* a box as a copy has it, in granules of 32 bytes */
struct pipeline_copy {
    int64_t run, granules, short_granules;      /* of a short box */
    int64_t short_outer;                        /* its count of the last level */
    int level_count;
    struct pipeline_level { int64_t count, array_stride, vmem_stride; } level[PIPELINE_BOX_MAX];
};

/* a way of moving that several windows may share */
struct pipeline_move {
    int64_t step[PIPELINE_DIM_MAX], limit[PIPELINE_DIM_MAX];
    int sreg;                           /* rows, of windows in place; -1: none of those */
};

struct pipeline_state {
    struct vcode *code;
    int64_t total;                      /* steps */
    int class_of[PIPELINE_WINDOW_MAX];  /* the innermost grid dimension it moves along */
    int move_of[PIPELINE_WINDOW_MAX];
    struct pipeline_copy copy[PIPELINE_WINDOW_MAX];
    int64_t offset[PIPELINE_WINDOW_MAX]; /* VMEM rows behind job->vmem_row */
    int64_t delta, rows;                /* to the second buffers; all windows together */
    int64_t smem[PIPELINE_WINDOW_MAX];  /* of its descriptor, -1: none */
    struct pipeline_move move[PIPELINE_WINDOW_MAX];
    int move_count;
    int counter, index[PIPELINE_DIM_MAX], base[PIPELINE_DIM_MAX]; /* registers, -1: none */
    int next_sreg;
    bool is_awaited;                    /* next operands before results: they share memory */
    struct { bool is_last; uint32_t mask; } pred[PIPELINE_PRED_COUNT];
    int pred_count;
    bool is_finished;                   /* no more steps */
};

bool pipeline_moves(const struct pipeline *f, int window, int dim);
/* tiles from the start of the array to this core's first box: dimensions along which the window
 * moves, or those along which it does not */
int64_t pipeline_start_tiles(const struct pipeline *f, int window, bool is_moving);
/* results of a class are written in the last step before they are sent: one buffer serves them */
bool pipeline_is_late(const struct pipeline *f, int class_dim);
void pipeline_plan_copy(const struct pipeline_window *w, struct pipeline_copy *out);
bool pipeline_is_copied(const struct pipeline *f, int window);
/* granules of all copied operands (results) of a class */
int64_t pipeline_class_granules(const struct pipeline *f, int class_dim, bool is_result);
/* the grid and its windows, as remarks */
void pipeline_tell(const struct pipeline *f, struct vcode *c);
void pipeline_emit_begin(struct pipeline *f);
void pipeline_emit_finish(struct pipeline *f);
void pipeline_emit_end(struct pipeline *f);
#endif
