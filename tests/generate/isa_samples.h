/*
 * Operations at the edges of what the table allows, for round trips.
 */
#ifndef TESTS_ISA_SAMPLES_H
#define TESTS_ISA_SAMPLES_H
#include "isa/isa.h"

/*
 * Calls `check` with every operation of the table, each operand in turn at each
 * of its extremes, with every kind of guard, and for every unit.
 */
void isa_samples(void (*check)(const struct isa_op *op));

/* fails the test with the operation's name where they differ */
void assert_same_op(const struct isa_op *a, const struct isa_op *b);
#endif
