/*
 * A long vector that becomes rows which begin everywhere in its tiles, [1003000] to [1000, 1003]: parts
 * of the rows, and of more than a few parts have blocks in a loop (move_blocks.h), each as the pieces
 * of move_flat.h are joined, the other way round.
 */
#ifndef STACK_MOVE_SPLIT_H
#define STACK_MOVE_SPLIT_H
#include "stack/passes/moves/move_steps.h"

struct move_split {
    int64_t part_rows;                  /* made at a time; 0: it is not made so */
    int64_t blocks;                     /* that a loop makes, in such parts; */
    int64_t rest_part_rows;             /* and of the rows behind them */
};

/* how, where that is predicted to take less than all of it at once; false: it streams, or does not */
bool move_split_find(const struct shape *vector, const struct shape *rows,
                     const struct move_machine *c, struct move_split *out);
/* the result in g of what was found */
int move_split_make(struct graph *g, int vector, const struct shape *rows,
                    const struct move_split *split);
#endif
