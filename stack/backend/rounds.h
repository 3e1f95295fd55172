/*
 * Rounds of a loop that is software-pipelined by hand: the operations of a round by number, and
 * how many rounds later than its own each one runs (its stage), which the section with an II
 * tells. So the same code can write the loop, its rounds one by one, and the parts of rounds that
 * begin before it or end behind it. Products and convolutions.
 */
#ifndef STACK_ROUNDS_H
#define STACK_ROUNDS_H
#include "stack/backend/bundler.h"

struct rounds {
    struct bundler *b;
    int *stage, most;                   /* of each operation of a round */
    int stages;                         /* rounds that overlap in the loop */
    int ordinal;                        /* the operation that comes next */
    int first_stage, end_stage;         /* operations of these are put */
    int64_t count;
    int *pushed_at, *popped_at;         /* by round, in the open section; -1: not there */
};

/* rounds of at most `most` operations, at most `count` in a section; memory is `a`'s */
void rounds_init(struct rounds *r, struct bundler *b, int most, int64_t count, struct arena *a);
void rounds_open(struct rounds *r, const char *note, int ii);   /* a section */
void rounds_begin(struct rounds *r, int first_stage, int end_stage);    /* a round, or its part */
void rounds_begin_whole(struct rounds *r);
void rounds_count_stages(struct rounds *r);                     /* behind a round of the loop */

/* Places the operation unless its stage is left out; returns its time, or -1. */
int rounds_put(struct rounds *r, int not_before, struct isa_op op);
/* two that follow each other in adjacent bundles; the time of the second */
int rounds_put_pair(struct rounds *r, int not_before, const struct isa_op *first,
                    const struct isa_op *second);
/* of the operation put last */
static inline int rounds_stage(const struct rounds *r) { return r->stage[r->ordinal - 1]; }
/* the time from which a round may be pushed: `popping` has been popped, the round before pushed */
int rounds_room_at(const struct rounds *r, int64_t round, int64_t popping);
#endif
