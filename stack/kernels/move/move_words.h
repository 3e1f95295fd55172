/*
 * Moves of packed elements as moves of words.
 *
 * A word of a tile of 16-bit elements holds two neighbouring rows, of 8-bit ones four. Where a move
 * keeps such rows together and in their order it is the same move of arrays of 32-bit elements
 * with as many fewer rows, tile for tile in the same places: nothing is unpacked, and a
 * rotation moves all that a word holds.
 *
 * Left as they are: moves with work or conversions in them, and those that turn rows into lanes.
 */
#ifndef STACK_MOVE_WORDS_H
#define STACK_MOVE_WORDS_H
#include "stack/kernels/move/move_map.h"
#include "stack/kernels/pipeline/kernel.h"

struct move_words {
    struct kernel_job job;              /* the move's, with the arrays below */
    struct array array[MOVE_SOURCES_MAX + 1];
    const struct array *operand[MOVE_SOURCES_MAX], *result;
};

/* Whether `map`, of `job`, moves whole words: then it, and w->job, are those of words. */
bool move_words_make(struct move_words *w, const struct kernel_job *job, struct move_map *map);
#endif
