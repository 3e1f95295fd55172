/* Answers what callers ask of executables. */
#include "pjrt/program/program.h"

#include "include/systole/status.h"
#include "pjrt/abi/functions.h"
#include "pjrt/program/options.pb-c.h"

#include <string.h>

struct PJRT_Error *pjrt_Executable_Destroy(struct PJRT_Executable_Destroy_Args *args)
{
    program_drop(args->executable);
    return NULL;
}

struct PJRT_Error *pjrt_Executable_Name(struct PJRT_Executable_Name_Args *args)
{
    args->executable_name = args->executable->name;
    args->executable_name_size = strlen(args->executable->name);
    return NULL;
}

struct PJRT_Error *pjrt_Executable_NumReplicas(struct PJRT_Executable_NumReplicas_Args *args)
{
    args->num_replicas = (size_t)args->executable->options.replicas;
    return NULL;
}

struct PJRT_Error *pjrt_Executable_NumPartitions(struct PJRT_Executable_NumPartitions_Args *args)
{
    args->num_partitions = (size_t)args->executable->options.partitions;
    return NULL;
}

struct PJRT_Error *pjrt_Executable_NumOutputs(struct PJRT_Executable_NumOutputs_Args *args)
{
    args->num_outputs = (size_t)args->executable->outputs;
    return NULL;
}

static int64_t code_bytes(const struct PJRT_Executable *p)
{
    const struct module *m = &p->x.loaded.module;
    int64_t bytes = 0;

    for (int i = 0; i < m->core_count; i++)
        bytes += (int64_t)m->linked[i].program.bundle_count * p->x.chip.core_bundle_bytes;
    return bytes;
}

struct PJRT_Error *pjrt_Executable_SizeOfGeneratedCodeInBytes(
    struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *args)
{
    args->size_in_bytes = code_bytes(args->executable);
    return NULL;
}

struct PJRT_Error *pjrt_Executable_OutputElementTypes(
    struct PJRT_Executable_OutputElementTypes_Args *args)
{
    args->output_types = args->executable->output_type;
    args->num_output_types = (size_t)args->executable->outputs;
    return NULL;
}

struct PJRT_Error *pjrt_Executable_OutputDimensions(
    struct PJRT_Executable_OutputDimensions_Args *args)
{
    args->num_outputs = (size_t)args->executable->outputs;
    args->dims = args->executable->output_dim;
    args->dim_sizes = args->executable->output_rank;
    return NULL;
}

struct PJRT_Error *pjrt_Executable_OutputMemoryKinds(
    struct PJRT_Executable_OutputMemoryKinds_Args *args)
{
    args->num_outputs = (size_t)args->executable->outputs;
    args->memory_kinds = args->executable->output_kind;
    args->memory_kind_sizes = args->executable->output_kind_size;
    return NULL;
}

struct PJRT_Error *pjrt_Executable_ParameterMemoryKinds(
    struct PJRT_Executable_ParameterMemoryKinds_Args *args)
{
    args->num_parameters = (size_t)args->executable->parameters;
    args->memory_kinds = args->executable->parameter_kind;
    args->memory_kind_sizes = args->executable->parameter_kind_size;
    return NULL;
}

struct PJRT_Error *pjrt_Executable_Fingerprint(struct PJRT_Executable_Fingerprint_Args *args)
{
    args->executable_fingerprint = args->executable->fingerprint;
    args->executable_fingerprint_size = strlen(args->executable->fingerprint);
    return NULL;
}

struct PJRT_Error *pjrt_LoadedExecutable_Fingerprint(
    struct PJRT_LoadedExecutable_Fingerprint_Args *args)
{
    args->executable_fingerprint = args->executable->executable->fingerprint;
    args->executable_fingerprint_size = strlen(args->executable_fingerprint);
    return NULL;
}

/* ----- loaded ones */

struct PJRT_Error *pjrt_LoadedExecutable_Destroy(struct PJRT_LoadedExecutable_Destroy_Args *args)
{
    struct PJRT_LoadedExecutable *l = args->executable;

    if (!l)
        return NULL;
    program_drop(l->executable);
    mem_free(l->device);
    mem_free(l->logical);
    mem_free(l);
    return NULL;
}

struct PJRT_Error *pjrt_LoadedExecutable_GetExecutable(
    struct PJRT_LoadedExecutable_GetExecutable_Args *args)
{
    args->executable = program_hold(args->loaded_executable->executable);
    return NULL;
}

struct PJRT_Error *pjrt_LoadedExecutable_AddressableDevices(
    struct PJRT_LoadedExecutable_AddressableDevices_Args *args)
{
    args->addressable_devices = args->executable->device;
    args->num_addressable_devices = (size_t)args->executable->device_count;
    return NULL;
}

struct PJRT_Error *pjrt_LoadedExecutable_AddressableDeviceLogicalIds(
    struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *args)
{
    args->addressable_device_logical_ids = args->executable->logical;
    args->num_addressable_device_logical_ids = (size_t)args->executable->device_count;
    return NULL;
}

struct PJRT_Error *pjrt_LoadedExecutable_Delete(struct PJRT_LoadedExecutable_Delete_Args *args)
{
    atomic_store(&args->executable->is_deleted, true);
    return NULL;
}

struct PJRT_Error *pjrt_LoadedExecutable_IsDeleted(
    struct PJRT_LoadedExecutable_IsDeleted_Args *args)
{
    args->is_deleted = atomic_load(&args->executable->is_deleted);
    return NULL;
}

