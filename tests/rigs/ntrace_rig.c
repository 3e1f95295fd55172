#include "tests/rigs/ntrace_rig.h"

#include "base/arena.h"
#include "sim/observe/inspect.h"
#include "sim/core/program.h"
#include "tests/test.h"

#include <unistd.h>

/* ---- both sinks ---- */

#define FORWARD(member, type)                                                   \
    static void tee_##member(void *context, int number, const type *what)       \
    {                                                                           \
        struct tee *t = context;                                                \
        const struct trace_sink *w = ntrace_writer_sink(t->writer);             \
                                                                                \
        t->log.sink.member(&t->log, number, what);                              \
        w->member(w->context, number, what);                                    \
    }
FORWARD(repeat, struct trace_repeat)
FORWARD(dma, struct trace_dma)
FORWARD(hbm, struct trace_hbm)
FORWARD(link, struct trace_link)

static void tee_begin(void *context, const struct trace_launch *l)
{
    struct tee *t = context;
    const struct trace_sink *w = ntrace_writer_sink(t->writer);

    t->log.sink.begin(&t->log, l);
    w->begin(w->context, l);
}

static void tee_core(void *context, int core, const struct trace_record *r, size_t count)
{
    struct tee *t = context;
    const struct trace_sink *w = ntrace_writer_sink(t->writer);

    t->log.sink.core(&t->log, core, r, count);
    w->core(w->context, core, r, count);
}

static void tee_end(void *context, const struct machine *m)
{
    struct tee *t = context;
    const struct trace_sink *w = ntrace_writer_sink(t->writer);

    t->log.sink.end(&t->log, m);
    w->end(w->context, m);
}

void tee_open(struct tee *t, struct machine *m, const struct ntrace_options *o)
{
    struct err e;
    int fd;

    trace_log_open(&t->log, m);
    snprintf(t->path, sizeof(t->path), "/tmp/systole_ntrace_XXXXXX");
    fd = mkstemp(t->path);
    assert_true(fd >= 0);
    close(fd);
    t->writer = ntrace_writer_open(t->path, o, &e);
    if (!t->writer)
        fail_msg("%s", e.msg);
    t->sink = (struct trace_sink){
        .context = t, .wants_access = ntrace_writer_sink(t->writer)->wants_access,
        .begin = tee_begin, .core = tee_core, .repeat = tee_repeat, .dma = tee_dma,
        .hbm = tee_hbm, .link = tee_link, .end = tee_end};
    machine_set_trace(m, &t->sink);
}

struct ntrace *tee_read(struct tee *t)
{
    struct ntrace *s;
    struct err e;

    if (ntrace_writer_close(t->writer, &e))
        fail_msg("%s", e.msg);
    s = ntrace_open(t->path, &e);
    if (!s)
        fail_msg("%s", e.msg);
    if (ntrace_note_count(s))
        fail_msg("%s", ntrace_note(s, 0));
    assert_true(ntrace_info(s)->is_complete);
    return s;
}

void tee_close(struct tee *t)
{
    trace_log_close(&t->log);
    unlink(t->path);
}

/* ---- cycle by cycle ---- */

static void fill(struct by_cycle *b, int member, cycle_t start, cycle_t end)
{
    for (cycle_t at = start; at < end && at < b->cycles; at++)
        b->cell[at][member]++;
}

static void fill_records(struct by_cycle *b, const struct log_core *c, const struct isa_program *p)
{
    cycle_t halted = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct trace_record *r = &c->record[i];

        if (r->kind != TRACE_RUN && r->kind != TRACE_STALL)
            continue;
        fill(b, r->kind == TRACE_RUN ? NTRACE_CELL_ISSUE : NTRACE_CELL_STALL + r->reason, r->at,
             r->at + r->value);
        for (int64_t j = 0; j < r->value; j++) {
            b->note[r->at + j] = p->bundle[r->bundle + (r->kind == TRACE_RUN ? j : 0)].note;
            b->has_note[r->at + j] = true;
        }
        halted = r->at + r->value;
    }
    fill(b, NTRACE_CELL_IDLE, halted, b->cycles);
}

static void fill_copies(struct by_cycle *b, const struct log_core *c)
{
    for (size_t i = 0; i < c->dma_count; i++)
        fill(b, NTRACE_CELL_DMA_IN_FLIGHT, c->dma[i].issued_at, c->dma[i].done_at);
    for (cycle_t at = 0; at < b->cycles; at++)
        b->cell[at][NTRACE_CELL_UNIT + TRACK_DMA] = b->cell[at][NTRACE_CELL_DMA_IN_FLIGHT] > 0;
    for (size_t i = 0; i < c->dma_count; i++) {
        const struct trace_dma *d = &c->dma[i];
        int64_t length = d->done_at - d->started_at;

        for (int64_t j = 0; j < length; j++)
            b->cell[d->started_at + j][NTRACE_CELL_DMA_BYTES] +=
                d->bytes * (j + 1) / length - d->bytes * j / length;
    }
}

