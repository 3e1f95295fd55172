/*
 * Attributes and types of MLIR bytecode: entries of its two tables as attributes and types of the
 * tree, made once and shared.
 *
 * An entry's body is in the code of its dialect: builtin (builtin.c), vhlo
 * (vhlo.c) or sdy (sdy.c); each of them reads a body by these functions and is a
 * row of bytecode_dialects. Bodies name other entries; a ring of them is a mistake, and so is a
 * chain deeper than BYTECODE_DEPTH_MAX.
 */
#ifndef IMPORT_BYTECODE_ATTR_H
#define IMPORT_BYTECODE_ATTR_H
#include "import/bytecode/file.h"
#include "import/mlir/mlir.h"

#include <stdio.h>

#define BYTECODE_OP_TYPES 64            /* a power of two */
#define BYTECODE_PLACES 256             /* one more */
#define BYTECODE_DEPTH_MAX 1000         /* chains of call sites in locations are long */

struct bytecode_reader {
    struct bytecode_file file;
    struct arena *arena;                /* of the moment: the file's, or one that goes away */
    struct mlir_tree *tree;
    /*
     * By index: an attribute; of a location where bodies are read later the place that it means,
     * plus 1; 0: neither is known. Nearly all attributes of a program are locations and texts,
     * which one operation has: where bodies are read later they are read when its turn comes, and
     * not kept.
     */
    uintptr_t *attr;
    const struct mlir_type **type;
    unsigned char *begun;               /* a bit for each attribute, then each type */
    const struct bytecode_dialect **dialect;    /* by its number; NULL: not known here */
    bool is_later;
    int depth;
    size_t bytes_left;                  /* of texts and elements made anew (bytecode_spend) */
    size_t again_left;                  /* bytes of attributes that may be read more than once */
    const struct mlir_attr **kept;      /* those that would be, from then on; NULL: none yet */
    const struct hlo_place *place[BYTECODE_PLACES];     /* some of those met last */
    const char *op_type[BYTECODE_OP_TYPES];     /* of places: some of those met last */
    int op_types;
};

/* Reads both tables: every entry, but where `is_later` what is not kept. -1 with the message. */
int bytecode_read_tables(struct bytecode_reader *r, bool is_later);
/* What the location means whose index comes next, where bodies are read later. */
const struct hlo_place *bytecode_place(struct bytecode_reader *r, struct bytecode_stream *s);

/* The entry whose index comes next; when failed some attribute or type, never NULL. */
const struct mlir_attr *bytecode_attr(struct bytecode_reader *r, struct bytecode_stream *s);
const struct mlir_attr *bytecode_attr_or_null(struct bytecode_reader *r,
                                              struct bytecode_stream *s);     /* may be absent */
const struct mlir_type *bytecode_type(struct bytecode_reader *r, struct bytecode_stream *s);

/* A count and so many of them; the arena's. */
const struct mlir_attr *const *bytecode_attrs(struct bytecode_reader *r,
                                              struct bytecode_stream *s, int *count);
const struct mlir_type *const *bytecode_types(struct bytecode_reader *r,
                                              struct bytecode_stream *s, int *count);
/* A count and so many numbers, as INTS */
const struct mlir_attr *bytecode_ints(struct bytecode_reader *r, struct bytecode_stream *s);

/* a type of a scalar and its value */
const struct mlir_attr *bytecode_integer_attr(struct bytecode_reader *r,
                                              struct bytecode_stream *s);
const struct mlir_attr *bytecode_float_attr(struct bytecode_reader *r, struct bytecode_stream *s);
/* a type of a tensor and its elements */
const struct mlir_attr *bytecode_dense_attr(struct bytecode_reader *r, struct bytecode_stream *s);
const struct mlir_type *bytecode_tensor_type(struct bytecode_reader *r, struct bytecode_stream *s,
                                             const struct mlir_attr *encoding);
