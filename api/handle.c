/*
 * Which handles are alive: by their addresses, so that none that was freed is looked into.
 *
 * An address that has been given to another handle of the same kind in the meantime cannot be
 * told from it.
 */
#include <pthread.h>

#include "api/api.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct live { const void *handle; enum api_kind kind; } *live;
static size_t live_count, live_capacity;

static const char *const names[] = {"cluster", "strategy", "model", "dataset"};

/* its place, or live_count; under the lock */
static size_t find(const void *handle, enum api_kind kind)
{
    size_t i = 0;

    while (i < live_count && (live[i].handle != handle || live[i].kind != kind))
        i++;
    return i;
}

void api_handle_add(const void *handle, enum api_kind kind)
{
    pthread_mutex_lock(&lock);
    live = mem_grow(live, &live_capacity, live_count + 1, sizeof(*live));
    live[live_count++] = (struct live){handle, kind};
    pthread_mutex_unlock(&lock);
}

bool api_handle_remove(const void *handle, enum api_kind kind)
{
    bool was_alive;
    size_t at;

    pthread_mutex_lock(&lock);
    at = find(handle, kind);
    was_alive = at < live_count;
    if (was_alive)
        live[at] = live[--live_count];
    if (live_count == 0) {
        mem_free(live);
        live = NULL;
        live_capacity = 0;
    }
    pthread_mutex_unlock(&lock);
    return was_alive;
}

sy_status api_handle_check(const void *handle, enum api_kind kind)
{
    bool is_alive;

    if (!handle)
        return api_fail_text("the %s is NULL", names[kind]);
    pthread_mutex_lock(&lock);
    is_alive = find(handle, kind) < live_count;
    pthread_mutex_unlock(&lock);
    return is_alive ? SY_OK : api_fail_text("the %s has been freed, or never was one",
                                            names[kind]);
}
