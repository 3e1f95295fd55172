/*
 * Sums over any interval. Cells add up exactly at their borders; between them,
 * ntrace_cells shares a cell out, ntrace_sum asks the records where the file
 * keeps them.
 *
 * Inside a repeat, cells hold what its periods have, spread evenly. An exact
 * sum goes there by whole periods and the records of the window.
 */
#include "report/native_trace/ntrace_sums.h"

#include "sim/core/program.h"

/* ---- what there are cells of ---- */

static int map_core(const void *context, int member)
{
    const struct ntrace *t = context;

    if (member >= NTRACE_CELL_STALL && member < NTRACE_CELL_UNIT) {
        int reason = t->meta.stall[member - NTRACE_CELL_STALL];

        return reason < 0 ? -1 : NTRACE_CELL_STALL + reason;
    }
    return member;
}

static int map_dma(const void *context, int member)
{
    static const int to[DMA_CELL_COUNT] = {NTRACE_CELL_DMA_IN_FLIGHT, NTRACE_CELL_DMA_BYTES,
                                           NTRACE_CELL_UNIT + TRACK_DMA};

    (void)context;
    return member < DMA_CELL_COUNT ? to[member] : -1;
}

static struct ntrace_cell_source source_of(const struct ntrace *t, enum ntrace_series series,
                                           int index)
{
    static const enum ntrace_chunk_kind kind[NTRACE_SERIES_COUNT] = {
        CHUNK_CORE_CELLS, CHUNK_HBM_CELLS, CHUNK_LINK_CELLS};

    return (struct ntrace_cell_source){.kind = kind[series],
                                       .stream = index,
                                       .count = ntrace_series_count(series),
                                       .map = series == NTRACE_CORE ? map_core : NULL,
                                       .context = t};
}

static void add_cells(struct ntrace *t, enum ntrace_series series, int index, int finest,
                      cycle_t from, cycle_t end, int64_t *to)
{
    struct ntrace_cell_source s = source_of(t, series, index);

    ntrace_cells_sum(t, &s, finest, from, end, to);
    if (series != NTRACE_CORE)
        return;
    s = (struct ntrace_cell_source){.kind = CHUNK_DMA_CELLS, .stream = index,
                                    .count = NTRACE_CELL_COUNT, .map = map_dma};
    ntrace_cells_sum(t, &s, finest, from, end, to);
}

static bool is_there(const struct ntrace *t, enum ntrace_series series, int index)
{
    const int count[NTRACE_SERIES_COUNT] = {t->meta.core_count, t->meta.chip_count,
                                            t->meta.link_count};

    return index >= 0 && index < count[series];
}

/* nothing of these streams was left out */
static bool has_all(const struct ntrace *t, enum trace_level level, int64_t left_out)
{
    if (t->meta.level < level)
        return false;
    return t->has_totals ? left_out == 0 : t->meta.window_end == 0 && t->meta.record_limit == 0;
}

/* not much work: from the records, to the cycle */
#define NARROW_CYCLES 512

/* A chip's HBM has many records, and cells say the same where borders are theirs. */
static bool is_of_cells(enum ntrace_series series, cycle_t from, cycle_t width)
{
    return series != NTRACE_CORE && width > NTRACE_CELL_CYCLES
           && from % NTRACE_CELL_CYCLES == 0 && width % NTRACE_CELL_CYCLES == 0;
}

static bool has_records(const struct ntrace *t, enum ntrace_series series)
{
    const int64_t left_out[NTRACE_SERIES_COUNT] = {t->totals.core + t->totals.dma, t->totals.hbm,
                                                   t->totals.link};

    return has_all(t, TRACE_BUNDLE, left_out[series]);
}

static void narrow_cells(struct ntrace *t, enum ntrace_series series, int index,
                         const struct ntrace_bins *b)
{
    if (series == NTRACE_CORE)
        ntrace_exact_core(t, index, b);
    ntrace_exact_other(t, series, index, b);
}

void ntrace_cells(struct ntrace *t, enum ntrace_series series, int index, cycle_t from,
                  cycle_t width_cycles, size_t count, int64_t *to)
{
    size_t members = (size_t)ntrace_series_count(series);
    int finest = 0;

    memset(to, 0, count * members * sizeof(*to));
    if (!is_there(t, series, index) || width_cycles <= 0)
        return;
    if (width_cycles <= NARROW_CYCLES && from >= 0 && has_records(t, series)
        && !is_of_cells(series, from, width_cycles)) {
        narrow_cells(t, series, index, &(struct ntrace_bins){from, width_cycles, count, to});
        return;
    }
    while (finest + 1 < NTRACE_LEVEL_MAX && ntrace_cell_width(finest + 1) <= width_cycles / 8
           && ntrace_group(t, source_of(t, series, index).kind, finest + 1, index))
        finest++;
    for (size_t i = 0; i < count; i++)
        add_cells(t, series, index, finest, from + (cycle_t)i * width_cycles,
                  from + (cycle_t)(i + 1) * width_cycles, to + i * members);
}

