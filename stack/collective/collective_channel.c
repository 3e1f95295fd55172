/*
 * A step of a reduce-scatter waits for the chunk that comes from behind, adds
 * this rank's own to it, and sends the sum on; a step of an all-gather sends on
 * what came. Why no wait is for ever, docs/collectives.md: all ranks have the
 * same list, and every wait is for something that stands earlier in it.
 */
#include "stack/collective/collective_channel.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

/* One ring of a channel. A cell is a chunk of a step that is sent. */
struct phase {
    int stage, dim, direction, ring;    /* ring: ranks */
    bool is_gather;
    uint8_t fixed;                      /* dims along which the box stands at this rank's place */
    struct plan_box box;
    int64_t chunks, first_cell, cell_count, action_count;
    int credit_flag;
};

/* a chunk's part in a step: the index-th of its group */
struct turn {
    int64_t group, step, index;
};

struct channel {
    const struct plan_route *route;
    const struct collective_channel_mode *mode;
    int64_t offset, bytes;              /* its part of every block */
    int resident_layout;
    int phase_count;
    struct phase phase[2 * PLAN_DIMS];
    int64_t receive_slots, own_slots, slot_bytes;   /* in VMEM */
    int arrival_flag, own_flag, sent_flag;          /* first two: one per slot */

    /* where the writing of its list stands */
    int at_phase;
    struct turn turn, own_turn;         /* of the next action; of the own chunk loaded next */
    int64_t action, sent, consumed, own_used, own_loaded;
    int64_t clock;                      /* bytes moved, and what an action costs besides */
};

/* what an action costs beside its bytes, in bytes that a link moves meanwhile */
#define ACTION_BYTES 16384

static bool streams(const struct channel *f)
{
    return !f->mode->is_resident;
}

static struct plan_where slot_at(const struct channel *f, int64_t first, int64_t number)
{
    return (struct plan_where){.space = COLLECTIVE_VMEM,
        .offset = first + number % f->mode->slots * f->slot_bytes};
}

static bool is_resident_layout(int layout)
{
    return layout >= LAYOUT_VMEM;
}

/* chunk `c` of the box `distance` ring positions from this rank's, in an array */
static struct plan_where block_at(const struct plan_builder *b, const struct channel *f,
                                  const struct phase *l, const struct plan_chunk *c, int layout,
                                  int64_t distance)
{
    struct plan_where w = {.layout = (uint8_t)layout, .fixed = l->fixed};

    w.space = is_resident_layout(layout) ? COLLECTIVE_VMEM : COLLECTIVE_HBM;
    w.shift = plan_shift_along(b->plan, l->dim, (int)(distance % l->ring));
    w.offset = plan_chunk_offset(b->plan, &l->box, c, layout) +
               (is_resident_layout(layout) ? 0 : f->offset);
    return w;
}

/* Chunks go round in groups as equal as can be, none larger than half the slots. */
static int64_t group_count(const struct channel *f, const struct phase *l)
{
    return div_up(l->chunks, f->mode->group);
}

static int64_t group_first(const struct channel *f, const struct phase *l, int64_t group)
{
    return group * l->chunks / group_count(f, l);
}

static int64_t chunk_of_turn(const struct channel *f, const struct phase *l, const struct turn *t)
{
    return group_first(f, l, t->group) + t->index;
}

static bool ends_group(const struct channel *f, const struct phase *l, const struct turn *t)
{
    return chunk_of_turn(f, l, t) + 1 == group_first(f, l, t->group + 1);
}

/*
 * A group's last step only receives: the first step of the next group goes before it, so that
 * the link has something to do.
 */
static struct turn begin_step(const struct channel *f, const struct phase *l, int64_t group,
                              int64_t step)
{
    if (step == l->ring - 1 && group + 1 < group_count(f, l))
        return (struct turn){.group = group + 1};
    return (struct turn){.group = group, .step = step};
}

