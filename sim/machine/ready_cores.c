/*
 * A queue of cores that can go on, shared by host threads under a lock; a thread looks a few times
 * before it sleeps.
 */
#include "sim/machine/ready_cores.h"

#include "base/arena.h"

#define LOOKS 2000                      /* for a core to run, before a thread sleeps */

void ready_init(struct ready_cores *r, int core_count)
{
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->wake, NULL);
    r->core_count = core_count;
    r->core = mem_alloc((size_t)core_count * sizeof(*r->core));
}

void ready_fini(struct ready_cores *r)
{
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->wake);
    mem_free(r->core);
}

void ready_fill(struct ready_cores *r)
{
    for (int i = 0; i < r->core_count; i++)
        r->core[i] = i;
    r->first = 0;
    atomic_store(&r->count, r->core_count);
    atomic_store(&r->left, r->core_count);
    atomic_store(&r->is_broken, false);
}

void ready_put(struct ready_cores *r, int core)
{
    pthread_mutex_lock(&r->mutex);
    r->core[(r->first + atomic_load(&r->count)) % r->core_count] = core;
    atomic_fetch_add(&r->count, 1);
    if (r->sleepers > 0)
        pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}

/* few threads are without a core for long, so they look before they sleep */
int ready_take(struct ready_cores *r)
{
    int core = NO_CORE;

    if (atomic_load(&r->is_broken))
        return NO_CORE;
    for (int i = 0; i < LOOKS && atomic_load(&r->count) == 0 && atomic_load(&r->left) > 0; i++)
        ;
    pthread_mutex_lock(&r->mutex);
    while (atomic_load(&r->count) == 0 && atomic_load(&r->left) > 0
           && !atomic_load(&r->is_broken)) {
        r->sleepers++;
        pthread_cond_wait(&r->wake, &r->mutex);
        r->sleepers--;
    }
    if (atomic_load(&r->count) > 0) {
        core = r->core[r->first];
        r->first = (r->first + 1) % r->core_count;
        atomic_fetch_sub(&r->count, 1);
    }
    pthread_mutex_unlock(&r->mutex);
    return core;
}

void ready_break(struct ready_cores *r)
{
    pthread_mutex_lock(&r->mutex);
    atomic_store(&r->is_broken, true);
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}

void ready_leave(struct ready_cores *r)
{
    pthread_mutex_lock(&r->mutex);
    if (atomic_fetch_sub(&r->left, 1) == 1)
        pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}