/* ----- bytes that go out; their owner is their first byte */

static void free_assignment(struct PJRT_DeviceAssignmentSerialized *bytes)
{
    mem_free(bytes);
}

struct PJRT_Error *pjrt_LoadedExecutable_GetDeviceAssignment(
    struct PJRT_LoadedExecutable_GetDeviceAssignment_Args *args)
{
    const struct PJRT_LoadedExecutable *l = args->executable;
    const struct compile_options *o = &l->executable->options;
    PjrtWire__DeviceAssignment made = PJRT_WIRE__DEVICE_ASSIGNMENT__INIT;
    unsigned char *bytes = NULL;
    struct arena a;
    size_t size = 0;

    arena_init(&a);
    if (l->device_count) {
        made.replica_count = (int32_t)o->replicas;
        made.computation_count = (int32_t)o->partitions;
        made.n_computation_devices = (size_t)o->partitions;
        made.computation_devices = arena_array(&a, (size_t)o->partitions,
                                               sizeof(*made.computation_devices));
        for (int64_t p = 0; p < o->partitions; p++) {
            PjrtWire__ComputationDevices *d = arena_alloc(&a, sizeof(*d));

            pjrt_wire__computation_devices__init(d);
            d->n_replica_device_ids = (size_t)o->replicas;
            d->replica_device_ids = arena_array(&a, (size_t)o->replicas, sizeof(int64_t));
            for (int64_t r = 0; r < o->replicas; r++)
                d->replica_device_ids[r] = l->device[r * o->partitions + p]->description->id;
            made.computation_devices[p] = d;
        }
        size = pjrt_wire__device_assignment__get_packed_size(&made);
        bytes = mem_alloc_unset(size + 1);
        pjrt_wire__device_assignment__pack(&made, bytes);
    }
    arena_fini(&a);
    args->serialized_bytes = (const char *)bytes;
    args->serialized_bytes_size = size;
    args->serialized_device_assignment = (struct PJRT_DeviceAssignmentSerialized *)(void *)bytes;
    args->serialized_device_assignment_deleter = free_assignment;
    return NULL;
}

static void keep_options(struct PJRT_SerializedCompileOptions *bytes)
{
    (void)bytes;                        /* they are the executable's */
}

struct PJRT_Error *pjrt_Executable_GetCompileOptions(
    struct PJRT_Executable_GetCompileOptions_Args *args)
{
    args->serialized_bytes = args->executable->option_bytes;
    args->serialized_bytes_size = args->executable->option_size;
    args->serialized_compile_options = NULL;
    args->serialized_compile_options_deleter = keep_options;
    return NULL;
}

static void free_serialized(struct PJRT_SerializedExecutable *bytes)
{
    mem_free(bytes);
}

struct PJRT_Error *pjrt_Executable_Serialize(struct PJRT_Executable_Serialize_Args *args)
{
    const struct PJRT_Executable *p = args->executable;
    PjrtWire__Serialized made = PJRT_WIRE__SERIALIZED__INIT;
    unsigned char *bytes;
    size_t size;

    made.version = (char *)SY_VERSION;
    made.program = (ProtobufCBinaryData){p->program_bytes, (uint8_t *)p->program};
    made.options = (ProtobufCBinaryData){p->option_size, (uint8_t *)p->option_bytes};
    made.slice = (char *)p->slice_name;
    size = pjrt_wire__serialized__get_packed_size(&made);
    bytes = mem_alloc_unset(size + 1);
    pjrt_wire__serialized__pack(&made, bytes);
    args->serialized_bytes = (const char *)bytes;
    args->serialized_bytes_size = size;
    args->serialized_executable = (struct PJRT_SerializedExecutable *)(void *)bytes;
    args->serialized_executable_deleter = free_serialized;
    return NULL;
}

static struct PJRT_Error *load_serialized(struct PJRT_Executable_DeserializeAndLoad_Args *args,
                                          const PjrtWire__Serialized *from)
{
    const char *options = ARGS_GET(args, overridden_serialized_compile_options, NULL);
    size_t option_size = ARGS_GET(args, overridden_serialized_compile_options_size, 0);
    struct PJRT_Client *c = args->client;
    struct PJRT_Error *error = NULL;
    struct PJRT_Executable *p;

    if (!from)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "these are not the bytes of an "
                          "executable of this library");
    if (strcmp(from->version, SY_VERSION) != 0)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the executable was written by systole "
                          "%s, this is " SY_VERSION, from->version);
    if (strcmp(from->slice, c->topology->name) != 0)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the executable is for %s, this is %s",
                          from->slice, c->topology->name);
    p = program_compile(c->topology, &c->settings, (const char *)from->program.data,
                        from->program.len, options ? options : (const char *)from->options.data,
                        options ? option_size : from->options.len, &error);
    if (p)
        args->loaded_executable = program_load(c, p);
    return error;
}

struct PJRT_Error *pjrt_Executable_DeserializeAndLoad(
    struct PJRT_Executable_DeserializeAndLoad_Args *args)
{
    PjrtWire__Serialized *from = pjrt_wire__serialized__unpack(
        NULL, args->serialized_executable_size, (const uint8_t *)args->serialized_executable);
    struct PJRT_Error *error = load_serialized(args, from);

    if (from)
        pjrt_wire__serialized__free_unpacked(from, NULL);
    return error;
}