static struct turn next_action(const struct channel *f, const struct phase *l, struct turn t)
{
    if (!ends_group(f, l, &t))
        return (struct turn){t.group, t.step, t.index + 1};
    if (t.step == 0 && t.group > 0)
        return (struct turn){.group = t.group - 1, .step = l->ring - 1};
    if (t.step == l->ring - 1)
        return begin_step(f, l, t.group + 1, 1);
    return begin_step(f, l, t.group, t.step + 1);
}

/* this rank's own is not needed in the first step, which sends it */
static struct turn next_own(const struct channel *f, const struct phase *l, struct turn t)
{
    if (!ends_group(f, l, &t))
        return (struct turn){t.group, t.step, t.index + 1};
    if (t.step < l->ring - 1)
        return (struct turn){.group = t.group, .step = t.step + 1};
    return (struct turn){.group = t.group + 1, .step = 1};
}

/* this rank lets the one behind it send cell `cell`, if there is one */
static void grant(struct plan_builder *b, const struct channel *f, bool is_gather, int64_t cell,
                  int64_t count)
{
    for (int i = 0; i < f->phase_count; i++) {
        const struct phase *l = &f->phase[i];
        int64_t end = l->first_cell + l->cell_count, last = cell + count;

        if (l->is_gather != is_gather || cell >= end || last <= l->first_cell)
            continue;
        plan_build_signal(b, plan_shift_along(b->plan, l->dim, -l->direction), l->credit_flag,
                          (int)((last < end ? last : end) -
                                (cell > l->first_cell ? cell : l->first_cell)));
    }
}

/* Sends the next cell of phase `l` to the next rank's place `to`. */
static void send(struct plan_builder *b, struct channel *f, const struct phase *l,
                 const struct plan_where *from, const struct plan_where *to,
                 const struct plan_shape *shape, int source_flag)
{
    int arrival = f->arrival_flag + (int)(f->sent++ % f->mode->slots);

    plan_build_wait(b, l->credit_flag, 1);
    plan_build_send(b, from, to, shape, plan_shift_along(b->plan, l->dim, l->direction), arrival,
                    source_flag);
}

static void wait_arrival(struct plan_builder *b, struct channel *f, const struct plan_chunk *c)
{
    plan_build_wait(b, f->arrival_flag + (int)(f->consumed % f->mode->slots),
                    c->bytes / PLAN_GRANULE_BYTES);
}

static void grant_next(struct plan_builder *b, struct channel *f, const struct phase *l)
{
    grant(b, f, l->is_gather, f->consumed + f->mode->slots, 1);
    f->consumed++;
}

/* the own chunk that is used next after those loaded, into its slot once that is empty */
static void load_own(struct plan_builder *b, struct channel *f, const struct phase *l)
{
    int64_t slot = f->own_loaded % f->mode->slots;
    int flag = f->own_flag + (int)slot;
    struct plan_where from, to = slot_at(f, f->own_slots, slot);
    struct plan_chunk c;
    struct plan_shape shape;

    plan_box_chunk(b->plan, &l->box, chunk_of_turn(f, l, &f->own_turn), &c);
    from = block_at(b, f, l, &c, LAYOUT_IN, -l->direction * (f->own_turn.step + 1));
    plan_chunk_shape(b->plan, &l->box, &c, LAYOUT_IN, LAYOUT_SLOT, &shape);
    plan_build_wait_pending(b, flag);
    plan_build_copy(b, &from, &to, &shape, flag);
    f->own_loaded++;
    f->own_turn = next_own(f, l, f->own_turn);
}

/*
 * Loads a group ahead: its chunks arrive nearly together. No more, for loads take the HBM from
 * sends. Sends have the time of the other half of the slots to finish.
 */
static void prefetch(struct plan_builder *b, struct channel *f, const struct phase *l)
{
    int64_t uses = l->chunks * (l->ring - 1), phase_first = l->first_cell;
    int64_t ahead = l->chunks < f->mode->group ? l->chunks : f->mode->group;

    while (f->own_loaded < phase_first + uses && f->own_loaded <= f->own_used + ahead)
        load_own(b, f, l);
}

