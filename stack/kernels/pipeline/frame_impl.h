/* What frame.c plans and frame_emit.c turns into code. */
#ifndef STACK_FRAME_IMPL_H
#define STACK_FRAME_IMPL_H
#include "stack/kernels/pipeline/frame.h"

#define FRAME_CLASS_NONE (-1)           /* never moves */
#define FRAME_FIRST_SREG 16
#define FRAME_FIRST_PRED 8
#define FRAME_PRED_COUNT 5              /* behind them one for sums of conditions */
#define FRAME_DESCRIPTOR_BYTES 64

/* a box as a copy has it, in granules of 32 bytes */
struct frame_copy {
    int64_t run, granules, short_granules;      /* of a short box */
    int64_t short_outer;                        /* its count of the last level */
    int level_count;
    struct frame_level { int64_t count, array_stride, vmem_stride; } level[FRAME_BOX_MAX];
};

/* a way of moving that several windows may share */
struct frame_move {
    int64_t step[FRAME_DIM_MAX], limit[FRAME_DIM_MAX];
    int sreg;                           /* rows, of windows in place; -1: none of those */
};

struct frame_state {
    struct vcode *code;
    int64_t total;                      /* steps */
    int class_of[FRAME_WINDOW_MAX];     /* the innermost grid dimension it moves along */
    int move_of[FRAME_WINDOW_MAX];
    struct frame_copy copy[FRAME_WINDOW_MAX];
    int64_t offset[FRAME_WINDOW_MAX];   /* VMEM rows behind job->vmem_row */
    int64_t delta, rows;                /* to the second buffers; all windows together */
    int64_t smem[FRAME_WINDOW_MAX];     /* of its descriptor, -1: none */
    struct frame_move move[FRAME_WINDOW_MAX];
    int move_count;
    int counter, index[FRAME_DIM_MAX], base[FRAME_DIM_MAX];     /* registers, -1: none */
    int next_sreg;
    bool is_awaited;                    /* next operands before results: they share memory */
    struct { bool is_last; uint32_t mask; } pred[FRAME_PRED_COUNT];
    int pred_count;
    bool is_finished;                   /* no more steps */
};

bool frame_moves(const struct frame *f, int window, int dim);
/* tiles from the start of the array to this core's first box: dimensions along which the window
 * moves, or those along which it does not */
int64_t frame_start_tiles(const struct frame *f, int window, bool is_moving);
/* results of a class are written in the last step before they are sent: one buffer serves them */
bool frame_is_late(const struct frame *f, int class_dim);
void frame_plan_copy(const struct frame_window *w, struct frame_copy *out);
bool frame_is_copied(const struct frame *f, int window);
/* granules of all copied operands (results) of a class */
int64_t frame_class_granules(const struct frame *f, int class_dim, bool is_result);
/* the grid and its windows, as remarks */
void frame_tell(const struct frame *f, struct vcode *c);
void frame_emit_begin(struct frame *f);
void frame_emit_finish(struct frame *f);
void frame_emit_end(struct frame *f);
#endif
