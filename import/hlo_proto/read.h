/* Parts of reading: each makes of one of the messages (hlo.proto) what a program has of it. */
#ifndef IMPORT_HLO_PROTO_READ_H
#define IMPORT_HLO_PROTO_READ_H
#include "import/hlo_proto/hlo.pb-c.h"
#include "import/program/frames.h"
#include "import/program/program.h"

#include <stdio.h>

enum { PROTO_KNOWN_TYPES = 64 };        /* kept, by a hash of their bytes */
struct proto_known_type {
    const unsigned char *data;          /* of the message; NULL: none yet */
    size_t bytes;
    struct hlo_type type;
};

struct proto_reader {
    struct proto_known_type known[PROTO_KNOWN_TYPES];
    struct hlo_module *module;
    struct arena *arena;
    const HloWire__Module *from;
    const char *file;
    struct err *err;
    struct hlo_frames frames;           /* of the head */
    const struct hlo_place *place;      /* of the last instruction that had one */
    const char *computation, *instruction;      /* at hand, for messages; NULL: none */
};

/* The message with the names at hand; returns -1. */
int proto_fail(struct proto_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A type; a message that is not there is a mistake. */
int proto_read_type(struct proto_reader *r, const HloWire__Shape *s, struct hlo_type *t);
int proto_read_literal(struct proto_reader *r, const HloWire__Literal *l,
                       const struct hlo_literal **made);
int proto_read_sharding(struct proto_reader *r, const HloWire__Sharding *s, int *count,
                        const struct hlo_sharding **made);
/* All that an instruction says of devices: groups, pairs, channels. */
int proto_read_groups(struct proto_reader *r, const HloWire__Instruction *from,
                      const struct hlo_groups **made);
/* Pieces of their text: numbers with commas between; a mesh; axes of one. */
void proto_write_int64s(FILE *to, const char *before, size_t count, const int64_t *item,
                        const char *after);
void proto_write_int32s(FILE *to, const char *before, size_t count, const int32_t *item,
                        const char *after);
void proto_write_mesh(FILE *to, const HloWire__Mesh *m);
void proto_write_axes(FILE *to, const HloWire__Mesh *m, size_t count, HloWire__AxisRef **axis);
/* What is only kept, as HLO text has it: hlo_instruction.other. */
int proto_read_other(struct proto_reader *r, const HloWire__Instruction *from, enum hlo_opcode op,
                     struct hlo_pairs *made);
/* The instruction but for its name, operands, computations and control. */
int proto_read_attributes(struct proto_reader *r, const HloWire__Instruction *from,
                          struct hlo_instruction *i);

/* Lists in the arena, */
struct hlo_ints proto_ints(struct proto_reader *r, size_t count, const int64_t *item);
/* text that may hold NULs, with quotes and escapes or, an object of JSON, as it is; */
const char *proto_quoted(struct proto_reader *r, ProtobufCBinaryData text);
/* text in the arena; NULL where it is empty. */
const char *proto_text(struct proto_reader *r, ProtobufCBinaryData text);
int proto_read_pairs(struct proto_reader *r, const HloWire__Pairs *from, struct hlo_pairs *made);

/* what a comparison of elements is where nothing is said */
enum hlo_comparison proto_usual_comparison(enum hlo_element e);
/* codes.def: ELEMENT_COUNT, 0, NULL, 0 where there is none */
enum hlo_element proto_element_of(int code);
int proto_code_of(enum hlo_element e);
const char *proto_algorithm_name(int code);
int proto_algorithm_code(const char *name);
#endif
