/* Describes slices of chips to callers of the interface. */
#include "pjrt/device/topology.h"

#include "base/units.h"
#include "include/systole/status.h"
#include "pjrt/abi/functions.h"

#include <stdio.h>
#include <string.h>

const char *memory_kind_name(enum memory_kind kind)
{
    static const char *const name[] = {"device", "pinned_host", "unpinned_host"};

    return name[kind];
}

const char *platform_version(void)
{
    return "systole " SY_VERSION;
}

static struct PJRT_NamedValue named(const char *name, enum PJRT_NamedValue_Type type, size_t size)
{
    return (struct PJRT_NamedValue){.struct_size = sizeof(struct PJRT_NamedValue), .name = name,
                                    .name_size = strlen(name), .type = type, .value_size = size};
}

struct PJRT_NamedValue named_int(const char *name, int64_t value)
{
    struct PJRT_NamedValue v = named(name, PJRT_NamedValue_kInt64, 1);

    v.int64_value = value;
    return v;
}

struct PJRT_NamedValue named_ints(const char *name, const int64_t *value, size_t count)
{
    struct PJRT_NamedValue v = named(name, PJRT_NamedValue_kInt64List, count);

    v.int64_array_value = value;
    return v;
}

struct PJRT_NamedValue named_text(const char *name, const char *value)
{
    struct PJRT_NamedValue v = named(name, PJRT_NamedValue_kString, strlen(value));

    v.string_value = value;
    return v;
}

static void describe_device(struct PJRT_TopologyDescription *t, int id)
{
    enum { ATTRIBUTES = 4 };
    struct PJRT_DeviceDescription *d = &t->device[id];
    int devices_each = (int)t->chip.chip_cores / t->cores_each, rest = id / devices_each;

    d->topology = t;
    d->id = id;
    d->chip = rest;
    d->core_on_chip = id % devices_each;
    d->core = id * t->cores_each;
    for (int axis = 0; axis < 3; axis++) {
        int length = axis < t->slice.dims ? t->slice.dim[axis] : 1;

        d->coords[axis] = rest % length;
        rest /= length;
    }
    d->text = arena_printf(&t->arena, "TpuDevice(id=%d, process_index=0, coords=(%d,%d,%d), "
                           "core_on_chip=%d)", id, (int)d->coords[0], (int)d->coords[1],
                           (int)d->coords[2], d->core_on_chip);
    d->debug_text = arena_printf(&t->arena, "TPU_%d(process=0,(%d,%d,%d,%d))", id,
                                 (int)d->coords[0], (int)d->coords[1], (int)d->coords[2],
                                 d->core_on_chip);
    d->attribute = arena_array(&t->arena, ATTRIBUTES, sizeof(*d->attribute));
    d->attribute[0] = named_ints("coords", d->coords, 3);
    d->attribute[1] = named_int("core_on_chip", d->core_on_chip);
    d->attribute[2] = named_int("num_cores", t->cores_each);
    d->attribute[3] = named_int("slice_index", 0);
    d->attribute_count = ATTRIBUTES;
}

static void describe(struct PJRT_TopologyDescription *t)
{
    int64_t *bounds = arena_array(&t->arena, 3, sizeof(*bounds));

    t->kind = t->chip.chip_device_kind;
    t->cores_each = t->chip.chip_megacore ? (int)t->chip.chip_cores : 1;
    t->hbm_bytes = (int64_t)(t->chip.hbm_gib * (double)GIB) / t->chip.chip_cores * t->cores_each;
    t->device_count = t->slice.core_count / t->cores_each;
    t->device = arena_array(&t->arena, (size_t)t->device_count, sizeof(*t->device));
    t->device_list = arena_array(&t->arena, (size_t)t->device_count, sizeof(*t->device_list));
    for (int i = 0; i < t->device_count; i++) {
        describe_device(t, i);
        t->device_list[i] = &t->device[i];
    }
    for (int axis = 0; axis < 3; axis++)
        bounds[axis] = axis < t->slice.dims ? t->slice.dim[axis] : 1;
    t->attribute = arena_array(&t->arena, 2, sizeof(*t->attribute));
    t->attribute[0] = named_ints("chips_per_host_bounds", bounds, 3);
    t->attribute[1] = named_text("slice", t->name);
    t->attribute_count = 2;
}

/* where the cores of a chip are one device, part of a chip is none */
static int check_devices(const struct PJRT_TopologyDescription *t, struct err *e)
{
    if (t->device_count > 0)
        return 0;
    return err_set(e, "%s is no device: the %d cores of a %s chip are one; the smallest slice is %s-%d",
                   t->name, t->cores_each, t->slice.chip_name, t->slice.chip_name, t->cores_each);
}

struct PJRT_TopologyDescription *topology_make(const char *slice_name, struct err *e)
{
    struct PJRT_TopologyDescription *t = mem_alloc(sizeof(*t));

    arena_init(&t->arena);
    t->name = arena_strdup(&t->arena, slice_name);
    if (slice_parse(&t->slice, slice_name, e) ||
        chip_load_builtin(&t->chip, t->slice.chip_name, NULL, &t->arena, e) ||
        slice_fit(&t->slice, &t->chip, e)) {
        topology_free(t);
        return NULL;
    }
    describe(t);
    if (check_devices(t, e)) {
        topology_free(t);
        return NULL;
    }
    return t;
}

void topology_free(struct PJRT_TopologyDescription *t)
{
    arena_fini(&t->arena);
    mem_free(t);
}

