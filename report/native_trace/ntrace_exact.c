/*
 * Sums out of records, to the cycle: every run, stall, copy and access that
 * overlaps an interval is counted with what lies in it.
 */
#include "report/native_trace/ntrace_sums.h"

#include "sim/core/program.h"

struct exact {
    struct ntrace *t;
    const struct ntrace_tally_program *program;
    struct ntrace_tally tally;          /* of the interval that `now` lies in */
    const struct ntrace_bins *bins;
    size_t bin;                         /* number of that interval, */
    cycle_t bin_end;                    /* and its end */
    bool has_begun;                     /* now >= bins->from: sums count */
    cycle_t now;                        /* told up to here */
    uint64_t live;
    cycle_t live_at;
};

/* the launch that `at` lies in ends here */
static cycle_t launch_end(const struct ntrace *t, cycle_t at)
{
    for (size_t i = 0; i < t->info.launch_count; i++)
        if (at < t->info.launch[i].start + t->info.launch[i].cycles)
            return t->info.launch[i].start + t->info.launch[i].cycles;
    return NTRACE_TIME_MOST;
}

static void begin(struct exact *x)
{
    memset(x->tally.value, 0, sizeof(x->tally.value));
    ntrace_tally_carry(&x->tally, x->bins->from);
    x->has_begun = true;
}

static void next_bin(struct exact *x)
{
    int64_t *to = x->bins->to + x->bin * NTRACE_CELL_COUNT, *value = x->tally.value;
    cycle_t end = x->bin_end < x->t->info.cycles ? x->bin_end : x->t->info.cycles;
    int64_t idle = end - (x->bin_end - x->bins->width);

    ntrace_tally_cut(&x->tally, x->bin_end);
    for (int i = NTRACE_CELL_STALL; i < NTRACE_CELL_UNIT; i++)
        idle -= value[i];
    value[NTRACE_CELL_IDLE] = later(idle - value[NTRACE_CELL_ISSUE], 0);
    for (int i = 0; i < NTRACE_CELL_COUNT; i++)
        to[i] += value[i];
    memset(value, 0, sizeof(x->tally.value));
    ntrace_tally_carry(&x->tally, x->bin_end);
    x->bin++;
    x->bin_end += x->bins->width;
}

static void advance(struct exact *x, cycle_t at)
{
    while (x->bin < x->bins->count && x->bin_end <= at)
        next_bin(x);
}

static void part(struct exact *x, const struct trace_record *r)
{
    if (r->kind == TRACE_STALL) {
        x->tally.value[NTRACE_CELL_STALL + r->reason] += r->value;
    } else if (x->live_at == r->at) {
        ntrace_tally_live(&x->tally, x->program, r->bundle, x->live, r->at);
        ntrace_tally_run(&x->tally, x->program, r->bundle + 1, r->value - 1, r->at + 1);
    } else {
        ntrace_tally_run(&x->tally, x->program, r->bundle, r->value, r->at);
    }
    x->now = r->at + r->value;
}

/* the first `cycles` of what is left of a record */
static void take_part(struct exact *x, struct trace_record *rest, int64_t cycles)
{
    struct trace_record first = *rest;

    first.value = cycles;
    part(x, &first);
    rest->at += cycles;
    rest->value -= cycles;
    rest->bundle += rest->kind == TRACE_RUN ? (uint32_t)cycles : 0;
}

/* what comes before the intervals counts only for what units do in them */
static bool take_record(void *context, const struct trace_record *r,
                        const struct trace_repeat *repeat)
{
    struct exact *x = context;
    struct trace_record rest = *r;
    cycle_t from = x->bins->from;

    (void)repeat;
    if (r->kind == TRACE_LIVE) {
        x->live = (uint64_t)r->value;
        x->live_at = r->at;
    }
    if (r->kind != TRACE_STALL && (r->kind != TRACE_RUN || !x->program))
        return true;
    if (!x->has_begun && rest.at < from)
        take_part(x, &rest, rest.at + rest.value < from ? rest.value : from - rest.at);
    if (rest.value > 0 && !x->has_begun)
        begin(x);
    while (rest.value > 0 && x->bin < x->bins->count) {
        advance(x, rest.at);
        if (x->bin < x->bins->count)
            take_part(x, &rest, rest.at + rest.value < x->bin_end ? rest.value
                                                                  : x->bin_end - rest.at);
    }
    return x->bin < x->bins->count;
}

/* units are free when a launch begins; what they still did after the one before does not count */
static void end_launch(struct exact *x, cycle_t end)
{
    if (!x->has_begun && end > x->bins->from)
        begin(x);
    if (x->has_begun) {
        advance(x, end);
        ntrace_tally_cut(&x->tally, end);
    }
    memset(x->tally.busy_until, 0, sizeof(x->tally.busy_until));
}

