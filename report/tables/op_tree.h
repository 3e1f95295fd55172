/*
 * Source operations below their categories, as profilers show them: a category
 * with its share of the time, then its operations.
 */
#ifndef REPORT_OP_TREE_H
#define REPORT_OP_TREE_H
#include "report/tables/table.h"

/*
 * The first `top` rows of `ops` (0: all) as they are; categories, with the sums of all their rows,
 * by their cycles, the largest first.
 */
void op_tree_print(const struct table *ops, size_t top, FILE *to);
#endif