/* ---- to the cycle ---- */

/* Something that is added up over a core's cycles, from cells and from records. */
struct measure {
    struct ntrace *t;
    int core;
    cycle_t width;                      /* of the finest cells */
    int count;
    void (*cells)(const struct measure *m, cycle_t from, cycle_t end, int64_t *to);
    void (*records)(const struct measure *m, cycle_t from, cycle_t end, int64_t *to);
    void (*period)(const struct measure *m, const struct trace_repeat *r, int64_t *to);
};

struct finding {
    cycle_t from;
    struct trace_repeat repeat;
    bool is_found;
};

static bool find(void *context, const struct trace_record *r, const struct trace_repeat *repeat)
{
    struct finding *f = context;

    (void)r;
    if (!repeat || repeat->at + repeat->period * repeat->count <= f->from)
        return true;
    f->repeat = *repeat;
    f->is_found = true;
    return false;
}

/* the first repeat that overlaps from..end - 1 */
static bool find_repeat(const struct measure *m, cycle_t from, cycle_t end,
                        struct trace_repeat *r)
{
    struct finding f = {.from = from};

    ntrace_walk_records(m->t, m->core, from, end, find, &f);
    *r = f.repeat;
    return f.is_found;
}

static cycle_t end_of(const struct trace_repeat *r) { return r->at + r->period * r->count; }

/* what a repeat has from..end - 1, spread evenly, as cells have it */
static void add_evenly(const struct measure *m, const struct trace_repeat *r, cycle_t from,
                       cycle_t end, int64_t *to)
{
    int64_t *period = mem_alloc((size_t)m->count * sizeof(*period));

    m->period(m, r, period);
    for (int i = 0; i < m->count; i++)
        to[i] += ntrace_share_of(period[i], end - r->at, r->period)
                 - ntrace_share_of(period[i], from - r->at, r->period);
    mem_free(period);
}

static void add_between(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    struct trace_repeat r;

    while (from < end && find_repeat(m, from, end, &r)) {
        cycle_t until = end < end_of(&r) ? end : end_of(&r);

        if (from < r.at)
            m->records(m, from, r.at, to);
        add_evenly(m, &r, later(from, r.at), until, to);
        from = until;
    }
    if (from < end)
        m->records(m, from, end, to);
}

/* both borders outside of repeats */
static void add_outside(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    cycle_t whole = round_up(from, m->width), whole_end = end / m->width * m->width;

    if (whole >= whole_end) {
        add_between(m, from, end, to);
        return;
    }
    add_between(m, from, whole, to);
    m->cells(m, whole, whole_end, to);
    add_between(m, whole_end, end, to);
}

/* borders inside one repeat or at its ends: whole periods, and what is left by the records */
static void add_inside(const struct measure *m, const struct trace_repeat *r, cycle_t from,
                       cycle_t end, int64_t *to)
{
    cycle_t first = r->at + round_up(from - r->at, r->period);
    int64_t periods = (end - first) / r->period, *period;

    if (from >= end)
        return;
    if (first >= end) {
        m->records(m, from, end, to);
        return;
    }
    if (from < first)
        m->records(m, from, first, to);
    period = mem_alloc((size_t)m->count * sizeof(*period));
    m->period(m, r, period);
    for (int i = 0; i < m->count; i++)
        to[i] += period[i] * periods;
    mem_free(period);
    first += periods * r->period;
    if (first < end)
        m->records(m, first, end, to);
}

static void add_exact(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    struct trace_repeat r;

    if (from >= end)
        return;
    if (find_repeat(m, from, from + 1, &r)) {
        cycle_t until = end < end_of(&r) ? end : end_of(&r);

        add_inside(m, &r, from, until, to);
        from = until;
    }
    if (from < end && find_repeat(m, end - 1, end, &r) && end < end_of(&r) && r.at >= from) {
        add_inside(m, &r, r.at, end, to);
        end = r.at;
    }
    if (from < end)
        add_outside(m, from, end, to);
}

/* ---- cores ---- */

static void core_cells(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    struct ntrace_cell_source s = source_of(m->t, NTRACE_CORE, m->core);

    ntrace_cells_sum(m->t, &s, 0, from, end, to);
}

static void core_records(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    if (from < end)
        ntrace_exact_core(m->t, m->core, &(struct ntrace_bins){from, end - from, 1, to});
}

static void core_period(const struct measure *m, const struct trace_repeat *r, int64_t *to)
{
    (void)m;
    to[NTRACE_CELL_ISSUE] = r->issue_cycles;
    memcpy(to + NTRACE_CELL_STALL, r->stall_cycles, sizeof(r->stall_cycles));
    memcpy(to + NTRACE_CELL_UNIT, r->busy_cycles, sizeof(r->busy_cycles));
    to[NTRACE_CELL_UNIT + TRACK_DMA] = 0;
}