void by_cycle_make(struct by_cycle *b, const struct tee *t, const struct machine *m, int core)
{
    struct log_events events;

    b->cycles = machine_cycles(m);
    b->cell = mem_alloc((size_t)b->cycles * sizeof(*b->cell));
    b->note = mem_alloc((size_t)b->cycles * sizeof(*b->note));
    b->has_note = mem_alloc((size_t)b->cycles * sizeof(*b->has_note));
    fill_records(b, &t->log.core[core], machine_program(m, core));
    trace_log_expand(&t->log, m, core, false, &events);
    for (size_t i = 0; i < events.count; i++)
        if (events.event[i].track >= 0 && events.event[i].track != TRACK_DMA)
            fill(b, NTRACE_CELL_UNIT + events.event[i].track, events.event[i].start,
                 events.event[i].end);
    mem_free(events.event);
    fill_copies(b, &t->log.core[core]);
}

void by_cycle_free(struct by_cycle *b)
{
    mem_free(b->cell);
    mem_free(b->note);
    mem_free(b->has_note);
}

static void assert_same_members(const int64_t *got, const int64_t *expected, int count, int core,
                                cycle_t from, cycle_t end)
{
    for (int i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("core %d, cycles %lld to %lld: member %d is %lld, expected %lld", core,
                     (long long)from, (long long)end, i, (long long)got[i],
                     (long long)expected[i]);
}

void assert_notes(const struct by_cycle *b, struct ntrace *s, int core, cycle_t from,
                  cycle_t end)
{
    uint32_t count = ntrace_program(s, core) ? ntrace_program(s, core)->note_count + 1 : 1;
    int64_t *expected = mem_alloc(count * sizeof(*expected));
    int64_t *got = mem_alloc(count * sizeof(*got));

    for (cycle_t at = from; at < end; at++)
        if (b->has_note[at])
            expected[b->note[at]]++;
    ntrace_note_cycles(s, core, from, end, got);
    assert_same_members(got, expected, (int)count, core, from, end);
    mem_free(expected);
    mem_free(got);
}

void assert_sum(const struct by_cycle *b, struct ntrace *s, int core, cycle_t from, cycle_t end)
{
    int64_t expected[NTRACE_CELL_COUNT] = {0}, got[NTRACE_CELL_COUNT];

    for (cycle_t at = from; at < end; at++)
        for (int i = 0; i < NTRACE_CELL_COUNT; i++)
            expected[i] += b->cell[at][i];
    ntrace_sum(s, NTRACE_CORE, core, from, end, got);
    assert_same_members(got, expected, NTRACE_CELL_COUNT, core, from, end);
    assert_notes(b, s, core, from, end);
}

/*
 * Cells have a repeat spread evenly: by how much more that is, up to `at`, than
 * what was done by then.
 */
static void add_slack(const struct by_cycle *b, const struct log_core *c, cycle_t at,
                      int64_t *to)
{
    for (size_t i = 0; i < c->repeat_count; i++) {
        const struct trace_repeat *r = &c->repeat[i].told;

        if (at <= r->at || at >= r->at + r->period * r->count)
            continue;
        for (int j = 0; j < NTRACE_CELL_COUNT; j++) {
            int64_t done = 0, period = 0;

            if (j == NTRACE_CELL_DMA_IN_FLIGHT || j == NTRACE_CELL_DMA_BYTES
                || j == NTRACE_CELL_UNIT + TRACK_DMA)
                continue;
            for (cycle_t k = r->at; k < r->at + r->period; k++)
                period += b->cell[k][j];
            for (cycle_t k = r->at; k < at; k++)
                done += b->cell[k][j];
            to[j] = period * (at - r->at) / r->period - done;
        }
    }
}

void assert_cell(const struct by_cycle *b, const struct tee *t, int core, bool is_exact,
                 cycle_t from, cycle_t end, const int64_t *got)
{
    int64_t slack[2][NTRACE_CELL_COUNT] = {{0}}, expected[NTRACE_CELL_COUNT] = {0};

    end = end < b->cycles ? end : b->cycles;
    for (cycle_t at = from; at < end; at++)
        for (int i = 0; i < NTRACE_CELL_COUNT; i++)
            expected[i] += b->cell[at][i];
    if (!is_exact) {
        add_slack(b, &t->log.core[core], from, slack[0]);
        add_slack(b, &t->log.core[core], end, slack[1]);
    }
    for (int i = 0; i < NTRACE_CELL_COUNT; i++) {
        int64_t more = got[i] - expected[i], from_less = slack[0][i], end_more = slack[1][i];

        if (more != end_more - from_less)
            fail_msg("core %d, cell %lld to %lld: member %d is %lld, expected %lld", core,
                     (long long)from, (long long)end, i, (long long)got[i],
                     (long long)(expected[i] + end_more - from_less));
    }
}

/* ---- events ---- */

static bool take_event(void *context, const struct trace_event *e)
{
    struct log_events *to = context;

    to->event = mem_grow(to->event, &to->capacity, to->count + 1, sizeof(*to->event));
    to->event[to->count++] = *e;
    return true;
}

static bool overlaps(const struct trace_event *e, cycle_t from, cycle_t end)
{
    return e->start < end && (e->start == e->end ? e->start >= from : e->end > from);
}

void assert_walk(const struct tee *t, struct ntrace *s, const struct machine *m, int core,
                 cycle_t from, cycle_t end)
{
    struct log_events all, got = {.count = 0};
    size_t count = 0;

    trace_log_expand(&t->log, m, core, true, &all);
    for (size_t i = 0; i < all.count; i++)
        if (overlaps(&all.event[i], from, end) && all.event[i].track != TRACK_DMA)
            all.event[count++] = all.event[i];
    ntrace_walk_core(s, core, from, end, false, true, take_event, &got);
    assert_true(count == 0 || got.event != NULL);
    /* stalls are cut to the interval */
    for (size_t i = 0; i < count; i++)
        if (all.event[i].track == TRACK_IS_STALL)
            all.event[i].end = all.event[i].end < end ? all.event[i].end : end;
    all.count = count;
    log_events_sort(&all);
    log_events_sort(&got);
    for (size_t i = 0; i < count && i < got.count; i++)
        if (!log_event_is_same(&all.event[i], &got.event[i]))
            fail_msg("core %d, %lld to %lld: event %zu of %zu is %lld..%lld track %d bundle %u, "
                     "expected %lld..%lld track %d bundle %u", core, (long long)from,
                     (long long)end, i, count, (long long)got.event[i].start,
                     (long long)got.event[i].end, got.event[i].track,
                     (unsigned)got.event[i].bundle, (long long)all.event[i].start,
                     (long long)all.event[i].end, all.event[i].track,
                     (unsigned)all.event[i].bundle);
    assert_int_equal(got.count, count);
    mem_free(all.event);
    mem_free(got.event);
}

/* ---- copies, HBM, links ---- */

/* Those of the log that are not met yet; each walk must meet all, in the order of time. */
struct meeting {
    const struct trace_log *log;
    int stream;
    bool *is_met;
    size_t count;
    int64_t before;
};

static bool meet_dma(void *context, const struct trace_dma *d)
{
    struct meeting *m = context;
    const struct log_core *c = &m->log->core[m->stream];

    assert_true(d->issued_at >= m->before);
    m->before = d->issued_at;
    for (size_t i = 0; i < c->dma_count; i++)
        if (!m->is_met[i] && c->dma[i].number == d->number) {
            const struct trace_dma *e = &c->dma[i];

            assert_true(d->issued_at == e->issued_at && d->done_at == e->done_at
                        && d->started_at == e->started_at && d->bundle == e->bundle
                        && d->code == e->code && d->source_space == e->source_space
                        && d->destination_space == e->destination_space
                        && d->target == e->target && d->source_address == e->source_address
                        && d->destination_address == e->destination_address
                        && d->bytes == e->bytes && d->run_bytes == e->run_bytes
                        && d->flag == e->flag);
            m->is_met[i] = true;
            m->count++;
            return true;
        }
    fail_msg("a copy that nobody told of");
    return false;
}

static bool meet_hbm(void *context, const struct trace_hbm *h)
{
    struct meeting *m = context;

    assert_true(trace_hbm_begins_at(h) >= m->before);
    m->before = trace_hbm_begins_at(h);
    for (size_t i = 0; i < m->log->hbm_count; i++) {
        const struct trace_hbm *e = &m->log->hbm[i].h;

        if (m->is_met[i] || m->log->hbm[i].chip != m->stream || h->asked_at != e->asked_at
            || h->data_at != e->data_at || h->end_at != e->end_at || h->channel != e->channel
            || h->bank != e->bank || h->row != e->row || h->is_write != e->is_write
            || h->has_met_refresh != e->has_met_refresh || h->bytes != e->bytes)
            continue;
        m->is_met[i] = true;
        m->count++;
        return true;
    }
    fail_msg("an access of HBM that nobody told of");
    return false;
}

static bool meet_link(void *context, const struct trace_link *l)
{
    struct meeting *m = context;

    assert_true(l->start >= m->before);
    m->before = l->start;
    for (size_t i = 0; i < m->log->link_count; i++) {
        const struct trace_link *e = &m->log->link[i].l;

        if (m->is_met[i] || m->log->link[i].link != m->stream || l->start != e->start
            || l->end != e->end || l->payload_bytes != e->payload_bytes
            || l->wire_bytes != e->wire_bytes || l->core != e->core || l->dma != e->dma)
            continue;
        m->is_met[i] = true;
        m->count++;
        return true;
    }
    fail_msg("a use of a link that nobody told of");
    return false;
}

void assert_streams(const struct tee *t, struct ntrace *s)
{
    const struct trace_log *log = &t->log;
    struct meeting m;

    for (int i = 0; i < log->core_count; i++) {
        m = (struct meeting){.log = log, .stream = i};
        m.is_met = mem_alloc(log->core[i].dma_count + 1);
        ntrace_walk_dmas(s, i, 0, INT64_MAX, meet_dma, &m);
        assert_int_equal(m.count, log->core[i].dma_count);
        mem_free(m.is_met);
    }
    m = (struct meeting){.log = log, .is_met = mem_alloc(log->hbm_count + 1)};
    for (int i = 0; i < ntrace_info(s)->chip_count; i++, m.before = 0) {
        m.stream = i;
        ntrace_walk_hbm(s, i, 0, INT64_MAX, meet_hbm, &m);
    }
    assert_int_equal(m.count, log->hbm_count);
    mem_free(m.is_met);
    m = (struct meeting){.log = log, .is_met = mem_alloc(log->link_count + 1)};
    for (int i = 0; i < ntrace_info(s)->link_count; i++, m.before = 0) {
        m.stream = i;
        ntrace_walk_links(s, i, 0, INT64_MAX, meet_link, &m);
    }
    assert_int_equal(m.count, log->link_count);
    mem_free(m.is_met);
}

/* ---- the machine's counters ---- */

static void assert_core(struct ntrace *s, const struct machine *m, int core, cycle_t start,
                        cycle_t end)
{
    const struct core_counters *k = machine_counters(m, core);
    int64_t expected[NTRACE_CELL_COUNT] = {0}, got[NTRACE_CELL_COUNT];

    ntrace_sum(s, NTRACE_CORE, core, start, end, got);
    expected[NTRACE_CELL_ISSUE] = k->issue_cycles;
    expected[NTRACE_CELL_IDLE] = k->idle_cycles;
    for (int i = 0; i < STALL_COUNT; i++)
        expected[NTRACE_CELL_STALL + i] = k->stall_cycles[i];
    for (int i = 0; i < k->unit_count; i++) {
        assert_string_equal(ntrace_unit_name(s, i), k->unit[i].name);
        expected[NTRACE_CELL_UNIT + i] = k->unit[i].busy_cycles;
    }
    got[NTRACE_CELL_DMA_IN_FLIGHT] = got[NTRACE_CELL_DMA_BYTES] = 0;    /* no counter */
    assert_same_members(got, expected, NTRACE_CELL_COUNT, core, start, end);
}

void assert_counters(struct ntrace *s, const struct machine *m, cycle_t start, cycle_t end)
{
    int64_t hbm[NTRACE_HBM_COUNT], link[NTRACE_LINK_COUNT];
    int core, chip, i;

    for (core = 0; core < machine_core_count(m); core++)
        assert_core(s, m, core, start, end);
    for (chip = 0; chip < ntrace_info(s)->chip_count; chip++) {
        const struct hbm_stats *k = machine_hbm_stats(m, chip);
        const int64_t expected[] = {k->read_bytes, k->write_bytes, k->busy_ps, k->row_hits,
                                    k->row_closed, k->row_conflicts, k->refresh_waits};

        ntrace_sum(s, NTRACE_HBM, chip, start, end, hbm);
        assert_same_members(hbm, expected, NTRACE_HBM_CHANNEL_BUSY_PS, chip, start, end);
        for (i = NTRACE_HBM_CHANNEL_BUSY_PS + 1; i < NTRACE_HBM_COUNT; i++)
            hbm[NTRACE_HBM_CHANNEL_BUSY_PS] += hbm[i];
        if (ntrace_info(s)->level > TRACE_STEP)
            assert_int_equal(hbm[NTRACE_HBM_CHANNEL_BUSY_PS], k->busy_ps);
    }
    for (i = 0; i < ntrace_info(s)->link_count; i++) {
        const struct net_link_stats *k = net_link(machine_net(m), i);
        const int64_t expected[] = {k->payload_bytes, k->wire_bytes, k->busy_ps};
        int from, to;

        ntrace_link_ends(s, i, &from, &to);
        assert_int_equal(from, k->from);
        assert_int_equal(to, k->to);
        ntrace_sum(s, NTRACE_LINK, i, start, end, link);
        assert_same_members(link, expected, NTRACE_LINK_COUNT, i, start, end);
    }
}
