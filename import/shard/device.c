/* Numbers that differ from device to device, and collectives over axes of the mesh. */
#include "import/shard/emit.h"

#include <math.h>
#include <string.h>

int shard_s32(struct shard_emitter *e, int64_t value)
{
    struct hlo_type t = hlo_scalar_type(ELEMENT_S32);

    return hlo_constant_int(e->b, &t, value);
}

/* ----- which device this is */

static int partition_id(struct shard_emitter *e)
{
    struct hlo_instruction id = {.op = OPCODE_PARTITION_ID,
                                 .type = HLO_TYPE(hlo_scalar_type(ELEMENT_U32)),
                                 .place = e->b->place};

    return hlo_convert(e->b, hlo_add(e->b->module, e->b->computation, &id), ELEMENT_S32);
}

/* a table by partition, looked up */
static int look_up(struct shard_emitter *e, const int64_t *item, int id)
{
    struct hlo_type t = hlo_array_type(e->b->module->arena, ELEMENT_S32, 1, &e->mesh->devices);
    int32_t *data = mem_alloc((size_t)e->mesh->devices * sizeof(*data));
    int table;

    for (int64_t i = 0; i < e->mesh->devices; i++)
        data[i] = (int32_t)item[i];
    table = hlo_constant_literal(e->b, hlo_literal_copy(e->b->module->arena, &t, data));
    mem_free(data);
    return hlo_reshape(e->b, hlo_dynamic_slice(e->b, table, &id, (int64_t[]){1}), 0, NULL);
}

static int number_of_device(struct shard_emitter *e)
{
    if (e->number < 0) {
        e->number = partition_id(e);
        if (!e->mesh->is_counting)
            e->number = look_up(e, e->mesh->number, e->number);
    }
    return e->number;
}

/* number / stride % size */
static int digit(struct shard_emitter *e, int64_t stride, int64_t size)
{
    int n = number_of_device(e);

    if (stride > 1)
        n = hlo_binary(e->b, OPCODE_DIVIDE, n, shard_s32(e, stride));
    if (stride * size < e->mesh->devices)
        n = hlo_binary(e->b, OPCODE_REMAINDER, n, shard_s32(e, size));
    return n;
}

static int make_index(struct shard_emitter *e, const struct shard_axes *axes)
{
    int index = -1;

    for (int i = 0; i < axes->count; ) {
        int64_t size = e->mesh->size[axes->axis[i]], stride = e->mesh->stride[axes->axis[i]];
        int part;

        for (i++; i < axes->count; i++) {       /* neighbours are one digit */
            int a = axes->axis[i];

            if (e->mesh->stride[a] * e->mesh->size[a] != stride)
                break;
            size *= e->mesh->size[a];
            stride = e->mesh->stride[a];
        }
        part = digit(e, stride, size);
        index = index < 0 ? part :
                hlo_binary(e->b, OPCODE_ADD, hlo_binary(e->b, OPCODE_MULTIPLY, index,
                                                        shard_s32(e, size)), part);
    }
    return index < 0 ? shard_s32(e, 0) : index;
}

static bool is_same_axes(const struct shard_axes *a, const struct shard_axes *b)
{
    return a->count == b->count &&
           (!a->count || !memcmp(a->axis, b->axis, (size_t)a->count * sizeof(*a->axis)));
}

int shard_index_of(struct shard_emitter *e, const struct shard_axes *axes)
{
    int made;

    for (int i = 0; i < e->index_count; i++)
        if (is_same_axes(&e->index[i].axes, axes))
            return e->index[i].made;
    made = make_index(e, axes);
    MEM_ADD(e->index, e->index_count, e->index_room) = (struct shard_index){*axes, made};
    return made;
}

int shard_offset_of(struct shard_emitter *e, const struct shard_axes *axes, int64_t size)
{
    int64_t parts = shard_axes_size(e->mesh, axes);
    int index = shard_index_of(e, axes);

    return hlo_binary(e->b, OPCODE_MULTIPLY, index, shard_s32(e, (size + parts - 1) / parts));
}

/* ----- collectives */

/* device number `i` along the axes of the group whose first device is number `first` */
static int64_t member(const struct shard_mesh *mesh, const struct shard_axes *axes, int64_t first,
                      int64_t i)
{
    for (int k = axes->count - 1; k >= 0; k--) {
        int a = axes->axis[k];

        first += i % mesh->size[a] * mesh->stride[a];
        i /= mesh->size[a];
    }
    return mesh->device[first];
}

static bool is_first(const struct shard_mesh *mesh, const struct shard_axes *axes, int64_t number)
{
    for (int k = 0; k < axes->count; k++)
        if (shard_coordinate(mesh, axes->axis[k], number))
            return false;
    return true;
}

