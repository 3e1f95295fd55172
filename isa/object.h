/*
 * The object file: magic "SYSO", version, checksum, then operations, bundles,
 * symbols, notes and the line table, little-endian. Any byte string given to
 * the reader yields a program or an error message. Operations are numbers of
 * rows of isa/ops.def, so a file names the table that it was written with.
 *
 *   offset 0   "SYSO"                  12  CRC-32 of all bytes from 16 on
 *          4   u32 version             16  u32 operations, bundles, symbols, notes,
 *          8   u32 size of the file        u32 bytes of strings, u32 program name,
 *                                         u32 CRC-32 of the table of operations
 *   then the encoded operations in bundle order; per bundle u16 operations,
 *   u32 line, u32 note; per symbol u32 name, u32 bundle; per note u32 text; the
 *   strings, each ended by NUL. Names and texts are offsets into the strings.
 */
#ifndef ISA_OBJECT_H
#define ISA_OBJECT_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"

#define ISA_OBJECT_VERSION 2u
#define ISA_OBJECT_SIZE_AT 8
#define ISA_OBJECT_CRC_AT 12
#define ISA_OBJECT_TABLE_AT 40
#define ISA_OBJECT_HEADER_BYTES 44

/* one operation to bytes and back: their length; decode 0 with a message if they are malformed */
#define ISA_ENCODED_MAX 64
size_t isa_encode(const struct isa_op *op, uint8_t bytes[ISA_ENCODED_MAX]);
size_t isa_decode(const uint8_t *bytes, size_t available, struct isa_op *op, struct err *e);

/* true when the bytes begin with the magic, whatever follows */
bool isa_object_is(const uint8_t *bytes, size_t size);

/* The whole file in memory; the caller frees it with mem_free. */
uint8_t *isa_object_bytes(const struct isa_program *p, size_t *size);

/* isa_object_write leaves no file behind when it fails. */
int isa_object_write(const struct isa_program *p, const char *path, struct err *e);
int isa_object_parse(const uint8_t *bytes, size_t size, const char *file, struct arena *a,
                     struct isa_program *out, struct err *e);
#endif
