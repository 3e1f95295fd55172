/* Copies that are made when promises are kept. Sources are let go before anybody hears of the end. */
#include "pjrt/buffer/copying.h"

#include <string.h>

struct copying {
    struct storage *from;
    int64_t offset, bytes;
    void *to;
    struct promise *done;
};

static void copy_bytes(struct PJRT_Error *error, void *arg)
{
    struct copying *c = arg;
    const char *data = error ? NULL : storage_data(c->from, &error);

    if (!error)
        memcpy(c->to, data + c->offset, (size_t)c->bytes);
    storage_drop(c->from);
    promise_keep(c->done, error);
    promise_drop(c->done);
    mem_free(c);
}

struct copying *copying_bytes(struct PJRT_Buffer *b, int64_t offset, int64_t bytes,
                              struct PJRT_Event **event, struct PJRT_Error **error)
{
    struct storage *from = b->storage;
    struct copying *c;

    if (!from)
        *error = buffer_is_deleted(b);
    else if (offset < 0 || bytes < 0 || offset > from->bytes - bytes)
        *error = pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%lld bytes from %lld on are asked "
                            "for; the array has %lld", (long long)bytes, (long long)offset,
                            (long long)from->bytes);
    if (*error)
        return NULL;
    c = mem_alloc(sizeof(*c));
    *c = (struct copying){.from = storage_hold(from), .offset = offset, .bytes = bytes,
                          .done = promise_make()};
    *event = event_of(c->done);
    return c;
}

void copying_begin(struct copying *c, void *to)
{
    c->to = to;
    promise_then(c->from->ready, copy_bytes, c);
}

void copying_fail(struct copying *c, struct PJRT_Error *error)
{
    copy_bytes(error, c);
}

/* ----- from storage to storage */

struct filling { struct storage *from, *to; };

static void fill(struct PJRT_Error *error, void *arg)
{
    struct filling *f = arg;

    if (!error)
        error = storage_copy(f->to, f->from);
    storage_drop(f->from);
    promise_keep(f->to->ready, error);
    storage_drop(f->to);
    mem_free(f);
}

void storage_fill(struct storage *to, struct storage *from)
{
    struct filling *f = mem_alloc(sizeof(*f));

    *f = (struct filling){.from = storage_hold(from), .to = storage_hold(to)};
    promise_then(from->ready, fill, f);
}
