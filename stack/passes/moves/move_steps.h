/*
 * A move in several steps. Where what runs along lanes before and behind a move is cut and mixed
 * with other dimensions (patches of pictures: [n, 14 x 16, 14 x 16, 3] to [n, 196, 16 x 16 x 3]),
 * no step of the transposing unit makes it at once. Others can *carry* it: dimensions that do not
 * run along the operand's lanes are put there first, what ran along lanes becomes rows; rows and
 * outer dimensions, which move whole, get into the order of the result, behind such that do not run
 * along the result's lanes; and those are put there last. Each of these is a move that streams.
 */
#ifndef STACK_MOVE_STEPS_H
#define STACK_MOVE_STEPS_H
#include "stack/kernels/pipeline/kernel.h"

#define MOVE_STEPS_MAX 3

/* what moves are made for */
struct move_machine {
    const struct chip *chip;
    enum codegen codegen;
    int64_t vmem_rows;                  /* that a kernel has for windows and scratch */
};

/* cycles of a body as a kernel by itself; by the way that streams, INT64_MAX where none does */
int64_t move_cycles(const struct graph *body, const struct move_machine *c);
int64_t move_streamed_cycles(const struct graph *body, const struct move_machine *c);

struct move_steps {
    int count;
    struct graph *body[MOVE_STEPS_MAX]; /* each of one parameter, which the one before gives */
    int64_t cycles;                     /* of all */
};

/*
 * The cheapest steps that make what `whole` makes, a body of one parameter and one result. False:
 * there are none. Bodies are in `a`.
 */
bool move_steps_find(const struct graph *whole, const struct move_machine *c, struct arena *a,
                     struct move_steps *out);
#endif