/* The first step: this rank's own goes out unchanged. */
static void reduce_first(struct plan_builder *b, struct channel *f, const struct phase *l,
                         const struct plan_chunk *c)
{
    int layout = streams(f) ? LAYOUT_IN : f->resident_layout;
    struct plan_where from = block_at(b, f, l, c, layout, -l->direction);
    struct plan_where to = slot_at(f, f->receive_slots, f->sent);
    struct plan_shape shape;

    plan_chunk_shape(b->plan, &l->box, c, layout, LAYOUT_SLOT, &shape);
    send(b, f, l, &from, &to, &shape, f->sent_flag);
}

/* The sum, in its own slot or at its place in VMEM. */
static struct plan_where reduce_sum(struct plan_builder *b, struct channel *f,
                                    const struct phase *l, const struct plan_chunk *c, int64_t step)
{
    struct plan_where from = slot_at(f, f->receive_slots, f->consumed), sum;

    if (streams(f)) {
        sum = slot_at(f, f->own_slots, f->own_used);
        plan_build_wait_pending(b, f->own_flag + (int)(f->own_used % f->mode->slots));
    } else {
        sum = block_at(b, f, l, c, f->resident_layout, -l->direction * (step + 1));
    }
    wait_arrival(b, f, c);
    plan_build_add(b, &from, &sum, c->bytes);
    grant_next(b, f, l);
    return sum;
}

/* The last sum of a phase is this rank's: to HBM, whence the next phase takes it. */
static void store_sum(struct plan_builder *b, struct channel *f, const struct phase *l,
                      const struct plan_chunk *c, const struct plan_where *sum, int flag)
{
    bool is_result = b->plan->request.kind == COLLECTIVE_REDUCE_SCATTER &&
                     l->stage == f->route->dim_count - 1;
    int layout = is_result ? LAYOUT_OUT : LAYOUT_IN;
    struct plan_where to = block_at(b, f, l, c, layout, 0);
    struct plan_shape shape;

    plan_chunk_shape(b->plan, &l->box, c, LAYOUT_SLOT, layout, &shape);
    plan_build_copy(b, sum, &to, &shape, flag);
}

static void reduce_action(struct plan_builder *b, struct channel *f, const struct phase *l,
                          const struct plan_chunk *c, int64_t step)
{
    int own = f->own_flag + (int)(f->own_used % f->mode->slots);
    struct plan_where sum, to;
    struct plan_shape shape;

    if (streams(f))
        prefetch(b, f, l);
    if (step == 0) {
        reduce_first(b, f, l, c);
        return;
    }
    sum = reduce_sum(b, f, l, c, step);
    if (step < l->ring - 1) {
        to = slot_at(f, f->receive_slots, f->sent);
        plan_chunk_shape(b->plan, &l->box, c, streams(f) ? LAYOUT_SLOT : f->resident_layout,
                         LAYOUT_SLOT, &shape);
        send(b, f, l, &sum, &to, &shape, streams(f) ? own : f->sent_flag);
    } else if (streams(f)) {
        store_sum(b, f, l, c, &sum, own);
    }
    f->own_used++;
}

static void gather_action(struct plan_builder *b, struct channel *f, const struct phase *l,
                          const struct plan_chunk *c, int64_t step)
{
    int to_layout = streams(f) ? LAYOUT_OUT : f->resident_layout, from_layout = to_layout;
    struct plan_where from, to;
    struct plan_shape shape;

    if (step > 0) {
        wait_arrival(b, f, c);
        grant_next(b, f, l);
    } else if (streams(f) && b->plan->request.kind == COLLECTIVE_ALL_GATHER && f->at_phase == 0) {
        from_layout = LAYOUT_IN;
    }
    if (step == l->ring - 1)
        return;
    from = block_at(b, f, l, c, from_layout, -l->direction * step);
    to = block_at(b, f, l, c, to_layout, -l->direction * step);
    plan_chunk_shape(b->plan, &l->box, c, from_layout, to_layout, &shape);
    send(b, f, l, &from, &to, &shape, f->sent_flag);
}

