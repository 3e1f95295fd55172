/*
 * What a call would say of its kernel, worked out of a module that stands alone: which arguments are
 * results, and how large the arrays are that its blocks are cut from.
 *
 * Results are the last operands that the kernel writes. An array is as large as the blocks of all
 * steps reach, prefetched arrays holding zeros.
 */
#ifndef STACK_MOSAIC_EXTENT_H
#define STACK_MOSAIC_EXTENT_H
#include "stack/mosaic/mosaic.h"

/* Fills in array, array_count, output_count and alias. -1: a grid that only the call knows */
int mosaic_find_arrays(struct mosaic_kernel *k, struct err *e);
/*
 * Whether the blocks of all steps begin within their arrays; -1 with the line and the step. Nothing is
 * said (0) where a table that index maps read is not known before the launch, or of grids of more than
 * some 100,000 blocks.
 */
int mosaic_check_blocks(const struct mosaic_kernel *k, struct err *e);
/* whether array `array` of the call (behind its bounds) is a table in SMEM that decides what runs */
bool mosaic_is_table(const struct mosaic_kernel *k, int array);
/* whether what such an array holds does: it goes into places of blocks, branches, counts or copies */
bool mosaic_decides(const struct mosaic_kernel *k, int array);
#endif
