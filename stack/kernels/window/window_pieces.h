/*
 * A kernel in pieces: frames one behind the other, each with steps of its own.
 * What all fast ways of windows have in common behind their plans.
 */
#ifndef STACK_WINDOW_PIECES_H
#define STACK_WINDOW_PIECES_H
#include "stack/kernels/pipeline/kernel.h"
#include "stack/kernels/move/move_loops.h"

#define WINDOW_SPILL_TILES 16           /* rows of 8 behind the windows, in all pieces' reach */
#define WINDOW_SPILL_ROWS (WINDOW_SPILL_TILES * 8)

struct window_pieces {
    int count;
    void *user;
    /* cuts `box` for a piece, which is known to fit */
    void (*plan)(void *user, int piece);
    struct move_box *box;
    /* the code of one step of the piece planned last, or, where s->is_counted, its cycles */
    void (*step)(struct move_step *s, void *user);
};

/* cycles of the piece planned last, steps and copies, about; INT64_MAX: too much code */
int64_t window_piece_cycles(const struct window_pieces *w);

int window_emit_pieces(const struct kernel_job *job, const struct window_pieces *w,
                       struct arena *a, struct segment *out, struct err *e);
#endif
