/*
 * Where the operands and allocations of a listing lie.
 *
 * Operands come first, then allocations. What a listing declares gets what it
 * declares; every other allocation gets an equal share of what is left, at
 * least what the listing is seen to reach.
 */
#include "isa/listing/listing_internal.h"

#include "base/units.h"

#define FIXED_SMEM_BYTES 512            /* below are the addresses that dumps call fixed */

/* One memory that is being filled. */
struct area {
    enum listing_space space;
    int64_t align_bytes, least_bytes, size_bytes, used_bytes;
};

/*
 * The first layout whose size is what copies and loads reach, else the
 * likeliest; a block of a grid says nothing of the whole.
 */
static void choose_layout(struct listing_operand *o)
{
    struct listing_layout layouts[LAYOUT_MAX];
    int count;

    o->layout = (struct listing_layout){ .bytes = 0 };
    if (!o->shape.elem_bits)
        return;
    count = listing_layouts(&o->shape, layouts);
    o->layout = layouts[0];
    for (int i = 0; i < count; i++)
        if (!o->is_reached_further && layouts[i].bytes == o->reached_bytes) {
            o->layout = layouts[i];
            return;
        }
}

static int does_not_fit(const struct listing *l, int line, int col, const struct area *area,
                        const char *what, int64_t bytes, struct err *e)
{
    return err_at(e, l->file, line, col, "%s takes %lld %s of %s; %lld of %lld are free", what,
                  (long long)bytes, area->space == SPACE_SFLAG ? "flags" : "bytes",
                  listing_space_name(area->space),
                  (long long)(area->size_bytes - area->used_bytes), (long long)area->size_bytes);
}

static int take(const struct listing *l, struct area *area, int line, int col, const char *what,
                int64_t bytes, int64_t *address, struct err *e)
{
    if (bytes < area->least_bytes)
        bytes = area->least_bytes;
    bytes = round_up(bytes, area->align_bytes);
    if (bytes > area->size_bytes - area->used_bytes)
        return does_not_fit(l, line, col, area, what, bytes, e);
    *address = area->used_bytes;
    area->used_bytes += bytes;
    return 0;
}

static int32_t value_at(enum listing_space space, int64_t address, bool is_granules)
{
    switch (space) {
    case SPACE_HBM: return (int32_t)(address / (is_granules ? GRANULE_BYTES : ROW_BYTES));
    case SPACE_VMEM: return (int32_t)(address / ROW_BYTES);
    default: return (int32_t)address;
    }
}

static int place_operands(struct listing *l, struct area *area, struct err *e)
{
    for (uint32_t i = 0; i < l->operand_count; i++) {
        struct listing_operand *o = &l->operand[i];
        int64_t bytes;

        if (o->space != area->space)
            continue;
        if (area->space == SPACE_SFLAG) {
            bytes = listing_elem_count(&o->shape);
        } else {
            choose_layout(o);
            bytes = o->layout.bytes > o->reached_bytes ? o->layout.bytes : o->reached_bytes;
        }
        if (o->alias >= 0 && l->operand[o->alias].layout.bytes >= o->layout.bytes)
            o->address = l->operand[o->alias].address;
        else if (take(l, area, o->line, o->col, "the operand", bytes, &o->address, e))
            return -1;
        o->value = value_at(o->space, o->address, o->counts_granules);
    }
    return 0;
}

static int64_t need_of(const struct listing_allocation *a, const struct area *area)
{
    int64_t bytes = a->bytes > area->least_bytes ? a->bytes : area->least_bytes;

    return round_up(bytes, area->align_bytes);
}

/*
 * The largest share such that all fit: what a declared allocation or a large
 * need takes is taken off first. 0 where even the needs do not fit.
 */
static int64_t share_of(const struct listing *l, const struct area *area)
{
    int64_t share = area->size_bytes;

    for (;;) {
        int64_t left = area->size_bytes - area->used_bytes, count = 0, next;

        for (uint32_t i = 0; i < l->allocation_count; i++) {
            const struct listing_allocation *a = &l->allocation[i];

            if (a->space != area->space || a->is_fixed)
                continue;
            if (a->is_declared || need_of(a, area) > share)
                left -= need_of(a, area);
            else
                count++;
        }
        if (left < 0 || count == 0)
            return 0;
        next = left / count / area->align_bytes * area->align_bytes;
        if (next >= share)
            return share;
        share = next;
    }
}

static int place_allocations(struct listing *l, struct area *area, struct err *e)
{
    int64_t share;

    for (uint32_t i = 0; i < l->allocation_count; i++)
        if (l->allocation[i].space == area->space && l->allocation[i].address >= area->size_bytes)
            l->allocation[i].is_fixed = false;
    share = area->space == SPACE_SFLAG ? 1 : share_of(l, area);

    for (uint32_t i = 0; i < l->allocation_count; i++) {
        struct listing_allocation *a = &l->allocation[i];
        int64_t bytes = need_of(a, area);

        if (a->space != area->space)
            continue;
        if (a->is_fixed) {
            a->value = value_at(a->space, a->address, false);
            continue;
        }
        if (!a->is_declared && bytes < share)
            bytes = share;
        if (take(l, area, a->line, a->col, a->name, bytes, &a->address, e))
            return -1;
        a->bytes = bytes;
        a->value = value_at(a->space, a->address, false);
    }
    return 0;
}

int listing_place(struct listing *l, const struct listing_memory *memory, struct err *e)
{
    struct area areas[] = {
        { SPACE_HBM, TILE_BYTES, TILE_BYTES, memory->hbm_bytes, 0 },
        { SPACE_VMEM, TILE_BYTES, TILE_BYTES, memory->vmem_bytes, 0 },
        { SPACE_SMEM, ROW_BYTES, ROW_BYTES, memory->smem_bytes, FIXED_SMEM_BYTES },
        { SPACE_SFLAG, 1, 1, memory->flag_count, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(areas); i++)
        if (place_operands(l, &areas[i], e) || place_allocations(l, &areas[i], e))
            return -1;
    for (uint32_t i = 0; i < l->operand_count; i++)
        if (l->operand[i].space == SPACE_VALUE || l->operand[i].space == SPACE_UNKNOWN)
            choose_layout(&l->operand[i]);
    return 0;
}
