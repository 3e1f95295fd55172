/*
 * Two machines of one slice and chip whose last launches must not differ in
 * anything that a program or a user can see without looking at lanes: cycles,
 * counters, bundle counts, scalar registers, predicates, SMEM, flags, faults.
 */
#ifndef TESTS_SAME_LAUNCH_H
#define TESTS_SAME_LAUNCH_H
#include "tests/rigs/rig.h"

/* fails the test with `what` and the first difference */
void assert_same_launch(const struct rig *one, const struct rig *other, const char *what);
#endif
