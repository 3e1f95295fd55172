/*
 * Which copy ended a wait is not recorded. A wait for a sync flag that a copy
 * ends is over when the copy is complete, so it is the last of those to the
 * waiting core that completed while it waited.
 */
#include "report/export/export_copies.h"

#include <stdlib.h>

struct gathering {
    struct export_copies *to;
    int core;
};

static bool gather_copy(void *context, const struct trace_dma *d)
{
    struct gathering *g = context;
    struct export_copies *c = g->to;

    MEM_ADD(c->copy, c->count, c->capacity) = (struct export_copy){.dma = *d, .core = g->core};
    return true;
}

static int compare_issue(const void *x, const void *y)
{
    const struct export_copy *a = x, *b = y;

    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    if (a->dma.issued_at != b->dma.issued_at)
        return a->dma.issued_at < b->dma.issued_at ? -1 : 1;
    return a->dma.number < b->dma.number ? -1 : a->dma.number > b->dma.number;
}

static int compare_done(const void *x, const void *y)
{
    const struct export_copy *const *a = x, *const *b = y;

    if ((*a)->dma.target != (*b)->dma.target)
        return (*a)->dma.target < (*b)->dma.target ? -1 : 1;
    if ((*a)->dma.done_at != (*b)->dma.done_at)
        return (*a)->dma.done_at < (*b)->dma.done_at ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

bool export_is_wait(enum stall_reason r)
{
    return r == STALL_HBM || r == STALL_ICI || r == STALL_CMEM;
}

struct matching {
    struct export_copies *copies;
    struct export_copy **by_done;
    size_t next;                        /* into by_done */
    int core;
};

/* stalls come in the order of time: copies that are behind are passed for good */
static bool match_wait(void *context, const struct trace_event *e)
{
    struct matching *m = context;
    struct export_copies *c = m->copies;
    struct export_copy *last = NULL;

    if (e->track != TRACK_IS_STALL || !export_is_wait((enum stall_reason)e->stall))
        return true;
    for (; m->next < c->count; m->next++) {
        struct export_copy *copy = m->by_done[m->next];

        if (copy->dma.target > m->core
            || (copy->dma.target == m->core && copy->dma.done_at > e->end))
            break;
        if (copy->dma.target == m->core && copy->dma.done_at >= e->start)
            last = copy;
    }
    if (!last)
        return true;
    last->flow = (uint64_t)(last - c->copy) + 1;
    MEM_ADD(c->wait, c->wait_count, c->wait_capacity) = (struct export_wait){
        m->core, e->start, last->flow};
    return true;
}

static void match_waits(struct export_run *r, struct export_copies *c)
{
    struct matching m = {.copies = c};

    m.by_done = mem_alloc((c->count + 1) * sizeof(struct export_copy *));
    for (size_t i = 0; i < c->count; i++)
        m.by_done[i] = &c->copy[i];
    qsort(m.by_done, c->count, sizeof(struct export_copy *), compare_done);
    for (m.core = 0; m.core < r->info->core_count; m.core++)
        if (export_has_core(r, m.core))
            ntrace_walk_core(r->t, m.core, r->options.first, r->end, false, false, match_wait,
                             &m);
    mem_free(m.by_done);
}

bool export_has_core(const struct export_run *r, int core)
{
    return (r->options.core < 0 || r->options.core == core) && ntrace_program(r->t, core);
}

void export_copies_gather(struct export_run *r, bool has_waits, struct export_copies *c)
{
    struct gathering g = {.to = c};

    *c = (struct export_copies){0};
    for (g.core = 0; g.core < r->info->core_count; g.core++)
        if (export_has_core(r, g.core))
            ntrace_walk_dmas(r->t, g.core, r->options.first, r->end, gather_copy, &g);
    if (c->count)
        qsort(c->copy, c->count, sizeof(*c->copy), compare_issue);
    if (has_waits && c->count)
        match_waits(r, c);
}

void export_copies_free(struct export_copies *c)
{
    mem_free(c->copy);
    mem_free(c->wait);
}

size_t export_copies_first(const struct export_copies *c, int core)
{
    size_t first = 0;

    while (first < c->count && c->copy[first].core < core)
        first++;
    return first;
}

size_t export_waits_first(const struct export_copies *c, int core)
{
    size_t first = 0;

    while (first < c->wait_count && c->wait[first].core < core)
        first++;
    return first;
}