/* devices that differ along the axes alone; of all replicas by global ids, or of each by itself */
static struct shard_lists list_groups(struct shard_emitter *e, const struct shard_axes *axes,
                                      bool is_global)
{
    struct arena *a = e->b->module->arena;
    int64_t members = shard_axes_size(e->mesh, axes);
    int64_t replicas = is_global ? e->b->module->replica_count : 1;
    int64_t groups = e->mesh->devices / members * replicas;
    int64_t *size = arena_array(a, (size_t)groups, sizeof(*size));
    int64_t *id = arena_array(a, (size_t)(groups * members), sizeof(*id)), at = 0;

    for (int64_t r = 0; r < replicas; r++)
        for (int64_t n = 0; n < e->mesh->devices; n++)
            for (int64_t i = 0; i < members && is_first(e->mesh, axes, n); i++)
                id[at++] = r * e->mesh->devices + member(e->mesh, axes, n, i);
    for (int64_t i = 0; i < groups; i++)
        size[i] = members;
    return (struct shard_lists){*axes, is_global, {(int)groups, size}, {(int)at, id}};
}

static struct hlo_groups *groups_of(struct shard_emitter *e, const struct shard_axes *axes,
                                    bool is_global)
{
    struct hlo_groups *g = arena_alloc(e->b->module->arena, sizeof(*g));
    int k = 0;

    while (k < e->lists_count && (e->lists[k].is_global != is_global ||
                                  !is_same_axes(&e->lists[k].axes, axes)))
        k++;
    if (k == e->lists_count) {
        struct shard_lists made = list_groups(e, axes, is_global);

        MEM_ADD(e->lists, e->lists_count, e->lists_room) = made;
    }
    *g = (struct hlo_groups){.size = e->lists[k].size, .id = e->lists[k].id,
                             .channel_id = e->channel++, .use_global_ids = is_global};
    return g;
}

static struct hlo_type with_dim(struct shard_emitter *e, int x, int dim, int64_t times, int64_t by)
{
    struct hlo_type t = *hlo_type_of(e->b, x);
    int64_t *dims = arena_copy(e->b->module->arena, t.dim, (size_t)t.rank, sizeof(*dims));

    dims[dim] = dims[dim] * times / by;
    t.dim = dims;
    t.layout = NULL;
    return t;
}

static int add_collective(struct shard_emitter *e, struct hlo_instruction i, int x)
{
    i.operand_count = 1;
    i.operand = &x;
    i.place = e->b->place;
    i.line = e->b->line;
    i.col = hlo_column(e->b->col);
    return hlo_add(e->b->module, e->b->computation, &i);
}

int shard_all_gather(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes)
{
    int64_t d = dim;

    return add_collective(
        e,
        (struct hlo_instruction){
            .op = OPCODE_ALL_GATHER,
            .type = HLO_TYPE(with_dim(e, x, dim, shard_axes_size(e->mesh, axes), 1)),
            .detail = &(struct hlo_detail){.dims = {1, &d}, .groups = groups_of(e, axes, true)}},
        x);
}

int shard_all_reduce(struct shard_emitter *e, int x, const struct shard_axes *axes, int computation)
{
    struct hlo_type t = *hlo_type_of(e->b, x);

    t.layout = NULL;
    return add_collective(e,
                          (struct hlo_instruction){
                              .op = OPCODE_ALL_REDUCE,
                              .type = &t,
                              .detail = &(struct hlo_detail){.computation_count = 1,
                                                             .computation = &computation,
                                                             .groups = groups_of(e, axes, true)}},
                          x);
}

int shard_reduce_scatter(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes,
                         int computation)
{
    int64_t d = dim;

    return add_collective(
        e,
        (struct hlo_instruction){
            .op = OPCODE_REDUCE_SCATTER,
            .type = HLO_TYPE(with_dim(e, x, dim, 1, shard_axes_size(e->mesh, axes))),
            .detail = &(struct hlo_detail){.dims = {1, &d},
                                           .computation_count = 1,
                                           .computation = &computation,
                                           .groups = groups_of(e, axes, true)}},
        x);
}

int shard_all_to_all(struct shard_emitter *e, int x, int split, int joined,
                     const struct shard_axes *axes)
{
    int64_t parts = shard_axes_size(e->mesh, axes), dims[] = {split, joined, parts};
    struct hlo_type t = with_dim(e, x, split, 1, parts);
    int64_t *dim = arena_copy(e->b->module->arena, t.dim, (size_t)t.rank, sizeof(*dim));

    dim[joined] *= parts;
    t.dim = dim;
    return add_collective(
        e,
        (struct hlo_instruction){
            .op = OPCODE_ALL_TO_ALL,
            .type = &t,
            .detail = &(struct hlo_detail){.dims = {3, dims}, .groups = groups_of(e, axes, false)}},
        x);
}

/* which of all parts of an array device `number` has */
static int64_t part_of(const struct shard_mesh *mesh, const struct shard_lay *lay, int64_t number)
{
    int64_t part = 0;

    for (int i = 0; i < lay->count; i++)
        part = part * mesh->size[lay->cut[i].axis] +
               shard_coordinate(mesh, lay->cut[i].axis, number);
    return part;
}

/*
 * Where each device gets its part from: itself where that lies right, else one of those that have
 * it and do not keep it. As many devices have a part as are to have it, so each sends once.
 */
