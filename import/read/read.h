/*
 * A program from a file, whichever of its forms it is in: told apart by content, not by name.
 *
 * HLO text; HloModuleProto and HloProto; StableHLO text (MLIR, pretty or generic); MLIR bytecode of
 * a portable artifact (VHLO); what jax.export serializes, which has such an artifact in it; each of
 * them also gzipped.
 */
#ifndef IMPORT_READ_H
#define IMPORT_READ_H
#include "import/program/program.h"

#define PROGRAM_UNPACKED_MAX ((int64_t)8 << 30) /* bytes; a gzip of more is refused */

enum program_format {
    PROGRAM_HLO_TEXT, PROGRAM_HLO_PROTO, PROGRAM_MLIR_TEXT, PROGRAM_MLIR_BYTECODE,
    PROGRAM_JAX_EXPORT, PROGRAM_UNKNOWN
};

/* what these bytes are, unpacked; the names are those of the comment above */
enum program_format program_format_of(const void *bytes, size_t size);
const char *program_format_name(enum program_format f);
/* the file says that it is one of these, by its first bytes; false where it cannot be opened */
bool program_is_file(const char *path);

/*
 * The module of a file, or of bytes, joined by `next` with others of the same text, in the arena.
 * NULL with file, line and column. Of a text that was cut by its origin whole computations are
 * there, `entry` is -1, and the error says where it ends. Not verified yet: hlo_verify.
 * program_free frees lists that grow, before the arena; NULL is nothing.
 */
struct hlo_module *program_read(const char *path, struct arena *a, struct err *e);
struct hlo_module *program_read_bytes(const void *bytes, size_t size, const char *name,
                                      struct arena *a, struct err *e);
void program_free(struct hlo_module *first);

/*
 * The bytes of a file, those of a gzip unpacked, for mem_free. -1: it cannot be read, is empty or
 * corrupt, or unpacks to more than PROGRAM_UNPACKED_MAX.
 */
int program_file_bytes(const char *path, uint8_t **bytes, size_t *size, struct err *e);
#endif
