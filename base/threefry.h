/*
 * Threefry-2x32 with 20 rounds: a counter-based generator (Salmon, Moraes,
 * Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11; written
 * here from their definition). A block of two words is a function of key and
 * counter alone.
 */
#ifndef BASE_THREEFRY_H
#define BASE_THREEFRY_H
#include <stdint.h>

void threefry_2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]);
#endif
