/* Fixes the order in which logical devices go through a box of cores. */
#ifndef TRAIN_DEVICE_ORDER_H
#define TRAIN_DEVICE_ORDER_H
#include "train/cluster/device_assignment.h"

/*
 * place[k]: where in the box `shape` logical device k is; room for all of it. Both cores of a
 * chip follow each other.
 *
 * A ring through X x Y chips goes along the first row, back through the other rows in turns
 * without their first chips, and home along those. With planes, each is gone through in that
 * order, but its first chip, every second one backwards, and home through those first chips.
 * -1: DEVICE_ORDER_RING, and X and Y are both odd, or one is 1 and the other above 2.
 */
int device_order_fill(int (*place)[TOPOLOGY_RANK], const int shape[TOPOLOGY_RANK],
                      enum device_order order, struct err *e);
#endif
