/*
 * Moving lanes of a tile whose order or distance changes: reversed, every second one, spread out.
 *
 * Lanes that only shift are rotated (move_rotate of stack/kernels/move/move_loops.h); these
 * go through the permute of the cross-lane unit, which takes a lane number for each lane.
 */
#ifndef STACK_MOVE_LANES_H
#define STACK_MOVE_LANES_H
#include "stack/kernels/move/move_loops.h"

/*
 * Lane to + i * to_step of a tile of the result takes lane from + i * from_step of a tile of the
 * operand, for i in 0..count-1. from_step may be negative, to_step is not.
 */
struct move_lanes { int from, to, count, from_step, to_step; };

/* the tile `v` with its lanes in their places; what lies beside them is undefined */
int move_permute(struct move_step *s, int v, const struct move_lanes *l);

/* of the lanes that `l` fills: a mask for move_store_op; counts what it takes */
int move_lanes_mask(struct move_step *s, const struct move_lanes *l);
#endif
