/* Buffers that callers fill piece by piece, in any order, by a manager of the transfers. */
#include "pjrt/buffer/buffer.h"

#include "pjrt/abi/functions.h"

#include <string.h>

struct PJRT_AsyncHostToDeviceTransferManager {
    struct memory *memory;
    int count;
    struct PJRT_Buffer **buffer;        /* NULL: retrieved */
    struct storage **storage;
};

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_Destroy(
    struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args)
{
    struct PJRT_AsyncHostToDeviceTransferManager *m = args->transfer_manager;

    for (int i = 0; m && i < m->count; i++) {
        if (m->storage[i] && !promise_is_kept(m->storage[i]->ready))
            promise_keep(m->storage[i]->ready,
                         pjrt_error(PJRT_Error_Code_CANCELLED, "the transfer was given up before "
                                    "all of the array had come"));
        storage_drop(m->storage[i]);
        if (m->buffer[i])
            buffer_free(m->buffer[i]);
    }
    if (m) {
        mem_free(m->buffer);
        mem_free(m->storage);
    }
    mem_free(m);
    return NULL;
}

static struct PJRT_Error *make_buffer(struct PJRT_AsyncHostToDeviceTransferManager *m, int i,
                                      const struct PJRT_ShapeSpec *spec)
{
    struct PJRT_Error *error = buffer_check_type(spec->element_type, spec->dims, spec->num_dims);

    if (error)
        return error;
    m->buffer[i] = buffer_make(m->memory, element_of(spec->element_type), (int)spec->num_dims,
                               spec->dims, &error);
    if (m->buffer[i])
        m->storage[i] = storage_hold(m->buffer[i]->storage);
    return error;
}

struct PJRT_Error *pjrt_Client_CreateBuffersForAsyncHostToDevice(
    struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args)
{
    struct PJRT_AsyncHostToDeviceTransferManager *m = mem_alloc(sizeof(*m));
    struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args destroy = {.transfer_manager = m};
    /* records of a list are as long as the first says */
    size_t step = args->num_shape_specs ? args->shape_specs[0].struct_size : 0;

    step = step ? (step + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *)
                : sizeof(*args->shape_specs);
    m->memory = memory_of(args->memory);
    m->count = (int)args->num_shape_specs;
    m->buffer = mem_alloc((args->num_shape_specs + 1) * sizeof(*m->buffer));
    m->storage = mem_alloc((args->num_shape_specs + 1) * sizeof(*m->storage));
    for (int i = 0; i < m->count; i++) {
        const char *spec = (const char *)args->shape_specs + (size_t)i * step;
        struct PJRT_Error *error = make_buffer(m, i, (const struct PJRT_ShapeSpec *)(const void *)spec);

        if (error) {
            pjrt_AsyncHostToDeviceTransferManager_Destroy(&destroy);
            return error;
        }
    }
    args->transfer_manager = m;
    return NULL;
}

static struct PJRT_Error *check_index(const struct PJRT_AsyncHostToDeviceTransferManager *m, int i)
{
    if (i >= 0 && i < m->count && m->storage[i])
        return NULL;
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is no buffer %d in a transfer of %d",
                      i, m->count);
}

static void done_at_once(struct PJRT_Event **event)
{
    struct promise *p = promise_made(NULL);

    *event = event_of(p);
    promise_drop(p);
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_TransferData(
    struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args)
{
    struct PJRT_Error *error = check_index(args->transfer_manager, args->buffer_index);
    struct storage *s;

    if (error)
        return error;
    s = args->transfer_manager->storage[args->buffer_index];
    if (args->offset < 0 || args->transfer_size < 0 ||
        args->offset > s->bytes - args->transfer_size)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a transfer of %lld bytes to %lld does "
                          "not fit an array of %lld", (long long)args->transfer_size,
                          (long long)args->offset, (long long)s->bytes);
    memcpy((char *)storage_room(s) + args->offset, args->data, (size_t)args->transfer_size);
    buffer_account(s, args->transfer_size, true);
    if (args->is_last_transfer && !promise_is_kept(s->ready))
        promise_keep(s->ready, NULL);
    done_at_once(&args->done_with_h2d_transfer);
    return NULL;
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_TransferLiteral(
    struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args)
{
    struct PJRT_Error *error = check_index(args->transfer_manager, args->buffer_index);
    struct array_type type = {.element = element_of(args->shape_element_type),
                              .rank = (int)args->shape_num_dims, .dim = (int64_t *)args->shape_dims};
    int64_t stride[PJRT_RANK_MAX], dense[PJRT_RANK_MAX];
    struct storage *s;
    const char *wrong;

    if (!error)
        error = buffer_check_type(args->shape_element_type, args->shape_dims,
                                  args->shape_num_dims);
    if (error)
        return error;
    s = args->transfer_manager->storage[args->buffer_index];
    if (array_type_bytes(&type) != s->bytes)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a literal of %lld bytes for an array of "
                          "%lld", (long long)array_type_bytes(&type), (long long)s->bytes);
    wrong = array_layout_strides(&type, args->shape_layout, stride);
    if (wrong)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "a literal: %s", wrong);
    array_dense_strides(&type, NULL, dense);
    array_copy(&type, args->data, stride, storage_room(s), dense);
    if (!promise_is_kept(s->ready))
        promise_keep(s->ready, NULL);
    done_at_once(&args->done_with_h2d_transfer);
    return NULL;
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args)
{
    struct PJRT_AsyncHostToDeviceTransferManager *m = args->transfer_manager;
    struct PJRT_Error *error = check_index(m, args->buffer_index);

    if (error)
        return error;
    if (!m->buffer[args->buffer_index])
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "buffer %d was retrieved before",
                          args->buffer_index);
    args->buffer_out = m->buffer[args->buffer_index];
    m->buffer[args->buffer_index] = NULL;
    return NULL;
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_Device(
    struct PJRT_AsyncHostToDeviceTransferManager_Device_Args *args)
{
    args->device_out = args->transfer_manager->memory->device;
    return NULL;
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_BufferCount(
    struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args)
{
    args->buffer_count = (size_t)args->transfer_manager->count;
    return NULL;
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_BufferSize(
    struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args)
{
    struct PJRT_Error *error = check_index(args->transfer_manager, args->buffer_index);

    if (error)
        return error;
    args->buffer_size = (size_t)args->transfer_manager->storage[args->buffer_index]->bytes;
    return NULL;
}

struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_SetBufferError(
    struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args)
{
    struct PJRT_Error *error = check_index(args->transfer_manager, args->buffer_index);
    struct storage *s;

    if (error)
        return error;
    s = args->transfer_manager->storage[args->buffer_index];
    if (!promise_is_kept(s->ready))
        promise_keep(s->ready, pjrt_error(args->error_code, "%.*s", (int)args->error_message_size,
                                          args->error_message));
    return NULL;
}

/* what somebody would like to know of the transfers */
struct PJRT_Error *pjrt_AsyncHostToDeviceTransferManager_AddMetadata(
    struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *args)
{
    (void)args;
    return NULL;
}
