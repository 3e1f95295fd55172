/*
 * Groups of devices: lists; a counted up array that is turned and cut; axes of a mesh along which
 * devices are together. The short forms are kept as text, too, beside the devices that they mean.
 */
#include "import/hlo_proto/read.h"

#include "base/text.h"
#include "import/program/sharding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct groups {
    struct proto_reader *r;
    struct hlo_groups *made;
};

static const char *keep(struct groups *g, FILE *to, char **text)
{
    const char *kept;

    text_memory_end(to, text);
    kept = arena_strdup(g->r->arena, *text);
    free(*text);
    return kept;
}

/* groups of `each` devices, as they stand in a list of all of them */
static void cut(struct groups *g, int64_t *id, int64_t count, int64_t each)
{
    int64_t *size = arena_array(g->r->arena, (size_t)(count / each), sizeof(*size));

    for (int64_t i = 0; i < count / each; i++)
        size[i] = each;
    g->made->size = (struct hlo_ints){(int)(count / each), size};
    g->made->id = (struct hlo_ints){(int)count, id};
}

static int product_of(struct groups *g, size_t count, const int64_t *item, int64_t *product)
{
    *product = 1;
    for (size_t i = 0; i < count; i++) {
        if (item[i] < 1 || *product > HLO_DEVICES_MAX / item[i])
            return proto_fail(g->r, "there can be 1 to %d devices", HLO_DEVICES_MAX);
        *product *= item[i];
    }
    return 0;
}

/* 0, 1, .. in these dimensions, which are then permuted; turn NULL: not */
static int count_up(struct groups *g, size_t rank, const int64_t *dim, const int64_t *turn,
                    int64_t devices, int64_t *id)
{
    int64_t stride[64], at[64] = {0}, product = 1;
    bool is_met[64] = {false};

    if (rank > 64)
        return proto_fail(g->r, "devices in %zu dimensions", rank);
    for (size_t d = rank; d-- > 0; product *= dim[d])
        stride[d] = product;
    for (size_t d = 0; turn && d < rank; d++) {
        if (turn[d] < 0 || (size_t)turn[d] >= rank || is_met[turn[d]])
            return proto_fail(g->r, "dimensions of devices are permuted by what is no permutation");
        is_met[turn[d]] = true;
    }
    for (int64_t n = 0; n < devices; n++) {
        id[n] = 0;
        for (size_t d = 0; d < rank; d++)
            id[n] += at[d] * stride[turn ? (size_t)turn[d] : d];
        for (size_t d = rank; d-- > 0;) {
            if (++at[d] < dim[turn ? (size_t)turn[d] : d])
                break;
            at[d] = 0;
        }
    }
    return 0;
}

static int read_iota(struct groups *g, const HloWire__IotaGroups *from)
{
    const int64_t both[2] = {from->num_replica_groups, from->num_devices_per_group};
    int64_t devices, listed, *id, turn[64];
    char *text = NULL;
    size_t bytes;
    FILE *to;

    if (product_of(g, 2, both, &devices) ||
        product_of(g, from->n_iota_reshape_dims, from->iota_reshape_dims, &listed))
        return -1;
    if (devices != listed || from->n_iota_transpose_perm > 64 ||
        (from->n_iota_transpose_perm &&
         from->n_iota_transpose_perm != from->n_iota_reshape_dims))
        return proto_fail(g->r, "%" PRId64 " groups of %" PRId64 " of %" PRId64 " devices", both[0],
                          both[1], listed);
    for (size_t i = 0; i < from->n_iota_transpose_perm; i++)
        turn[i] = from->iota_transpose_perm[i];
    id = arena_array(g->r->arena, (size_t)devices, sizeof(*id));
    if (count_up(g, from->n_iota_reshape_dims, from->iota_reshape_dims,
                 from->n_iota_transpose_perm ? turn : NULL, devices, id))
        return -1;
    cut(g, id, devices, both[1]);
    to = text_memory(&text, &bytes);
    proto_write_int64s(to, "[", 2, both, "]");
    proto_write_int64s(to, "<=[", from->n_iota_reshape_dims, from->iota_reshape_dims, "]");
    if (from->n_iota_reshape_dims > 1)
        proto_write_int32s(to, "T(", from->n_iota_transpose_perm, from->iota_transpose_perm, ")");
    g->made->text = keep(g, to, &text);
    return 0;
}

