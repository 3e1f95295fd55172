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
#endif