/* a vector or a memref: a tensor of another kind */
const struct mlir_type *bytecode_shaped_type(struct bytecode_reader *r, struct bytecode_stream *s,
                                             enum mlir_type_kind kind,
                                             const struct mlir_attr *encoding);
const struct mlir_type *bytecode_unranked_type(struct bytecode_reader *r,
                                               struct bytecode_stream *s);
/* elements as files store them, of a tensor type */
const struct mlir_attr *bytecode_dense_of(struct bytecode_reader *r, struct bytecode_stream *s,
                                          const struct mlir_type *t, const void *data,
                                          size_t bytes);
/* Bodies that several dialects have alike: lists, dictionaries, strings, types; types of two
 * parts, of functions and of tuples. */
const struct mlir_attr *bytecode_array_attr(struct bytecode_reader *r, struct bytecode_stream *s);
const struct mlir_attr *bytecode_dictionary_attr(struct bytecode_reader *r,
                                                 struct bytecode_stream *s);
const struct mlir_attr *bytecode_string_attr(struct bytecode_reader *r,
                                             struct bytecode_stream *s);
const struct mlir_attr *bytecode_type_attr(struct bytecode_reader *r, struct bytecode_stream *s);
const struct mlir_type *bytecode_complex_type(struct bytecode_reader *r,
                                              struct bytecode_stream *s);
const struct mlir_type *bytecode_function_type(struct bytecode_reader *r,
                                               struct bytecode_stream *s);
const struct mlir_type *bytecode_tuple_type(struct bytecode_reader *r, struct bytecode_stream *s);
/* the text of a string attribute; fails of another */
struct mlir_text bytecode_text_of(struct bytecode_stream *s, const struct mlir_attr *a);
/* an attribute whose text is the file's or another attribute's: it is not copied */
struct mlir_attr *bytecode_shared_text(struct bytecode_reader *r, enum mlir_attr_kind kind,
                                       struct mlir_text text);
/* A text that is written piece by piece: bytecode_write, text_print_file to `to`, then one of the
 * others, which closes it. */
struct bytecode_writer {
    FILE *to;
    char *text;
    size_t bytes;
};
void bytecode_write(struct bytecode_writer *w);
/* the arena's copy, "" when failed */
const char *bytecode_written(struct bytecode_reader *r, struct bytecode_stream *s,
                             struct bytecode_writer *w);
/* as an attribute of a dialect that is this text */
const struct mlir_attr *bytecode_written_attr(struct bytecode_reader *r, struct bytecode_stream *s,
                                              struct bytecode_writer *w, const char *name);
/* Entries may name one long thing often: what is made of them all is bounded by the file's size.
 * false, failed: this is too much. */
bool bytecode_spend(struct bytecode_reader *r, struct bytecode_stream *s, size_t bytes);
const struct mlir_type *bytecode_scalar(struct bytecode_reader *r, const char *name);

/* A dialect's own code: bodies of its attributes and types, without what stands around them. */
struct bytecode_dialect {
    const char *name;
    const struct mlir_attr *(*attr)(struct bytecode_reader *r, struct bytecode_stream *s);
    const struct mlir_type *(*type)(struct bytecode_reader *r, struct bytecode_stream *s);
    bool (*is_light)(uint64_t code);    /* an attribute that is read as fast as it is found */
};
bool bytecode_builtin_is_light(uint64_t code);
bool bytecode_vhlo_is_light(uint64_t code);
const struct mlir_attr *bytecode_builtin_attr(struct bytecode_reader *r,
                                              struct bytecode_stream *s);
const struct mlir_type *bytecode_builtin_type(struct bytecode_reader *r,
                                              struct bytecode_stream *s);
const struct mlir_attr *bytecode_vhlo_attr(struct bytecode_reader *r, struct bytecode_stream *s);
const struct mlir_type *bytecode_vhlo_type(struct bytecode_reader *r, struct bytecode_stream *s);
const struct mlir_attr *bytecode_sdy_attr(struct bytecode_reader *r, struct bytecode_stream *s);
#endif
