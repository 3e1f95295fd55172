/*
 * A kernel in pieces: pipelines one behind the other, each with steps of its own. What all fast
 * ways of moves and windows have in common behind their plans.
 */
#ifndef STACK_MOVE_PIECES_H
#define STACK_MOVE_PIECES_H
#include "stack/kernels/pipeline/kernel.h"
#include "stack/kernels/move/move_loops.h"

#define MOVE_SPILL_TILES 16             /* rows of 8 behind the windows, in all pieces' reach */
#define MOVE_SPILL_ROWS (MOVE_SPILL_TILES * 8)

struct move_pieces {
    int count;
    void *user;
    struct move_box *box;
    /* cuts the box for a piece: its cycles, about, or INT64_MAX where it does not fit */
    int64_t (*plan)(void *user, int piece);
    /* the code of one step of the piece planned last, or, where s->is_counted, its cycles */
    void (*step)(struct move_step *s, void *user);
};

/* cycles of the piece planned last, steps and copies, about; INT64_MAX: too much code */
int64_t move_piece_cycles(const struct move_pieces *w);
/* of all pieces, as they are planned one after the other; INT64_MAX: one does not fit */
int64_t move_pieces_cycles(const struct move_pieces *w);

int move_pieces_emit(const struct kernel_job *job, const struct move_pieces *w, struct arena *a,
                     struct segment *out, struct err *e);
#endif
