/*
 * Operations on elements that stand one behind the other in a computation, carried out together:
 * a block of elements goes through all of them, and only what others use becomes an array. Loops
 * over small arrays spend their time between operations, not in them.
 */
#ifndef IMPORT_EVAL_FUSED_H
#define IMPORT_EVAL_FUSED_H
#include "import/eval/eval_impl.h"

struct fused {
    int first, last;                    /* instructions, all of which it stands for */
    int64_t count;                      /* elements of each that is fused */
    int64_t block;                      /* of them at once */
    bool *is_apart;                     /* [instruction - first]: carried out by itself, before */
    struct region *region;
    int input_count, output_count;
    int *input, *output;                /* instructions */
    int dropped_count;
    int *dropped;                       /* instructions whose values nobody needs behind it */
    int steps;                          /* that it takes, without those that are apart */
    char **one;                         /* of an input: a block of a number that all are */
};

/* Those of a computation, by their first instruction. NULL: there are none. */
struct fused **fused_find(struct eval *ev, int computation);
/* Makes the values of its outputs, lets go what nobody needs any more; -1 with the error set. */
int fused_run(struct frame *f, const struct fused *w);
#endif
