/* Answers what callers ask of devices and of their memories. */
#include "pjrt/device/client.h"

#include "pjrt/abi/functions.h"

#include <string.h>

struct PJRT_Error *pjrt_Device_GetDescription(struct PJRT_Device_GetDescription_Args *args)
{
    args->device_description = args->device->description;
    return NULL;
}

struct PJRT_Error *pjrt_Device_IsAddressable(struct PJRT_Device_IsAddressable_Args *args)
{
    args->is_addressable = true;
    return NULL;
}

struct PJRT_Error *pjrt_Device_LocalHardwareId(struct PJRT_Device_LocalHardwareId_Args *args)
{
    args->local_hardware_id = args->device->description->id;
    return NULL;
}

struct PJRT_Error *pjrt_Device_AddressableMemories(
    struct PJRT_Device_AddressableMemories_Args *args)
{
    args->memories = args->device->memory_list;
    args->num_memories = MEMORY_KINDS;
    return NULL;
}

struct PJRT_Error *pjrt_Device_DefaultMemory(struct PJRT_Device_DefaultMemory_Args *args)
{
    args->memory = args->device->memory_list[MEMORY_DEVICE];
    return NULL;
}

static void keep_attributes(struct PJRT_Device_Attributes *attributes)
{
    (void)attributes;                   /* they are the topology's */
}

struct PJRT_Error *pjrt_Device_GetAttributes(struct PJRT_Device_GetAttributes_Args *args)
{
    args->attributes = args->device->description->attribute;
    args->num_attributes = (size_t)args->device->description->attribute_count;
    args->device_attributes = NULL;
    args->attributes_deleter = keep_attributes;
    return NULL;
}

#define PUT_NUMBER(args, name, value) \
    do { \
        ARGS_PUT(args, name, value); \
        ARGS_PUT(args, name##_is_set, true); \
    } while (0)
#define PUT_NOTHING(args, name) ARGS_PUT(args, name##_is_set, false)

struct PJRT_Error *pjrt_Device_MemoryStats(struct PJRT_Device_MemoryStats_Args *args)
{
    struct PJRT_Device *d = args->device;
    int64_t limit = d->client->topology->hbm_bytes, used = atomic_load(&d->bytes_in_use);

    args->bytes_in_use = used;
    PUT_NUMBER(args, peak_bytes_in_use, atomic_load(&d->peak_bytes));
    PUT_NUMBER(args, num_allocs, atomic_load(&d->alloc_count));
    PUT_NUMBER(args, largest_alloc_size, atomic_load(&d->largest_alloc_bytes));
    PUT_NUMBER(args, bytes_limit, limit);
    PUT_NUMBER(args, bytes_reserved, 0);
    PUT_NUMBER(args, peak_bytes_reserved, 0);
    PUT_NUMBER(args, bytes_reservable_limit, limit);
    PUT_NUMBER(args, largest_free_block_bytes, limit - used);
    PUT_NOTHING(args, pool_bytes);
    PUT_NOTHING(args, peak_pool_bytes);
    return NULL;
}

struct PJRT_Error *pjrt_Device_ClearMemoryStats(struct PJRT_Device_ClearMemoryStats_Args *args)
{
    struct PJRT_Device *d = args->device;

    atomic_store(&d->peak_bytes, atomic_load(&d->bytes_in_use));
    atomic_store(&d->largest_alloc_bytes, 0);
    atomic_store(&d->alloc_count, 0);
    return NULL;
}

/* ----- memories */

struct PJRT_Error *pjrt_Memory_Id(struct PJRT_Memory_Id_Args *args)
{
    args->id = memory_of(args->memory)->id;
    return NULL;
}

struct PJRT_Error *pjrt_Memory_Kind(struct PJRT_Memory_Kind_Args *args)
{
    args->kind = memory_kind_name(memory_of(args->memory)->kind);
    args->kind_size = strlen(args->kind);
    return NULL;
}

struct PJRT_Error *pjrt_Memory_Kind_Id(struct PJRT_Memory_Kind_Id_Args *args)
{
    args->kind_id = (int)memory_of(args->memory)->kind;
    return NULL;
}

struct PJRT_Error *pjrt_Memory_DebugString(struct PJRT_Memory_DebugString_Args *args)
{
    args->debug_string = memory_of(args->memory)->text;
    args->debug_string_size = strlen(memory_of(args->memory)->text);
    return NULL;
}

struct PJRT_Error *pjrt_Memory_ToString(struct PJRT_Memory_ToString_Args *args)
{
    args->to_string = memory_of(args->memory)->text;
    args->to_string_size = strlen(memory_of(args->memory)->text);
    return NULL;
}

struct PJRT_Error *pjrt_Memory_AddressableByDevices(
    struct PJRT_Memory_AddressableByDevices_Args *args)
{
    struct PJRT_Device *d = memory_of(args->memory)->device;

    args->devices = &d->client->device_list[d->description->id];
    args->num_devices = 1;
    return NULL;
}

/* ----- objects that callers make and nothing here looks at */

struct PJRT_AsyncTrackingEvent { char unused; };
struct PJRT_ExecuteContext { char unused; };

struct PJRT_Error *pjrt_Device_CreateAsyncTrackingEvent(
    struct PJRT_Device_CreateAsyncTrackingEvent_Args *args)
{
    args->event = mem_alloc(sizeof(*args->event));
    return NULL;
}

struct PJRT_Error *pjrt_AsyncTrackingEvent_Destroy(struct PJRT_AsyncTrackingEvent_Destroy_Args *args)
{
    mem_free(args->event);
    return NULL;
}

struct PJRT_Error *pjrt_ExecuteContext_Create(struct PJRT_ExecuteContext_Create_Args *args)
{
    args->context = mem_alloc(sizeof(*args->context));
    return NULL;
}

struct PJRT_Error *pjrt_ExecuteContext_Destroy(struct PJRT_ExecuteContext_Destroy_Args *args)
{
    mem_free(args->context);
    return NULL;
}
