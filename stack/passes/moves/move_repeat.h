/*
 * Repeated elements: a reshape of a broadcast that gives each element, row or line a few times,
 * jnp.repeat, upsampling to the nearest. Between the two, f32[4,56,28,2,32], an array would be mostly
 * padding and as many times larger; one move makes all of it, which reads its operand that often.
 */
#ifndef STACK_MOVE_REPEAT_H
#define STACK_MOVE_REPEAT_H
#include "stack/passes/moves/move_steps.h"

/*
 * The body of such a move, in `a`: of what is broadcast, in place of reshape `node` and the broadcast
 * that it reads. NULL: it is something else, or one move of both takes longer than the reshape alone.
 */
struct graph *move_repeat_find(const struct graph *g, int node, const struct move_machine *c,
                               struct arena *a);
#endif
