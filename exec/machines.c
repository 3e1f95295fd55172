/* Keeps the machines of the last launches, and gives up those before them. */
#include "exec/machines.h"

#include "exec/executable.h"

#include <pthread.h>

/* of a core beside its HBM: VMEM as far as it was touched, programs, units */
#define CORE_BYTES ((size_t)4 << 20)
#define KEPT_BYTES ((size_t)1 << 30)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct executable *oldest, *newest;
static size_t kept;

static void unlink_entry(struct executable *x)
{
    struct machines_entry *m = &x->kept_machine;

    if (!m->is_listed)
        return;
    *(m->older ? &m->older->kept_machine.newer : &oldest) = m->newer;
    *(m->newer ? &m->newer->kept_machine.older : &newest) = m->older;
    m->is_listed = false;
    kept -= m->bytes;
}

static void link_newest(struct executable *x)
{
    struct machines_entry *m = &x->kept_machine;

    m->older = newest;
    m->newer = NULL;
    *(newest ? &newest->kept_machine.newer : &oldest) = x;
    newest = x;
    m->is_listed = true;
    m->bytes = (size_t)x->loaded.devices * (CORE_BYTES + (size_t)x->loaded.module.hbm_bytes);
    kept += m->bytes;
}

void machines_begin(struct executable *x)
{
    struct executable *next;

    pthread_mutex_lock(&mutex);
    unlink_entry(x);
    link_newest(x);
    x->kept_machine.is_busy = true;
    for (struct executable *old = oldest; old && kept > KEPT_BYTES; old = next) {
        next = old->kept_machine.newer;
        if (old->kept_machine.is_busy)
            continue;
        unlink_entry(old);
        loaded_drop_machine(&old->loaded);
    }
    pthread_mutex_unlock(&mutex);
}

void machines_end(struct executable *x)
{
    pthread_mutex_lock(&mutex);
    x->kept_machine.is_busy = false;
    pthread_mutex_unlock(&mutex);
}

void machines_forget(struct executable *x)
{
    pthread_mutex_lock(&mutex);
    unlink_entry(x);
    pthread_mutex_unlock(&mutex);
}
