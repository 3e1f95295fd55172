/* Memories of devices that a topology describes, where no client is. */
#include "pjrt/extension/extensions.h"

#include "pjrt/device/topology.h"

#include <string.h>

struct PJRT_MemoryDescription {
    enum memory_kind kind;
};

static const struct PJRT_MemoryDescription memory[MEMORY_KINDS] = {
    {MEMORY_DEVICE}, {MEMORY_PINNED}, {MEMORY_UNPINNED}};
static const struct PJRT_MemoryDescription *const list[MEMORY_KINDS] = {
    &memory[MEMORY_DEVICE], &memory[MEMORY_PINNED], &memory[MEMORY_UNPINNED]};

static struct PJRT_Error *describe(struct PJRT_DeviceDescription_MemoryDescriptions_Args *args)
{
    args->memory_descriptions = list;
    args->num_memory_descriptions = MEMORY_KINDS;
    args->default_memory_index = MEMORY_DEVICE;
    return NULL;
}

static struct PJRT_Error *get_kind(struct PJRT_MemoryDescription_Kind_Args *args)
{
    args->kind = memory_kind_name(args->memory_description->kind);
    args->kind_size = strlen(args->kind);
    args->kind_id = (int)args->memory_description->kind;
    return NULL;
}

struct PJRT_Extension_Base *extension_memories(struct PJRT_Extension_Base *next)
{
    static struct PJRT_MemoryDescriptions_Extension table = {
        .base = {.struct_size = sizeof(table), .type = PJRT_Extension_Type_MemoryDescriptions},
        .PJRT_DeviceDescription_MemoryDescriptions = describe,
        .PJRT_MemoryDescription_Kind = get_kind};

    table.base.next = next;
    return &table.base;
}
