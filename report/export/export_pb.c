/* Packs protobuf messages field by field into one growing buffer. */
#include "report/export/export_pb.h"

#include "base/arena.h"

#define LENGTH_DELIMITED 2              /* wire type */

static uint8_t *room(struct export_pb_bytes *b, size_t bytes)
{
    b->data = mem_grow(b->data, &b->capacity, b->count + bytes, 1);
    return b->data + b->count;
}

static void append_varint(struct export_pb_bytes *b, uint64_t value)
{
    uint8_t *to = room(b, 10);

    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    b->count = (size_t)(to - b->data);
}

void export_pb_free(struct export_pb_bytes *b)
{
    mem_free(b->data);
    *b = (struct export_pb_bytes){0};
}

void export_pb_append(struct export_pb_bytes *b, const ProtobufCMessage *m)
{
    uint8_t *to = room(b, protobuf_c_message_get_packed_size(m));

    b->count += protobuf_c_message_pack(m, to);
}

void export_pb_append_head(struct export_pb_bytes *b, unsigned field, size_t bytes)
{
    append_varint(b, (uint64_t)field << 3 | LENGTH_DELIMITED);
    append_varint(b, bytes);
}

void export_pb_append_field(struct export_pb_bytes *b, unsigned field, const ProtobufCMessage *m)
{
    export_pb_append_head(b, field, protobuf_c_message_get_packed_size(m));
    export_pb_append(b, m);
}

void export_pb_flush(struct export_pb_bytes *b, FILE *to)
{
    if (b->count)
        fwrite(b->data, 1, b->count, to);
    b->count = 0;
}
