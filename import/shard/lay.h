/*
 * How an array lies over the devices: which axes of the mesh cut which dimension.
 *
 * The mesh is one for the whole program. Its axes have prime sizes, so that any part of an axis
 * that a sharding or a reshape speaks of is a list of whole axes. Devices are counted by the mesh,
 * axis 0 being the major one; `device` says which partition of the program that is.
 */
#ifndef IMPORT_SHARD_LAY_H
#define IMPORT_SHARD_LAY_H
#include "import/program/program.h"

#define SHARD_AXES_MAX 24

struct shard_mesh {
    int axis_count;
    int64_t size[SHARD_AXES_MAX], stride[SHARD_AXES_MAX];       /* device number = sum of */
                                                                /* coordinate * stride */
    int64_t devices;
    const int64_t *device, *number;     /* partition by number in the mesh, and back */
    bool is_counting;                   /* device[i] is i */
};

struct shard_cut { short dim, axis; };
/* cuts by rising dimension; of one dimension the major axis first. No cut: whole everywhere */
struct shard_lay {
    int count;
    struct shard_cut cut[SHARD_AXES_MAX];
};
struct shard_axes { int count; short axis[SHARD_AXES_MAX]; };

/* The mesh of all shardings of a program of that many partitions; in the module's arena. */
void shard_mesh_find(struct shard_mesh *mesh, const struct hlo_module *m, int64_t devices);
int64_t shard_coordinate(const struct shard_mesh *mesh, int axis, int64_t number);
int64_t shard_axes_size(const struct shard_mesh *mesh, const struct shard_axes *axes);
uint32_t shard_axes_mask(const struct shard_axes *axes);

/*
 * What a sharding of an array of `rank` dimensions says, and the axes that lie by hand in *manual.
 * false: it says nothing that the mesh can express.
 */
bool shard_lay_read(const struct shard_mesh *mesh, const struct hlo_sharding *s, int rank,
                    struct shard_lay *lay, uint32_t *manual);
/* and back, in the arena */
struct hlo_sharding shard_lay_write(const struct shard_mesh *mesh, const struct shard_lay *lay,
                                    int rank, struct arena *a);

bool shard_lay_equal(const struct shard_lay *a, const struct shard_lay *b);
uint32_t shard_lay_mask(const struct shard_lay *lay);           /* bit a: axis a cuts */
struct shard_axes shard_lay_axes(const struct shard_lay *lay, int dim);
void shard_lay_set(struct shard_lay *lay, int dim, const struct shard_axes *axes);
void shard_lay_add(struct shard_lay *lay, int dim, int axis);   /* as the dimension's last */
int64_t shard_lay_parts(const struct shard_mesh *mesh, const struct shard_lay *lay, int dim);

/* The part of one device: dimensions that do not divide are rounded up. */
struct hlo_type shard_local_type(const struct shard_mesh *mesh, const struct shard_lay *lay,
                                 const struct hlo_type *t, struct arena *a);
/* of a tuple, a lay for each leaf */
struct hlo_type shard_local_tuple(const struct shard_mesh *mesh, const struct shard_lay *leaf,
                                  const struct hlo_type *t, struct arena *a);
#endif
