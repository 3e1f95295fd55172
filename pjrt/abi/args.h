/*
 * What a caller of the interface knows of a struct that it hands over: callers are older and newer
 * than this library, and their structs end earlier or later than ours.
 */
#ifndef PJRT_ARGS_H
#define PJRT_ARGS_H
#include "pjrt/abi/abi.h"

/* does the struct that `args` points to, as its caller made it, have the field? */
#define ARGS_HAVE(args, field) \
    ((size_t)((const char *)(&(args)->field + 1) - (const char *)(args)) <= (args)->struct_size)

/* a field that is read, or what it is where the caller does not know it */
#define ARGS_GET(args, field, otherwise) (ARGS_HAVE(args, field) ? (args)->field : (otherwise))

/* a field that is written where the caller has room for it */
#define ARGS_PUT(args, field, value) \
    do { \
        if (ARGS_HAVE(args, field)) \
            (args)->field = (value); \
    } while (0)
#endif
