/* Loops that expansions write: a tuple of arrays, worked on in rounds that are counted from 0. */
#ifndef EXPAND_LOOP_H
#define EXPAND_LOOP_H
#include "import/expand/arith.h"

#define LOOP_STATE_MAX 64

struct expand_loop {
    int count;                          /* arrays, at most LOOP_STATE_MAX */
    int state[LOOP_STATE_MAX];          /* before: what they begin with; after: their results */
    int64_t rounds;
    /* replaces state[] by instructions of the builder; `round` is an s32 scalar */
    void (*body)(struct hlo_builder *b, int *state, int round, const void *user);
    /* a pred: is there another round, beside `rounds`? NULL: always */
    int (*goes_on)(struct hlo_builder *b, const int *state, int round, const void *user);
    const void *user;
};

void expand_loop(struct hlo_builder *b, struct expand_loop *l);
#endif
