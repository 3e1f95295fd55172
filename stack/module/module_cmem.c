/*
 * What lies in CMEM between kernels: the memory of a chip between HBM and VMEM (v4 alone has one),
 * which copies reach by ports of their own. Each core has its share of it.
 *
 * Temporaries that kernels' windows copy lie there, from the kernel that makes them to the last
 * that reads them, those first that are most read for each step that they stay. A kernel is the
 * same as with arrays in HBM but for what its copies are. Of both cores as one device each would
 * have a part of an array in its share, so nothing lies there.
 */
#include "stack/module/module_impl.h"

#include "stack/kernels/registry.h"

#include <stdlib.h>

static int64_t share_bytes(const struct module_settings *s)
{
    return s->megacore || s->kept ? 0 : s->chip->cmem_bytes / s->chip->chip_cores;
}

/* by buffer: something touches it that cannot where it lies in CMEM */
struct bans {
    const struct module_plan *plan;
    bool *is_banned;
    int *flows;                         /* by step: those before it that are flow or in a loop */
};

static void ban(struct bans *b, const struct module_value *v)
{
    b->is_banned[module_plan_buffer(b->plan, v) - b->plan->buffer] = true;
}

static bool takes_cmem(const struct module_step *s)
{
    const struct kernel_kind *kind = s->kind == STEP_KERNEL ? kernel_kind_of(s->body) : NULL;

    return kind && kind->takes_cmem;
}

/* scalars are read through SMEM, where no copy from CMEM leads */
static void find_bans(struct bans *b)
{
    const struct module_plan *p = b->plan;

    for (int i = 0; i < p->value_count; i++)
        if (p->value[i]->array.shape.rank == 0)
            ban(b, p->value[i]);
    for (int i = 0; i < p->step_count; i++) {
        const struct module_step *s = &p->step[i];
        bool takes = takes_cmem(s);

        b->flows[i + 1] = b->flows[i] + (s->kind != STEP_KERNEL || s->loop);
        for (int k = 0; k < s->operand_count && !takes; k++)
            ban(b, s->operand[k]);
        for (int k = 0; k < s->result_count && !takes; k++)
            ban(b, s->result[k]);
    }
}

static bool may_lie_there(const struct bans *bans, const struct module_buffer *b)
{
    return module_buffer_lives(b) && b->role == BUFFER_TEMPORARY && b->space == SPACE_HBM
           && !b->must_stay && !b->is_given && !bans->is_banned[b - bans->plan->buffer]
           && b->first >= 0 && b->last < bans->plan->step_count
           && bans->flows[b->last + 1] == bans->flows[b->first];
}

struct candidate {
    struct module_buffer *buffer;
    double gain;
};

static int better_first(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* those that may, the best first */
static int list_candidates(const struct module_plan *p, int64_t share, struct candidate *list)
{
    struct bans bans = {p, mem_alloc((size_t)p->buffer_count + 1),
                        mem_alloc(((size_t)p->step_count + 1) * sizeof(*bans.flows))};
    int count = 0;

    find_bans(&bans);
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffer[i].bytes <= share && may_lie_there(&bans, &p->buffer[i]))
            list[count++] = (struct candidate){&p->buffer[i], module_plan_gain(p, &p->buffer[i])};
    qsort(list, (size_t)count, sizeof(*list), better_first);
    mem_free(bans.is_banned);
    mem_free(bans.flows);
    return count;
}

void module_plan_cmem(struct module_plan *p, struct module *m)
{
    struct module_room r = {.end = share_bytes(p->settings)};
    struct candidate *list;
    int count;

    if (r.end == 0)
        return;
    r.placed = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*r.placed));
    list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
    count = list_candidates(p, r.end, list);
    for (int i = 0; i < count; i++)
        m->cmem_count += module_room_place(&r, list[i].buffer, SPACE_CMEM);
    mem_free(list);
    mem_free(r.placed);
}
