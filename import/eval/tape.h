/*
 * Tapes: computations over small arrays that are evaluated again and again, loops above all, as
 * lists of steps on registers.
 *
 * A frame (frame.c) makes a value for each instruction, asks each time of which sizes it is and who
 * still needs it; over arrays of a few numbers that takes far longer than the numbers do. A tape
 * has decided it once: every register is an array of a fixed type in a place of its own, calls are
 * written out, tuples are names of registers, what depends on constants alone has been computed,
 * what a loop does not change is computed before it. Every step is the operation's own code (its
 * kernel, or its handler on values that stand for the registers), so the bits are a frame's.
 *
 * What a tape has not: operations of all devices together, queues, custom calls, dynamic sizes.
 */
#ifndef IMPORT_EVAL_TAPE_H
#define IMPORT_EVAL_TAPE_H
#include "import/eval/eval_impl.h"

struct tape;

/* A computation, or the loop that one of its instructions is, whose parameter is the loop's state.
 * Made at the first call, belongs to the evaluation; NULL where there is none. */
struct tape *tape_of_computation(struct eval *ev, int computation);
struct tape *tape_of_loop(struct eval *ev, int computation, int index);
/* On one device; the arguments stay the caller's, *result becomes his; -1 with the error set. */
int tape_run(struct eval *ev, struct tape *t, int device, struct value *const *argument,
             struct value **result);
/* all tapes of an evaluation */
void tape_free_all(struct eval *ev);
#endif
