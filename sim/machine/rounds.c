/*
 * One word holds round number, item count and next item, so that taking an
 * item is one atomic addition and a thread that is late for a round finds
 * nothing to take. Threads look for a new round for a few microseconds before
 * they sleep.
 */
#include "sim/machine/rounds.h"

#include "base/arena.h"
#include "sim/lanes/simd.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SPINS 200
#define ITEM_BITS 20
#define ITEM_MASK ((1u << ITEM_BITS) - 1)

struct rounds {
    rounds_fn *fn;
    void *context;
    const int *item;
    _Atomic uint64_t ticket;            /* round << 40 | count << 20 | next */
    atomic_int pending;                 /* items not finished */
    atomic_int sleepers;
    atomic_bool quit, is_broken;        /* an item was broken off */
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    pthread_t *thread;
    int thread_count;                   /* beside the caller */
};

static const struct rounds_guard *guard;

void rounds_set_guard(const struct rounds_guard *g)
{
    guard = g;
}

static void carry_out(struct rounds *r, int item)
{
    if (!guard)
        r->fn(r->context, item);
    else if (!guard->call(r->fn, r->context, item))
        atomic_store(&r->is_broken, true);
}

static void take_items(struct rounds *r)
{
    for (;;) {
        uint64_t ticket = atomic_fetch_add(&r->ticket, 1);
        uint32_t next = (uint32_t)ticket & ITEM_MASK;

        if (next >= ((uint32_t)(ticket >> ITEM_BITS) & ITEM_MASK))
            return;
        carry_out(r, r->item[next]);
        if (atomic_fetch_sub(&r->pending, 1) == 1) {
            pthread_mutex_lock(&r->mutex);
            pthread_cond_signal(&r->done);
            pthread_mutex_unlock(&r->mutex);
        }
    }
}

static bool has_round(struct rounds *r, uint64_t seen)
{
    return atomic_load(&r->ticket) >> 2 * ITEM_BITS != seen || atomic_load(&r->quit);
}

static void wait_for_round(struct rounds *r, uint64_t seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (has_round(r, seen))
            return;
        sched_yield();
    }
    pthread_mutex_lock(&r->mutex);
    atomic_fetch_add(&r->sleepers, 1);
    while (!has_round(r, seen))
        pthread_cond_wait(&r->wake, &r->mutex);
    atomic_fetch_sub(&r->sleepers, 1);
    pthread_mutex_unlock(&r->mutex);
}

static void *work(void *arg)
{
    struct rounds *r = arg;
    uint32_t saved = simd_thread_begin();
    uint64_t seen = 0;

    for (;;) {
        wait_for_round(r, seen);
        if (atomic_load(&r->quit))
            break;
        seen = atomic_load(&r->ticket) >> 2 * ITEM_BITS;
        take_items(r);
    }
    simd_thread_end(saved);
    return NULL;
}

struct rounds *rounds_create(int thread_count)
{
    struct rounds *r = mem_alloc(sizeof(*r));

    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->wake, NULL);
    pthread_cond_init(&r->done, NULL);
    r->thread = mem_alloc((size_t)thread_count * sizeof(*r->thread));
    for (int i = 0; i < thread_count - 1; i++) {
        if (pthread_create(&r->thread[i], NULL, work, r) != 0)
            break;                      /* fewer threads give the same results */
        r->thread_count++;
    }
    return r;
}

void rounds_destroy(struct rounds *r)
{
    pthread_mutex_lock(&r->mutex);
    atomic_store(&r->quit, true);
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    for (int i = 0; i < r->thread_count; i++)
        pthread_join(r->thread[i], NULL);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->wake);
    pthread_cond_destroy(&r->done);
    mem_free(r->thread);
    mem_free(r);
}

static void open_round(struct rounds *r, rounds_fn *fn, void *context, const int *item, int count)
{
    uint64_t number = (atomic_load(&r->ticket) >> 2 * ITEM_BITS) + 1;

    r->fn = fn;
    r->context = context;
    r->item = item;
    atomic_store(&r->pending, count);
    atomic_store(&r->ticket, number << 2 * ITEM_BITS | (uint64_t)count << ITEM_BITS);
    if (atomic_load(&r->sleepers) > 0) {
        pthread_mutex_lock(&r->mutex);
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->mutex);
    }
}

static void wait_until_done(struct rounds *r)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&r->pending) == 0)
            return;
        sched_yield();
    }
    pthread_mutex_lock(&r->mutex);
    while (atomic_load(&r->pending) > 0)
        pthread_cond_wait(&r->done, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
}

void rounds_run(struct rounds *r, rounds_fn *fn, void *context, const int *item, int count)
{
    assert(count >= 0 && count < (int)ITEM_MASK);
    if (r->thread_count == 0 || count == 1) {
        for (int i = 0; i < count; i++)
            fn(context, item[i]);
        return;
    }
    open_round(r, fn, context, item, count);
    take_items(r);
    wait_until_done(r);
    if (atomic_exchange(&r->is_broken, false))
        guard->raise();
}
