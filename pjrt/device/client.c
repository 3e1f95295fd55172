/* Makes clients, and answers what callers ask of them as a whole. */
#include "pjrt/device/client.h"

#include "base/text.h"
#include "pjrt/abi/functions.h"

#include <stdio.h>
#include <string.h>

struct memory_note {
    const void *key;
    void *data;
    void (*destroy)(void *data);
    struct memory_note *next;
};

struct memory *memory_of(struct PJRT_Memory *m)
{
    return (struct memory *)m;
}

static void *get_note(struct PJRT_Memory *memory, const void *key)
{
    for (struct memory_note *n = memory_of(memory)->note; n; n = n->next)
        if (n->key == key)
            return n->data;
    return NULL;
}

static void set_note(struct PJRT_Memory *memory, const void *key, void *data,
                     void (*destroy)(void *data))
{
    struct memory_note **first = &memory_of(memory)->note, *n = *first;

    while (n && n->key != key)
        n = n->next;
    if (n && n->destroy)
        n->destroy(n->data);
    if (!n) {
        n = mem_alloc(sizeof(*n));
        n->next = *first;
        *first = n;
    }
    n->key = key;
    n->data = data;
    n->destroy = destroy;
}

static const struct PJRT_Memory_FunctionTable memory_table = {
    .struct_size = sizeof(memory_table), .instance_struct_size = sizeof(struct memory),
    .get_user_data = get_note, .set_user_data = set_note};

static void free_notes(struct PJRT_Memory *memory)
{
    for (struct memory_note *n = memory_of(memory)->note, *next; n; n = next) {
        next = n->next;
        if (n->destroy)
            n->destroy(n->data);
        mem_free(n);
    }
}

static void make_device(struct PJRT_Client *c, int id)
{
    struct PJRT_Device *d = &c->device[id];

    d->client = c;
    d->description = &c->topology->device[id];
    for (int k = 0; k < MEMORY_KINDS; k++) {
        struct memory *m = &d->memory[k];

        m->base.vtable = &memory_table;
        m->device = d;
        m->kind = (enum memory_kind)k;
        m->id = id * MEMORY_KINDS + k;
        m->text = arena_printf(&c->arena, "%s memory of TPU_%d", memory_kind_name(m->kind), id);
        d->memory_list[k] = &m->base;
        c->memory_list[m->id] = &m->base;
    }
    c->device_list[id] = d;
}

static int make(struct PJRT_Client *c, struct err *e)
{
    if (settings_read(&c->settings, e))
        return -1;
    if (c->settings.mode == MODE_TIMING && !c->settings.is_host)
        fputs("systole: SYSTOLE_MODE=timing counts cycles; all results are zeros\n", stderr);
    c->topology = topology_make(c->settings.slice, e);
    if (!c->topology)
        return -1;
    c->settings.slice = c->topology->name;
    c->launches = worker_create();
    if (!c->launches)
        return err_set(e, "the host makes no more threads");
    c->device_count = c->topology->device_count;
    c->device = arena_array(&c->arena, (size_t)c->device_count, sizeof(*c->device));
    c->device_list = arena_array(&c->arena, (size_t)c->device_count, sizeof(*c->device_list));
    c->memory_list = arena_array(&c->arena, (size_t)(c->device_count * MEMORY_KINDS),
                                 sizeof(*c->memory_list));
    for (int i = 0; i < c->device_count; i++)
        make_device(c, i);
    c->account = account_make(&(struct account_client){
        .slice = &c->topology->slice, .chip = &c->topology->chip, .kind = c->topology->kind,
        .devices = c->device_count, .cores_each = c->topology->cores_each});
    return 0;
}

static void destroy(struct PJRT_Client *c)
{
    if (c->launches)
        worker_destroy(c->launches);
    if (c->account)
        account_end(c->account);
    for (int i = 0; i < c->device_count * MEMORY_KINDS; i++)
        free_notes(c->memory_list[i]);
    if (c->topology)
        topology_free(c->topology);
    arena_fini(&c->arena);
    mem_free(c);
}

/* ----- memory in use */

int device_take_bytes(struct PJRT_Device *d, int64_t bytes)
{
    int64_t now = atomic_fetch_add(&d->bytes_in_use, bytes) + bytes;
    int64_t peak = atomic_load(&d->peak_bytes), largest = atomic_load(&d->largest_alloc_bytes);

    if (now > d->client->topology->hbm_bytes) {
        atomic_fetch_sub(&d->bytes_in_use, bytes);
        return -1;
    }
    while (now > peak && !atomic_compare_exchange_weak(&d->peak_bytes, &peak, now))
        ;
    while (bytes > largest &&
           !atomic_compare_exchange_weak(&d->largest_alloc_bytes, &largest, bytes))
        ;
    atomic_fetch_add(&d->alloc_count, 1);
    return 0;
}

void device_give_bytes(struct PJRT_Device *d, int64_t bytes)
{
    atomic_fetch_sub(&d->bytes_in_use, bytes);
}

struct PJRT_Error *device_is_full(struct PJRT_Device *d, const char *what, int64_t bytes)
{
    int64_t all = d->client->topology->hbm_bytes, used = atomic_load(&d->bytes_in_use);