static void wait_own(struct plan_builder *b, const struct channel *f)
{
    for (int i = 0; i < f->mode->slots; i++)
        plan_build_wait_pending(b, f->own_flag + i);
}

/* The part between the arrays and VMEM: all blocks, or this rank's. */
static void move_part(struct plan_builder *b, const struct channel *f, bool is_load, bool only_own)
{
    int hbm = is_load ? LAYOUT_IN : LAYOUT_OUT;
    struct plan_box box = {.run_bytes = f->bytes};
    struct plan_chunk c;
    struct plan_shape shape;

    if (!only_own)
        for (int i = 0; i < f->route->dim_count; i++)
            box.dim[box.dim_count++] = f->route->dim[i];
    plan_box_cut(b->plan, &box, round_up(plan_box_bytes(b->plan, &box), PLAN_ROW_BYTES));
    if (box.dim_count == PLAN_DIMS) {   /* one level more than a copy has */
        box.per_outer = box.items;
        assert(box.level == 0);
    }
    for (int64_t i = 0; i < plan_box_chunk_count(&box); i++) {
        uint8_t fixed = only_own ? (1 << PLAN_DIMS) - 1 : 0;
        struct plan_where in_hbm = {.space = COLLECTIVE_HBM, .layout = (uint8_t)hbm,
                                    .fixed = fixed};
        struct plan_where in_vmem = {.space = COLLECTIVE_VMEM, .fixed = fixed,
                                     .layout = (uint8_t)f->resident_layout};

        plan_box_chunk(b->plan, &box, i, &c);
        in_hbm.offset = f->offset + plan_chunk_offset(b->plan, &box, &c, hbm);
        in_vmem.offset = plan_chunk_offset(b->plan, &box, &c, f->resident_layout);
        plan_chunk_shape(b->plan, &box, &c, is_load ? hbm : f->resident_layout,
                         is_load ? f->resident_layout : hbm, &shape);
        plan_build_copy(b, is_load ? &in_hbm : &in_vmem, is_load ? &in_vmem : &in_hbm, &shape,
                        f->own_flag);
    }
}

/* an all-gather's own block to its place among the others */
static void copy_own(struct plan_builder *b, const struct channel *f)
{
    struct plan_where from = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN, .offset = f->offset};
    struct plan_where to = {.space = COLLECTIVE_HBM, .layout = LAYOUT_OUT, .offset = f->offset,
                            .fixed = (1 << PLAN_DIMS) - 1};
    struct plan_shape shape = plan_shape_of_run(f->bytes);

    plan_build_copy(b, &from, &to, &shape, f->own_flag);
}

static void begin_channel(struct plan_builder *b, struct channel *f)
{
    bool only_gathers = b->plan->request.kind == COLLECTIVE_ALL_GATHER;

    grant(b, f, f->phase[0].is_gather, 0, f->mode->slots);
    if (!streams(f))
        move_part(b, f, true, only_gathers);
    else if (only_gathers)
        copy_own(b, f);
}

/*
 * What the phases before have stored must stand in HBM before the next reads it.
 * The all-gather's first credits wait until what it will write over is read.
 */
static void begin_phase(struct plan_builder *b, struct channel *f, const struct phase *l)
{
    bool turns = f->at_phase > 0 && l->is_gather && !f->phase[f->at_phase - 1].is_gather;

    f->turn = (struct turn){0};
    f->own_turn = (struct turn){.step = 1};
    if (f->at_phase > 0 || !streams(f))
        wait_own(b, f);
    if (!turns)
        return;
    plan_build_wait_pending(b, f->sent_flag);
    f->sent = f->consumed = 0;
    grant(b, f, true, 0, f->mode->slots);
}

