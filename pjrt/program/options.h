/*
 * What a caller says of how a program is to be compiled, read from the bytes of its options. What is
 * not known here is left alone: callers are newer than this library.
 */
#ifndef PJRT_OPTIONS_H
#define PJRT_OPTIONS_H
#include "pjrt/device/topology.h"

struct compile_options {
    int64_t replicas, partitions;       /* at least 1 */
    int32_t *device;                    /* ids by replica * partitions + partition; NULL: not said */
    bool is_portable;                   /* for any one device, which a launch names */
};

/* -1: bytes that are no options, devices that the slice has not; `device` is in the arena */
int compile_options_read(struct compile_options *o, const char *bytes, size_t size,
                         const struct PJRT_TopologyDescription *t, struct arena *a, struct err *e);
#endif
