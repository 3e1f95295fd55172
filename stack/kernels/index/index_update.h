/* What becomes of a word of the table when an element of the updates meets it. */
#ifndef STACK_INDEX_UPDATE_H
#define STACK_INDEX_UPDATE_H
#include "stack/kernels/index/kernel_index.h"

struct index_part {                     /* bits below the element in its word, both 0 for words */
    struct isa_operand old_shift, new_shift;
};

/* the new words, a vector register; mask -1: of all lanes, else of these */
int index_update(struct index_work *w, int old, int new, const struct index_part *part, int mask);
#endif