static void end_channel(struct plan_builder *b, struct channel *f)
{
    if (!streams(f))
        move_part(b, f, false, b->plan->request.kind == COLLECTIVE_REDUCE_SCATTER);
    wait_own(b, f);
    plan_build_wait_pending(b, f->sent_flag);
}

/* Writes the channel's next action. */
static void advance(struct plan_builder *b, struct channel *f)
{
    struct phase *l = &f->phase[f->at_phase];
    struct plan_chunk c;

    if (f->action == 0)
        begin_phase(b, f, l);
    plan_box_chunk(b->plan, &l->box, chunk_of_turn(f, l, &f->turn), &c);
    if (l->is_gather)
        gather_action(b, f, l, &c, f->turn.step);
    else
        reduce_action(b, f, l, &c, f->turn.step);
    f->turn = next_action(f, l, f->turn);
    f->clock += c.bytes + ACTION_BYTES;
    if (++f->action < l->action_count)
        return;
    f->action = 0;
    if (++f->at_phase == f->phase_count)
        end_channel(b, f);
}

static void write_channels(struct plan_builder *b, struct channel *channels, int count)
{
    for (int i = 0; i < count; i++)
        begin_channel(b, &channels[i]);
    while (!b->is_full) {
        struct channel *next = NULL;

        for (int i = 0; i < count; i++)
            if (channels[i].at_phase < channels[i].phase_count &&
                (next == NULL || channels[i].clock < next->clock))
                next = &channels[i];
        if (next == NULL)
            return;
        advance(b, next);
    }
}

/* the box that goes round in stage `stage` of the channel: all dims behind it */
static struct plan_box stage_box(const struct channel *f, int stage)
{
    struct plan_box box = {.run_bytes = f->bytes};

    for (int i = stage + 1; i < f->route->dim_count; i++)
        box.dim[box.dim_count++] = f->route->dim[i];
    return box;
}

#define CHUNK_LEAST_BYTES (32 * KIB)    /* about what a link moves in the latency of a step */
#define CHUNK_MOST_BYTES (192 * KIB)    /* the time to fill a phase's first steps grows with it */

/*
 * As few chunks to a step as overlap needs, for each costs its own operations:
 * two, so that one is added while the other is on its way. One where two would
 * be small; more where they would be large.
 */
static int64_t chunk_of_step(const struct collective_channel_mode *m, int64_t step_bytes)
{
    int64_t chunk = later(round_up(step_bytes / 2, PLAN_ROW_BYTES), CHUNK_LEAST_BYTES);

    return m->is_chosen || chunk > m->chunk_bytes ? m->chunk_bytes : chunk;
}

static void add_phase(struct plan_builder *b, struct channel *f, int stage, bool is_gather)
{
    struct phase *l = &f->phase[f->phase_count], *before = f->phase_count ? l - 1 : NULL;

    *l = (struct phase){.stage = stage, .dim = f->route->dim[stage], .is_gather = is_gather,
                        .direction = f->route->direction[stage]};
    for (int i = 0; i <= stage; i++)
        l->fixed = (uint8_t)(l->fixed | 1 << f->route->dim[i]);
    l->ring = b->plan->dim[l->dim].count;
    l->box = stage_box(f, stage);
    plan_box_cut(b->plan, &l->box, chunk_of_step(f->mode, plan_box_bytes(b->plan, &l->box)));
    l->chunks = plan_box_chunk_count(&l->box);
    l->cell_count = l->chunks * (l->ring - 1);
    l->action_count = l->chunks * l->ring;
    if (before && before->is_gather == is_gather)
        l->first_cell = before->first_cell + before->cell_count;
    l->credit_flag = plan_build_flags(b, 1);
    f->phase_count++;
}

