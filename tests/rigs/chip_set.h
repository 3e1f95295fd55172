/*
 * One assignment to a chip, "section.key=value"; programs take all of a command's at once.
 */
#ifndef TESTS_CHIP_SET_H
#define TESTS_CHIP_SET_H
#include "sim/chip/chip.h"

static inline int chip_set(struct chip *c, const char *assignment, struct chip_origin *origins,
                           struct arena *a, struct err *e)
{
    return chip_set_all(c, &assignment, 1, origins, a, e);
}
#endif
