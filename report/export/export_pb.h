/* Writes protobuf messages by pieces: what protobuf-c packs, one behind the other. */
#ifndef REPORT_EXPORT_PB_H
#define REPORT_EXPORT_PB_H
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct export_pb_bytes {
    uint8_t *data;
    size_t count, capacity;
};

void export_pb_free(struct export_pb_bytes *b);
/* the fields of a message, without a length: messages that stand so behind each other are one */
void export_pb_append(struct export_pb_bytes *b, const ProtobufCMessage *m);
/* the message as field `field` of the one around it */
void export_pb_append_field(struct export_pb_bytes *b, unsigned field, const ProtobufCMessage *m);
/* only tag and length of such a field, whose `bytes` follow */
void export_pb_append_head(struct export_pb_bytes *b, unsigned field, size_t bytes);
/* writes and empties; whoever owns `to` looks for errors */
void export_pb_flush(struct export_pb_bytes *b, FILE *to);
#endif
