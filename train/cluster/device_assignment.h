/*
 * Which core each replica's logical devices are: tf.tpu.experimental.DeviceAssignment.
 *
 * A replica is a box of `shape` cores, taken every `stride` along each axis (x, y, z, core);
 * boxes lie next to each other. Replicas are numbered so that both cores of a chip come before
 * another chip, and cover a block as near to a cube as their number allows.
 */
#ifndef TRAIN_DEVICE_ASSIGNMENT_H
#define TRAIN_DEVICE_ASSIGNMENT_H
#include "train/cluster/topology.h"

enum device_order {
    DEVICE_ORDER_AUTO,                  /* a ring where there is one */
    DEVICE_ORDER_RING,                  /* each logical device next to the one before, the last
                                           next to the first */
    DEVICE_ORDER_MESH                   /* row by row: core, x, y, z, the core fastest */
};

struct device_assignment_options {
    int shape[TOPOLOGY_RANK];           /* cores of a replica; all 0: one core */
    int stride[TOPOLOGY_RANK];          /* all 0: 1 */
    int replica_count;                  /* 0: as many as there is room for */
    enum device_order order;
};

struct device_assignment {
    const struct topology *topology;
    int replica_count, device_count;    /* logical devices of a replica */
    int *core;                          /* [replica_count][device_count]: the machine's numbers */
};

/*
 * -1 with *e set: a box does not fit, there are not so many, no ring goes through the box (an odd
 * number of chips in both directions). The topology must outlive the result, which `a` holds.
 */
int device_assignment_build(struct device_assignment *d, const struct topology *t,
                            const struct device_assignment_options *o, struct arena *a,
                            struct err *e);
/*
 * From coordinates [replica_count][device_count]. -1: one that the mesh does not have, or two of
 * the same.
 */
int device_assignment_from(struct device_assignment *d, const struct topology *t,
                           const int (*coordinate)[TOPOLOGY_RANK], int replica_count,
                           int device_count, struct arena *a, struct err *e);

/* asserted: replica and device exist */
int device_assignment_core(const struct device_assignment *d, int replica, int device);
/* false: the core has no part */
bool device_assignment_lookup(const struct device_assignment *d, int core, int *replica,
                              int *device);

/* "auto", "ring", "mesh" */
int device_order_find(const char *name, enum device_order *order, struct err *e);

/* the map of chips, "replica.device" for each core, "-" for one without a part */
void device_assignment_print(const struct device_assignment *d, FILE *to);
#endif
