/* Keeps the machines of the latest launches. */
#include "pjrt/program/machines.h"

#include "pjrt/program/program.h"

#define KEPT_DEVICES 64                 /* of all machines that are kept for a client */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct PJRT_Executable *newest;

static void unlink_executable(struct PJRT_Executable *p)
{
    struct PJRT_Executable **at = &newest;

    while (*at && *at != p)
        at = &(*at)->older;
    if (*at)
        *at = p->older;
    p->older = NULL;
    p->machine_owner = NULL;
}

/* of the same client, whose thread this is: nobody else launches them */
static void drop_old_ones(struct PJRT_Client *owner)
{
    struct PJRT_Executable *next;
    int devices = 0;

    for (struct PJRT_Executable *p = newest; p; p = next) {
        next = p->older;
        if (p->machine_owner != owner)
            continue;
        devices += p->x.graph.devices;
        if (devices <= KEPT_DEVICES || p == newest)
            continue;
        unlink_executable(p);
        executable_drop_machine(&p->x);
    }
}

void machines_note(struct PJRT_Client *owner, struct PJRT_Executable *p)
{
    pthread_mutex_lock(&lock);
    if (newest != p) {
        unlink_executable(p);
        p->older = newest;
        newest = p;
        p->machine_owner = owner;
        drop_old_ones(owner);
    }
    pthread_mutex_unlock(&lock);
}

void machines_forget(struct PJRT_Executable *p)
{
    pthread_mutex_lock(&lock);
    unlink_executable(p);
    pthread_mutex_unlock(&lock);
}
