/*
 * Buffers whose elements, and copies whose places, are known later than they are asked for; and the
 * same elements as an array of another type.
 */
#include "pjrt/buffer/buffer.h"

#include "pjrt/abi/functions.h"

#include <string.h>

/* ----- placeholders */

struct PJRT_FulfillAliasBufferCallback {
    struct storage *to;
};

struct PJRT_Error *pjrt_Client_CreateAliasBuffer(struct PJRT_Client_CreateAliasBuffer_Args *args)
{
    struct PJRT_Error *error = buffer_check_type(args->shape_element_type, args->shape_dims,
                                                 args->shape_num_dims);
    struct PJRT_FulfillAliasBufferCallback *token;

    if (error)
        return error;
    args->alias_buffer = buffer_make(memory_of(args->memory), element_of(args->shape_element_type),
                                     (int)args->shape_num_dims, args->shape_dims, &error);
    if (error)
        return error;
    token = mem_alloc(sizeof(*token));
    token->to = storage_hold(args->alias_buffer->storage);
    args->fulfill_alias_buffer_cb = token;
    return NULL;
}

struct filling { struct storage *from, *to; };

static void fill(struct PJRT_Error *error, void *arg)
{
    struct filling *f = arg;

    if (!error)
        memcpy(f->to->data, f->from->data, (size_t)f->to->bytes);
    storage_drop(f->from);
    promise_keep(f->to->ready, error);
    storage_drop(f->to);
    mem_free(f);
}

struct PJRT_Error *pjrt_Client_FulfillAliasBuffer(struct PJRT_Client_FulfillAliasBuffer_Args *args)
{
    struct storage *to = args->fulfill_alias_buffer_cb->to, *from;
    struct filling *f;

    mem_free(args->fulfill_alias_buffer_cb);
    if (args->status_code != PJRT_Error_Code_OK || !args->buffer->storage ||
        args->buffer->storage->bytes != to->bytes) {
        promise_keep(to->ready, args->status_code != PJRT_Error_Code_OK
            ? pjrt_error(args->status_code, "%.*s", (int)args->error_message_size,
                         args->error_message)
            : pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a placeholder is filled by an array of "
                         "another size, or one that is deleted"));
        storage_drop(to);
        return NULL;
    }
    from = storage_hold(args->buffer->storage);
    f = mem_alloc(sizeof(*f));
    *f = (struct filling){.from = from, .to = to};
    promise_then(from->ready, fill, f);
    return NULL;
}

/* ----- copies to where the caller does not know yet */

struct later_copy {
    struct storage *from;
    int64_t offset, bytes;
    void *to;
    struct promise *done;
};

static void copy(struct PJRT_Error *error, void *arg)
{
    struct later_copy *c = arg;

    if (!error)
        memcpy(c->to, (const char *)c->from->data + c->offset, (size_t)c->bytes);
    storage_drop(c->from);
    promise_keep(c->done, error);
    promise_drop(c->done);
    mem_free(c);
}

static void begin_copy(struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args)
{
    struct later_copy *c = args->callback_data;

    c->to = args->dst;
    if (args->error_code == PJRT_Error_Code_OK)
        promise_then(c->from->ready, copy, c);
    else
        copy(pjrt_error(args->error_code, "%.*s", (int)args->error_message_size,
                        args->error_message), c);
}

struct PJRT_Error *pjrt_Buffer_CopyRawToHostFuture(struct PJRT_Buffer_CopyRawToHostFuture_Args *args)
{
    struct storage *from = args->buffer->storage;
    struct later_copy *c;

    if (!from)
        return buffer_is_deleted(args->buffer);
    if (args->offset < 0 || args->transfer_size < 0 ||
        args->offset > from->bytes - args->transfer_size)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%lld bytes from %lld on are asked for; "
                          "the array has %lld", (long long)args->transfer_size,
                          (long long)args->offset, (long long)from->bytes);
    c = mem_alloc(sizeof(*c));
    *c = (struct later_copy){.from = storage_hold(from), .offset = args->offset,
                             .bytes = args->transfer_size, .done = promise_make()};
    args->event = event_of(c->done);
    args->callback_data = c;
    args->future_ready_callback = begin_copy;
    return NULL;
}

/* ----- another type of the same bytes */

struct PJRT_Error *pjrt_Buffer_Bitcast(struct PJRT_Buffer_Bitcast_Args *args)
{
    struct PJRT_Error *error = buffer_check_type(args->element_type, args->dims, args->num_dims);
    struct array_type wanted = {.element = element_of(args->element_type),
                                .rank = (int)args->num_dims, .dim = (int64_t *)args->dims};

    if (error)
        return error;
    if (!args->buffer->storage)
        return buffer_is_deleted(args->buffer);
    if (array_type_bytes(&wanted) != args->buffer->storage->bytes)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "an array of %lld bytes is no other one "
                          "of %lld", (long long)args->buffer->storage->bytes,
                          (long long)array_type_bytes(&wanted));
    args->out_buffer = buffer_as(args->buffer, &wanted);
    return NULL;
}
