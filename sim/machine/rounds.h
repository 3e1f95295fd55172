/*
 * Host threads that work through the cores of a parallel phase, or through
 * other work that falls into parts without an influence on each other.
 *
 * The calling thread counts as one. Which thread runs which core has no
 * influence on anything but host time.
 */
#ifndef SIM_ROUNDS_H
#define SIM_ROUNDS_H

#include <stdbool.h>

struct rounds;

typedef void rounds_fn(void *context, int item);

struct rounds *rounds_create(int thread_count);
void rounds_destroy(struct rounds *r);
/* fn(context, item[i]) for every i, in any order, on all threads; returns when all are done */
void rounds_run(struct rounds *r, rounds_fn *fn, void *context, const int *item, int count);

/*
 * A library in somebody else's process does not let a failed assertion end it: `call` carries out
 * fn(context, item), false when that was broken off; when one of a round was, `raise`, which does
 * not come back, is called on the thread that runs the round. For all rounds of the process, before
 * the first; NULL: nobody looks.
 */
struct rounds_guard {
    bool (*call)(rounds_fn *fn, void *context, int item);
    void (*raise)(void);
};
void rounds_set_guard(const struct rounds_guard *guard);
#endif