static void find_sources(const struct shard_mesh *mesh, const struct shard_lay *from,
                         const struct shard_lay *to, int64_t *source)
{
    int64_t *next = mem_alloc((size_t)mesh->devices * sizeof(*next));
    int64_t *first = mem_alloc((size_t)mesh->devices * sizeof(*first));

    for (int64_t n = 0; n < mesh->devices; n++)
        first[n] = -1;
    for (int64_t n = mesh->devices - 1; n >= 0; n--) {  /* lists of senders, by part */
        int64_t part = part_of(mesh, from, n);

        if (part == part_of(mesh, to, n))
            continue;
        next[n] = first[part];
        first[part] = n;
    }
    for (int64_t n = 0; n < mesh->devices; n++) {
        int64_t part = part_of(mesh, to, n);

        source[n] = part == part_of(mesh, from, n) ? n : first[part];
        if (source[n] != n)
            first[part] = next[source[n]];
    }
    mem_free(next);
    mem_free(first);
}

static int add_permute(struct shard_emitter *e, int x, const int64_t *pair, int64_t count)
{
    struct hlo_groups *g = arena_alloc(e->b->module->arena, sizeof(*g));

    *g = (struct hlo_groups){.pair = {(int)(2 * count), pair}, .channel_id = e->channel++};
    return add_collective(e,
                          (struct hlo_instruction){.op = OPCODE_COLLECTIVE_PERMUTE,
                                                   .type = HLO_TYPE(with_dim(e, x, 0, 1, 1)),
                                                   .detail = &(struct hlo_detail){.groups = g}},
                          x);
}

int shard_permute(struct shard_emitter *e, int x, const struct shard_lay *from,
                  const struct shard_lay *to)
{
    int64_t devices = e->mesh->devices;
    int64_t *pair = arena_array(e->b->module->arena, (size_t)devices * 2, sizeof(*pair));
    int64_t *source = mem_alloc((size_t)devices * sizeof(*source));

    find_sources(e->mesh, from, to, source);
    for (int64_t n = 0; n < devices; n++) {
        pair[2 * n] = e->mesh->device[source[n]];
        pair[2 * n + 1] = e->mesh->device[n];
    }
    mem_free(source);
    return add_permute(e, x, pair, devices);
}

int shard_send(struct shard_emitter *e, int x, const struct shard_axes *axes,
               const int64_t *sender)
{
    int64_t parts = shard_axes_size(e->mesh, axes), count = 0;
    int64_t *pair = arena_array(e->b->module->arena, (size_t)e->mesh->devices * 2, sizeof(*pair));

    for (int64_t n = 0; n < e->mesh->devices; n++)
        for (int64_t i = 0; i < parts && is_first(e->mesh, axes, n); i++) {
            if (sender[i] < 0)
                continue;
            pair[2 * count] = member(e->mesh, axes, n, sender[i]);
            pair[2 * count++ + 1] = member(e->mesh, axes, n, i);
        }
    return add_permute(e, x, pair, count);
}

/* ----- sums of parts that are not all there */

/* the lowest or highest value of an integer type */
static int64_t integer_end(enum hlo_element element, bool is_high)
{
    int bits = hlo_element_bits(element);

    if (hlo_element_kind(element) == ELEMENT_KIND_UNSIGNED)
        return !is_high ? 0 : bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1);
    return is_high ? (int64_t)(((uint64_t)1 << (bits - 1)) - 1) :
                     -(int64_t)(((uint64_t)1 << (bits - 1)) - 1) - 1;
}

int shard_identity(struct shard_emitter *e, enum hlo_opcode sum, enum hlo_element element)
{
    struct hlo_type t = hlo_scalar_type(element);
    bool is_low = sum == OPCODE_MAXIMUM;

    if (sum == OPCODE_MULTIPLY)
        return hlo_constant(e->b, &t, 1);
    if (sum == OPCODE_AND)
        return hlo_constant_int(e->b, &t, element == ELEMENT_PRED ? 1 : -1);
    if (sum != OPCODE_MAXIMUM && sum != OPCODE_MINIMUM)
        return hlo_constant_int(e->b, &t, 0);
    if (hlo_element_is_integer(element))
        return hlo_constant_int(e->b, &t, integer_end(element, !is_low));
    if (element == ELEMENT_PRED)
        return hlo_constant_int(e->b, &t, !is_low);
    return hlo_constant(e->b, &t, is_low ? -INFINITY : INFINITY);
}

int shard_mask_end(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes,
                   int64_t size, int value)
{
    struct hlo_type t = *hlo_type_of(e->b, x), at = t, bound;
    int index, end, is_within;

    at.element = ELEMENT_S32;
    at.layout = NULL;
    bound = at;
    index = hlo_iota(e->b, &at, dim);
    end = shard_s32(e, size);
    end = hlo_binary(e->b, OPCODE_SUBTRACT, end, shard_offset_of(e, axes, size));
    is_within = hlo_compare(e->b, HLO_LT, index, hlo_splat(e->b, end, &bound));
    return hlo_select(e->b, is_within, x, hlo_splat(e->b, value, &t));
}
