/*
 * Buffers whose elements, and copies whose places, are known later than they are asked for; and the
 * same elements as an array of another type, or of who has their address.
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

/* ----- an array that becomes another one's when the caller says so */

struct donation { struct storage *from, *to; };

static void end_donation(struct PJRT_Buffer_DonateWithControlDependency_Callback_Args *args)
{
    struct donation *d = args->callback_data;

    if (args->error_code == PJRT_Error_Code_OK)
        storage_fill(d->to, d->from);
    else
        promise_keep(d->to->ready, pjrt_error(args->error_code, "%.*s",
                                              (int)args->error_message_size, args->error_message));
    storage_drop(d->from);
    storage_drop(d->to);
    mem_free(d);
}

/* Its elements stay with the caller's promise: the buffer itself is given up at once. */
struct PJRT_Error *pjrt_Buffer_DonateWithControlDependency(
    struct PJRT_Buffer_DonateWithControlDependency_Args *args)
{
    struct PJRT_Buffer *b = args->buffer;
    struct PJRT_Error *error = NULL;
    struct donation *d;

    if (!b->storage)
        return buffer_is_deleted(b);
    args->out_buffer = buffer_make(b->memory, b->type.element, b->type.rank, b->type.dim, &error);
    if (error)
        return error;
    memcpy(args->out_buffer->minor_to_major, b->minor_to_major,
           (size_t)b->type.rank * sizeof(*b->minor_to_major));
    d = mem_alloc(sizeof(*d));
    *d = (struct donation){storage_hold(b->storage), storage_hold(args->out_buffer->storage)};
    buffer_delete(b);
    args->callback_data = d;
    args->dependency_ready_callback = end_donation;
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

/* ----- arrays that are somewhere already */

/*
 * Addresses of a device's memory are those that the library gives (Buffer_UnsafePointer): of
 * elements as the host has them. They are copied, and nobody looks there again.
 */
struct PJRT_Error *pjrt_Client_CreateViewOfDeviceBuffer(
    struct PJRT_Client_CreateViewOfDeviceBuffer_Args *args)
{
    struct PJRT_Memory *memory = ARGS_GET(args, memory, NULL);
    struct PJRT_Error *error = buffer_check_type(args->element_type, args->dims, args->num_dims);
    int64_t stride[PJRT_RANK_MAX], dense[PJRT_RANK_MAX];
    struct PJRT_Buffer *b;
    const char *wrong;

    if (!error && !memory && !args->device)
        error = pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a view of which device's memory?");
    if (error)
        return error;
    b = buffer_make(memory ? memory_of(memory) : &args->device->memory[MEMORY_DEVICE],
                    element_of(args->element_type), (int)args->num_dims, args->dims, &error);
    if (error)
        return error;
    wrong = array_layout_strides(&b->type, args->layout, stride);
    if (!wrong && !args->device_buffer_ptr && b->storage->bytes)
        wrong = "there is no address";
    if (wrong) {
        buffer_free(b);
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a view of an array: %s", wrong);
    }
    array_dense_strides(&b->type, NULL, dense);
    array_copy(&b->type, args->device_buffer_ptr, stride, storage_room(b->storage), dense);
    promise_keep(b->storage->ready, NULL);
    if (args->on_delete_callback)
        args->on_delete_callback(args->device_buffer_ptr, args->on_delete_callback_arg);
    args->buffer = b;
    return NULL;
}
