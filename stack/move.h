/*
 * What a copy to another layout costs, for whoever chooses layouts.
 */
#ifndef STACK_MOVE_H
#define STACK_MOVE_H
#include "sim/chip.h"
#include "stack/graph.h"

/*
 * Core cycles of a kernel that copies an array in HBM from one order of
 * dimensions (minor first) to another, the whole VMEM to itself; 0 where the
 * orders are equal, INT64_MAX where no kernel fits.
 */
int64_t move_cost(const struct chip *chip, const struct shape *shape, const int *from_order,
                  const int *to_order);
#endif
