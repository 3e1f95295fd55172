/*
 * HLO as bytes: XLA's HloModuleProto, alone or within an HloProto, read into programs and written
 * from them. Both forms of a program, these bytes and its text (import/hlo_text), are the same
 * struct hlo_module.
 */
#ifndef IMPORT_HLO_PROTO_H
#define IMPORT_HLO_PROTO_H
#include "import/program/program.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether the bytes look like one of the two: their first field is a module's name, or a module
 * that has one, and a computation follows. Others that are protobuf, too, are told apart by it.
 */
bool hlo_proto_is(const void *bytes, size_t count);

/*
 * The program, in an arena that must outlive it; free the module's growing lists (hlo_module_fini)
 * in any case. -1: what is wrong, with the names of the computation and the instruction. What has
 * been read is not yet checked against the rules of operations (hlo_verify).
 */
int hlo_proto_read(struct hlo_module *m, const void *bytes, size_t count, const char *file_name,
                   struct arena *a, struct err *e);

/*
 * The program as an HloModuleProto, for mem_free. What a program only keeps as text goes into it as
 * far as there are fields for it; shardings by named axes become tiles. -1: the entry, elements of a
 * constant or an opcode of HLO are missing.
 */
int hlo_proto_write(const struct hlo_module *m, unsigned char **bytes, size_t *count,
                    struct err *e);

/* A type as a ShapeProto, in the arena: row-major where it has no layout. */
const char *hlo_proto_write_type(const struct hlo_type *t, struct arena *a, size_t *count);
/* A sharding of one array as an OpSharding, in the arena. */
const char *hlo_proto_write_sharding(const struct hlo_sharding *s, struct arena *a, size_t *count);
#endif
