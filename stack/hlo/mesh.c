/*
 * Computes groups of devices along axes of a mesh, and cuts values into the parts that a sharding
 * gives each device.
 */
#include "stack/hlo/mesh.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

int mesh_device_count(const struct mesh *m)
{
    int count = 1;

    for (int i = 0; i < m->axis_count; i++)
        count *= m->axis[i].size;
    return count;
}

int mesh_stride(const struct mesh *m, int axis)
{
    int stride = 1;

    assert(axis >= 0 && axis < m->axis_count);
    for (int i = axis + 1; i < m->axis_count; i++)
        stride *= m->axis[i].size;
    return stride;
}

/* the device's number among those of its group, or, of the axes not in `mask`, among groups */
static int number_along(const struct mesh *m, int device, uint32_t mask)
{
    int number = 0;

    for (int i = 0; i < m->axis_count; i++)
        if (mask >> i & 1)
            number = number * m->axis[i].size + mesh_coordinate(m, device, i);
    return number;
}

struct graph_groups mesh_groups(const struct mesh *m, uint32_t mask, struct arena *a)
{
    int devices = mesh_device_count(m), size = 1;
    int32_t *member = arena_array(a, (size_t)devices, sizeof(*member));

    for (int i = 0; i < m->axis_count; i++)
        size *= mask >> i & 1 ? m->axis[i].size : 1;
    for (int d = 0; d < devices; d++)
        member[number_along(m, d, ~mask) * size + number_along(m, d, mask)] = d;
    return (struct graph_groups){devices / size, size, member};
}

uint32_t sharding_axes(const struct sharding *s)
{
    uint32_t mask = 0;

    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        mask |= s->axis[d] ? 1u << s->axis[d] : 0;
    return mask;
}

bool sharding_is_whole(const struct sharding *s) { return sharding_axes(s) == 0; }

struct shape sharding_local(const struct mesh *m, const struct shape *shape,
                            const struct sharding *s)
{
    struct shape local = *shape;

    for (int d = 0; d < shape->rank; d++)
        if (s->axis[d]) {
            assert(local.dim[d] % m->axis[s->axis[d]].size == 0);
            local.dim[d] /= m->axis[s->axis[d]].size;
        }
    return local;
}

/* ----- checks */

static int check_dim(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                     int d, const char *what, struct err *e)
{
    int axis = s->axis[d];
    int64_t size = shape->dim[d], parts;
    char text[128];

    if (d >= shape->rank)
        return err_set(e, "%s: %s has no dimension %d to cut", what,
                       shape_print(shape, text, sizeof(text)), d);
    if (axis < 1 || axis >= m->axis_count)
        return err_set(e, "%s: dimension %d is cut along axis %d, of logical devices there are "
                       "1..%d", what, d, axis, m->axis_count - 1);
    for (int other = 0; other < d; other++)
        if (s->axis[other] == axis)
            return err_set(e, "%s: dimensions %d and %d are both cut along axis %s", what, other,
                           d, m->axis[axis].name);
    parts = m->axis[axis].size;
    if (size % parts)
        return err_set(e, "%s: dimension %d of %s does not divide into %" PRId64 " parts (axis "
                       "%s); the nearest sizes that do are %" PRId64 " and %" PRId64, what, d,
                       shape_print(shape, text, sizeof(text)), parts, m->axis[axis].name,
                       size / parts ? size / parts * parts : parts, (size / parts + 1) * parts);
    return 0;
}

int sharding_check(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                   const char *what, struct err *e)
{
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        if (s->axis[d] && check_dim(m, shape, s, d, what, e))
            return -1;
    return 0;
}

static int find_axis(const struct mesh *m, int size, uint32_t used)
{
    for (int i = 1; i < m->axis_count; i++)
        if (!(used >> i & 1) && m->axis[i].size == size)
            return i;
    return -1;
}

int sharding_from_parts(const struct mesh *m, const int *parts, int rank, const char *what,
                        struct sharding *out, struct err *e)
{
    int64_t product = 1;
    uint32_t used = 0;

    memset(out, 0, sizeof(*out));
    for (int d = 0; d < rank; d++) {
        int axis = parts[d] > 1 ? find_axis(m, parts[d], used) : 0;

        product *= parts[d];
        if (parts[d] < 1)
            return err_set(e, "%s: %d parts along dimension %d, at least 1 are allowed", what,
                           parts[d], d);
        if (axis < 0)
            return err_set(e, "%s: %d parts along dimension %d, but the logical devices have no "
                           "axis of %d left", what, parts[d], d, parts[d]);
        out->axis[d] = (int8_t)axis;
        used |= 1u << axis;
    }
    if (product != mesh_stride(m, 0))
        return err_set(e, "%s: %" PRId64 " parts in all, but there are %d logical devices", what,
                       product, mesh_stride(m, 0));
    return 0;
}

/* ----- parts of values */

struct walk {
    const struct shape *shape;
    struct shape local;
    int64_t start[GRAPH_RANK_MAX];      /* of the part in the whole, by dimension */
    int cut_count;                      /* dimensions up to the last one that is cut */
    int64_t run;                        /* elements that follow each other in both */
};

static void begin_walk(struct walk *w, const struct mesh *m, const struct shape *shape,
                       const struct sharding *s, int device)
{
    *w = (struct walk){.shape = shape, .local = sharding_local(m, shape, s), .run = 1};
    for (int d = 0; d < shape->rank; d++) {
        int axis = s->axis[d];

        w->start[d] = axis ? w->local.dim[d] * mesh_coordinate(m, device, axis) : 0;
        w->cut_count = axis ? d + 1 : w->cut_count;
    }
    for (int d = w->cut_count ? w->cut_count - 1 : 0; d < shape->rank; d++)
        w->run *= w->local.dim[d];
}

/* where run number i of the part is in the whole, in elements */
static int64_t place_of(const struct walk *w, int64_t i)
{
    int64_t place = 0, stride = 1;

    for (int d = w->shape->rank - 1; d >= 0; d--) {
        place += w->start[d] * stride;
        if (d < w->cut_count - 1) {
            place += i % w->local.dim[d] * stride;
            i /= w->local.dim[d];
        }
        stride *= w->shape->dim[d];
    }
    return place;
}

void sharding_take(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                   int device, const void *whole, void *part)
{
    struct walk w;

    begin_walk(&w, m, shape, s, device);
    for (int64_t i = 0; i < shape_elems(&w.local) / w.run; i++)
        memcpy((uint32_t *)part + i * w.run, (const uint32_t *)whole + place_of(&w, i),
               (size_t)w.run * 4);
}

void sharding_put(const struct mesh *m, const struct shape *shape, const struct sharding *s,
                  int device, const void *part, void *whole)
{
    struct walk w;

    begin_walk(&w, m, shape, s, device);
    for (int64_t i = 0; i < shape_elems(&w.local) / w.run; i++)
        memcpy((uint32_t *)whole + place_of(&w, i), (const uint32_t *)part + i * w.run,
               (size_t)w.run * 4);
}
