/*
 * Random bits of kernels. A seed sets a key, and each tile of 8 rows by 128 lanes that is drawn takes
 * the next one: the words that `vrng` gives on core 0 for it (docs/numerics.md).
 */
#ifndef STACK_MOSAIC_RANDOM_H
#define STACK_MOSAIC_RANDOM_H
#include <stdint.h>

#define MOSAIC_RANDOM_SPREAD 0x9e3779b9u        /* keys of neighbouring seeds lie far apart */

/* the key after one more word of a seed */
static inline uint32_t mosaic_random_key(uint32_t key, uint32_t word)
{
    return (key + word) * MOSAIC_RANDOM_SPREAD;
}
/* of the tile with this key the word of sublane 0..7, lane 0..127 */
uint32_t mosaic_random_word(uint32_t key, int sublane, int lane);
#endif
