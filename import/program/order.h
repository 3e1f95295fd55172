/* The order of computations by their calls. */
#ifndef IMPORT_PROGRAM_ORDER_H
#define IMPORT_PROGRAM_ORDER_H
#include "import/program/program.h"

/*
 * Indices of all computations of a module, callees before callers, else in the module's order;
 * `order` has room for all. -1: some call each other in a circle, and `order` begins with one of
 * them and one that it calls.
 */
int hlo_call_order(const struct hlo_module *m, int *order);
#endif
