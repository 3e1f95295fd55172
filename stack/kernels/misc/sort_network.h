/*
 * Bitonic sorting of words in VMEM.
 *
 * Arrays of tiles stand side by side: keys (s32), where each element was (s32),
 * and what goes along. An element's number has its low bits in the lane, the
 * sublane or both, and the others in the number of its tile; what is left of a
 * tile's dimensions are sorts of their own. Keys and places together are all
 * different, so that the result is stable.
 */
#ifndef STACK_SORT_NETWORK_H
#define STACK_SORT_NETWORK_H
#include "stack/backend/builder.h"

#define SORT_ARRAYS_MAX 10

enum sort_along { SORT_LANES, SORT_SUBLANES, SORT_TILES, SORT_ELEMENTS };  /* of a tile: low bits */

struct sort_network {
    struct builder *m;
    enum sort_along along;
    int bits;                           /* 2^bits elements are sorted */
    int64_t tiles;                      /* of each array: all sorts, a power of two each */
    int64_t stride;                     /* tiles from an array to the next */
    int64_t row;                        /* VMEM, first array */
    int arrays;                         /* 2 and those that go along */
};

int sort_low_bits(enum sort_along along);
/* number of an element in its tile, a vector register */
int sort_position(struct builder *m, enum sort_along along);
void sort_network(const struct sort_network *s);
#endif
