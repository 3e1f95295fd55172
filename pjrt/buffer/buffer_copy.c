/* Copies between the caller's memory and buffers, and from buffer to buffer. */
#include "pjrt/buffer/buffer.h"
#include "pjrt/buffer/copying.h"

#include "pjrt/abi/functions.h"

#include <string.h>

static struct memory *memory_wanted(struct PJRT_Memory *memory, struct PJRT_Device *device)
{
    return memory ? memory_of(memory) : &device->memory[MEMORY_DEVICE];
}

static void keep_done(struct PJRT_Event **event, struct PJRT_Error *error)
{
    struct promise *p = promise_made(error);

    *event = event_of(p);
    promise_drop(p);
}

static struct PJRT_Error *take_layout(struct PJRT_Buffer *b,
                                      const struct PJRT_Buffer_MemoryLayout *layout)
{
    if (!layout || layout->type != PJRT_Buffer_MemoryLayout_Type_Tiled)
        return NULL;
    if (layout->tiled.minor_to_major_size != (size_t)b->type.rank)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the layout is of %zu dimensions, the "
                          "array has %d", layout->tiled.minor_to_major_size, b->type.rank);
    memcpy(b->minor_to_major, layout->tiled.minor_to_major,
           (size_t)b->type.rank * sizeof(*b->minor_to_major));
    return NULL;
}

/* Elements are copied before the call returns, so the caller's are free again whatever it says. */
struct PJRT_Error *pjrt_Client_BufferFromHostBuffer(
    struct PJRT_Client_BufferFromHostBuffer_Args *args)
{
    struct memory *memory = memory_wanted(args->memory, args->device);
    struct PJRT_Error *error = buffer_check_type(args->type, args->dims, args->num_dims);
    int64_t stride[PJRT_RANK_MAX], dense[PJRT_RANK_MAX];
    struct PJRT_Buffer *b;

    if (error)
        return error;
    if (args->byte_strides && args->num_byte_strides != args->num_dims &&
        args->num_byte_strides != 0)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%zu strides of %zu dimensions",
                          args->num_byte_strides, args->num_dims);
    b = buffer_make(memory, element_of(args->type), (int)args->num_dims, args->dims, &error);
    if (!b)
        return error;
    error = take_layout(b, args->device_layout);
    if (error) {
        buffer_free(b);
        return error;
    }
    array_dense_strides(&b->type, NULL, dense);
    memcpy(stride, dense, sizeof(stride));
    if (args->byte_strides && args->num_byte_strides)
        memcpy(stride, args->byte_strides, args->num_dims * sizeof(*stride));
    array_copy(&b->type, args->data, stride, storage_room(b->storage), dense);
    buffer_account(b->storage, b->storage->bytes, true);
    promise_keep(b->storage->ready, NULL);
    keep_done(&args->done_with_host_buffer, NULL);
    args->buffer = b;
    return NULL;
}

/* ----- to the host */

struct to_host {
    struct storage *from;
    struct array_type type;
    int64_t dim[PJRT_RANK_MAX], stride[PJRT_RANK_MAX];
    void *to;
    struct promise *done;
};

static void copy_to_host(struct PJRT_Error *error, void *arg)
{
    struct to_host *c = arg;
    const void *data = error ? NULL : storage_data(c->from, &error);
    int64_t dense[PJRT_RANK_MAX];

    if (!error) {
        array_dense_strides(&c->type, NULL, dense);
        array_copy(&c->type, data, dense, c->to, c->stride);
        buffer_account(c->from, c->from->bytes, false);
    }
    storage_drop(c->from);              /* first: who hears of the end finds its memory free */
    promise_keep(c->done, error);
    promise_drop(c->done);
    mem_free(c);
}

static struct PJRT_Error *begin_copy(struct PJRT_Buffer *b, const int64_t *stride, void *to,
                                     struct PJRT_Event **event)
{
    struct to_host *c = mem_alloc(sizeof(*c));
    struct storage *from = storage_hold(b->storage);

