/*
 * Reshapes that no kernel streams in one, so that element runs would be sought one by one. Some share
 * no factors, [128, 129] to [129, 128]: no index dimension is whole on both sides. Through an array in
 * which these dimensions lie flat they are two moves, each of which only joins or splits dimensions.
 * Others join many rows whose ends lie everywhere in tiles, [1001, 129] to [129129]: each row has code
 * of its own, too much of it. Parts of the rows are joined, and then the parts; of more rows than a
 * few parts have, blocks in a loop (move_blocks.h).
 */
#ifndef STACK_MOVE_FLAT_H
#define STACK_MOVE_FLAT_H
#include "stack/passes/moves/move_split.h"

struct move_flat {
    struct shape from, flat, to;        /* `flat` is `to` where there is one move alone */
    int64_t part_rows;                  /* of the first: in how many of `from`'s outermost indices */
    int64_t blocks;                     /* that a loop joins, in such parts; */
    int64_t rest_part_rows;             /* and of the rows behind them */
    struct move_split split;            /* of a vector that becomes rows: this alone is used */
    int64_t cycles;
};

/*
 * How such a reshape is made, where that is predicted to take less than it does in one. False: `from`
 * to `to` streams, or is made sooner as it is.
 */
bool move_flat_find(const struct shape *from, const struct shape *to, const struct move_machine *c,
                    struct move_flat *out);
/* the result in g of what was found */
int move_flat_make(struct graph *g, int operand, const struct move_flat *flat);
#endif
