/*
 * Operations of portable artifacts: what is known of each (ops.def), and its attributes as
 * StableHLO's.
 */
#ifndef IMPORT_BYTECODE_OP_H
#define IMPORT_BYTECODE_OP_H
#include "import/bytecode/attr.h"

enum bytecode_group { BYTECODE_GROUP_NONE, BYTECODE_GROUP_GATHER, BYTECODE_GROUP_SCATTER,
                      BYTECODE_GROUP_DOT, BYTECODE_GROUP_ALGORITHM, BYTECODE_GROUP_CONV };

struct bytecode_op {
    const char *name;                   /* "vhlo.add_v1" */
    const char *means;                  /* "stablehlo.add" */
    enum bytecode_group group;
    int attr_count;                     /* properties, in their order */
    const struct bytecode_op_attr { const char *name; bool is_optional; } *attr;
};

#define BYTECODE_OP_ATTRS_MAX 24        /* of one operation, properties */

/* An operation that a file names, in the arena; NULL: not known. */
const struct bytecode_op *bytecode_op_find(struct arena *a, const char *name);
/* " (did you mean ..?)" */
struct near_text bytecode_op_nearest(const char *name);

/* Reads properties, an attribute for each name, or `only` that of one (NULL: all); `named` takes
 * BYTECODE_OP_ATTRS_MAX. The number. */
int bytecode_read_properties(struct bytecode_reader *r, struct bytecode_stream *s,
                             const struct bytecode_op *op, const char *only,
                             struct mlir_named *named);

/*
 * Attributes of an operation as the tree has them, in the arena. What stands in the dictionary of
 * files older than properties is given here too, and told apart by name.
 */
const struct mlir_named *bytecode_convert(struct bytecode_reader *r, struct bytecode_stream *s,
                                          const struct bytecode_op *op,
                                          const struct mlir_named *named, int count, int *made);
#endif