static void add_phases(struct plan_builder *b, struct channel *f)
{
    enum collective_kind kind = b->plan->request.kind;

    if (kind != COLLECTIVE_ALL_GATHER)
        for (int i = 0; i < f->route->dim_count; i++)
            add_phase(b, f, i, false);
    if (kind != COLLECTIVE_REDUCE_SCATTER)
        for (int i = f->route->dim_count - 1; i >= 0; i--)
            add_phase(b, f, i, true);
}

/* the largest chunk of any phase that goes through slots */
static int64_t slot_bytes(const struct plan_builder *b, const struct channel *f)
{
    int64_t most = 0;

    for (int i = 0; i < f->phase_count; i++) {
        struct plan_chunk c;

        for (int64_t j = 0; !f->phase[i].is_gather && j < f->phase[i].box.per_outer; j++) {
            plan_box_chunk(b->plan, &f->phase[i].box, j, &c);
            most = later(most, c.bytes);
        }
    }
    return round_up(most, PLAN_ROW_BYTES);
}

static void place_resident(struct plan_builder *b, struct channel *f, int layout)
{
    struct plan_layout *l = &b->plan->layout[layout];
    int64_t stride = f->bytes;

    f->resident_layout = layout;
    for (int i = f->route->dim_count - 1; i >= 0; i--) {
        l->stride[f->route->dim[i]] = stride;
        stride *= b->plan->dim[f->route->dim[i]].count;
    }
    l->base = plan_build_vmem(b, stride);
}

static void init_channel(struct plan_builder *b, struct channel *f, int layout)
{
    f->arrival_flag = plan_build_flags(b, (int)f->mode->slots);
    f->own_flag = plan_build_flags(b, (int)f->mode->slots);
    f->sent_flag = plan_build_flags(b, 1);
    add_phases(b, f);
    f->slot_bytes = slot_bytes(b, f);
    f->receive_slots = plan_build_vmem(b, f->mode->slots * f->slot_bytes);
    if (streams(f))
        f->own_slots = plan_build_vmem(b, f->mode->slots * f->slot_bytes);
    else
        place_resident(b, f, layout);
}

/*
 * A block is dealt out as evenly as it goes: in rows where it stays in VMEM, in
 * granules where it streams. No channel for less than a row, or four granules.
 */
static int deal_parts(const struct collective_plan *p, struct channel *channels,
                      const struct plan_route *routes, int route_count,
                      const struct collective_channel_mode *mode)
{
    int64_t unit = mode->is_resident ? PLAN_ROW_BYTES : PLAN_GRANULE_BYTES;
    int64_t units = p->block_bytes / unit, most = mode->is_resident ? units : units / 4;
    int count = most < 1 ? 1 : most < route_count ? (int)most : route_count;

    for (int i = 0; i < count; i++) {
        int64_t first = i * units / count, end = (i + 1) * units / count;

        channels[i] = (struct channel){.route = &routes[i], .mode = mode};
        channels[i].offset = first * unit;
        channels[i].bytes = (end - first) * unit;
    }
    return count;
}

/* of the largest step of any channel */
static int64_t step_bytes(const struct collective_plan *p, const struct channel *channels,
                          int count)
{
    int64_t most = 0;

    for (int i = 0; i < count; i++) {
        struct plan_box box = stage_box(&channels[i], 0);

        most = later(most, plan_box_bytes(p, &box));
    }
    return most;
}

/* what may be used of VMEM, and by how much a chunk may be large */
static int64_t chunk_limit(const struct collective_plan *p, int channel_count,
                           const struct collective_channel_mode *m)
{
    int64_t room = p->chip.vmem_bytes, slots = m->slots;

    if (m->is_resident)
        room -= p->block_bytes * p->rank_count;
    else
        slots *= 2;
    return room * 7 / 8 / (channel_count * slots) / PLAN_ROW_BYTES * PLAN_ROW_BYTES;
}

#define GROUP_LEAST 2                   /* while one is added, the other is on its way */
#define GROUP_MOST 8                    /* more would gain little */

