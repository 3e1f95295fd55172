/*
 * Devices as a grid of named axes, and arrays cut along them.
 *
 * Device numbers count up the last axis first. Axis 0 is that of the replicas: what runs on it is
 * the same graph on other samples. The others cut a replica's arrays among its logical devices.
 */
#ifndef STACK_MESH_H
#define STACK_MESH_H
#include "stack/hlo/graph.h"

#define MESH_AXES_MAX 4

struct mesh {
    int axis_count;                     /* at least 1 */
    struct { const char *name; int size; } axis[MESH_AXES_MAX];
};

/* By dimension: the axis that cuts it, each axis at most once; 0: not cut. */
struct sharding {
    int8_t axis[GRAPH_RANK_MAX];
};

int mesh_device_count(const struct mesh *m);
int mesh_stride(const struct mesh *m, int axis);        /* between neighbours along it */
static inline int mesh_coordinate(const struct mesh *m, int device, int axis)
{
    return device / mesh_stride(m, axis) % m->axis[axis].size;
}

/* devices that differ along the axes in `mask` (bit a: axis a) only, in order; `a` holds them */
struct graph_groups mesh_groups(const struct mesh *m, uint32_t mask, struct arena *a);

bool sharding_is_whole(const struct sharding *s);
uint32_t sharding_axes(const struct sharding *s);       /* a mask */
/* a device's part; each cut dimension must divide (asserted) */
struct shape sharding_local(const struct mesh *m, const struct shape *shape,
                            const struct sharding *s);
/*
 * -1 naming `what`: no such axis, one used twice or that of the replicas, a dimension beyond the
 * rank, a size that does not divide (with the nearest that do).
 */
int sharding_check(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                   const char *what, struct err *e);
/*
 * tf.experimental.split_to_logical_devices: parts[d] along dimension d of `rank`, as many parts in
 * all as there are logical devices; the axes are found by their sizes. -1 if there are none.
 */
int sharding_from_parts(const struct mesh *m, const int *parts, int rank, const char *what,
                        struct sharding *out, struct err *e);
/*
 * A device's part out of a whole array of `shape`, or back into it: dense row-major elements of 4
 * bytes. sharding_local says the part's shape.
 */
void sharding_take(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                   int device, const void *whole, void *part);
void sharding_put(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                  int device, const void *part, void *whole);
#endif