    c->from = from;
    c->type = b->type;
    c->type.dim = c->dim;
    memcpy(c->dim, b->type.dim, (size_t)b->type.rank * sizeof(*c->dim));
    memcpy(c->stride, stride, (size_t)b->type.rank * sizeof(*c->stride));
    c->to = to;
    c->done = promise_make();
    *event = event_of(c->done);
    promise_then(from->ready, copy_to_host, c);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_ToHostBuffer(struct PJRT_Buffer_ToHostBuffer_Args *args)
{
    struct PJRT_Buffer *b = args->src;
    int64_t stride[PJRT_RANK_MAX];
    const char *wrong;
    size_t bytes;

    if (!b->storage)
        return buffer_is_deleted(b);
    bytes = (size_t)b->storage->bytes;
    if (!args->dst) {
        args->dst_size = bytes;
        args->event = NULL;
        return NULL;
    }
    wrong = array_layout_strides(&b->type, args->host_layout, stride);
    if (wrong)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a copy to the host: %s", wrong);
    if (args->dst_size < bytes)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a copy to the host: there is room for "
                          "%zu bytes, %zu are wanted", args->dst_size, bytes);
    return begin_copy(b, stride, args->dst, &args->event);
}

/* ----- bytes as they lie */

struct PJRT_Error *pjrt_Buffer_CopyRawToHost(struct PJRT_Buffer_CopyRawToHost_Args *args)
{
    struct PJRT_Error *error = NULL;
    struct copying *c = copying_bytes(args->buffer, args->offset, args->transfer_size, &args->event,
                                      &error);

    if (c)
        copying_begin(c, args->dst);
    return error;
}

/* ----- from buffer to buffer */

static struct PJRT_Error *copy_to(struct PJRT_Buffer *b, struct memory *memory,
                                  struct PJRT_Buffer **to)
{
    struct PJRT_Error *error = NULL;

    if (!b->storage)
        return buffer_is_deleted(b);
    *to = buffer_make(memory, b->type.element, b->type.rank, b->type.dim, &error);
    if (error)
        return error;
    memcpy((*to)->minor_to_major, b->minor_to_major,
           (size_t)b->type.rank * sizeof(*b->minor_to_major));
    storage_fill((*to)->storage, b->storage);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_CopyToDevice(struct PJRT_Buffer_CopyToDevice_Args *args)
{
    return copy_to(args->buffer, &args->dst_device->memory[MEMORY_DEVICE], &args->dst_buffer);
}

struct PJRT_Error *pjrt_Buffer_CopyToMemory(struct PJRT_Buffer_CopyToMemory_Args *args)
{
    return copy_to(args->buffer, memory_of(args->dst_memory), &args->dst_buffer);
}

/* ----- buffers that hold nothing */

struct PJRT_Error *pjrt_Client_CreateUninitializedBuffer(
    struct PJRT_Client_CreateUninitializedBuffer_Args *args)
{
    struct PJRT_Error *error = buffer_check_type(args->shape_element_type, args->shape_dims,
                                                 args->shape_num_dims);

    if (error)
        return error;
    args->buffer = buffer_make(memory_wanted(args->memory, args->device),
                               element_of(args->shape_element_type), (int)args->shape_num_dims,
                               args->shape_dims, &error);
    if (error)
        return error;
    memset(storage_room(args->buffer->storage), 0, (size_t)args->buffer->storage->bytes);
    promise_keep(args->buffer->storage->ready, NULL);
    return NULL;
}

struct PJRT_Error *pjrt_Client_CreateErrorBuffer(struct PJRT_Client_CreateErrorBuffer_Args *args)
{
    struct PJRT_Error *error = buffer_check_type(args->shape_element_type, args->shape_dims,
                                                 args->shape_num_dims);

    if (error)
        return error;
    args->buffer = buffer_make(memory_of(args->memory), element_of(args->shape_element_type),
                               (int)args->shape_num_dims, args->shape_dims, &error);
    if (error)
        return error;
    promise_keep(args->buffer->storage->ready,
                 pjrt_error(args->error_code, "%.*s", (int)args->error_message_size,
                            args->error_message));
    return NULL;
}
