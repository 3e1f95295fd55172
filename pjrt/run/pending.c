/* The list of launches that have not begun; of all clients, as there are few. */
#include "pjrt/run/pending.h"

#include "pjrt/abi/functions.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pending *first, **last = &first;

void pending_begin(struct pending *p)
{
    pthread_mutex_lock(&mutex);
    p->next = NULL;
    p->link = last;
    *last = p;
    last = &p->next;
    pthread_mutex_unlock(&mutex);
}

struct PJRT_Error *pending_end(struct pending *p)
{
    pthread_mutex_lock(&mutex);
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    else
        last = p->link;
    pthread_mutex_unlock(&mutex);
    return p->error;
}

static bool is_wanted(const struct pending *p, const struct PJRT_Device *device, int number)
{
    if (p->client != device->client || p->number != number || p->error)
        return false;
    for (int i = 0; i < p->devices; i++)
        if (p->device[i] == device->description->id)
            return true;
    return false;
}

bool pending_fail(const struct PJRT_Device *device, int number, enum PJRT_Error_Code code,
                  const char *message, size_t message_bytes)
{
    struct pending *p;

    pthread_mutex_lock(&mutex);
    for (p = first; p && !is_wanted(p, device, number); p = p->next)
        ;
    if (p)
        p->error = pjrt_error(code, "%.*s", (int)message_bytes, message);
    pthread_mutex_unlock(&mutex);
    return p != NULL;
}

struct PJRT_Error *pjrt_Device_PoisonExecution(struct PJRT_Device_PoisonExecution_Args *args)
{
    if (args->error_code == PJRT_Error_Code_OK)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a launch fails with an error, and OK "
                          "is none");
    args->poisoned = pending_fail(args->device, args->launch_id, args->error_code,
                                  args->error_message, args->error_message_size);
    return NULL;
}
