/*
 * Elementwise work that a move does on the way: what a program computes of an operand alone before
 * it is transposed, as the scale of an attention's queries.
 *
 * The work is a node of the body whose values are made of one parameter, element by element, and of
 * constants that all elements share, in floats. It is done where the operand is unpacked.
 */
#ifndef STACK_MOVE_WORK_H
#define STACK_MOVE_WORK_H
#include "stack/kernels/loop/fused.h"

/* the parameter that the work at `node` is on; NODE_NONE: it is no such work, or none at all */
int move_work_parameter(const struct graph *body, int node);

/* registers of the parameter's values, f32 each, become those of the node's */
void move_work_emit(struct vcode *c, const struct chip *chip, const struct graph *body, int node,
                    struct fused_value *value, int parts);
/* operations of the vector units for a register */
int move_work_ops(const struct graph *body, int node);
#endif
