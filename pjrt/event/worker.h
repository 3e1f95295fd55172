/*
 * A thread of ours that does one piece of work after the other, in the order in which they came.
 *
 * Signals of the host's process are blocked on it, and its floating-point state is its own. What is
 * handed over after a fork is refused: threads do not live on in a child.
 */
#ifndef PJRT_WORKER_H
#define PJRT_WORKER_H
#include <stdbool.h>

struct worker;

struct worker *worker_create(void);     /* NULL: the host makes no more threads */
void worker_destroy(struct worker *w);  /* behind all that was handed over */
void worker_do(struct worker *w, void (*work)(void *arg), void *arg);
#endif
