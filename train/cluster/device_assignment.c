/*
 * Chooses a block of the topology as near to a cube as it can, and gives each replica its box of
 * cores in it.
 */
#include "train/cluster/device_assignment.h"

#include "base/text.h"
#include "base/units.h"
#include "train/cluster/device_order.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const axis_name[TOPOLOGY_RANK] = {"x", "y", "z", "core"};

/* ----- how many boxes there are */

struct boxes {
    int shape[TOPOLOGY_RANK], stride[TOPOLOGY_RANK];
    int footprint[TOPOLOGY_RANK];       /* shape x stride: boxes of one footprint interleave */
    int most[TOPOLOGY_RANK];            /* replicas along each axis */
    int used[TOPOLOGY_RANK];            /* those of them that are taken */
    int device_count, most_replicas;
};

static int fit_axis(struct boxes *b, const struct topology *t, int axis, struct err *e)
{
    if (b->shape[axis] < 1 || b->stride[axis] < 1)
        return err_set(e, "shape %d and stride %d along %s: both must be at least 1",
                       b->shape[axis], b->stride[axis], axis_name[axis]);
    if (b->shape[axis] > t->mesh[axis] ||
        (int64_t)b->shape[axis] * b->stride[axis] > t->mesh[axis])
        return err_set(e, "a replica of %d along %s, every %d, takes %lld of them; %s has %d",
                       b->shape[axis], axis_name[axis], b->stride[axis],
                       (long long)b->shape[axis] * b->stride[axis], t->slice, t->mesh[axis]);
    b->footprint[axis] = b->shape[axis] * b->stride[axis];
    b->most[axis] = t->mesh[axis] / b->footprint[axis] * b->stride[axis];
    b->device_count *= b->shape[axis];
    b->most_replicas *= b->most[axis];
    return 0;
}

static void take_or_ones(int to[TOPOLOGY_RANK], const int from[TOPOLOGY_RANK])
{
    static const int zeros[TOPOLOGY_RANK];
    bool is_given = memcmp(from, zeros, sizeof(zeros)) != 0;

    for (int i = 0; i < TOPOLOGY_RANK; i++)
        to[i] = is_given ? from[i] : 1;
}

/* ----- which of them are taken: short axes first, each up to the root of what is left */

static int shortest_left(const int most[TOPOLOGY_RANK], const bool is_done[TOPOLOGY_RANK])
{
    static const int order[] = {TOPOLOGY_CORE, TOPOLOGY_X, TOPOLOGY_Y, TOPOLOGY_Z};
    int best = -1;

    for (int i = 0; i < TOPOLOGY_RANK; i++)
        if (!is_done[order[i]] && (best < 0 || most[order[i]] < most[best]))
            best = order[i];
    return best;
}

/* the least whole number whose `power`-th power is at least n */
static int root_up(int n, int power)
{
    int root = 1;

    while (pow(root, power) < n)
        root++;
    return root;
}

static void choose_block(struct boxes *b, int replica_count)
{
    bool is_done[TOPOLOGY_RANK] = {false};
    int left = replica_count;

    for (int axes = TOPOLOGY_RANK; axes > 0; axes--) {
        int axis = shortest_left(b->most, is_done), wanted = root_up(left, axes);

        b->used[axis] = wanted < b->most[axis] ? wanted : b->most[axis];
        left = (left + b->used[axis] - 1) / b->used[axis];
        is_done[axis] = true;
    }
    assert(left == 1);
}

/* the first core of a replica: replicas count up the core first, then x, y, z */
static void place_replica(const struct boxes *b, int replica, int first[TOPOLOGY_RANK])
{
    static const int order[] = {TOPOLOGY_CORE, TOPOLOGY_X, TOPOLOGY_Y, TOPOLOGY_Z};

    for (int i = 0; i < TOPOLOGY_RANK; i++) {
        int axis = order[i], at = replica % b->used[axis];

        replica /= b->used[axis];
        first[axis] = at / b->stride[axis] * b->footprint[axis] + at % b->stride[axis];
    }
}

/* ----- */

static int find_boxes(struct boxes *b, const struct topology *t,
                      const struct device_assignment_options *o, struct err *e)
{
    memset(b, 0, sizeof(*b));
    take_or_ones(b->shape, o->shape);
    take_or_ones(b->stride, o->stride);
    b->device_count = b->most_replicas = 1;
    for (int i = 0; i < TOPOLOGY_RANK; i++)
        if (fit_axis(b, t, i, e))
            return -1;
    if (o->replica_count < 0 || o->replica_count > b->most_replicas)
        return err_set(e, "%d replicas of %d core%s: %s has room for 1..%d", o->replica_count,
                       b->device_count, b->device_count > 1 ? "s" : "", t->slice,
                       b->most_replicas);
    return 0;
}

