/*
 * The client: a slice of simulated chips in the caller's process, with its devices, their memories
 * and what of each is in use, and the thread that launches programs on them.
 *
 * What it is comes from the environment when it is made (pjrt/device/settings.h).
 */
#ifndef PJRT_CLIENT_H
#define PJRT_CLIENT_H
#include "pjrt/account/account.h"
#include "pjrt/device/settings.h"
#include "pjrt/device/topology.h"
#include "pjrt/event/worker.h"

#include <stdatomic.h>

struct memory {
    struct PJRT_Memory base;            /* first: callers have its address, and read its table */
    struct PJRT_Device *device;
    enum memory_kind kind;
    int id;
    const char *text;
    struct memory_note *note;           /* what callers keep with it, by key */
};

struct PJRT_Device {
    struct PJRT_Client *client;
    struct PJRT_DeviceDescription *description;
    struct memory memory[MEMORY_KINDS];
    struct PJRT_Memory *memory_list[MEMORY_KINDS];
    _Atomic int64_t bytes_in_use, peak_bytes, alloc_count, largest_alloc_bytes;
};

struct PJRT_Client {
    struct arena arena;                 /* of all here */
    struct settings settings;
    struct PJRT_TopologyDescription *topology;
    struct PJRT_Device *device;
    struct PJRT_Device **device_list;
    struct PJRT_Memory **memory_list;
    int device_count;
    struct worker *launches;
    struct account *account;
};

struct memory *memory_of(struct PJRT_Memory *m);

/* bytes of a device's memory are taken; -1: so many are not left, and none is */
int device_take_bytes(struct PJRT_Device *d, int64_t bytes);
void device_give_bytes(struct PJRT_Device *d, int64_t bytes);
/* "…: it takes 3.0 GiB, 1.5 GiB of 16.0 GiB are left" */
struct PJRT_Error *device_is_full(struct PJRT_Device *d, const char *what, int64_t bytes);
#endif