    return pjrt_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "TPU_%d is out of memory: %s takes %s, "
                      "and %s of its %s of HBM are free", d->description->id, what,
                      text_bytes(bytes).text, text_bytes(all - used).text, text_bytes(all).text);
}

/* ----- the interface */

static bool is_named(const struct PJRT_NamedValue *v, const char *name)
{
    return v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0;
}

/* several processes would each simulate their own chips, and nothing between them */
static struct PJRT_Error *refuse_processes(const struct PJRT_Client_Create_Args *args)
{
    for (size_t i = 0; i < args->num_options; i++) {
        const struct PJRT_NamedValue *v = &args->create_options[i];

        if (is_named(v, "num_nodes") && v->type == PJRT_NamedValue_kInt64 && v->int64_value > 1)
            return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED, "systole simulates a whole slice in "
                              "one process; this is one of %lld (jax.distributed)",
                              (long long)v->int64_value);
    }
    return NULL;
}

struct PJRT_Error *pjrt_Client_Create(struct PJRT_Client_Create_Args *args)
{
    struct PJRT_Error *error = refuse_processes(args);
    struct PJRT_Client *c;
    struct err e;

    if (error)
        return error;
    c = mem_alloc(sizeof(*c));
    arena_init(&c->arena);
    if (make(c, &e)) {
        destroy(c);
        return pjrt_error_of(PJRT_Error_Code_INVALID_ARGUMENT, &e);
    }
    args->client = c;
    return NULL;
}

struct PJRT_Error *pjrt_Client_Destroy(struct PJRT_Client_Destroy_Args *args)
{
    if (args->client)
        destroy(args->client);
    return NULL;
}

struct PJRT_Error *pjrt_Client_PlatformName(struct PJRT_Client_PlatformName_Args *args)
{
    args->platform_name = PJRT_PLATFORM;
    args->platform_name_size = strlen(PJRT_PLATFORM);
    return NULL;
}

struct PJRT_Error *pjrt_Client_PlatformVersion(struct PJRT_Client_PlatformVersion_Args *args)
{
    args->platform_version = platform_version();
    args->platform_version_size = strlen(args->platform_version);
    return NULL;
}

struct PJRT_Error *pjrt_Client_ProcessIndex(struct PJRT_Client_ProcessIndex_Args *args)
{
    args->process_index = 0;
    return NULL;
}

struct PJRT_Error *pjrt_Client_TopologyDescription(
    struct PJRT_Client_TopologyDescription_Args *args)
{
    args->topology = args->client->topology;
    return NULL;
}

struct PJRT_Error *pjrt_Client_Devices(struct PJRT_Client_Devices_Args *args)
{
    args->devices = args->client->device_list;
    args->num_devices = (size_t)args->client->device_count;
    return NULL;
}

struct PJRT_Error *pjrt_Client_AddressableDevices(struct PJRT_Client_AddressableDevices_Args *args)
{
    args->addressable_devices = args->client->device_list;
    args->num_addressable_devices = (size_t)args->client->device_count;
    return NULL;
}

static struct PJRT_Error *look_up(const struct PJRT_Client *c, int id, struct PJRT_Device **to)
{
    if (id < 0 || id >= c->device_count)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is no device %d; %s has 0..%d",
                          id, c->topology->name, c->device_count - 1);
    *to = c->device_list[id];
    return NULL;
}

struct PJRT_Error *pjrt_Client_LookupDevice(struct PJRT_Client_LookupDevice_Args *args)
{
    return look_up(args->client, args->id, &args->device);
}

struct PJRT_Error *pjrt_Client_LookupAddressableDevice(
    struct PJRT_Client_LookupAddressableDevice_Args *args)
{
    return look_up(args->client, args->local_hardware_id, &args->addressable_device);
}

struct PJRT_Error *pjrt_Client_AddressableMemories(
    struct PJRT_Client_AddressableMemories_Args *args)
{
    args->addressable_memories = args->client->memory_list;
    args->num_addressable_memories = (size_t)(args->client->device_count * MEMORY_KINDS);
    return NULL;
}

struct PJRT_Error *pjrt_Client_DefaultDeviceAssignment(
    struct PJRT_Client_DefaultDeviceAssignment_Args *args)
{
    int64_t wanted = (int64_t)args->num_replicas * args->num_partitions;

    if (wanted < 1 || wanted > args->client->device_count ||
        (size_t)wanted > args->default_assignment_size)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%d replicas of %d partitions are asked "
                          "for; %s has %d devices", args->num_replicas, args->num_partitions,
                          args->client->topology->name, args->client->device_count);
    for (int64_t i = 0; i < wanted; i++)
        args->default_assignment[i] = (int)i;
    return NULL;
}

/* Host memory needs no preparation: nothing reads it but the processor. */
struct PJRT_Error *pjrt_Client_DmaMap(struct PJRT_Client_DmaMap_Args *args)
{
    (void)args;
    return NULL;
}

struct PJRT_Error *pjrt_Client_DmaUnmap(struct PJRT_Client_DmaUnmap_Args *args)
{
    (void)args;
    return NULL;
}

struct PJRT_Error *pjrt_Client_UpdateGlobalProcessInfo(
    struct PJRT_Client_UpdateGlobalProcessInfo_Args *args)
{
    (void)args;                         /* there is this process */
    return NULL;
}
