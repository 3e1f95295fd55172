/* Counter-based generators, as rng-bit-generator and rng draw from them. */
#ifndef IMPORT_EVAL_RANDOM_BITS_H
#define IMPORT_EVAL_RANDOM_BITS_H
#include <stdint.h>

/* Philox-4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, SC11) */
void random_philox(uint64_t key, const uint64_t counter[2], uint32_t out[4]);
/* counter of 128 bits, low half first, plus n */
void random_advance(uint64_t counter[2], uint64_t n);
#endif
