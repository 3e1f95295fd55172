/*
 * Ranks and where they stand: the dims of a plan are the axes of the group
 * (cores of a chip first), or one ring of all ranks.
 */
#include "stack/collective/collective_impl.h"

#include <assert.h>

#include "stack/collective/ring.h"

void plan_count_ranks(struct collective_plan *p, struct arena *a)
{
    const struct collective_request *r = &p->request;
    int stride = 1;

    p->cores_per_chip = r->slice->core_count / r->slice->chip_count;
    if (r->group) {
        plan_set_groups(p, a);
        return;
    }
    p->axis_count[0] = r->over_chips ? 1 : p->cores_per_chip;
    p->axis_stride[0] = 1;
    stride = p->cores_per_chip;
    p->rank_count = p->axis_count[0];
    for (int i = 0; i < 3; i++) {
        p->axis_count[i + 1] = r->axis[i] ? r->slice->dim[i] : 1;
        p->axis_stride[i + 1] = stride;
        stride *= r->slice->dim[i];
        p->rank_count *= p->axis_count[i + 1];
    }
}

/* 0 2 4 .. 5 3 1: no step of the ring is longer than two hops on a line */
static int folded_place(int position, int count)
{
    int evens = (count + 1) / 2;

    return position < evens ? 2 * position : 2 * (count - 1 - position) + 1;
}

static void set_dim(struct plan_dim *d, const int *place, const int *core, struct arena *a)
{
    int *position = arena_array(a, (size_t)d->count, sizeof(*position));

    for (int i = 0; i < d->count; i++)
        position[place[i]] = i;
    d->place = place;
    d->position = position;
    d->core = core;
}

/* Arrays of all blocks have them in rank order; one of a single block is that. */
static void set_strides(struct collective_plan *p)
{
    for (int i = 0; i < PLAN_DIMS; i++) {
        int64_t stride = p->dim[i].rank_stride * p->block_bytes;

        p->layout[LAYOUT_IN].stride[i] = p->arrays.in_bytes > p->block_bytes ? stride : 0;
        p->layout[LAYOUT_OUT].stride[i] = p->arrays.out_bytes > p->block_bytes ? stride : 0;
    }
}

void plan_set_axes(struct collective_plan *p, bool folds, struct arena *a)
{
    int rank_stride = 1;

    for (int i = 0; i < PLAN_DIMS; i++) {
        struct plan_dim *d = &p->dim[i];
        int *place = arena_array(a, (size_t)p->axis_count[i], sizeof(*place));
        int *core = arena_array(a, (size_t)p->axis_count[i], sizeof(*core));

        *d = (struct plan_dim){.count = p->axis_count[i], .rank_stride = rank_stride};
        d->is_chip_inside = i == 0 && !p->place_of;
        d->closes = i > 0 && p->slice.is_ring[i - 1];
        for (int c = 0; c < d->count; c++) {
            place[c] = folds && !d->closes ? folded_place(c, d->count) : c;
            core[c] = c * p->axis_stride[i];
        }
        set_dim(d, place, core, a);
        rank_stride *= d->count;
    }
    set_strides(p);
}

/* the one axis of chips that the group has, as 1..3; 0 if it has more or none */
static int only_axis(const struct collective_plan *p)
{
    int found = 0, count = 0;

    for (int i = 1; i < PLAN_DIMS; i++)
        if (p->axis_count[i] > 1) {
            found = i;
            count++;
        }
    return count == 1 ? found : 0;
}

static void order_ring(const struct collective_plan *p, int *place)
{
    struct slice group = {.chip_count = p->rank_count / p->axis_count[0],
                          .core_count = p->rank_count};
    int axis = only_axis(p), inside = p->axis_count[0];

    if (p->place_of) {
        plan_order_list(p, place);
        return;
    }
    for (int i = 0; i < 3; i++)
        group.dim[i] = p->axis_count[i + 1];
    ring_order(&group, place);
    if (axis > 0 && !p->slice.is_ring[axis - 1])
        for (int i = 0; i < p->rank_count; i++)
            place[i] = folded_place(i / inside, group.chip_count) * inside + i % inside;
}

static int core_of_rank(const struct collective_plan *p, int rank)
{
    int core = 0;

    for (int i = 0; i < PLAN_DIMS; i++) {
        core += rank % p->axis_count[i] * p->axis_stride[i];
        rank /= p->axis_count[i];
    }
    return core;
}

