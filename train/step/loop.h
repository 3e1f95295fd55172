/*
 * A traced step run several times by one launch: a loop in the device's program.
 *
 * Gradient accumulation over micro batches and several steps per execution are such loops.
 * Variables go from one round to the next as the loop's state.
 */
#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H
#include "keras/trace/trace.h"

enum loop_result {
    LOOP_SUM,                           /* over the rounds, in their order */
    LOOP_STACK                          /* [rounds, ...] */
};

/*
 * `body` is a finished trace of the same variables and number of replicas; its arena must live as
 * long as t's. Input i of round k is element k along the first dimension of node input[i] of t,
 * which has `rounds` of them (asserted). Reads and assigns variables of t as the rounds do, one
 * after the other. result[r]: node of t, of the body's r-th result as kind[r] says. Outputs of the
 * body's graph behind its results that take no parameter's place are made before the round ends.
 * The loop's node: its element 0, or all of it if there is no more, counts the rounds.
 */
int loop_repeat(struct trace *t, const struct trace *body, int64_t rounds, const int *input,
                const enum loop_result *kind, int *result);

/*
 * All that t does is `rounds` steps like `body`: its inputs so far are theirs, one behind the
 * other, and so are its results. The body becomes t's, for who cuts steps (docs/parallel.md).
 */
int loop_steps(struct trace *t, struct trace *body, int64_t rounds, const int *input);
#endif
