/* Makes buffers and their storage, and answers what callers ask of them. */
#include "pjrt/buffer/buffer.h"

#include "pjrt/abi/functions.h"
#include "pjrt/event/guard.h"

#include <string.h>

struct storage *storage_hold(struct storage *s)
{
    atomic_fetch_add(&s->holders, 1);
    return s;
}

void storage_drop(struct storage *s)
{
    if (!s || atomic_fetch_sub(&s->holders, 1) != 1)
        return;
    promise_drop(s->ready);
    value_fini(&s->value);
    if (s->device)
        device_give_bytes(s->device, s->device_bytes);
    mem_free(s);
}

void *storage_room(struct storage *s)
{
    return value_room(&s->value);
}

/* the elements may still lie as a device has them: room for the host's form is made now */
const void *storage_data(struct storage *s, struct PJRT_Error **error)
{
    const void *data;
    struct guard g;

    if (GUARD_ENTER(&g)) {
        *error = guard_error(&g);
        return NULL;
    }
    data = value_data(&s->value);
    guard_leave(&g);
    return data;
}

struct PJRT_Error *storage_copy(struct storage *to, struct storage *from)
{
    struct PJRT_Error *error = NULL;
    const void *data = storage_data(from, &error);
    struct guard g;

    if (error)
        return error;
    if (GUARD_ENTER(&g))
        return guard_error(&g);
    memcpy(storage_room(to), data, (size_t)to->bytes);
    guard_leave(&g);
    return NULL;
}

void buffer_account(const struct storage *s, int64_t bytes, bool is_to_device)
{
    if (s->device)
        account_copied(s->device->client->account, s->device->description->id, bytes,
                       is_to_device);
}

static char *type_text(const struct array_type *t, char *buf, size_t buf_bytes)
{
    struct hlo_type type = {.element = t->element, .rank = t->rank, .dim = t->dim};

    return hlo_type_print(&type, buf, buf_bytes);
}

struct PJRT_Error *buffer_check_type(enum PJRT_Buffer_Type type, const int64_t *dims, size_t rank)
{
    struct array_type t = {.element = element_of(type), .dim = (int64_t *)dims};

    if (t.element == ELEMENT_COUNT)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "element type %d is not known",
                          (int)type);
    if (rank > PJRT_RANK_MAX)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "an array of %zu dimensions, allowed "
                          "are %d", rank, PJRT_RANK_MAX);
    t.rank = (int)rank;
    if (array_type_bytes(&t) < 0)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "an array's dimensions are negative, or "
                          "make more bytes than can be counted");
    return NULL;
}

static struct storage *make_storage(struct memory *memory, const struct array_type *type,
                                    struct PJRT_Error **error)
{
    int64_t device_bytes = array_type_device_bytes(type);
    struct PJRT_Device *device = memory->kind == MEMORY_DEVICE ? memory->device : NULL;
    struct storage *s;
    char text[256];

    if (device && device_take_bytes(device, device_bytes)) {
        *error = device_is_full(device, type_text(type, text, sizeof(text)), device_bytes);
        return NULL;
    }
    s = mem_alloc(sizeof(*s));
    atomic_init(&s->holders, 1);
    s->ready = promise_make();
    s->bytes = array_type_bytes(type);
    s->device = device;
    s->device_bytes = device_bytes;
    value_init(&s->value, (size_t)s->bytes);
    return s;
}

static struct PJRT_Buffer *make_buffer(struct memory *memory, const struct array_type *type,
                                       struct storage *s)
{
    size_t rank = (size_t)type->rank;
    struct PJRT_Buffer *b = mem_alloc(sizeof(*b) + rank * 2 * sizeof(*type->dim));

    b->client = memory->device->client;
    b->memory = memory;
    b->type = *type;
    b->type.dim = (int64_t *)(b + 1);
    b->minor_to_major = b->type.dim + rank;
    for (size_t d = 0; d < rank; d++) {
        b->type.dim[d] = type->dim[d];
        b->minor_to_major[d] = (int64_t)(rank - 1 - d);
    }
    b->storage = s;
    return b;
}

struct PJRT_Buffer *buffer_make(struct memory *memory, enum hlo_element element, int rank,
                                const int64_t *dim, struct PJRT_Error **error)
{
    struct array_type type = {.element = element, .rank = rank, .dim = (int64_t *)dim};
    struct storage *s = make_storage(memory, &type, error);

    return s ? make_buffer(memory, &type, s) : NULL;
}

struct PJRT_Buffer *buffer_as(const struct PJRT_Buffer *from, const struct array_type *type)
{
    return make_buffer(from->memory, type, storage_hold(from->storage));
}

void buffer_delete(struct PJRT_Buffer *b)
{
    storage_drop(b->storage);
    b->storage = NULL;
}