void plan_set_ring(struct collective_plan *p, bool in_rank_order, struct arena *a)
{
    struct plan_dim *d = &p->dim[0];
    int *place = arena_array(a, (size_t)p->rank_count, sizeof(*place));
    int *core = arena_array(a, (size_t)p->rank_count, sizeof(*core));
    int axis = only_axis(p);
    static const int zero = 0;

    *d = (struct plan_dim){.count = p->rank_count, .rank_stride = 1};
    d->closes = axis > 0 && p->axis_count[0] == 1 && p->slice.is_ring[axis - 1];
    if (!in_rank_order)
        order_ring(p, place);
    for (int i = 0; i < p->rank_count; i++) {
        if (in_rank_order)
            place[i] = i;
        core[i] = core_of_rank(p, i);
    }
    set_dim(d, place, core, a);
    for (int i = 1; i < PLAN_DIMS; i++)
        p->dim[i] = (struct plan_dim){.count = 1, .rank_stride = p->rank_count, .place = &zero,
                                      .position = &zero, .core = &zero};
    set_strides(p);
}

/* always somewhere */
static bool locate_on_axes(const struct collective_plan *p, int core, struct plan_rank *out)
{
    int chip = core / p->cores_per_chip, rank_stride = 1;
    int at[PLAN_DIMS] = {core % p->cores_per_chip};

    for (int i = 0; i < 3; i++) {
        at[i + 1] = chip % p->slice.dim[i];
        chip /= p->slice.dim[i];
    }
    out->rank = 0;
    out->base_core = core;
    for (int i = 0; i < PLAN_DIMS; i++)
        if (p->axis_count[i] > 1) {
            out->rank += at[i] * rank_stride;
            out->base_core -= at[i] * p->axis_stride[i];
            rank_stride *= p->axis_count[i];
        }
    return true;
}

void plan_locate(const struct collective_plan *p, int core, struct plan_rank *out)
{
    if (p->place_of ? !plan_locate_in_list(p, core, out) : !locate_on_axes(p, core, out))
        return;
    for (int i = 0; i < PLAN_DIMS; i++) {
        out->coordinate[i] = out->rank / p->dim[i].rank_stride % p->dim[i].count;
        out->position[i] = p->dim[i].position[out->coordinate[i]];
    }
}

static int plan_shift(const struct collective_plan *p, const int distance[PLAN_DIMS])
{
    int shift = 0;

    for (int i = PLAN_DIMS - 1; i >= 0; i--) {
        int count = p->dim[i].count;

        shift = shift * count + (distance[i] % count + count) % count;
    }
    return shift;
}

int plan_shift_along(const struct collective_plan *p, int dim, int distance)
{
    int all[PLAN_DIMS] = {0};

    all[dim] = distance;
    return plan_shift(p, all);
}

/* the coordinate along dim `i` of the rank at the shift's lowest digit, which is taken off */
static int shifted(const struct collective_plan *p, const struct plan_rank *r, int i, int *shift)
{
    const struct plan_dim *d = &p->dim[i];
    int distance = *shift % d->count, position = r->position[i] + distance;

    *shift /= d->count;
    return distance == 0 ? r->coordinate[i]
                         : d->place[position < d->count ? position : position - d->count];
}

static int plan_peer_in_list(const struct collective_plan *p, const struct plan_rank *r, int shift)
{
    int first = p->place_of[r->base_core];

    return p->request.group[first + (shift == PLAN_TO_ROOT ? p->root_coordinate[0]
                                                            : shifted(p, r, 0, &shift))];
}

int plan_peer(const struct collective_plan *p, const struct plan_rank *r, int shift)
{
    int core = r->base_core;

    if (p->place_of)
        return plan_peer_in_list(p, r, shift);
    if (shift == PLAN_TO_ROOT) {
        for (int i = 0; i < PLAN_DIMS; i++)
            core += p->dim[i].core[p->root_coordinate[i]];
        return core;
    }
    for (int i = 0; i < PLAN_DIMS; i++)
        core += p->dim[i].core[shifted(p, r, i, &shift)];
    return core;
}

int64_t plan_address(const struct collective_plan *p, const struct plan_rank *r, int layout,
                     uint8_t fixed, int shift)
{
    const struct plan_layout *l = &p->layout[layout];
    int64_t address = l->base;

    if (fixed == 0)
        return address;
    for (int i = 0; i < PLAN_DIMS; i++) {
        int coordinate = shifted(p, r, i, &shift);

        if (fixed >> i & 1)
            address += coordinate * l->stride[i];
    }
    return address;
}

bool plan_closes(const struct collective_plan *p)
{
    for (int i = 0; i < PLAN_DIMS; i++)
        if (p->dim[i].count > 1 && !p->dim[i].closes && !p->dim[i].is_chip_inside)
            return false;
    return true;
}
