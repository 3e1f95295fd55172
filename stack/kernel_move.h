/*
 * Kernels that move data: transposes, reshapes, slices, pads, concatenations,
 * reversals, copies to another order of dimensions (docs/moves.md).
 *
 * There are several ways to make a move; each says whether it can and at what
 * cost, and the cheapest is taken. The general way can make every move.
 */
#ifndef STACK_KERNEL_MOVE_H
#define STACK_KERNEL_MOVE_H
#include "base/units.h"
#include "stack/kernel.h"

struct move_way {
    const char *name;
    int (*takes)(const struct kernel_job *job, struct err *e);  /* 0 or -1 */
    int64_t (*cost)(const struct kernel_job *job);              /* core cycles */
    int (*emit)(const struct kernel_job *job, struct arena *a, struct segment *out,
                struct err *e);
};

extern const struct move_way move_general, move_stream;
extern const struct kernel_kind kernel_move;
#endif
