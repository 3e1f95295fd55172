/* Promises and the events of the interface, which are handles of them. */
#include "pjrt/event/event.h"

#include "base/arena.h"
#include "pjrt/abi/functions.h"

#include <pthread.h>
#include <stdatomic.h>

struct waiter {
    PJRT_Event_OnReadyCallback callback;
    void *user_arg;
    struct waiter *next;
};

struct promise {
    atomic_int holders;
    atomic_bool is_kept;
    struct PJRT_Error *error;
    struct waiter *first, **last;       /* in the order of asking; under the lock */
};

struct PJRT_Event {
    struct promise *promise;
};

/* Of all promises: it is held for moments, and a promise of its own each would be large. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t kept = PTHREAD_COND_INITIALIZER;

struct promise *promise_make(void)
{
    struct promise *p = mem_alloc(sizeof(*p));

    atomic_init(&p->holders, 1);
    p->last = &p->first;
    return p;
}

struct promise *promise_made(struct PJRT_Error *error)
{
    struct promise *p = promise_make();

    p->error = error;
    atomic_init(&p->is_kept, true);
    return p;
}

struct promise *promise_hold(struct promise *p)
{
    atomic_fetch_add(&p->holders, 1);
    return p;
}

void promise_drop(struct promise *p)
{
    if (!p || atomic_fetch_sub(&p->holders, 1) != 1)
        return;
    while (p->first) {
        struct waiter *w = p->first;

        p->first = w->next;
        mem_free(w);
    }
    pjrt_error_free(p->error);
    mem_free(p);
}

void promise_keep(struct promise *p, struct PJRT_Error *error)
{
    struct waiter *first;

    promise_hold(p);                    /* what is called may drop it */
    pthread_mutex_lock(&lock);
    p->error = error;
    atomic_store(&p->is_kept, true);
    first = p->first;
    p->first = NULL;
    pthread_cond_broadcast(&kept);
    pthread_mutex_unlock(&lock);
    while (first) {
        struct waiter *w = first;

        first = w->next;
        w->callback(pjrt_error_copy(p->error), w->user_arg);
        mem_free(w);
    }
    promise_drop(p);
}

bool promise_is_kept(const struct promise *p)
{
    return atomic_load(&p->is_kept);
}

struct PJRT_Error *promise_error(const struct promise *p)
{
    return pjrt_error_copy(p->error);
}

struct PJRT_Error *promise_wait(struct promise *p)
{
    if (!promise_is_kept(p)) {
        pthread_mutex_lock(&lock);
        while (!promise_is_kept(p))
            pthread_cond_wait(&kept, &lock);
        pthread_mutex_unlock(&lock);
    }
    return promise_error(p);
}

void promise_then(struct promise *p, PJRT_Event_OnReadyCallback callback, void *user_arg)
{
    struct waiter *w = mem_alloc(sizeof(*w));

    *w = (struct waiter){.callback = callback, .user_arg = user_arg};
    pthread_mutex_lock(&lock);
    if (!promise_is_kept(p)) {
        if (!p->first)
            p->last = &p->first;
        *p->last = w;
        p->last = &w->next;
        w = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (w)
        callback(promise_error(p), user_arg);
    mem_free(w);
}

struct PJRT_Event *event_of(struct promise *p)
{
    struct PJRT_Event *event = mem_alloc(sizeof(*event));

    event->promise = promise_hold(p);
    return event;
}

/* ----- the interface */

struct PJRT_Error *pjrt_Event_Destroy(struct PJRT_Event_Destroy_Args *args)
{
    if (args->event)
        promise_drop(args->event->promise);
    mem_free(args->event);
    return NULL;
}

struct PJRT_Error *pjrt_Event_IsReady(struct PJRT_Event_IsReady_Args *args)
{
    args->is_ready = promise_is_kept(args->event->promise);
    return NULL;
}

struct PJRT_Error *pjrt_Event_Error(struct PJRT_Event_Error_Args *args)
{
    if (!promise_is_kept(args->event->promise))
        return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION,
                          "the event has not happened yet: its outcome is not known");
    return promise_error(args->event->promise);
}

struct PJRT_Error *pjrt_Event_Await(struct PJRT_Event_Await_Args *args)
{
    return promise_wait(args->event->promise);
}

struct PJRT_Error *pjrt_Event_OnReady(struct PJRT_Event_OnReady_Args *args)
{
    promise_then(args->event->promise, args->callback, args->user_arg);
    return NULL;
}

struct PJRT_Error *pjrt_Event_Create(struct PJRT_Event_Create_Args *args)
{
    struct promise *p = promise_make();

    args->event = event_of(p);
    promise_drop(p);
    return NULL;
}

struct PJRT_Error *pjrt_Event_Set(struct PJRT_Event_Set_Args *args)
{
    struct promise *p = args->event->promise;
    struct PJRT_Error *error = NULL;

    if (promise_is_kept(p))
        return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION, "the event is set already");
    if (args->error_code != PJRT_Error_Code_OK)
        error = pjrt_error(args->error_code, "%.*s", (int)args->error_message_size,
                           args->error_message);
    promise_keep(p, error);
    return NULL;
}
