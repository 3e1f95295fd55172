/*
 * Whether a reshape only renames: whether two row-major arrays of the same
 * elements (stack/hlo/array.h) keep each of them at the same place.
 */
#ifndef STACK_BITCAST_H
#define STACK_BITCAST_H
#include "stack/hlo/graph.h"

bool array_is_bitcast(const struct shape *from, const struct shape *to);
#endif