void buffer_free(struct PJRT_Buffer *b)
{
    buffer_delete(b);
    mem_free(b);
}

struct PJRT_Error *buffer_is_deleted(const struct PJRT_Buffer *b)
{
    char text[256];

    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "Array %s on TPU_%d has been deleted or "
                      "donated", type_text(&b->type, text, sizeof(text)),
                      b->memory->device->description->id);
}

/* ----- the interface */

struct PJRT_Error *pjrt_Buffer_Destroy(struct PJRT_Buffer_Destroy_Args *args)
{
    if (args->buffer)
        buffer_free(args->buffer);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_ElementType(struct PJRT_Buffer_ElementType_Args *args)
{
    args->type = element_type(args->buffer->type.element);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_Dimensions(struct PJRT_Buffer_Dimensions_Args *args)
{
    args->dims = args->buffer->type.dim;
    args->num_dims = (size_t)args->buffer->type.rank;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_UnpaddedDimensions(struct PJRT_Buffer_UnpaddedDimensions_Args *args)
{
    args->unpadded_dims = args->buffer->type.dim;
    args->num_dims = (size_t)args->buffer->type.rank;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_DynamicDimensionIndices(
    struct PJRT_Buffer_DynamicDimensionIndices_Args *args)
{
    args->dynamic_dim_indices = NULL;
    args->num_dynamic_dims = 0;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_GetMemoryLayout(struct PJRT_Buffer_GetMemoryLayout_Args *args)
{
    struct PJRT_Buffer_MemoryLayout *to = &args->layout;

    to->type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    to->tiled.minor_to_major = args->buffer->minor_to_major;
    to->tiled.minor_to_major_size = (size_t)args->buffer->type.rank;
    to->tiled.tile_dims = NULL;
    to->tiled.tile_dim_sizes = NULL;
    to->tiled.num_tiles = 0;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_OnDeviceSizeInBytes(
    struct PJRT_Buffer_OnDeviceSizeInBytes_Args *args)
{
    args->on_device_size_in_bytes = (size_t)array_type_device_bytes(&args->buffer->type);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_Device(struct PJRT_Buffer_Device_Args *args)
{
    args->device = args->buffer->memory->device;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_Memory(struct PJRT_Buffer_Memory_Args *args)
{
    args->memory = &args->buffer->memory->base;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_Delete(struct PJRT_Buffer_Delete_Args *args)
{
    buffer_delete(args->buffer);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_IsDeleted(struct PJRT_Buffer_IsDeleted_Args *args)
{
    args->is_deleted = !args->buffer->storage;
    return NULL;
}

/* what is on a simulated device is not for the host's own eyes */
struct PJRT_Error *pjrt_Buffer_IsOnCpu(struct PJRT_Buffer_IsOnCpu_Args *args)
{
    args->is_on_cpu = false;
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_ReadyEvent(struct PJRT_Buffer_ReadyEvent_Args *args)
{
    struct promise *never;

    if (args->buffer->storage) {
        args->event = event_of(args->buffer->storage->ready);
        return NULL;
    }
    never = promise_made(buffer_is_deleted(args->buffer));
    args->event = event_of(never);
    promise_drop(never);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_IncreaseExternalReferenceCount(
    struct PJRT_Buffer_IncreaseExternalReferenceCount_Args *args)
{
    if (!args->buffer->storage)
        return buffer_is_deleted(args->buffer);
    args->buffer->external_count++;
    args->buffer->external = storage_hold(args->buffer->storage);
    return NULL;
}

struct PJRT_Error *pjrt_Buffer_DecreaseExternalReferenceCount(
    struct PJRT_Buffer_DecreaseExternalReferenceCount_Args *args)
{
    if (args->buffer->external_count == 0)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "nobody outside refers to the buffer");
    args->buffer->external_count--;
    storage_drop(args->buffer->external);
    return NULL;
}

static struct PJRT_Error *address_of(struct PJRT_Buffer *b, void **to)
{
    struct PJRT_Error *error;

    if (!b->storage)
        return buffer_is_deleted(b);
    error = promise_wait(b->storage->ready);
    if (!error)
        *to = (void *)(uintptr_t)storage_data(b->storage, &error);
    return error;
}

struct PJRT_Error *pjrt_Buffer_OpaqueDeviceMemoryDataPointer(
    struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args)
{
    return address_of(args->buffer, &args->device_memory_ptr);
}

struct PJRT_Error *pjrt_Buffer_UnsafePointer(struct PJRT_Buffer_UnsafePointer_Args *args)
{
    void *address = NULL;
    struct PJRT_Error *error = address_of(args->buffer, &address);

    args->buffer_pointer = (uintptr_t)address;
    return error;
}
