/* Lists of cuts: read, changed and compared; types of the parts. */
#include "import/shard/lay.h"

#include <assert.h>
#include <string.h>

bool shard_lay_equal(const struct shard_lay *a, const struct shard_lay *b)
{
    return a->count == b->count &&
           (!a->count || !memcmp(a->cut, b->cut, (size_t)a->count * sizeof(*a->cut)));
}

uint32_t shard_lay_mask(const struct shard_lay *lay)
{
    uint32_t mask = 0;

    for (int i = 0; i < lay->count; i++)
        mask |= 1u << lay->cut[i].axis;
    return mask;
}

uint32_t shard_axes_mask(const struct shard_axes *axes)
{
    uint32_t mask = 0;

    for (int i = 0; i < axes->count; i++)
        mask |= 1u << axes->axis[i];
    return mask;
}

struct shard_axes shard_lay_axes(const struct shard_lay *lay, int dim)
{
    struct shard_axes axes = {0};

    for (int i = 0; i < lay->count; i++)
        if (lay->cut[i].dim == dim)
            axes.axis[axes.count++] = lay->cut[i].axis;
    return axes;
}

void shard_lay_add(struct shard_lay *lay, int dim, int axis)
{
    int at = lay->count;

    assert(lay->count < SHARD_AXES_MAX);
    for (; at > 0 && lay->cut[at - 1].dim > dim; at--)
        lay->cut[at] = lay->cut[at - 1];
    lay->cut[at] = (struct shard_cut){(short)dim, (short)axis};
    lay->count++;
}

void shard_lay_set(struct shard_lay *lay, int dim, const struct shard_axes *axes)
{
    int kept = 0;

    for (int i = 0; i < lay->count; i++)
        if (lay->cut[i].dim != dim)
            lay->cut[kept++] = lay->cut[i];
    lay->count = kept;
    for (int i = 0; i < axes->count; i++)
        shard_lay_add(lay, dim, axes->axis[i]);
}

int64_t shard_axes_size(const struct shard_mesh *mesh, const struct shard_axes *axes)
{
    int64_t n = 1;

    for (int i = 0; i < axes->count; i++)
        n *= mesh->size[axes->axis[i]];
    return n;
}

int64_t shard_lay_parts(const struct shard_mesh *mesh, const struct shard_lay *lay, int dim)
{
    struct shard_axes axes = shard_lay_axes(lay, dim);

    return shard_axes_size(mesh, &axes);
}

int64_t shard_coordinate(const struct shard_mesh *mesh, int axis, int64_t number)
{
    return number / mesh->stride[axis] % mesh->size[axis];
}

struct hlo_type shard_local_type(const struct shard_mesh *mesh, const struct shard_lay *lay,
                                 const struct hlo_type *t, struct arena *a)
{
    struct hlo_type local = *t;
    int64_t *dim;

    if (!lay->count)
        return local;
    dim = arena_copy(a, t->dim, (size_t)t->rank, sizeof(*dim));
    for (int d = 0; d < t->rank; d++) {
        int64_t parts = shard_lay_parts(mesh, lay, d);

        dim[d] = t->dim[d] == HLO_UNBOUNDED ? HLO_UNBOUNDED : (t->dim[d] + parts - 1) / parts;
    }
    local.dim = dim;
    return local;
}

static struct hlo_type local_leaves(const struct shard_mesh *mesh, const struct shard_lay **leaf,
                                    const struct hlo_type *t, struct arena *a)
{
    struct hlo_type *part;

    if (!hlo_type_is_tuple(t))
        return shard_local_type(mesh, (*leaf)++, t, a);
    part = arena_array(a, (size_t)t->part_count, sizeof(*part));
    for (int i = 0; i < t->part_count; i++)
        part[i] = local_leaves(mesh, leaf, &t->part[i], a);
    return hlo_tuple_type(a, t->part_count, part);
}

struct hlo_type shard_local_tuple(const struct shard_mesh *mesh, const struct shard_lay *leaf,
                                  const struct hlo_type *t, struct arena *a)
{
    return local_leaves(mesh, &leaf, t, a);
}
