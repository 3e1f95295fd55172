/* Bytes of protobuf, looked at before protobuf-c makes messages of them. */
#ifndef IMPORT_HLO_PROTO_WIRE_H
#define IMPORT_HLO_PROTO_WIRE_H
#include "base/err.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

/* One field: its number, kind, and what it holds. */
struct wire_field {
    uint32_t id;
    unsigned kind;                      /* 0 number, 1 eight bytes, 2 counted bytes, 5 four bytes */
    uint64_t number;                    /* of kind 0 */
    const unsigned char *data;          /* of the others */
    size_t bytes;
};
/* The next field, from *at on; false: there is none, or (*at left where it is) it is broken. */
bool wire_next(const unsigned char **at, const unsigned char *end, struct wire_field *f);

/* A copy of a message without its fields of this number, for mem_free. */
unsigned char *wire_without(const unsigned char *bytes, size_t count, uint32_t id,
                            size_t *copied);

/*
 * Whether the bytes are a message of this kind that is safe to unpack: fields whole, messages not
 * too deep in each other, and not so many that they would take far more memory than the bytes.
 * Of kind `single` there is never more than one unpacked at a time.
 */
int wire_check(const ProtobufCMessageDescriptor *kind, const ProtobufCMessageDescriptor *single,
               const void *bytes, size_t count, const char *file_name, struct err *e);
#endif
