/*
 * What travels in a step: the same run of every block in a box of blocks, cut
 * into chunks along the outermost dim that makes them small enough. Parts of
 * one cut differ by at most an item, so nothing need divide.
 */
#include "stack/collective/collective_impl.h"

#include <assert.h>

#include "base/units.h"

int64_t plan_box_bytes(const struct collective_plan *p, const struct plan_box *x)
{
    int64_t bytes = x->run_bytes;

    for (int i = 0; i < x->dim_count; i++)
        bytes *= p->dim[x->dim[i]].count;
    return bytes;
}

void plan_box_cut(const struct collective_plan *p, struct plan_box *x, int64_t chunk_bytes)
{
    int64_t inner = plan_box_bytes(p, x);

    assert(chunk_bytes >= PLAN_ROW_BYTES);
    x->outer = 1;
    for (x->level = 0; x->level < x->dim_count; x->level++) {
        int64_t item_bytes;

        x->items = p->dim[x->dim[x->level]].count;
        item_bytes = inner / x->items;
        if (item_bytes <= chunk_bytes) {
            x->per_outer = div_up(x->items, chunk_bytes / item_bytes);
            return;
        }
        x->outer *= x->items;
        inner = item_bytes;
    }
    x->items = div_up(x->run_bytes, PLAN_ROW_BYTES);
    x->per_outer = div_up(x->items, chunk_bytes / PLAN_ROW_BYTES);
}

int64_t plan_box_chunk_count(const struct plan_box *x)
{
    return x->outer * x->per_outer;
}

void plan_box_chunk(const struct collective_plan *p, const struct plan_box *x, int64_t index,
                    struct plan_chunk *out)
{
    int64_t part = index % x->per_outer, outer = index / x->per_outer;
    int64_t low = part * x->items / x->per_outer;
    int64_t end = (part + 1) * x->items / x->per_outer;

    out->run_low = 0;
    out->run_bytes = x->run_bytes;
    for (int i = x->dim_count - 1; i >= 0; i--) {
        int count = p->dim[x->dim[i]].count;

        out->low[i] = i == x->level ? low : i < x->level ? outer % count : 0;
        out->count[i] = i == x->level ? end - low : i < x->level ? 1 : count;
        if (i < x->level)
            outer /= count;
    }
    if (x->level == x->dim_count) {
        int64_t run_end = end * PLAN_ROW_BYTES;

        out->run_low = low * PLAN_ROW_BYTES;
        out->run_bytes = (run_end < x->run_bytes ? run_end : x->run_bytes) - out->run_low;
    }
    out->bytes = out->run_bytes;
    for (int i = 0; i < x->dim_count; i++)
        out->bytes *= out->count[i];
}

int64_t plan_chunk_offset(const struct collective_plan *p, const struct plan_box *x,
                          const struct plan_chunk *c, int layout)
{
    int64_t offset = c->run_low;

    if (layout == LAYOUT_SLOT)
        return 0;
    for (int i = 0; i < x->dim_count; i++)
        offset += c->low[i] * p->layout[layout].stride[x->dim[i]];
    return offset;
}

/* bytes between neighbours along the box's dim `i` */
static int64_t stride_along(const struct collective_plan *p, const struct plan_box *x,
                            const struct plan_chunk *c, int layout, int i)
{
    int64_t stride = c->run_bytes;

    if (layout != LAYOUT_SLOT)
        return p->layout[layout].stride[x->dim[i]];
    for (int j = x->dim_count - 1; j > i; j--)
        stride *= c->count[j];
    return stride;
}

/* One more level outside those there are; what touches on both sides becomes one. */
static int put_level(struct plan_shape *s, int used, int64_t count, int64_t from, int64_t to)
{
    if (count == 1)
        return used;
    if (used == 0 && from == s->run_bytes && to == s->run_bytes) {
        s->run_bytes *= count;
        return 0;
    }
    if (used > 0 && from == s->level[used - 1].count * s->level[used - 1].from_stride &&
        to == s->level[used - 1].count * s->level[used - 1].to_stride) {
        s->level[used - 1].count *= count;
        return used;
    }
    assert(used < COLLECTIVE_LEVELS);
    s->level[used].count = count;
    s->level[used].from_stride = from;
    s->level[used].to_stride = to;
    return used + 1;
}

void plan_chunk_shape(const struct collective_plan *p, const struct plan_box *x,
                      const struct plan_chunk *c, int from_layout, int to_layout,
                      struct plan_shape *out)
{
    int used = 0;

    *out = plan_shape_of_run(c->run_bytes);
    for (int i = x->dim_count - 1; i >= 0; i--)
        used = put_level(out, used, c->count[i], stride_along(p, x, c, from_layout, i),
                         stride_along(p, x, c, to_layout, i));
}
