/*
 * A launch that cannot go on: what machine_print_deadlock tells of, and the fault that it is.
 */
#ifndef SIM_DEADLOCK_H
#define SIM_DEADLOCK_H
#include <stdbool.h>

struct machine;

/* with no event left, do cores wait? Then that is the fault */
bool deadlock_find(struct machine *m);
#endif
