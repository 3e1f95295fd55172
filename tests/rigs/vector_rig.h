/*
 * Vector operations run on a core: tiles in, a few bundles, a tile out.
 */
#ifndef TESTS_VECTOR_RIG_H
#define TESTS_VECTOR_RIG_H
#include "base/rng.h"
#include "tests/rigs/rig.h"

#define VECTOR_TILE 1024                /* words */

/* v0 = a and v1 = b (NULL: zeros), `body`, then v2 to out */
void vector_run(struct rig *rig, const char *body, const uint32_t *a, const uint32_t *b,
                uint32_t *out);

void vector_random(struct rng *r, uint32_t *tile);

/* the value of `bits` bits in row `row`, lane `lane` of a packed tile */
uint32_t vector_packed(const uint32_t *tile, int bits, int row, int lane);
#endif
