/*
 * Whether two trees of MLIR are the same program: operations in the same order with the same
 * operands, types, attributes and regions, whatever their values are called.
 */
#ifndef TESTS_RIGS_MLIR_SAME_H
#define TESTS_RIGS_MLIR_SAME_H
#include "import/mlir/mlir.h"

/*
 * NULL: they are the same. Else what differs first, in `buf`. Attributes that only one has are a
 * difference, but for those whose value is what the other's absence means.
 */
const char *mlir_difference(const struct mlir_tree *a, const struct mlir_tree *b, char *buf,
                            size_t buf_bytes);
#endif