/* ----- the interface */

/* "v5e:2x4" and "v5e-8" are names of slices, "TPU v5 lite:2x4" is not */
static const char *slice_named(const struct PJRT_TopologyDescription_Create_Args *args,
                               char *buf, size_t buf_bytes)
{
    char *colon;

    snprintf(buf, buf_bytes, "%.*s", (int)args->topology_name_size,
             args->topology_name_size ? args->topology_name : "");
    colon = strchr(buf, ':');
    if (colon)
        *colon = '-';
    return buf;
}

struct PJRT_Error *pjrt_TopologyDescription_Create(
    struct PJRT_TopologyDescription_Create_Args *args)
{
    char name[64];
    struct err e;

    args->topology = topology_make(slice_named(args, name, sizeof(name)), &e);
    return args->topology ? NULL : pjrt_error_of(PJRT_Error_Code_INVALID_ARGUMENT, &e);
}

struct PJRT_Error *pjrt_TopologyDescription_Destroy(
    struct PJRT_TopologyDescription_Destroy_Args *args)
{
    if (args->topology)
        topology_free(args->topology);
    return NULL;
}

struct PJRT_Error *pjrt_TopologyDescription_PlatformName(
    struct PJRT_TopologyDescription_PlatformName_Args *args)
{
    args->platform_name = PJRT_PLATFORM;
    args->platform_name_size = strlen(PJRT_PLATFORM);
    return NULL;
}

struct PJRT_Error *pjrt_TopologyDescription_PlatformVersion(
    struct PJRT_TopologyDescription_PlatformVersion_Args *args)
{
    args->platform_version = platform_version();
    args->platform_version_size = strlen(args->platform_version);
    return NULL;
}

struct PJRT_Error *pjrt_TopologyDescription_GetDeviceDescriptions(
    struct PJRT_TopologyDescription_GetDeviceDescriptions_Args *args)
{
    args->descriptions = args->topology->device_list;
    args->num_descriptions = (size_t)args->topology->device_count;
    return NULL;
}

struct PJRT_Error *pjrt_TopologyDescription_Attributes(
    struct PJRT_TopologyDescription_Attributes_Args *args)
{
    args->attributes = args->topology->attribute;
    args->num_attributes = (size_t)args->topology->attribute_count;
    return NULL;
}

/* The name of the slice says all. */
static void keep_bytes(struct PJRT_SerializedTopology *bytes)
{
    (void)bytes;
}

struct PJRT_Error *pjrt_TopologyDescription_Serialize(
    struct PJRT_TopologyDescription_Serialize_Args *args)
{
    args->serialized_bytes = args->topology->name;
    args->serialized_bytes_size = strlen(args->topology->name);
    args->serialized_topology = NULL;
    args->serialized_topology_deleter = keep_bytes;
    return NULL;
}

struct PJRT_Error *pjrt_TopologyDescription_Deserialize(
    struct PJRT_TopologyDescription_Deserialize_Args *args)
{
    char name[64];
    struct err e;

    snprintf(name, sizeof(name), "%.*s", (int)args->serialized_topology_size,
             args->serialized_topology);
    args->topology = topology_make(name, &e);
    return args->topology ? NULL : pjrt_error_of(PJRT_Error_Code_INVALID_ARGUMENT, &e);
}

struct PJRT_Error *pjrt_TopologyDescription_Fingerprint(
    struct PJRT_TopologyDescription_Fingerprint_Args *args)
{
    uint64_t hash = UINT64_C(14695981039346656037);     /* FNV-1a */

    for (const char *c = args->topology->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    args->fingerprint = hash;
    return NULL;
}

struct PJRT_Error *pjrt_TopologyDescription_GetMemorySpaceKindIds(
    struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *args)
{
    static const int id[] = {MEMORY_DEVICE, MEMORY_PINNED, MEMORY_UNPINNED};

    args->memory_space_kind_ids = id;
    args->num_memory_space_kind_ids = MEMORY_KINDS;
    return NULL;
}

/* ----- descriptions of devices */

struct PJRT_Error *pjrt_DeviceDescription_Id(struct PJRT_DeviceDescription_Id_Args *args)
{
    args->id = args->device_description->id;
    return NULL;
}

struct PJRT_Error *pjrt_DeviceDescription_ProcessIndex(
    struct PJRT_DeviceDescription_ProcessIndex_Args *args)
{
    args->process_index = 0;
    return NULL;
}

struct PJRT_Error *pjrt_DeviceDescription_Attributes(
    struct PJRT_DeviceDescription_Attributes_Args *args)
{
    args->attributes = args->device_description->attribute;
    args->num_attributes = (size_t)args->device_description->attribute_count;
    return NULL;
}

struct PJRT_Error *pjrt_DeviceDescription_Kind(struct PJRT_DeviceDescription_Kind_Args *args)
{
    args->device_kind = args->device_description->topology->kind;
    args->device_kind_size = strlen(args->device_kind);
    return NULL;
}

struct PJRT_Error *pjrt_DeviceDescription_DebugString(
    struct PJRT_DeviceDescription_DebugString_Args *args)
{
    args->debug_string = args->device_description->debug_text;
    args->debug_string_size = strlen(args->debug_string);
    return NULL;
}

struct PJRT_Error *pjrt_DeviceDescription_ToString(
    struct PJRT_DeviceDescription_ToString_Args *args)
{
    args->to_string = args->device_description->text;
    args->to_string_size = strlen(args->to_string);
    return NULL;
}
