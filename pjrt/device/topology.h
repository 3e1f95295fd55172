/*
 * A slice of chips as the interface describes it: devices with ids, coordinates and kinds, and the
 * memories that each of them has. Nothing in it runs: programs are compiled for it, too, where
 * nobody has such a slice.
 *
 * A device is a core, or both cores of a chip where these are one device (chip.megacore). Ids count
 * chips along x, then y, then z, and the devices of each chip. All texts live as long as it.
 */
#ifndef PJRT_TOPOLOGY_H
#define PJRT_TOPOLOGY_H
#include "base/arena.h"
#include "pjrt/event/error.h"
#include "sim/chip/chip.h"

#define PJRT_PLATFORM "tpu"

enum memory_kind { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_UNPINNED, MEMORY_KINDS };

struct PJRT_DeviceDescription {
    const struct PJRT_TopologyDescription *topology;
    int id, chip, core_on_chip, core;   /* core: the first of the slice's cores that it is */
    int64_t coords[3];
    const char *text, *debug_text;
    struct PJRT_NamedValue *attribute;
    int attribute_count;
};

struct PJRT_TopologyDescription {
    struct arena arena;                 /* of all here */
    struct slice slice;
    struct chip chip;
    const char *name;                   /* "v5e-8" */
    const char *kind;                   /* "TPU v5 lite" */
    int cores_each;
    int64_t hbm_bytes;                  /* of a device */
    int device_count;
    struct PJRT_DeviceDescription *device;
    struct PJRT_DeviceDescription **device_list;
    struct PJRT_NamedValue *attribute;
    int attribute_count;
};

/* NULL with the error: no such slice */
struct PJRT_TopologyDescription *topology_make(const char *slice_name, struct err *e);
void topology_free(struct PJRT_TopologyDescription *t);

const char *memory_kind_name(enum memory_kind kind);    /* "device", "pinned_host", .. */
/* what the library says of itself: "systole 0.8.0" */
const char *platform_version(void);
/* a named number or list; the texts are not copied */
struct PJRT_NamedValue named_int(const char *name, int64_t value);
struct PJRT_NamedValue named_ints(const char *name, const int64_t *value, size_t count);
struct PJRT_NamedValue named_text(const char *name, const char *value);
#endif
