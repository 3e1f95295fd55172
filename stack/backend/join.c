/*
 * Blocks that run one behind the other become one, so that the scheduler can lay what one waits for
 * over the work of the next: it never moves code across blocks. A block ends where something jumps,
 * from there or to there, where finished bundles or a loop's latches stand, and where it would be too
 * long: all of a block is scheduled with one look-ahead.
 *
 * Two things hold between blocks and not within one. Memory may be lent again, so that two regions are
 * the same rows: in a block that has been joined such regions become one. And a pinned register is kept
 * over whole blocks: where too many were, blocks stay apart.
 */
#include <string.h>

#include "stack/backend/backend.h"

#define OPS_MAX 768
#define PINNED_MAX (BACKEND_PINNED_MAX - 2)     /* one block's are not always the fewest registers */

struct joining {
    struct vcode *c;
    const struct vcode_room *room;
    int room_count;
    size_t *to;                         /* by block: what it has become */
    bool *is_target;                    /* by block: code that was left out goes on here */
    struct pin_range *pin;              /* of all pinned registers that are named */
    int pin_count;
    int *seen, seen_count;              /* regions of a block, */
    int *same;                          /* and by region the one it has become; -1: itself */
};

/* ----- what may become one */

static bool pins_suffice(const struct joining *j, size_t first, size_t last)
{
    int count = 0;

    for (int i = 0; i < j->pin_count; i++)
        count += j->pin[i].first <= (int)last && j->pin[i].last >= (int)first;
    return count <= PINNED_MAX;
}

/* operations of block `number` may stand behind those of a, which has been all from `first` on */
static bool may_join(const struct joining *j, const struct vcode_block *a, size_t first,
                     size_t number)
{
    const struct vcode_block *b = &j->c->block[number];

    if (a->is_loop_end || a->skip_to || a->bundles || a->is_latch || b->is_loop_start ||
        b->bundles || b->is_latch || j->is_target[number])
        return false;
    if (a->is_loop_start && b->is_loop_end)     /* a loop of several blocks stays one */
        return false;
    return a->op_count + b->op_count <= OPS_MAX && pins_suffice(j, first, number);
}

static void join(struct vcode_block *a, struct vcode_block *b)
{
    a->op = mem_grow(a->op, &a->op_capacity, a->op_count + b->op_count, sizeof(*a->op));
    if (b->op_count)
        memcpy(a->op + a->op_count, b->op, b->op_count * sizeof(*b->op));
    a->op_count += b->op_count;
    mem_free(b->op);
    a->skip_pred = b->skip_pred;
    a->skip_to = b->skip_to;
    a->is_loop_end = b->is_loop_end;
    a->step_count = b->step_count;
    if (b->is_loop_end)
        a->counter_sreg = b->counter_sreg;
}

/* ----- regions that are the same rows */

static bool has_room(const struct joining *j, int region)
{
    return region >= 0 && region < j->room_count && j->room[region].rows;
}

static int region_of(const struct joining *j, int region)
{
    while (j->same[region] >= 0)
        region = j->same[region];
    return region;
}

static void see(struct joining *j, int region)
{
    const struct vcode_room *room = &j->room[region];

    for (int i = 0; i < j->seen_count; i++)
        if (j->seen[i] == region)
            return;
    for (int i = 0; i < j->seen_count; i++) {
        const struct vcode_room *other = &j->room[j->seen[i]];
        int a = region_of(j, region), b = region_of(j, j->seen[i]);

        if (a != b && room->row < other->row + other->rows && other->row < room->row + room->rows)
            j->same[a] = b;
    }
    j->seen[j->seen_count++] = region;
}

static void unite_regions(struct joining *j, struct vcode_block *b)
{
    j->seen_count = 0;
    for (size_t i = 0; i < b->op_count; i++)
        if (has_room(j, b->op[i].region))
            see(j, b->op[i].region);
    for (size_t i = 0; i < b->op_count; i++)
        if (has_room(j, b->op[i].region))
            b->op[i].region = region_of(j, b->op[i].region);
    for (int i = 0; i < j->seen_count; i++)
        j->same[j->seen[i]] = -1;
}

/* ----- all blocks */

static void find_targets(struct joining *j)
{
    for (size_t i = 0; i < j->c->block_count; i++)
        if (j->c->block[i].skip_to)
            j->is_target[j->c->block[i].skip_to] = true;
}

static void rename_blocks(struct joining *j)
{
    struct vcode *c = j->c;

    for (size_t i = 0; i < c->block_count; i++)
        if (c->block[i].skip_to)
            c->block[i].skip_to = j->to[c->block[i].skip_to];
    for (size_t i = 0; i < c->remark_count; i++)
        c->remark[i].block = j->to[c->remark[i].block];
}

static void join_all(struct joining *j)
{
    struct vcode *c = j->c;
    size_t count = 0, first = 0;
    bool is_joined = false;

    for (size_t i = 0; i < c->block_count; i++) {
        if (count && may_join(j, &c->block[count - 1], first, i)) {
            join(&c->block[count - 1], &c->block[i]);
            is_joined = true;
        } else {
            if (is_joined)
                unite_regions(j, &c->block[count - 1]);
            c->block[count++] = c->block[i];
            first = i;
            is_joined = false;
        }
        j->to[i] = count - 1;
    }
    if (is_joined)
        unite_regions(j, &c->block[count - 1]);
    c->block_count = count;
}

void vcode_join_blocks(struct vcode *c, const struct vcode_room *room, int room_count)
{
    struct joining j = {.c = c, .room = room, .room_count = room_count,
                        .to = mem_alloc((c->block_count + 1) * sizeof(size_t)),
                        .is_target = mem_alloc((c->block_count + 1) * sizeof(bool)),
                        .seen = mem_alloc(((size_t)room_count + 1) * sizeof(int)),
                        .same = mem_alloc(((size_t)room_count + 1) * sizeof(int))};

    for (int i = 0; i < room_count; i++)
        j.same[i] = -1;
    j.pin = pins_ranges(c, &j.pin_count);
    find_targets(&j);
    join_all(&j);
    rename_blocks(&j);
    mem_free(j.to);
    mem_free(j.is_target);
    mem_free(j.seen);
    mem_free(j.same);
    mem_free(j.pin);
}