static void take_state(void *context, cycle_t at, const cycle_t until[MACHINE_UNIT_MAX])
{
    struct exact *x = context;
    cycle_t end = launch_end(x->t, x->now - 1);

    if (at >= end)
        end_launch(x, end);
    if (x->has_begun)                   /* the rest of a launch: known already */
        return;
    for (int i = 0; i < MACHINE_UNIT_MAX; i++) {
        x->tally.busy_until[i] = until[i];
        x->tally.long_tracks |= until[i] ? 1u << i : 0;
    }
    x->now = later(x->now, at);
}

static void skip(void *context, cycle_t at, cycle_t by)
{
    struct exact *x = context;

    for (int i = 0; i < MACHINE_UNIT_MAX; i++)
        if (x->tally.busy_until[i] > at)
            x->tally.busy_until[i] += by;
}

void ntrace_exact_core(struct ntrace *t, int core, const struct ntrace_bins *b)
{
    struct exact x = {.t = t, .bins = b, .bin_end = b->from + b->width, .now = 1, .live_at = -1};

    x.program = ntrace_program(t, core) ? &t->of_core[core]->tally : NULL;
    ntrace_replay(t, core, b->from, b->from + b->width * (cycle_t)b->count, &(struct ntrace_replay){
        .context = &x, .state = take_state, .record = take_record, .skip = skip,
        .from_chunk = true});
    if (x.bin < b->count)
        end_launch(&x, launch_end(t, x.now - 1));
    if (!x.has_begun)
        begin(&x);
    while (x.bin < b->count)
        next_bin(&x);
}

/* ---- copies, HBM, links ---- */

struct adding {
    const struct ntrace_bins *bins;
    int members;
    int64_t mhz;
    cycle_t covered;                    /* copies were in flight up to here */
};

static void add(struct adding *a, const struct ntrace_spread *s)
{
    const struct ntrace_bins *b = a->bins;
    cycle_t end = b->from + b->width * (cycle_t)b->count, first = later(s->start, b->from), last;

    for (end = s->end < end ? s->end : end; first < end; first = last) {
        size_t bin = (size_t)((first - b->from) / b->width);
        int64_t *to = b->to + bin * (size_t)a->members;

        last = b->from + (cycle_t)(bin + 1) * b->width;
        last = last < end ? last : end;
        for (int i = 0; i < s->count; i++)
            to[s->member[i]] += ntrace_share_of(s->value[i], last - s->start, s->end - s->start)
                                - ntrace_share_of(s->value[i], first - s->start, s->end - s->start);
    }
}

/* told in the order of issue, so that what is covered only grows */
static bool add_dma(void *context, const struct trace_dma *d)
{
    struct adding *a = context;
    struct ntrace_spread flight = ntrace_spread_of_flight(d), bytes = ntrace_spread_of_bytes(d);
    cycle_t free_from = later(d->issued_at, a->covered);

    add(a, &flight);
    add(a, &bytes);
    if (d->done_at > free_from)
        add(a, &(struct ntrace_spread){.start = free_from, .end = d->done_at, .count = 1,
                                       .member = {NTRACE_CELL_UNIT + TRACK_DMA},
                                       .value = {d->done_at - free_from}});
    a->covered = later(a->covered, d->done_at);
    return true;
}

static bool add_hbm(void *context, const struct trace_hbm *h)
{
    struct adding *a = context;
    struct ntrace_spread data = ntrace_spread_of_hbm(h, a->mhz),
                         row = ntrace_spread_of_row(h, data.start);

    add(a, &data);
    add(a, &row);
    return true;
}

static bool add_link(void *context, const struct trace_link *l)
{
    struct adding *a = context;
    struct ntrace_spread s = ntrace_spread_of_link(l, a->mhz);

    add(a, &s);
    return true;
}

void ntrace_exact_other(struct ntrace *t, enum ntrace_series series, int index,
                        const struct ntrace_bins *b)
{
    struct adding a = {.bins = b, .members = ntrace_series_count(series),
                       .mhz = t->meta.chip.chip_clock_mhz};
    cycle_t end = b->from + b->width * (cycle_t)b->count;

    switch (series) {
    case NTRACE_CORE:
        ntrace_walk_dmas(t, index, b->from, end, add_dma, &a);
        break;
    case NTRACE_HBM:
        ntrace_walk_hbm(t, index, b->from, end, add_hbm, &a);
        break;
    default:
        ntrace_walk_links(t, index, b->from, end, add_link, &a);
        break;
    }
}