static int read_lists(struct groups *g, size_t count, HloWire__ReplicaGroup **group)
{
    int64_t *size = arena_array(g->r->arena, count, sizeof(*size)), *id;
    size_t all = 0;

    for (size_t i = 0; i < count; i++) {
        size[i] = (int64_t)group[i]->n_replica_ids;
        all += group[i]->n_replica_ids;
    }
    if (all > HLO_DEVICES_MAX)
        return proto_fail(g->r, "groups of %zu devices, more than %d", all, HLO_DEVICES_MAX);
    id = arena_array(g->r->arena, all, sizeof(*id));
    for (size_t i = 0, k = 0; i < count; k += group[i++]->n_replica_ids) {
        if (group[i]->n_replica_ids)
            memcpy(id + k, group[i]->replica_ids, group[i]->n_replica_ids * sizeof(*id));
    }
    g->made->size = (struct hlo_ints){(int)count, size};
    g->made->id = (struct hlo_ints){(int)all, id};
    return 0;
}

/* A part of an axis within the coordinate of the axis: how often it is counted, and how far. */
struct part {
    size_t axis;
    int64_t below, size;
};

static int read_part(struct groups *g, const HloWire__Mesh *m, const HloWire__AxisRef *a,
                     struct part *p)
{
    int64_t whole;

    if (a->mesh_axis_index < 0 || (uint64_t)a->mesh_axis_index >= m->n_axes)
        return proto_fail(g->r, "axis number %" PRId64 " of %zu", a->mesh_axis_index, m->n_axes);
    p->axis = (size_t)a->mesh_axis_index;
    whole = m->axes[p->axis]->size;
    *p = (struct part){p->axis, 1, whole};
    if (!a->sub_axis_info)
        return 0;
    p->size = a->sub_axis_info->size;
    if (p->size < 1 || a->sub_axis_info->pre_size < 1 ||
        a->sub_axis_info->pre_size > whole / p->size ||
        whole % (p->size * a->sub_axis_info->pre_size))
        return proto_fail(g->r, "a part of axis '%s' that it does not have",
                          m->axes[p->axis]->name);
    p->below = whole / (p->size * a->sub_axis_info->pre_size);
    return 0;
}

/* Devices whose coordinates differ in these parts only are a group, the last part counted fastest. */
static int group_by_parts(struct groups *g, const HloWire__Mesh *m, size_t count,
                          const struct part *part, int64_t devices, const int64_t *device)
{
    int64_t stride[64], product = 1, each = 1, groups = 0;
    int64_t *id = arena_array(g->r->arena, (size_t)devices, sizeof(*id));
    int64_t *group = mem_alloc((size_t)devices * sizeof(*group));      /* of its first device */

    for (size_t d = m->n_axes; d-- > 0; product *= m->axes[d]->size)
        stride[d] = product;
    for (size_t i = 0; i < count; i++)
        each *= part[i].size;
    for (int64_t n = 0; n < devices; n++) {
        int64_t first = n, place = 0;

        for (size_t i = 0; i < count; i++) {
            int64_t unit = stride[part[i].axis] * part[i].below;
            int64_t at = n / unit % part[i].size;

            first -= at * unit;
            place = place * part[i].size + at;
        }
        if (first == n)
            group[n] = groups++;
        if (first < 0 || (group[first] + 1) * each > devices)
            break;                      /* parts that overlap */
        id[group[first] * each + place] = device ? device[n] : n;
    }
    mem_free(group);
    if (groups * each != devices)
        return proto_fail(g->r, "axes that overlap");
    cut(g, id, devices, each);
    return 0;
}

