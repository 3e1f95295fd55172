/*
 * The object file: magic "SYSO", version, checksum, then operations, bundles,
 * symbols, notes and the line table, little-endian. Any byte string given to
 * the reader yields a program or an error message.
 */
#ifndef ISA_OBJECT_H
#define ISA_OBJECT_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"

/* one operation to bytes and back; encode returns the length, decode 0 if malformed */
#define ISA_ENCODED_MAX 64
size_t isa_encode(const struct isa_op *op, uint8_t bytes[ISA_ENCODED_MAX]);
size_t isa_decode(const uint8_t *bytes, size_t available, struct isa_op *op);

int isa_object_write(const struct isa_program *p, const char *path, struct err *e);
int isa_object_parse(const uint8_t *bytes, size_t size, const char *file, struct arena *a,
                     struct isa_program *out, struct err *e);
int isa_object_read(const char *path, struct arena *a, struct isa_program *out, struct err *e);
#endif
