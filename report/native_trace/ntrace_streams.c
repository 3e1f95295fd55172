/*
 * Copies, accesses of HBM, uses of links. They are recorded in the order in
 * which they became known, and told in the order in which they began: those
 * that may still be preceded by one of a later chunk wait in a heap.
 */
#include "report/native_trace/ntrace_impl.h"

#include "sim/time/clock.h"

union item {
    struct trace_dma dma;
    struct trace_hbm hbm;
    struct trace_link link;
};

struct waiting {
    int64_t begins;
    uint64_t number;                    /* order of the file, among equal times */
    union item item;
};

struct stream_walk {
    enum ntrace_chunk_kind kind;
    int64_t from, end;                  /* cycles, of HBM and links picoseconds */
    struct waiting *heap;
    size_t count, capacity;
    uint64_t number;
    void *fn_context;
    ntrace_dma_fn *dma;
    ntrace_hbm_fn *hbm;
    ntrace_link_fn *link;
};

static bool precedes(const struct waiting *a, const struct waiting *b)
{
    return a->begins != b->begins ? a->begins < b->begins : a->number < b->number;
}

static void push(struct stream_walk *w, const struct waiting *n)
{
    size_t i = w->count++;

    w->heap = mem_grow(w->heap, &w->capacity, w->count, sizeof(*w->heap));
    for (; i && precedes(n, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = *n;
}

static void pop(struct stream_walk *w)
{
    struct waiting last = w->heap[--w->count];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < w->count; i = child) {
        child += child + 1 < w->count && precedes(&w->heap[child + 1], &w->heap[child]);
        if (!precedes(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
}

static bool tell(const struct stream_walk *w, const union item *i)
{
    switch (w->kind) {
    case CHUNK_DMAS: return w->dma(w->fn_context, &i->dma);
    case CHUNK_HBM: return w->hbm(w->fn_context, &i->hbm);
    default: return w->link(w->fn_context, &i->link);
    }
}

/* what begins before `before`; false when the walk is over */
static bool tell_until(struct stream_walk *w, int64_t before)
{
    while (w->count && w->heap[0].begins < before) {
        union item first = w->heap[0].item;

        pop(w);
        if (!tell(w, &first))
            return false;
    }
    return true;
}

static bool get(struct stream_walk *w, struct ntrace_cursor *in, union item *i, int64_t *begins,
                int64_t *ends)
{
    bool is_there;

    switch (w->kind) {
    case CHUNK_DMAS:
        is_there = ntrace_get_dma(in, &i->dma);
        *begins = i->dma.issued_at;
        *ends = i->dma.done_at;
        return is_there;
    case CHUNK_HBM:
        is_there = ntrace_get_hbm(in, &i->hbm);
        *begins = trace_hbm_begins_at(&i->hbm);
        *ends = i->hbm.end_at;
        return is_there;
    default:
        is_there = ntrace_get_link(in, &i->link);
        *begins = i->link.start;
        *ends = i->link.end;
        return is_there;
    }
}

static void take_chunk(struct ntrace *t, struct stream_walk *w, struct ntrace_chunk *c)
{
    struct ntrace_loaded *l = ntrace_use(t, c);
    struct waiting n;
    struct ntrace_cursor in;
    int64_t ends;

    if (!l)
        return;
    memset(&n, 0, sizeof(n));
    in = (struct ntrace_cursor){.at = l->data, .end = l->data + c->head.bytes};
    while (get(w, &in, &n.item, &n.begins, &ends)) {
        n.number = w->number++;
        if (n.begins < w->end && (ends > w->from || (ends == n.begins && ends == w->from)))
            push(w, &n);
    }
    ntrace_unuse(t, l);
    if (in.is_bad)
        ntrace_tell_bad(t, c, "its records make no sense");
}

/* the edge of a cycle, which a damaged file may put beyond any picosecond */
static ps_t edge_of(int64_t mhz, cycle_t cycle)
{
    cycle_t most = NTRACE_TIME_MOST / CLOCK_PS_PER_US * mhz;

    return clock_edge_ps(mhz, cycle < most ? cycle : most);
}

static void walk(struct ntrace *t, struct stream_walk *w, int stream, cycle_t from, cycle_t end)
{
    const struct ntrace_group *g = ntrace_group(t, w->kind, 0, stream);
    int64_t mhz = t->meta.chip.chip_clock_mhz;
    bool is_in_ps = w->kind != CHUNK_DMAS, goes_on = true;

    if (!g || from >= end)
        return;
    from = later(from, 0);
    w->from = is_in_ps ? edge_of(mhz, from) : from;
    w->end = is_in_ps ? edge_of(mhz, end) : end;
    for (size_t i = ntrace_first_chunk(g, from); i < g->count && goes_on; i++) {
        cycle_t first = g->chunk[i]->head.first;

        if (first >= end)
            break;
        goes_on = tell_until(w, is_in_ps ? edge_of(mhz, first) : first);
        if (goes_on && g->chunk[i]->head.last >= from)
            take_chunk(t, w, g->chunk[i]);
    }
    if (goes_on)
        tell_until(w, INT64_MAX);
    mem_free(w->heap);
}

void ntrace_walk_dmas(struct ntrace *t, int core, cycle_t from, cycle_t end, ntrace_dma_fn *fn,
                      void *context)
{
    walk(t, &(struct stream_walk){.kind = CHUNK_DMAS, .dma = fn, .fn_context = context}, core,
         from, end);
}

void ntrace_walk_hbm(struct ntrace *t, int chip, cycle_t from, cycle_t end, ntrace_hbm_fn *fn,
                     void *context)
{
    walk(t, &(struct stream_walk){.kind = CHUNK_HBM, .hbm = fn, .fn_context = context}, chip,
         from, end);
}

void ntrace_walk_links(struct ntrace *t, int link, cycle_t from, cycle_t end, ntrace_link_fn *fn,
                       void *context)
{
    walk(t, &(struct stream_walk){.kind = CHUNK_LINKS, .link = fn, .fn_context = context}, link,
         from, end);
}