/*
 * How many chunks go round together. Copies of one core take turns on a link and so end
 * together, and the time to the next send passes once for all of them: as many as VMEM holds
 * at full size, or at the size that was asked for, and the queue has places for, one for each
 * own slot and for a group's first step. A core may have to wait for a place in the queue even
 * so: copies end by themselves, so that is a delay and never for ever.
 */
static void choose_slots(const struct collective_plan *p, int channel_count,
                         struct collective_channel_mode *m)
{
    int64_t places = p->chip.dma_queue_depth / (3 * channel_count), chunk = CHUNK_MOST_BYTES;
    int64_t least = GROUP_LEAST;

    if (p->request.chunk_bytes > 0) {
        chunk = p->request.chunk_bytes;
        least = 1;
    }
    m->group = places < GROUP_MOST ? later(places, 1) : GROUP_MOST;
    m->slots = 2 * m->group;
    for (; m->group > least && chunk_limit(p, channel_count, m) < chunk; m->slots = 2 * m->group)
        m->group--;
}

/*
 * In VMEM all the way: if it holds the arrays twice over, all channels have rows to
 * move, and filling and emptying it takes less than what the steps save, whose
 * data HBM would have to write and read again.
 */
static void choose_regime(const struct collective_plan *p, int route_count,
                          struct collective_channel_mode *m)
{
    int64_t bytes = p->block_bytes * p->rank_count, steps = 0;
    double saved_ns;

    for (int i = 0; i < PLAN_DIMS; i++)
        steps += p->dim[i].count - 1;
    saved_ns = (double)(steps * (p->chip.dma_read_ns + p->chip.dma_write_ns));
    m->is_resident = p->block_bytes % PLAN_ROW_BYTES == 0 &&
                     p->block_bytes / PLAN_ROW_BYTES >= route_count &&
                     bytes <= p->chip.vmem_bytes / 2 &&
                     2 * (double)bytes / (double)p->chip.dma_core_gbps <= saved_ns;
}

/* A chunk larger than any step is the step. */
static int choose_chunk(struct collective_plan *p, const struct channel *channels, int count,
                        struct collective_channel_mode *m, struct err *e)
{
    int64_t limit = chunk_limit(p, count, m), step = step_bytes(p, channels, count);
    int64_t rows = later(round_up(step, PLAN_ROW_BYTES), PLAN_ROW_BYTES);

    m->is_chosen = p->request.chunk_bytes > 0;
    m->chunk_bytes = limit < CHUNK_MOST_BYTES ? limit : CHUNK_MOST_BYTES;
    if (m->is_chosen)
        m->chunk_bytes = p->request.chunk_bytes < rows ? p->request.chunk_bytes : rows;
    if (m->chunk_bytes > limit || m->chunk_bytes < PLAN_ROW_BYTES)
        return err_set(e,
                       "chunks of %lld bytes do not fit VMEM with %d channel%s; at most %lld bytes",
                       (long long)(m->is_chosen ? p->request.chunk_bytes : m->chunk_bytes), count,
                       count == 1 ? "" : "s", (long long)limit);
    m->chunk_bytes = chunk_of_step(m, step);
    p->request.chunk_bytes = m->chunk_bytes < step ? m->chunk_bytes : step;
    return 0;
}

int plan_channels(struct collective_plan *p, const struct plan_route *routes, int route_count,
                  struct arena *a, struct err *e)
{
    struct channel channels[CHANNELS_MAX];
    struct collective_channel_mode mode = {0};
    struct plan_builder b;
    int count;

    choose_regime(p, route_count, &mode);
    count = deal_parts(p, channels, routes, route_count, &mode);
    choose_slots(p, count, &mode);
    if (choose_chunk(p, channels, count, &mode, e))
        return -1;
    plan_build_begin(&b, p, a);
    for (int i = 0; i < count; i++)
        init_channel(&b, &channels[i], LAYOUT_VMEM + i);
    write_channels(&b, channels, count);
    return plan_build_end(&b, e);
}
