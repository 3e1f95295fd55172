/* Calls the caller's functions for what a program sends to its host and receives from it. */
#include "pjrt/run/callbacks.h"

#include "base/arena.h"
#include "pjrt/abi/functions.h"
#include "pjrt/event/event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* what a program receives, piece by piece; held by the launch and by the caller */
struct PJRT_CopyToDeviceStream {
    atomic_int holders;
    pthread_mutex_t mutex;
    pthread_cond_t came;
    char *data;
    int64_t total, current;
    bool is_given_up;
};

static void drop_stream(struct PJRT_CopyToDeviceStream *s)
{
    if (atomic_fetch_sub(&s->holders, 1) != 1)
        return;
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->came);
    mem_free(s->data);
    mem_free(s);
}

static struct PJRT_CopyToDeviceStream *make_stream(size_t bytes)
{
    struct PJRT_CopyToDeviceStream *s = mem_alloc(sizeof(*s));

    atomic_init(&s->holders, 2);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->came, NULL);
    s->data = mem_alloc(bytes + 1);
    s->total = (int64_t)bytes;
    return s;
}

/* ----- the host's end */

static void free_chunk(void *data, void *arg)
{
    (void)arg;
    mem_free(data);
}

static struct PJRT_Error *make_error(enum PJRT_Error_Code code, const char *message, size_t size)
{
    return pjrt_error(code, "%.*s", (int)size, message);
}

static int fail(struct callbacks *c, struct PJRT_Error *error, struct err *e)
{
    if (c->error)
        pjrt_error_free(error);
    else
        c->error = error;
    return err_set(e, "%.400s", pjrt_error_message(c->error));
}

static int send(void *user, int device, int64_t channel, const void *bytes, size_t size,
                struct err *e)
{
    struct callbacks *c = user;
    PJRT_CallbackError callback_error = make_error;

    for (int i = 0; i < c->sends; i++) {
        const struct PJRT_SendCallbackInfo *s = &c->send[device * c->sends + i];
        struct PJRT_Chunk chunk = {.size = size, .deleter = free_chunk};
        struct PJRT_Error *error;

        if (s->channel_id != channel)
            continue;
        chunk.data = mem_alloc_unset(size + 1);
        memcpy(chunk.data, bytes, size);
        error = s->send_callback(&chunk, &callback_error, size, true, s->user_arg);
        return error ? fail(c, error, e) : 0;
    }
    return err_set(e, "nobody takes what the program sends by channel %lld of device %d",
                   (long long)channel, device);
}

/* until all has come; -1: the caller gave it up before */
static int wait_for_stream(struct PJRT_CopyToDeviceStream *s)
{
    int status;

    pthread_mutex_lock(&s->mutex);
    while (s->current < s->total && !s->is_given_up)
        pthread_cond_wait(&s->came, &s->mutex);
    status = s->current < s->total ? -1 : 0;
    pthread_mutex_unlock(&s->mutex);
    return status;
}

static int receive(void *user, int device, int64_t channel, void *bytes, size_t size,
                   struct err *e)
{
    struct callbacks *c = user;

    for (int i = 0; i < c->receives; i++) {
        const struct PJRT_RecvCallbackInfo *r = &c->receive[device * c->receives + i];
        struct PJRT_CopyToDeviceStream *stream;
        int status;

        if (r->channel_id != channel)
            continue;
        stream = make_stream(size);
        r->recv_callback(stream, r->user_arg);
        status = wait_for_stream(stream);
        memcpy(bytes, stream->data, size);
        drop_stream(stream);
        return status ? fail(c, pjrt_error(PJRT_Error_Code_INTERNAL, "a callback answered less than "
                                           "the program receives by channel %lld",
                                           (long long)channel), e) : 0;
    }
    return err_set(e, "nobody gives what the program receives by channel %lld of device %d",
                   (long long)channel, device);
}

/* ----- copies of the caller's lists */

static void *copy_lists(void *const *list, int devices, int count, size_t bytes)
{
    char *copy = mem_alloc((size_t)(devices * count) * bytes + 1);

    for (int d = 0; d < devices && count > 0; d++)
        memcpy(copy + (size_t)(d * count) * bytes, list[d], (size_t)count * bytes);
    return copy;
}

struct callbacks *callbacks_copy(const struct executable *x,
                                 const struct PJRT_ExecuteOptions *options, int devices)
{
    struct callbacks *c;

    if (!executable_has_queues(x))
        return NULL;
    c = mem_alloc(sizeof(*c));
    c->host = (struct executable_host){.user = c, .send = send, .receive = receive};
    c->devices = devices;
    c->sends = options && options->send_callbacks ? (int)options->num_send_ops : 0;
    c->receives = options && options->recv_callbacks ? (int)options->num_recv_ops : 0;
    c->send = copy_lists(options ? (void *const *)options->send_callbacks : NULL, devices, c->sends,
                         sizeof(*c->send));
    c->receive = copy_lists(options ? (void *const *)options->recv_callbacks : NULL, devices,
                            c->receives, sizeof(*c->receive));
    return c;
}

void callbacks_free(struct callbacks *c)
{
    if (!c)
        return;
    mem_free(c->send);
    mem_free(c->receive);
    pjrt_error_free(c->error);
    mem_free(c);
}

/* ----- the interface */

struct PJRT_Error *pjrt_CopyToDeviceStream_Destroy(struct PJRT_CopyToDeviceStream_Destroy_Args *args)
{
    struct PJRT_CopyToDeviceStream *s = args->stream;

    if (!s)
        return NULL;
    pthread_mutex_lock(&s->mutex);
    s->is_given_up = true;
    pthread_cond_broadcast(&s->came);
    pthread_mutex_unlock(&s->mutex);
    drop_stream(s);
    return NULL;
}

struct PJRT_Error *pjrt_CopyToDeviceStream_AddChunk(
    struct PJRT_CopyToDeviceStream_AddChunk_Args *args)
{
    struct PJRT_CopyToDeviceStream *s = args->stream;
    struct PJRT_Chunk chunk = *args->chunk;
    struct PJRT_Error *error = NULL;
    struct promise *done;

    pthread_mutex_lock(&s->mutex);
    if ((int64_t)chunk.size > s->total - s->current)
        error = pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a callback answers %lld bytes, the "
                           "program receives %lld", (long long)(s->current + (int64_t)chunk.size),
                           (long long)s->total);
    else {
        memcpy(s->data + s->current, chunk.data, chunk.size);
        s->current += (int64_t)chunk.size;
        pthread_cond_broadcast(&s->came);
    }
    pthread_mutex_unlock(&s->mutex);
    if (chunk.deleter)
        chunk.deleter(chunk.data, chunk.deleter_arg);
    done = promise_made(error);
    args->transfer_complete = event_of(done);
    promise_drop(done);
    return NULL;
}

struct PJRT_Error *pjrt_CopyToDeviceStream_TotalBytes(
    struct PJRT_CopyToDeviceStream_TotalBytes_Args *args)
{
    args->total_bytes = args->stream->total;
    return NULL;
}

struct PJRT_Error *pjrt_CopyToDeviceStream_GranuleSize(
    struct PJRT_CopyToDeviceStream_GranuleSize_Args *args)
{
    args->granule_size_in_bytes = 1;
    return NULL;
}

struct PJRT_Error *pjrt_CopyToDeviceStream_CurrentBytes(
    struct PJRT_CopyToDeviceStream_CurrentBytes_Args *args)
{
    args->current_bytes = args->stream->current;
    return NULL;
}
