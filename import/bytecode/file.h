/*
 * MLIR bytecode as a container: its sections, and the tables that operations are written by.
 *
 * A file is a version, a producer and sections: strings; dialects with the names of operations;
 * bodies of attributes and types with a table of their sizes; blobs of properties; resources; the
 * operations. Nothing is understood here: an attribute is the bytes of its body and the dialect
 * that can read them (attr.h).
 */
#ifndef IMPORT_BYTECODE_FILE_H
#define IMPORT_BYTECODE_FILE_H
#include "base/arena.h"
#include "import/bytecode/stream.h"

#define BYTECODE_VERSION_MAX 6          /* of the container; the newest that LLVM writes */

struct bytecode_string {                /* may hold NULs; a NUL that is not counted ends it */
    const char *text;
    size_t bytes;
};

struct bytecode_op_name {
    const char *name;                   /* "vhlo.add_v1" */
    bool is_registered;                 /* its properties are native, not a dictionary */
};

struct bytecode_entry {                 /* an attribute or a type */
    const unsigned char *body;
    uint32_t bytes;
    bool is_custom;                     /* in the dialect's own code; else a text */
    unsigned dialect;
};

/*
 * Files have very many of them: one of BYTECODE_MARKED is marked, and the first of each dialect; the
 * sizes of those behind it are read in the file again.
 */
#define BYTECODE_MARKED 16
struct bytecode_mark {
    uint32_t entry, body, size;         /* its index; where its body and its size begin */
    uint32_t dialect;
};
struct bytecode_entries {
    size_t count;
    const unsigned char *bodies;
    struct bytecode_stream sizes;
    struct bytecode_mark *mark;
    size_t mark_count;
};

struct bytecode_blob { const unsigned char *data; size_t bytes; };

struct bytecode_resource {              /* of a dialect: large constants beside the attributes */
    const char *key;
    uint8_t kind;                       /* 0 blob, 1 bool, 2 string */
    struct bytecode_blob blob;
};

struct bytecode_file {
    struct arena *arena;
    struct bytecode_fault fault;
    const unsigned char *start;         /* of the magic bytes */
    size_t bytes;
    int version;
    const char *producer;               /* "StableHLO_v1.0.0" */
    size_t string_count, dialect_count, op_count, property_count, resource_count,
        resource_capacity;
    const char *strings;                /* all of them, each with its NUL */
    uint32_t *string_at;                /* where each begins, and where the last one ends */
    const char **dialect;
    struct bytecode_op_name *op;
    struct bytecode_entries attr, type;
    struct bytecode_blob *property;
    struct bytecode_resource *resource;
    struct bytecode_stream ir;          /* section of the operations */
};

/*
 * Reads sections and tables. Bodies stay where they are: `data` must outlive the file; strings are
 * copied. -1 with a message in `e`, which must outlive it, too.
 */
int bytecode_file_read(struct bytecode_file *f, const void *data, size_t bytes, const char *name,
                       struct arena *a, struct err *e);

/* a stream over some bytes of the file */
struct bytecode_stream bytecode_stream_over(struct bytecode_file *f, const unsigned char *data,
                                            size_t bytes);
struct bytecode_entry bytecode_entry_at(const struct bytecode_entries *e, size_t i);
struct bytecode_string bytecode_string_at(const struct bytecode_file *f, size_t i);
/* a string by its index in the stream; "" when failed */
struct bytecode_string bytecode_read_string(struct bytecode_file *f, struct bytecode_stream *s);
#endif
