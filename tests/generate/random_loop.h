/*
 * Random programs that are mostly loops, for tests that compare two ways to
 * run them: affine and other scalars, predicates, guards, loads and stores
 * whose rows move, units with FIFOs. They may fault or never end.
 */
#ifndef TESTS_RANDOM_LOOP_H
#define TESTS_RANDOM_LOOP_H
#include <stddef.h>
#include <stdint.h>

/* assembly text for a chip with so many delay bundles; returns text */
char *random_loop(uint64_t seed, int branch_delay_bundles, char *text, size_t text_bytes);
#endif
