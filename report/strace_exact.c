/*
 * Sums out of records, to the cycle: every run, stall, copy and access that
 * overlaps an interval is counted with what lies in it.
 */
#include "report/strace_sums.h"

#include "sim/program.h"

struct exact {
    struct strace *t;
    const struct tally_program *program;
    struct tally tally;
    cycle_t from, end;
    cycle_t now;                        /* told up to here */
    bool has_begun;                     /* now >= from: sums count */
    uint64_t live;
    cycle_t live_at;
};

/* the launch that `at` lies in ends here */
static cycle_t launch_end(const struct strace *t, cycle_t at)
{
    for (size_t i = 0; i < t->info.launch_count; i++)
        if (at < t->info.launch[i].start + t->info.launch[i].cycles)
            return t->info.launch[i].start + t->info.launch[i].cycles;
    return STRACE_TIME_MOST;
}

static void begin(struct exact *x)
{
    memset(x->tally.value, 0, sizeof(x->tally.value));
    tally_carry(&x->tally, x->from);
    x->has_begun = true;
}

/* what is before the interval counts only for what units do in it */
static void part(struct exact *x, const struct trace_record *r)
{
    bool has_live = r->kind == TRACE_RUN && x->live_at == r->at;

    if (r->kind == TRACE_STALL) {
        x->tally.value[STRACE_CELL_STALL + r->reason] += r->value;
    } else if (has_live) {
        tally_live(&x->tally, x->program, r->bundle, x->live, r->at);
        tally_run(&x->tally, x->program, r->bundle + 1, r->value - 1, r->at + 1);
    } else if (r->kind == TRACE_RUN) {
        tally_run(&x->tally, x->program, r->bundle, r->value, r->at);
    }
    x->now = r->at + r->value;
}

static bool take_record(void *context, const struct trace_record *r,
                        const struct trace_repeat *repeat)
{
    struct exact *x = context;
    struct trace_record rest = *r;

    (void)repeat;
    if (r->kind == TRACE_LIVE) {
        x->live = (uint64_t)r->value;
        x->live_at = r->at;
    }
    if (r->kind != TRACE_RUN && r->kind != TRACE_STALL)
        return true;
    if (!x->program && r->kind == TRACE_RUN)
        return true;
    if (!x->has_begun && r->at < x->from && r->at + r->value > x->from) {
        rest.value = x->from - r->at;
        part(x, &rest);
        rest.bundle += r->kind == TRACE_RUN ? (uint32_t)rest.value : 0;
        rest.value = r->value - rest.value;
        rest.at = x->from;
    }
    if (!x->has_begun && rest.at >= x->from)
        begin(x);
    part(x, &rest);
    return true;
}

/* units are free when a launch begins; what they still did after the one before does not count */
static void take_state(void *context, const cycle_t until[MACHINE_UNIT_MAX])
{
    struct exact *x = context;
    cycle_t end = launch_end(x->t, x->now - 1);

    if (x->has_begun)
        tally_cut(&x->tally, end < x->end ? end : x->end);
    memset(x->tally.busy_until, 0, sizeof(x->tally.busy_until));
    for (int i = 0; i < MACHINE_UNIT_MAX; i++) {
        x->tally.busy_until[i] = until[i];
        x->tally.long_tracks |= until[i] ? 1u << i : 0;
    }
    if (x->has_begun)
        tally_carry(&x->tally, end < x->end ? end : x->end);
}

static void skip(void *context, cycle_t at, cycle_t by)
{
    struct exact *x = context;

    for (int i = 0; i < MACHINE_UNIT_MAX; i++)
        if (x->tally.busy_until[i] > at)
            x->tally.busy_until[i] += by;
}

void exact_core(struct strace *t, int core, cycle_t from, cycle_t end, int64_t *to)
{
    struct exact x = {.t = t, .from = from, .end = end, .now = 1, .live_at = -1};
    int64_t idle = end - from;
    cycle_t border;

    x.program = strace_program(t, core) ? &t->of_core[core]->tally : NULL;
    strace_replay(t, core, from, end, &(struct replay){
        .context = &x, .state = take_state, .record = take_record, .skip = skip,
        .from_chunk = true});
    if (!x.has_begun)
        begin(&x);
    border = launch_end(t, x.now - 1);
    tally_cut(&x.tally, border < end ? later(border, from) : end);
    for (int i = STRACE_CELL_STALL; i < STRACE_CELL_UNIT; i++)
        idle -= x.tally.value[i];
    x.tally.value[STRACE_CELL_IDLE] = idle - x.tally.value[STRACE_CELL_ISSUE];
    for (int i = 0; i < STRACE_CELL_COUNT; i++)
        to[i] += x.tally.value[i];
}

/* ---- copies, HBM, links ---- */

struct adding {
    int64_t *to;
    cycle_t from, end;
    int64_t mhz;
    cycle_t covered;                    /* copies were in flight up to here */
};

static void add(struct adding *a, const struct spread *s)
{
    cycle_t first = later(s->start, a->from), last = s->end < a->end ? s->end : a->end;

    if (first >= last)
        return;
    for (int i = 0; i < s->count; i++)
        a->to[s->member[i]] += share_of(s->value[i], last - s->start, s->end - s->start)
                               - share_of(s->value[i], first - s->start, s->end - s->start);
}

/* told in the order of issue, so that what is covered only grows */
static bool add_dma(void *context, const struct trace_dma *d)
{
    struct adding *a = context;
    struct spread flight = spread_of_flight(d), bytes = spread_of_bytes(d);
    cycle_t free_from = later(d->issued_at, a->covered);

    add(a, &flight);
    add(a, &bytes);
    if (d->done_at > free_from)
        add(a, &(struct spread){.start = free_from, .end = d->done_at, .count = 1,
                                .member = {STRACE_CELL_UNIT + TRACK_DMA},
                                .value = {d->done_at - free_from}});
    a->covered = later(a->covered, d->done_at);
    return true;
}

static bool add_hbm(void *context, const struct trace_hbm *h)
{
    struct adding *a = context;
    struct spread data = spread_of_hbm(h, a->mhz), row = spread_of_row(h, a->mhz);

    add(a, &data);
    add(a, &row);
    return true;
}

static bool add_link(void *context, const struct trace_link *l)
{
    struct adding *a = context;
    struct spread s = spread_of_link(l, a->mhz);

    add(a, &s);
    return true;
}

void exact_other(struct strace *t, enum strace_series series, int index, cycle_t from,
                 cycle_t end, int64_t *to)
{
    struct adding a = {.to = to, .from = from, .end = end, .mhz = t->meta.chip.chip_clock_mhz};

    switch (series) {
    case STRACE_CORE:
        strace_walk_dmas(t, index, from, end, add_dma, &a);
        break;
    case STRACE_HBM:
        strace_walk_hbm(t, index, from, end, add_hbm, &a);
        break;
    default:
        strace_walk_links(t, index, from, end, add_link, &a);
        break;
    }
}
