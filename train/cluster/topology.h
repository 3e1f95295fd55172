/*
 * Where the cores of a slice stand: tf.tpu.experimental.Topology.
 *
 * Coordinates are x, y, z of the chip and the core on it. Devices are the cores, numbered by host
 * (task) and within it: first along the core, then x, y, z. Device numbers are TensorFlow's;
 * core numbers, chip by chip over the whole grid, are the machine's (struct slice).
 */
#ifndef TRAIN_TOPOLOGY_H
#define TRAIN_TOPOLOGY_H
#include "base/arena.h"
#include "sim/chip/chip.h"

#include <stdio.h>

enum { TOPOLOGY_X, TOPOLOGY_Y, TOPOLOGY_Z, TOPOLOGY_CORE, TOPOLOGY_RANK };

struct topology {
    int mesh[TOPOLOGY_RANK];            /* sizes: chips along x, y, z; cores of a chip */
    bool is_ring[3];                    /* the axis of chips closes */
    int task_count, devices_per_task;   /* hosts; cores of each */
    int (*coordinate)[TOPOLOGY_RANK];   /* by device: task * devices_per_task + its ordinal */
    char slice[32];
};

/*
 * A host has 4 chips in a square of 2x2, or 8 chips of v5e and v6e if there are no more
 * (Google Cloud's machine types); a smaller slice has one host. `a` holds the coordinates.
 */
void topology_init(struct topology *t, const struct slice *s, const struct chip *chip,
                   struct arena *a);

static inline int topology_device_count(const struct topology *t)
{
    return t->task_count * t->devices_per_task;
}
bool topology_has(const struct topology *t, const int coordinate[TOPOLOGY_RANK]);

/* of coordinates that the mesh has (asserted) */
int topology_core(const struct topology *t, const int coordinate[TOPOLOGY_RANK]);
int topology_device(const struct topology *t, const int coordinate[TOPOLOGY_RANK]);
void topology_coordinate_of_core(const struct topology *t, int core,
                                 int coordinate[TOPOLOGY_RANK]);

/*
 * The core of a device's name: all of it, "/job:worker/task:0/device:TPU:3", or as little as
 * "TPU:3", which is the ordinal in the task, the first one if none is named. -1: not of this form,
 * or there is no such device.
 */
int topology_find(const struct topology *t, const char *name, int *core, struct err *e);

/* planes of chips one beside the other, each cell what `label` writes of its cores */
typedef void topology_label(void *user, int core, char *buf, size_t buf_bytes);
void topology_print(const struct topology *t, topology_label *label, void *user, FILE *to);
/* device numbers in the cells */
void topology_print_devices(const struct topology *t, FILE *to);
#endif
