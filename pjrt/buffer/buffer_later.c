/*
 * Buffers whose elements, and copies whose places, are known later than they are asked for; and the
 * same elements as an array of another type.
 */
#include "pjrt/buffer/buffer.h"
#include "pjrt/buffer/copying.h"

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

struct PJRT_Error *pjrt_Client_FulfillAliasBuffer(struct PJRT_Client_FulfillAliasBuffer_Args *args)
{
    struct storage *to = args->fulfill_alias_buffer_cb->to;

    mem_free(args->fulfill_alias_buffer_cb);
    if (args->status_code != PJRT_Error_Code_OK || !args->buffer->storage ||
        args->buffer->storage->bytes != to->bytes) {
        promise_keep(to->ready, args->status_code != PJRT_Error_Code_OK
            ? pjrt_error(args->status_code, "%.*s", (int)args->error_message_size,
                         args->error_message)
            : pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a placeholder is filled by an array of "
                         "another size, or one that is deleted"));
    } else {
        storage_fill(to, args->buffer->storage);
    }
    storage_drop(to);
    return NULL;
}

/* ----- copies to where the caller does not know yet */

static void begin_copy(struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args)
{
    struct copying *c = args->callback_data;

    if (args->error_code == PJRT_Error_Code_OK)
        copying_begin(c, args->dst);
    else
        copying_fail(c, pjrt_error(args->error_code, "%.*s", (int)args->error_message_size,
                                   args->error_message));
}

struct PJRT_Error *pjrt_Buffer_CopyRawToHostFuture(struct PJRT_Buffer_CopyRawToHostFuture_Args *args)
{
    struct PJRT_Error *error = NULL;
    struct copying *c = copying_bytes(args->buffer, args->offset, args->transfer_size, &args->event,
                                      &error);

    args->callback_data = c;
    args->future_ready_callback = begin_copy;
    return error;
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
