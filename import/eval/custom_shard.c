/*
 * Ways into regions that each device goes through with a part of its own, and back: a program whose
 * arrays are whole, on several devices, holds every whole array on each of them; inside such a
 * region a device has its tile.
 */
#include "import/eval/collective.h"
#include "import/eval/custom.h"

#include <string.h>

/* the tile of an array that a device has: its place in each dimension; false where it has none */
static bool tile_of(const struct hlo_sharding *s, int64_t device, int rank, int64_t *tile)
{
    for (int d = 0; d < rank; d++)
        tile[d] = 0;
    if (s->kind != HLO_TILED)
        return true;
    for (int k = 0; k < s->id.count; k++) {
        int64_t place = k;

        if (s->id.item[k] != device)
            continue;
        for (int d = s->tile.count; d-- > 0; place /= s->tile.item[d])
            if (d < rank)
                tile[d] = place % s->tile.item[d];
        return true;
    }
    return false;
}

/* part of `whole` at a tile <-> `part`, which at the end may reach beyond */
static void move_tile(struct value *whole, struct value *part, const int64_t *tile, bool is_out)
{
    struct stride_copy s = { .rank = whole->rank };
    int64_t *whole_step = is_out ? s.from_step : s.to_step, at = 0;
    size_t bytes = value_element_bytes(whole);
    char *place;

    value_strides(whole, whole_step);
    value_strides(part, is_out ? s.to_step : s.from_step);
    for (int d = 0; d < s.rank; d++) {
        int64_t start = tile[d] * part->dim[d], rest = whole->dim[d] - start;

        s.dim[d] = rest < 0 ? 0 : rest < part->dim[d] ? rest : part->dim[d];
        at += start * whole_step[d];
        if (s.dim[d] == 0)
            return;
    }
    place = (char *)whole->data + (size_t)at * bytes;
    stride_copy(s, bytes, is_out ? part->data : place, is_out ? place : part->data);
}

static int64_t own_number(const struct call *c, int device)
{
    return device % c->ev->s.partition_count;
}

static int no_tile(const struct call *c)
{
    return call_fail(c, "device %d has no part of %s; the program wants more partitions than %lld",
                     c->device, hlo_element_name(c->operand[0]->element),
                     (long long)c->ev->s.partition_count);
}

/* the operand's annotation says how it is cut */
int custom_full_to_shard(struct call *c)
{
    const struct hlo_instruction *from = &c->f->c->instruction[c->i->operand[0]];
    int64_t tile[EVAL_RANK_MAX];

    if (!hlo_detail(from)->sharding_count)
        return eval_same(c);
    if (call_result(c))
        return -1;
    if (!tile_of(&hlo_detail(from)->sharding[0], own_number(c, c->device), c->result->rank, tile))
        return no_tile(c);
    memset(c->result->data, 0, (size_t)value_count(c->result) * value_element_bytes(c->result));
    move_tile(c->operand[0], c->result, tile, true);
    return 0;
}

/* of one partition alone the devices of its own replica put their parts together */
int custom_shard_to_full(struct call *c)
{
    int64_t tile[EVAL_RANK_MAX], replica = c->device / c->ev->s.partition_count;

    if (!hlo_detail(c->i)->sharding_count)
        return eval_same(c);
    if (call_result(c))
        return -1;
    if (hlo_detail(c->i)->sharding[0].kind == HLO_TILED &&
        hlo_detail(c->i)->sharding[0].id.count > c->ev->s.partition_count)
        return no_tile(c);
    for (int k = 0; k < c->f->device_count; k++) {
        int device = c->f->device[k];
        struct value *part = *frame_value(c->f, k, c->i->operand[0]);

        if (device / c->ev->s.partition_count == replica &&
            tile_of(&hlo_detail(c->i)->sharding[0], own_number(c, device), part->rank, tile))
            move_tile(c->result, part, tile, false);
    }
    return 0;
}
