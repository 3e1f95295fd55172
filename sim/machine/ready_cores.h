/*
 * Cores of a launch that is repeated that can go on, first come first served, and host threads that
 * look for one. A core is in the list at most once, or on one thread, or somebody knows that it
 * waits and will put it here.
 */
#ifndef SIM_READY_CORES_H
#define SIM_READY_CORES_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define NO_CORE (-1)

struct ready_cores {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int *core;                          /* ring of core_count */
    int core_count, first, sleepers;
    atomic_int count, left;             /* left: that have not halted */
    atomic_bool is_broken;              /* off: no core goes on */
};

void ready_init(struct ready_cores *r, int core_count);
void ready_fini(struct ready_cores *r);
void ready_fill(struct ready_cores *r);                 /* with all of them */
void ready_put(struct ready_cores *r, int core);
int ready_take(struct ready_cores *r);                  /* waits for one; NO_CORE: it is over */
void ready_leave(struct ready_cores *r);                /* one has halted */
void ready_break(struct ready_cores *r);

static inline bool ready_is_broken(const struct ready_cores *r)
{
    return atomic_load_explicit(&r->is_broken, memory_order_relaxed);
}
#endif
