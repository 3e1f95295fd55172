/*
 * Many rows as a vector, a block of them at a time: a loop, whose body has the code of one block. A
 * block has as many rows as end with a tile of the vector.
 */
#ifndef STACK_MOVE_BLOCKS_H
#define STACK_MOVE_BLOCKS_H
#include "stack/hlo/graph.h"

/* rows of a block; 0: it would be more than are worth one */
int64_t move_block_rows(const struct shape *from);

/*
 * The first `blocks` of the operand as a vector in `g`; `join` gives the node in a body that makes a
 * vector of a block's rows.
 */
int move_blocks_make(struct graph *g, int operand, int64_t blocks,
                     int (*join)(struct graph *body, int rows, const void *user), const void *user);
#endif
