/*
 * Pinned pseudo-random numbers: the same seed gives the same bits on every
 * host (splitmix64 seeding xoshiro256**, both in the public domain by
 * D. Blackman and S. Vigna; written here from their published definition).
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H
#include <stdint.h>

struct rng {
    uint64_t state[4];
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t end);        /* uniform in 0..end-1, end > 0 */
float rng_uniform(struct rng *r, float lo, float hi);   /* 24 random bits, in [lo, hi) */
#endif