int device_assignment_build(struct device_assignment *d, const struct topology *t,
                            const struct device_assignment_options *o, struct arena *a,
                            struct err *e)
{
    struct boxes b;
    int (*place)[TOPOLOGY_RANK];

    if (find_boxes(&b, t, o, e))
        return -1;
    place = arena_array(a, (size_t)b.device_count, sizeof(*place));
    if (device_order_fill(place, b.shape, o->order, e))
        return -1;
    *d = (struct device_assignment){t, o->replica_count ? o->replica_count : b.most_replicas,
                                    b.device_count, NULL};
    d->core = arena_array(a, (size_t)d->replica_count * (size_t)d->device_count,
                          sizeof(*d->core));
    choose_block(&b, d->replica_count);
    for (int r = 0; r < d->replica_count; r++) {
        int first[TOPOLOGY_RANK];

        place_replica(&b, r, first);
        for (int k = 0; k < d->device_count; k++) {
            int at[TOPOLOGY_RANK];

            for (int i = 0; i < TOPOLOGY_RANK; i++)
                at[i] = first[i] + place[k][i] * b.stride[i];
            d->core[r * d->device_count + k] = topology_core(t, at);
        }
    }
    return 0;
}

int device_assignment_from(struct device_assignment *d, const struct topology *t,
                           const int (*coordinate)[TOPOLOGY_RANK], int replica_count,
                           int device_count, struct arena *a, struct err *e)
{
    int count = replica_count * device_count;
    int *taken_by = arena_array(a, (size_t)topology_device_count(t), sizeof(*taken_by));

    assert(replica_count > 0 && device_count > 0);
    *d = (struct device_assignment){t, replica_count, device_count,
                                    arena_array(a, (size_t)count, sizeof(*d->core))};
    for (int i = 0; i < count; i++) {
        const int *at = coordinate[i];
        int r = i / device_count, k = i % device_count, core;

        if (!topology_has(t, at))
            return err_set(e, "replica %d, logical device %d: (%d, %d, %d, %d) is not in the mesh "
                           "%d x %d x %d x %d of %s", r, k, at[0], at[1], at[2], at[3],
                           t->mesh[0], t->mesh[1], t->mesh[2], t->mesh[3], t->slice);
        core = topology_core(t, at);
        if (taken_by[core])
            return err_set(e, "replica %d, logical device %d: (%d, %d, %d, %d) is already logical "
                           "device %d of replica %d", r, k, at[0], at[1], at[2], at[3],
                           (taken_by[core] - 1) % device_count,
                           (taken_by[core] - 1) / device_count);
        taken_by[core] = i + 1;
        d->core[i] = core;
    }
    return 0;
}

int device_assignment_core(const struct device_assignment *d, int replica, int device)
{
    assert(replica >= 0 && replica < d->replica_count);
    assert(device >= 0 && device < d->device_count);
    return d->core[replica * d->device_count + device];
}

bool device_assignment_lookup(const struct device_assignment *d, int core, int *replica,
                              int *device)
{
    for (int i = 0; i < d->replica_count * d->device_count; i++)
        if (d->core[i] == core) {
            *replica = i / d->device_count;
            *device = i % d->device_count;
            return true;
        }
    return false;
}

int device_order_find(const char *name, enum device_order *order, struct err *e)
{
    static const char *const names[] = {"auto", "ring", "mesh"};
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, names, sizeof(*names), COUNT_OF(names), near);

    if (i < 0)
        return err_set(e, "device order \"%s\" is none of auto, ring, mesh%s", name, near);
    *order = (enum device_order)i;
    return 0;
}

static void assignment_label(void *user, int core, char *buf, size_t buf_bytes)
{
    int replica, device;

    if (device_assignment_lookup(user, core, &replica, &device))
        snprintf(buf, buf_bytes, "%d.%d", replica, device);
    else
        snprintf(buf, buf_bytes, "-");
}

void device_assignment_print(const struct device_assignment *d, FILE *to)
{
    fprintf(to, "%s: %d replica%s of %d core%s; replica.device by chip:\n", d->topology->slice,
            d->replica_count, d->replica_count > 1 ? "s" : "", d->device_count,
            d->device_count > 1 ? "s" : "");
    topology_print(d->topology, assignment_label, (void *)d, to);
}