static int read_mesh_groups(struct groups *g, const HloWire__MeshGroups *from)
{
    static HloWire__Mesh none = HLO_WIRE__MESH__INIT;
    const HloWire__Mesh *m = from->mesh ? from->mesh : &none;
    int64_t size[64], devices, *device = m->device_ids;
    struct part part[64];
    char *text = NULL;
    size_t bytes;
    FILE *to;

    if (m->n_axes > 64 || from->n_axes > 64)
        return proto_fail(g->r, "a mesh of more than 64 axes");
    for (size_t i = 0; i < m->n_axes; i++)
        size[i] = m->axes[i]->size;
    if (product_of(g, m->n_axes, size, &devices))
        return -1;
    if (m->n_device_ids && m->n_device_ids != (size_t)devices)
        return proto_fail(g->r, "%zu devices for a mesh of %" PRId64, m->n_device_ids, devices);
    for (size_t i = 0; i < from->n_axes; i++) {
        if (read_part(g, m, from->axes[i], &part[i]))
            return -1;
    }
    if (m->iota_transform) {
        const HloWire__MeshIota *t = m->iota_transform;
        int64_t listed;

        if (product_of(g, t->n_reshape_dims, t->reshape_dims, &listed))
            return -1;
        if (listed != devices || (t->n_transpose_perm && t->n_transpose_perm != t->n_reshape_dims))
            return proto_fail(g->r, "%" PRId64 " devices for a mesh of %" PRId64, listed, devices);
        device = arena_array(g->r->arena, (size_t)devices, sizeof(*device));
        if (count_up(g, t->n_reshape_dims, t->reshape_dims,
                     t->n_transpose_perm ? t->transpose_perm : NULL, devices, device))
            return -1;
    }
    if (group_by_parts(g, m, from->n_axes, part, devices,
                       m->n_device_ids || m->iota_transform ? device : NULL))
        return -1;
    to = text_memory(&text, &bytes);
    proto_write_mesh(to, m);
    fputs(" {", to);
    proto_write_axes(to, m, from->n_axes, from->axes);
    fputs("}", to);
    g->made->text = keep(g, to, &text);
    return 0;
}

static int read_any_groups(struct groups *g, const HloWire__Instruction *from)
{
    const HloWire__DeviceList *list = from->collective_device_list;

    if (from->mesh_axes_replica_group_list)
        return read_mesh_groups(g, from->mesh_axes_replica_group_list);
    if (from->iota_collective_device_list)
        return read_iota(g, from->iota_collective_device_list);
    if (list && list->iota_replica_group_list)
        return read_iota(g, list->iota_replica_group_list);
    if (list && list->n_replica_groups)
        return read_lists(g, list->n_replica_groups, list->replica_groups);
    return read_lists(g, from->n_replica_groups, from->replica_groups);
}

int proto_read_groups(struct proto_reader *r, const HloWire__Instruction *from,
                      const struct hlo_groups **made)
{
    struct hlo_groups *groups = arena_alloc(r->arena, sizeof(*groups));
    struct groups g = {r, groups};
    int64_t *pair = arena_array(r->arena, 2 * from->n_source_target_pairs, sizeof(*pair));
    int64_t channel = from->channel_id ? from->channel_id : from->all_reduce_id;

    for (size_t i = 0; i < from->n_source_target_pairs; i++) {
        pair[2 * i] = from->source_target_pairs[i]->source;
        pair[2 * i + 1] = from->source_target_pairs[i]->target;
    }
    groups->pair = (struct hlo_ints){(int)(2 * from->n_source_target_pairs), pair};
    groups->channel_id = channel > 0 ? channel : 0;
    groups->use_global_ids = from->use_global_device_ids;
    groups->is_host_transfer = from->is_host_transfer;
    *made = groups;
    return read_any_groups(&g, from);
}
