/*
 * Kernels that move data: transposes, reshapes, slices, pads, concatenations,
 * reversals, copies to another order of dimensions (docs/kernels.md).
 *
 * There are several ways to make a move; each says whether it can and at what
 * cost, and the cheapest is taken. The general way can make every move.
 */
#ifndef STACK_KERNEL_MOVE_H
#define STACK_KERNEL_MOVE_H
#include "base/units.h"
#include "stack/kernels/pipeline/pipeline.h"

struct move_way {
    int64_t (*cost)(const struct kernel_job *job);      /* core cycles; INT64_MAX: it cannot */
    int (*emit)(const struct kernel_job *job, struct arena *a, struct segment *out,
                struct err *e);
};

/* those of `ways` that take the job, cheapest first: tilings of one number, the way's */
int move_ways_list(const struct move_way *const *ways, int way_count,
                   const struct kernel_job *job, struct tiling *list, int max);
int move_way_cost(const struct move_way *way, const struct kernel_job *job,
                  struct kernel_cost *out);

extern const struct move_way move_general, move_stream;
extern const struct kernel_kind kernel_move;
#endif
