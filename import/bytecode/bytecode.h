/*
 * MLIR bytecode as a tree (import/mlir/mlir.h): the same tree that the text of the program gives.
 *
 * Read are portable artifacts, whose operations are those of the versioned dialect (vhlo), with
 * sdy's and builtin ones among them. Locations are kept; operations have no line of their own, so
 * messages say the offset.
 */
#ifndef IMPORT_BYTECODE_H
#define IMPORT_BYTECODE_H
#include "import/mlir/mlir.h"

/* From magic to end; 0, or -1 with file and offset. The bytes need not stay afterwards. */
int mlir_read_bytecode(struct mlir_tree *t, const void *bytes, size_t count, struct err *e);

/*
 * The same, but bodies of functions stay in the file until they are asked for (struct mlir_later):
 * bytes and `e` stay as long as the tree is used.
 */
int mlir_open_bytecode(struct mlir_tree *t, const void *bytes, size_t count, struct err *e);

/*
 * The same of a module of any dialects in which every operation but the module has `prefix` before
 * its name, which is taken off: bodies of kernels ("stable_mosaic."). Operations are not known here:
 * names and attributes are as they stand in the file; attributes of other dialects are RAW texts,
 * their types OPAQUE.
 */
int mlir_read_kernel(struct mlir_tree *t, const void *bytes, size_t count, const char *prefix,
                     struct err *e);
#endif
