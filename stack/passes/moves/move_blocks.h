/*
 * Rows as a vector or a vector as rows, a block of rows at a time: a loop, whose body has the code of
 * one block. A block has as many rows as end with a tile of the vector.
 */
#ifndef STACK_MOVE_BLOCKS_H
#define STACK_MOVE_BLOCKS_H
#include "stack/hlo/graph.h"

/* rows of a block of such an array; 0: it would be more than are worth one */
int64_t move_block_rows(const struct shape *rows);

/* the first `blocks` of the array as [blocks, rows of a block, ...] */
int move_blocks_of_rows(struct graph *g, int rows, int64_t blocks);
/* blocks of a vector of such rows: [blocks, rows of 128, 128], in which they lie as in the vector */
struct shape move_block_vectors(const struct shape *rows, int64_t blocks);
/* the first of a vector so */
int move_blocks_of_vector(struct graph *g, int vector, const struct shape *rows, int64_t blocks);

/*
 * [blocks, ...] of shape `out`: block i is what `make` makes in a body of block i of `in`, without the
 * first dimension, in the shape that it has there or in another of as many elements.
 */
int move_blocks_make(struct graph *g, int in, const struct shape *out,
                     int (*make)(struct graph *body, int block, const void *user), const void *user);
#endif
