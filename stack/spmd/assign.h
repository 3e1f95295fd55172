/*
 * A replica's graph cut into a program for each of its logical devices: docs/parallel.md.
 *
 * Some nodes are said to be made by a device; where the others are made follows from them. A value
 * that another device needs goes to it as a message, as soon as it is made, and is received when
 * it is needed first. Parameters are on all devices; nodes made of them and constants that are
 * scalars, or say the same in another shape, are made wherever they are needed.
 */
#ifndef STACK_ASSIGN_H
#define STACK_ASSIGN_H
#include "stack/spmd/stages.h"

struct assign_request {
    const struct graph *g;
    int device_count;                   /* logical ones of a replica */
    const int *device;                  /* by node: that makes it; -1: as the others have it */
    int replica_count;
    const int *core;                    /* [replica * device_count + device] */
    int first_flag;                     /* of assign_flags */
    bool is_round;                      /* of a loop: the graph is done again when it has ended */
};

/* of each core */
int assign_flags(int device_count);

/*
 * Everything is `a`'s; a part for each device. Results are outputs of the device that makes them;
 * what overwrites a parameter is one of every device's.
 */
void assign_cut(const struct assign_request *r, struct arena *a, struct stages *out);
#endif
