/*
 * Which values integers can have, by what the program says: constants, iotas, sizes and what is
 * computed of them. Integers of 64 bits that fit 32 are computed as such.
 */
#ifndef EXPAND_INT_RANGES_H
#define EXPAND_INT_RANGES_H
#include "import/program/program.h"

struct int_range { int64_t low, high; };    /* of all elements; of types that are no integers nothing */

struct int_ranges {
    struct int_range **of;                  /* [computation][instruction] */
};

void int_ranges_find(struct int_ranges *r, const struct hlo_module *m, struct arena *a);
/* an s32 has every value of the instruction, which is of an integer type */
bool int_ranges_fit(const struct int_ranges *r, int computation, int instruction);
#endif
