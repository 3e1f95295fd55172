/*
 * The code of one step of a move (stack/kernels/move/move_box.h): from the images of the
 * operands' boxes to that of the result's.
 *
 * What runs along lanes on both sides is moved eight rows at a time: loaded
 * with one stride, rotated, stored with another under a mask. What runs along
 * lanes on one side only goes through the transposing unit.
 */
#ifndef STACK_MOVE_STEP_H
#define STACK_MOVE_STEP_H
#include "stack/kernels/move/move_box.h"
#include "stack/backend/builder.h"

struct move_step;

void move_step_emit(struct move_step *s);

/* cycles of a step, about; -1: too much code */
int64_t move_step_cycles(struct move_box *b);
#endif
