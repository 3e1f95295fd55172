/* Shardings and groups of devices as messages: the short forms that their texts have are kept. */
#include "import/hlo_proto/hlo_proto.h"
#include "import/hlo_proto/write.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DIMS_MAX 64

/* "8,4" up to what is no number; how many */
static int scan_numbers(const char **at, int64_t *number)
{
    int count = 0;

    while (count < DIMS_MAX && (isdigit((unsigned char)**at) || **at == '-')) {
        char *end;

        number[count++] = strtoll(*at, &end, 10);
        *at = end + (*end == ',');
    }
    return count;
}

/* "<=[4,2]T(1,0)" somewhere in a text; false: it is not there */
static bool scan_iota(const char *text, int64_t *dim, int *dims, int64_t *turn, int *turns)
{
    const char *at = text ? strstr(text, "<=[") : NULL;

    if (!at || strstr(text, "mesh["))
        return false;
    at += strlen("<=[");
    *dims = scan_numbers(&at, dim);
    *turns = 0;
    if (strncmp(at, "]T(", 3) == 0) {
        at += 3;
        *turns = scan_numbers(&at, turn);
    }
    return *dims > 0;
}

static void put_iota(struct proto_writer *w, const int64_t *dim, int dims, const int64_t *turn,
                     int turns, size_t *n_dims, int64_t **to_dims, size_t *n_turns,
                     int32_t **to_turns)
{
    int64_t *d = arena_copy(w->arena, dim, (size_t)dims, sizeof(*d));
    int32_t *t = arena_array(w->arena, (size_t)dims, sizeof(*t));

    for (int i = 0; i < dims; i++)
        t[i] = (int32_t)(turns ? turn[i] : i);
    *n_dims = *n_turns = (size_t)dims;
    *to_dims = d;
    *to_turns = t;
}

static const int32_t type_codes[] = {[HLO_REPLICATED] = 0, [HLO_MANUAL] = 4, [HLO_UNKNOWN] = 5,
                                     [HLO_UNREDUCED] = 6, [HLO_MAXIMAL] = 1, [HLO_TILED] = 3};

static void put_tiles(struct proto_writer *w, const struct hlo_sharding *s,
                      HloWire__Sharding *made)
{
    int64_t dim[DIMS_MAX], turn[DIMS_MAX];
    int dims, turns;

    PROTO_PUT(w, made, tile_assignment_dimensions, s->tile);
    if (scan_iota(s->text, dim, &dims, turn, &turns))
        put_iota(w, dim, dims, turn, turns, &made->n_iota_reshape_dims, &made->iota_reshape_dims,
                 &made->n_iota_transpose_perm, &made->iota_transpose_perm);
    else
        PROTO_PUT(w, made, tile_assignment_devices, s->id);
    if (s->text && strstr(s->text, "last_tile_dim_replicate")) {
        made->replicate_on_last_tile_dim = true;
        return;
    }
    made->n_last_tile_dims = (size_t)s->subgroup.count;
    made->last_tile_dims = arena_array(w->arena, (size_t)s->subgroup.count, sizeof(int32_t));
    for (int i = 0; i < s->subgroup.count; i++)
        made->last_tile_dims[i] = type_codes[s->subgroup.item[i]];
}

static void put_group(const struct hlo_sharding *s, HloWire__Sharding *made)
{
    const char *as = s->text ? strstr(s->text, "shard_as ") : NULL;
    const char *like = s->text ? strstr(s->text, "shard_like ") : NULL;

    made->is_shard_group = as || like;
    made->shard_group_type = like != NULL;
    if (as || like)
        made->shard_group_id = strtoll(strchr(as ? as : like, ' '), NULL, 10);
}

static HloWire__Sharding *write_one(struct proto_writer *w, const struct hlo_sharding *s)
{
    HloWire__Sharding *made = PROTO_NEW(w, Sharding, SHARDING);
    struct hlo_ints one = {1, &s->device};

    made->type = type_codes[s->kind];
    if (s->kind == HLO_TILED)
        put_tiles(w, s, made);
    if (s->kind == HLO_MAXIMAL)
        PROTO_PUT(w, made, tile_assignment_devices, one);
    put_group(s, made);
    return made;
}

HloWire__Sharding *proto_write_shardings(struct proto_writer *w, int count,
                                         const struct hlo_sharding *s)
{
    HloWire__Sharding *made;

    if (count == 1)
        return write_one(w, s);
    made = PROTO_NEW(w, Sharding, SHARDING);
    made->type = 2;
    made->n_tuple_shardings = (size_t)count;
    made->tuple_shardings = PROTO_LIST(w, Sharding, count);
    for (int i = 0; i < count; i++)
        made->tuple_shardings[i] = write_one(w, &s[i]);
    return made;
}

const char *hlo_proto_write_sharding(const struct hlo_sharding *s, struct arena *a, size_t *count)
{
    struct proto_writer w = {.arena = a};
    const HloWire__Sharding *made = write_one(&w, s);
    uint8_t *bytes;

    *count = hlo_wire__sharding__get_packed_size(made);
    bytes = arena_alloc(a, *count + 1);
    hlo_wire__sharding__pack(made, bytes);
    return (const char *)bytes;
}

static void put_lists(struct proto_writer *w, const struct hlo_groups *g,
                      HloWire__Instruction *to)
{
    const int64_t *id = g->id.item;

    to->n_replica_groups = (size_t)g->size.count;
    to->replica_groups = PROTO_LIST(w, ReplicaGroup, g->size.count);
    for (int i = 0; i < g->size.count; id += g->size.item[i++]) {
        struct hlo_ints group = {(int)g->size.item[i], id};

        to->replica_groups[i] = PROTO_NEW(w, ReplicaGroup, REPLICA_GROUP);
        PROTO_PUT(w, to->replica_groups[i], replica_ids, group);
    }
}

void proto_write_groups(struct proto_writer *w, const struct hlo_groups *g,
                        HloWire__Instruction *to)
{
    int64_t dim[DIMS_MAX], turn[DIMS_MAX];
    int dims, turns;

    to->channel_id = g->channel_id;
    to->use_global_device_ids = g->use_global_ids;
    to->is_host_transfer = g->is_host_transfer;
    to->n_source_target_pairs = (size_t)g->pair.count / 2;
    to->source_target_pairs = PROTO_LIST(w, SourceTarget, g->pair.count / 2);
    for (int i = 0; i < g->pair.count / 2; i++) {
        to->source_target_pairs[i] = PROTO_NEW(w, SourceTarget, SOURCE_TARGET);
        to->source_target_pairs[i]->source = g->pair.item[2 * i];
        to->source_target_pairs[i]->target = g->pair.item[2 * i + 1];
    }
    if (g->size.count && scan_iota(g->text, dim, &dims, turn, &turns)) {
        HloWire__IotaGroups *made = PROTO_NEW(w, IotaGroups, IOTA_GROUPS);

        made->num_replica_groups = g->size.count;
        made->num_devices_per_group = g->size.item[0];
        put_iota(w, dim, dims, turn, turns, &made->n_iota_reshape_dims, &made->iota_reshape_dims,
                 &made->n_iota_transpose_perm, &made->iota_transpose_perm);
        to->iota_collective_device_list = made;
    } else {
        put_lists(w, g, to);
    }
}
