/*
 * Physical registers of pinned vector registers.
 *
 * One is kept over the blocks from the first to the last that names it. A loop
 * that contains one of them and not the whole range is kept too; a loop that
 * contains the whole range only when the register is read there before it is
 * written, for then its value comes from the round before.
 */
#include "stack/backend/backend.h"

#include <assert.h>
#include <string.h>


static void note_range(struct pin_range *r, int block, bool is_plain_write)
{
    if (r->first < 0) {
        r->first = block;
        r->is_carried = !is_plain_write;
    }
    r->last = block;
}

static void block_ranges(const struct vcode *c, int block, struct pin_range *range)
{
    const struct vcode_block *b = &c->block[block];

    for (size_t i = 0; i < b->op_count; i++) {
        struct depend_regs r;

        depend_regs_read(&b->op[i].op, &r);
        for (int k = 0; k < r.v_read_count; k++)
            if (c->is_pinned[r.v_read[k]])
                note_range(&range[r.v_read[k]], block, false);
        if (r.v_write >= 0 && c->is_pinned[r.v_write])
            note_range(&range[r.v_write], block, true);
    }
}

static void widen(struct pin_range *r, int loop_first, int loop_last)
{
    bool is_inside = r->first >= loop_first && r->last <= loop_last;

    if (r->first < 0 || r->first > loop_last || r->last < loop_first)
        return;
    if (is_inside && !r->is_carried)
        return;
    r->first = loop_first < r->first ? loop_first : r->first;
    r->last = loop_last > r->last ? loop_last : r->last;
}

/* the block where the loop that ends with `end` starts; inner loops end first */
int pins_loop_start(const struct vcode *c, int end)
{
    int start = end;

    while (!c->block[start].is_loop_start ||
           c->block[start].counter_sreg != c->block[end].counter_sreg) {
        assert(start > 0);              /* a loop that ends has begun */
        start--;
    }
    return start;
}

static int choose_registers(const struct vcode *c, const struct chip *chip,
                            const struct pin_range *range, int *physical, uint64_t *taken,
                            struct err *e)
{
    for (int v = 0; v < c->vreg_count; v++) {
        uint64_t used = 0;
        int p = (int)chip->core_vregs - 1;

        if (!c->is_pinned[v] || range[v].first < 0)
            continue;
        for (int b = range[v].first; b <= range[v].last; b++)
            used |= taken[b];
        while (p >= 0 && used >> p & 1)
            p--;
        if (p < 0 || p < chip->core_vregs - BACKEND_PINNED_MAX)
            return err_set(e, "block \"%s\" needs more than %d pinned vector registers at once",
                           c->block[range[v].first].note ? c->block[range[v].first].note : "",
                           BACKEND_PINNED_MAX);
        physical[v] = p;
        for (int b = range[v].first; b <= range[v].last; b++)
            taken[b] |= 1ull << p;
    }
    return 0;
}

/* by virtual register */
static void find_ranges(const struct vcode *c, struct pin_range *range)
{
    for (int v = 0; v < c->vreg_count; v++)
        range[v].first = -1;
    for (int b = 0; b < (int)c->block_count; b++)
        block_ranges(c, b, range);
    for (int b = 0; b < (int)c->block_count; b++) {
        if (!c->block[b].is_loop_end)
            continue;
        for (int v = 0; v < c->vreg_count; v++)
            if (c->is_pinned[v])
                widen(&range[v], pins_loop_start(c, b), b);
    }
}

struct pin_range *pins_ranges(const struct vcode *c, int *count)
{
    struct pin_range *range = mem_alloc(((size_t)c->vreg_count + 1) * sizeof(*range));

    find_ranges(c, range);
    *count = 0;
    for (int v = 0; v < c->vreg_count; v++)
        if (range[v].first >= 0)
            range[(*count)++] = range[v];
    return range;
}

int registers_pin(const struct vcode *c, const struct chip *chip, struct arena *a,
                  int *physical, uint64_t *taken, struct err *e)
{
    struct pin_range *range = arena_array(a, (size_t)c->vreg_count, sizeof(*range));

    for (int v = 0; v < c->vreg_count; v++)
        physical[v] = -1;
    find_ranges(c, range);
    return choose_registers(c, chip, range, physical, taken, e);
}