static void sum_core(struct ntrace *t, int core, cycle_t from, cycle_t end, int64_t *to)
{
    const struct measure m = {.t = t, .core = core, .width = NTRACE_CELL_CYCLES,
                              .count = NTRACE_CELL_COUNT, .cells = core_cells,
                              .records = core_records, .period = core_period};

    if (has_all(t, TRACE_BUNDLE, t->totals.core))
        add_exact(&m, from, end, to);
    else
        core_cells(&m, from, end, to);
}

static void add_records(struct ntrace *t, enum ntrace_series series, int index, cycle_t from,
                        cycle_t end, int64_t *to)
{
    if (from < end)
        ntrace_exact_other(t, series, index, &(struct ntrace_bins){from, end - from, 1, to});
}

/* streams without repeats: whole cells, and records at both ends */
static void sum_other(struct ntrace *t, enum ntrace_series series, int index,
                      const struct ntrace_cell_source *s, bool is_exact, cycle_t from, cycle_t end,
                      int64_t *to)
{
    cycle_t whole = round_up(from, NTRACE_CELL_CYCLES);
    cycle_t whole_end = end / NTRACE_CELL_CYCLES * NTRACE_CELL_CYCLES;

    if (!is_exact) {
        ntrace_cells_sum(t, s, 0, from, end, to);
    } else if (whole >= whole_end) {
        add_records(t, series, index, from, end, to);
    } else {
        add_records(t, series, index, from, whole, to);
        ntrace_cells_sum(t, s, 0, whole, whole_end, to);
        add_records(t, series, index, whole_end, end, to);
    }
}

void ntrace_sum(struct ntrace *t, enum ntrace_series series, int index, cycle_t from,
                cycle_t end, int64_t *to)
{
    const struct ntrace_cell_source copies = {.kind = CHUNK_DMA_CELLS, .stream = index,
                                              .count = NTRACE_CELL_COUNT, .map = map_dma};
    struct ntrace_cell_source s;

    memset(to, 0, (size_t)ntrace_series_count(series) * sizeof(*to));
    from = later(from, 0);
    end = end < t->info.cycles ? end : t->info.cycles;
    if (!is_there(t, series, index) || from >= end)
        return;
    s = source_of(t, series, index);
    switch (series) {
    case NTRACE_CORE:
        sum_core(t, index, from, end, to);
        sum_other(t, series, index, &copies, has_all(t, TRACE_OP, t->totals.dma), from, end, to);
        break;
    case NTRACE_HBM:
        sum_other(t, series, index, &s, has_all(t, TRACE_BUNDLE, t->totals.hbm), from, end, to);
        break;
    default:
        sum_other(t, series, index, &s, has_all(t, TRACE_BUNDLE, t->totals.link), from, end, to);
        break;
    }
}

/* ---- source operations ---- */

struct note_sum {
    int64_t *to;
    cycle_t from, end;
};

static bool add_note(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    struct note_sum *s = context;
    cycle_t first = later(start, s->from), last = end < s->end ? end : s->end;

    s->to[note] += later(last - first, 0);
    return true;
}

static void note_records(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    struct note_sum s = {.to = to, .from = from, .end = end};

    ntrace_walk_ops(m->t, m->core, from, end, add_note, &s);
}

static void note_cells(const struct measure *m, cycle_t from, cycle_t end, int64_t *to)
{
    const struct ntrace_cell_source s = {
        .kind = CHUNK_NOTE_CELLS, .stream = m->core, .count = m->count};

    ntrace_cells_sum(m->t, &s, NOTE_LEVEL, from, end, to);
}

static void note_period(const struct measure *m, const struct trace_repeat *r, int64_t *to)
{
    note_records(m, r->at - r->period, r->at, to);
}

/* runs and stalls, or at level op the intervals in their place */
static bool keeps_notes(const struct ntrace *t)
{
    if (t->meta.level != TRACE_OP)
        return has_all(t, TRACE_OP, t->totals.core);
    return t->meta.window_end == 0 && t->meta.record_limit == 0;
}

void ntrace_note_cycles(struct ntrace *t, int core, cycle_t from, cycle_t end, int64_t *to)
{
    const struct isa_program *p = ntrace_program(t, core);
    struct measure m = {.t = t, .core = core, .width = ntrace_cell_width(NOTE_LEVEL),
                        .cells = note_cells, .records = note_records, .period = note_period};

    from = later(from, 0);
    end = end < t->info.cycles ? end : t->info.cycles;
    if (!p || from >= end)
        return;
    m.count = (int)p->note_count + 1;
    if (keeps_notes(t))
        add_exact(&m, from, end, to);
    else
        note_cells(&m, from, end, to);
}
