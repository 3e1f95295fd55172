/*
 * Operations that only move elements: where each element of the result comes from, where that is
 * known before the kernel runs.
 */
#ifndef STACK_MOSAIC_MOVES_H
#define STACK_MOSAIC_MOVES_H
#include "stack/mosaic/mosaic.h"

/*
 * The operand that an element of the result comes from, and its index there. -1: it does not come
 * from a known place. The index lies within the result. `amount` of a rotation whose operand says it.
 */
int mosaic_move(const struct mosaic_op *op, int64_t amount, const int64_t *to, int64_t *from);
#endif
