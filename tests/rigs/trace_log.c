#include "tests/rigs/trace_log.h"

#include "base/arena.h"
#include "sim/observe/inspect.h"
#include "sim/core/program.h"
#include "tests/test.h"

/* ---- the sink ---- */

static void forget(struct trace_log *t)
{
    for (int i = 0; i < t->core_count; i++) {
        struct log_core *c = &t->core[i];

        c->count = c->told_count = c->repeat_count = c->dma_count = 0;
    }
    t->hbm_count = t->link_count = 0;
}

static void take_begin(void *context, const struct trace_launch *l)
{
    struct trace_log *t = context;

    forget(t);
    assert_int_equal(machine_core_count(l->machine), t->core_count);
    t->resumed_at = l->resumed_at;
    t->begun++;
}

static void add_record(struct log_core *c, const struct trace_record *r, cycle_t later_by)
{
    struct trace_record record = *r;

    record.at += later_by;
    c->record = mem_grow(c->record, &c->capacity, c->count + 1, sizeof(*c->record));
    c->record[c->count++] = record;
}

static void take_core(void *context, int core, const struct trace_record *r, size_t count)
{
    struct trace_log *t = context;

    t->core[core].told_count += count;
    for (size_t i = 0; i < count; i++)
        add_record(&t->core[core], &r[i], 0);
}

static void take_repeat(void *context, int core, const struct trace_repeat *r)
{
    struct trace_log *t = context;
    struct log_core *c = &t->core[core];
    size_t end = c->count, first = end;

    while (first > 0 && c->record[first - 1].at >= r->at - r->period)
        first--;
    c->repeat = mem_grow(c->repeat, &c->repeat_capacity, c->repeat_count + 1, sizeof(*c->repeat));
    c->repeat[c->repeat_count++] = (struct log_repeat){*r, first, end};
    for (int64_t n = 1; n <= r->count; n++)
        for (size_t i = first; i < end; i++)
            add_record(c, &c->record[i], n * r->period);
}

static void take_dma(void *context, int core, const struct trace_dma *d)
{
    struct trace_log *t = context;
    struct log_core *c = &t->core[core];

    c->dma = mem_grow(c->dma, &c->dma_capacity, c->dma_count + 1, sizeof(*c->dma));
    c->dma[c->dma_count++] = *d;
}

static void take_hbm(void *context, int chip, const struct trace_hbm *h)
{
    struct trace_log *t = context;

    t->hbm = mem_grow(t->hbm, &t->hbm_capacity, t->hbm_count + 1, sizeof(*t->hbm));
    t->hbm[t->hbm_count++] = (struct log_hbm){chip, *h};
}

static void take_link(void *context, int link, const struct trace_link *l)
{
    struct trace_log *t = context;

    t->link = mem_grow(t->link, &t->link_capacity, t->link_count + 1, sizeof(*t->link));
    t->link[t->link_count++] = (struct log_link){link, *l};
}

static void take_end(void *context, const struct machine *m)
{
    struct trace_log *t = context;

    assert_int_equal(machine_counters(m, 0)->cycles, machine_cycles(m));
    t->ended++;
}

void trace_log_open(struct trace_log *t, struct machine *m)
{
    *t = (struct trace_log){
        .core_count = machine_core_count(m),
        .sink = {.context = t, .begin = take_begin, .core = take_core, .repeat = take_repeat,
                 .dma = take_dma, .hbm = take_hbm, .link = take_link, .end = take_end}};
    t->core = mem_alloc((size_t)t->core_count * sizeof(*t->core));
    machine_set_trace(m, &t->sink);
}

void trace_log_close(struct trace_log *t)
{
    for (int i = 0; i < t->core_count; i++) {
        mem_free(t->core[i].record);
        mem_free(t->core[i].repeat);
        mem_free(t->core[i].dma);
    }
    mem_free(t->core);
    mem_free(t->hbm);
    mem_free(t->link);
}

/* ---- events ---- */

static void add_event(void *context, const struct trace_event *e)
{
    struct log_events *to = context;

    to->event = mem_grow(to->event, &to->capacity, to->count + 1, sizeof(*to->event));
    to->event[to->count++] = *e;
}

void trace_log_expand(const struct trace_log *t, const struct machine *m, int core, bool wants_ops,
                      struct log_events *to)
{
    const struct log_core *c = &t->core[core];
    struct trace_expander e = {.program = machine_program(m, core), .wants_ops = wants_ops,
                               .event = add_event, .context = to};
    struct arena a;

    *to = (struct log_events){.count = 0};
    if (!e.program)
        return;
    arena_init(&a);
    e.op = trace_op_table(m, e.program, &a);
    trace_expand(&e, c->record, c->count);
    arena_fini(&a);
    for (size_t i = 0; i < c->dma_count; i++)
        add_event(to, &(struct trace_event){
            .start = c->dma[i].issued_at, .end = c->dma[i].done_at, .bundle = c->dma[i].bundle,
            .code = c->dma[i].code, .track = TRACK_DMA, .bytes = c->dma[i].bytes});
}

/* as numbers, sorted: what lies inside a run comes behind it, and a pause cuts runs */
static int compare_events(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;
    const int64_t k[2][8] = {
        {x->start, x->end, x->bundle, x->op, x->code, x->track, x->stall, x->bytes},
        {y->start, y->end, y->bundle, y->op, y->code, y->track, y->stall, y->bytes}};

    for (int i = 0; i < 8; i++)
        if (k[0][i] != k[1][i])
            return k[0][i] < k[1][i] ? -1 : 1;
    return 0;
}

void log_events_sort(struct log_events *e)
{
    if (e->count > 0)
        qsort(e->event, e->count, sizeof(*e->event), compare_events);
}

bool log_event_is_same(const struct trace_event *a, const struct trace_event *b)
{
    return compare_events(a, b) == 0;
}

void trace_log_assert_same(const struct trace_log *a, const struct trace_log *b,
                           const struct machine *m, const char *what)
{
    for (int core = 0; core < a->core_count; core++) {
        struct log_events x, y;

        trace_log_expand(a, m, core, true, &x);
        trace_log_expand(b, m, core, true, &y);
        log_events_sort(&x);
        log_events_sort(&y);
        for (size_t i = 0; i < x.count && i < y.count; i++)
            if (!log_event_is_same(&x.event[i], &y.event[i]))
                fail_msg("%s: core %d event %zu: cycle %lld bundle %u, and %lld bundle %u", what,
                         core, i, (long long)x.event[i].start, (unsigned)x.event[i].bundle,
                         (long long)y.event[i].start, (unsigned)y.event[i].bundle);
        if (x.count != y.count)
            fail_msg("%s: core %d has %zu events, and %zu", what, core, x.count, y.count);
        mem_free(x.event);
        mem_free(y.event);
    }
}

/* The runs, stalls and failed guards of a core from a cycle on, runs as long as they can be. */
struct way_of_core {
    struct trace_record *record;
    size_t count, capacity;
};

static bool goes_on(const struct trace_record *run, const struct trace_record *next)
{
    return run->kind == TRACE_RUN && next->kind == TRACE_RUN && run->at + run->value == next->at
           && run->bundle + run->value == next->bundle;
}

static void take_way(const struct log_core *c, cycle_t from, struct way_of_core *to)
{
    *to = (struct way_of_core){.count = 0};
    for (size_t i = 0; i < c->count; i++) {
        struct trace_record r = c->record[i];
        cycle_t before = from - r.at;

        if (r.kind == TRACE_RUN && before > 0 && r.value > before) {
            r.at += before;
            r.value -= before;
            r.bundle += (uint32_t)before;
        }
        if (r.kind == TRACE_MARK || r.kind == TRACE_ACCESS || r.at < from)
            continue;
        if (to->count > 0 && goes_on(&to->record[to->count - 1], &r)) {
            to->record[to->count - 1].value += r.value;
            continue;
        }
        to->record = mem_grow(to->record, &to->capacity, to->count + 1, sizeof(*to->record));
        to->record[to->count++] = r;
    }
}

static bool is_same_record(const struct trace_record *a, const struct trace_record *b)
{
    return a->at == b->at && a->value == b->value && a->bundle == b->bundle && a->kind == b->kind
           && a->reason == b->reason;
}

static void assert_same_way(const struct log_core *whole, const struct log_core *tail, int core,
                            const char *what)
{
    struct way_of_core a, b;

    take_way(whole, tail->count > 0 ? tail->record[0].at : INT64_MAX, &a);
    take_way(tail, 0, &b);
    for (size_t i = 0; i < a.count && i < b.count; i++)
        if (!is_same_record(&a.record[i], &b.record[i]))
            fail_msg("%s: core %d differs at cycle %lld", what, core,
                     (long long)a.record[i].at);
    assert_int_equal(a.count, b.count);
    mem_free(a.record);
    mem_free(b.record);
}

static void assert_same_copies(const struct log_core *whole, const struct log_core *tail)
{
    size_t before = whole->dma_count - tail->dma_count;

    assert_true(whole->dma_count >= tail->dma_count);
    for (size_t i = 0; i < tail->dma_count; i++) {
        const struct trace_dma *x = &whole->dma[before + i], *y = &tail->dma[i];

        assert_int_equal(x->number, y->number);
        assert_int_equal(x->issued_at, y->issued_at);
        assert_int_equal(x->started_at, y->started_at);
        assert_int_equal(x->done_at, y->done_at);
        assert_int_equal(x->bytes, y->bytes);
    }
}

void trace_log_assert_tail(const struct trace_log *whole, const struct trace_log *tail,
                           const char *what)
{
    size_t hbm = whole->hbm_count - tail->hbm_count, link = whole->link_count - tail->link_count;

    for (int core = 0; core < whole->core_count; core++) {
        assert_same_way(&whole->core[core], &tail->core[core], core, what);
        assert_same_copies(&whole->core[core], &tail->core[core]);
    }
    assert_true(whole->hbm_count >= tail->hbm_count && whole->link_count >= tail->link_count);
    for (size_t i = 0; i < tail->hbm_count; i++)
        assert_int_equal(whole->hbm[hbm + i].h.end_at, tail->hbm[i].h.end_at);
    for (size_t i = 0; i < tail->link_count; i++) {
        assert_int_equal(whole->link[link + i].l.end, tail->link[i].l.end);
        assert_int_equal(whole->link[link + i].l.dma, tail->link[i].l.dma);
    }
}

/* ---- what must hold ---- */

struct sums {
    cycle_t issue, stall[STALL_COUNT], busy[MACHINE_UNIT_MAX];
};

/* runs and stalls one behind the other; what lies inside a run comes behind it */
static cycle_t add_records(const struct trace_record *r, size_t count, cycle_t at, struct sums *s)
{
    cycle_t run_from = at;

    for (size_t i = 0; i < count; i++, r++) {
        if (r->kind == TRACE_MARK || r->kind == TRACE_ACCESS) {
            assert_in_range(r->at, run_from, at - 1);
            continue;
        }
        assert_int_equal(r->at, at);
        if (r->kind == TRACE_LIVE || r->kind == TRACE_HALT)
            continue;
        assert_true(r->value > 0);
        if (r->kind == TRACE_RUN)
            s->issue += r->value;
        else
            s->stall[r->reason] += r->value;
        run_from = at;
        at += r->value;
    }
    return at;
}

/* cycles before `end` in which a copy of the core was under way */
static cycle_t copying(const struct log_core *c, cycle_t end)
{
    cycle_t sum = 0, until = 0;

    for (;;) {
        const struct trace_dma *next = NULL;

        for (size_t i = 0; i < c->dma_count; i++)
            if (c->dma[i].done_at > until && (!next || c->dma[i].issued_at < next->issued_at))
                next = &c->dma[i];
        if (!next || next->issued_at >= end)
            return sum;
        if (next->issued_at > until)
            until = next->issued_at;
        sum += (next->done_at < end ? next->done_at : end) - until;
        until = next->done_at;
    }
}

static void check_busy(const struct trace_log *t, const struct machine *m, int core)
{
    const struct core_counters *k = machine_counters(m, core);
    cycle_t busy[MACHINE_UNIT_MAX] = {0};
    struct log_events events;

    trace_log_expand(t, m, core, false, &events);
    for (size_t i = 0; i < events.count; i++) {
        const struct trace_event *e = &events.event[i];
        cycle_t end = e->end < k->cycles ? e->end : k->cycles;

        assert_true(e->end >= e->start && e->start >= 0);
        if (e->track >= 0 && e->track != TRACK_DMA && end > e->start)
            busy[e->track] += end - e->start;
    }
    busy[TRACK_DMA] = copying(&t->core[core], k->cycles);
    for (int i = 0; i < k->unit_count; i++)
        if (busy[i] != k->unit[i].busy_cycles)
            fail_msg("core %d %s: busy %lld in the trace, %lld counted", core, k->unit[i].name,
                     (long long)busy[i], (long long)k->unit[i].busy_cycles);
    mem_free(events.event);
}

/* the sums of a repeat are those of its window, of which operations count whole */
static void check_repeat(const struct log_core *c, const struct isa_program *p,
                         const struct trace_op *table, const struct log_repeat *r)
{
    struct sums s = {.issue = 0};
    uint32_t live = ~0u;
    cycle_t end = add_records(c->record + r->first, r->end - r->first,
                              r->told.at - r->told.period, &s);

    assert_int_equal(end, r->told.at);
    for (size_t i = r->first; i < r->end; i++) {
        const struct trace_record *record = &c->record[i];

        if (record->kind == TRACE_LIVE)
            live = (uint32_t)record->value;
        for (uint32_t j = 0; record->kind == TRACE_RUN && j < record->value; j++) {
            const struct isa_bundle *b = &p->bundle[record->bundle + j];
            uint32_t seen = 0;

            for (uint32_t k = 0; k < b->op_count; k++) {
                const struct trace_op *op = &table[b->first_op + k];

                if (!(live >> k & 1u) || (TRACKS_SIMPLE & seen & 1u << op->track))
                    continue;
                seen |= 1u << op->track;
                s.busy[op->track] += op->busy_cycles;
            }
            live = ~0u;
        }
    }
    assert_int_equal(s.issue, r->told.issue_cycles);
    assert_memory_equal(s.stall, r->told.stall_cycles, sizeof(s.stall));
    for (int i = 0; i < MACHINE_UNIT_MAX; i++)
        if (i != TRACK_DMA)
            assert_int_equal(s.busy[i], r->told.busy_cycles[i]);
}

static void check_core(const struct trace_log *t, const struct machine *m, int core)
{
    const struct core_counters *k = machine_counters(m, core);
    const struct log_core *c = &t->core[core];
    const struct isa_program *p = machine_program(m, core);
    bool is_faulted = machine_fault(m)->kind != FAULT_NONE;
    struct sums s = {.issue = 0};
    cycle_t end = add_records(c->record, c->count, 0, &s);
    struct arena a;

    arena_init(&a);
    assert_int_equal(s.issue, k->issue_cycles);
    assert_memory_equal(s.stall, k->stall_cycles, sizeof(s.stall));
    assert_int_equal(end, k->cycles - k->idle_cycles);
    if (p && !is_faulted) {             /* the bundle that faults has taken its units */
        assert_int_equal(c->record[c->count - 1].kind, TRACE_HALT);
        check_busy(t, m, core);
        assert_int_equal(c->dma_count, k->dma_count);
    }
    for (size_t i = 0; i < c->repeat_count; i++)
        check_repeat(c, p, trace_op_table(m, p, &a), &c->repeat[i]);
    for (size_t i = 0; i < c->dma_count; i++) {
        assert_true(c->dma[i].issued_at <= c->dma[i].started_at);
        assert_true(c->dma[i].started_at < c->dma[i].done_at);
    }
    arena_fini(&a);
}

static void check_hbm(const struct trace_log *t, const struct machine *m, int chip)
{
    const struct hbm_stats *k = machine_hbm_stats(m, chip);
    struct hbm_stats s = {.run_count = 0};

    for (size_t i = 0; i < t->hbm_count; i++) {
        const struct trace_hbm *h = &t->hbm[i].h;

        if (t->hbm[i].chip != chip)
            continue;
        /* writes that were held back move when the channel idles, seen by the next access */
        assert_true((h->asked_at <= h->data_at || h->is_write) && h->bytes > 0);
        /* a read of what a write has left in the buffer moves nothing on the data bus */
        if (h->data_at == h->end_at)
            assert_true(!h->is_write && h->row == TRACE_ROW_HIT);
        else
            assert_true(h->data_at < h->end_at);
        *(h->is_write ? &s.write_bytes : &s.read_bytes) += h->bytes;
        s.run_count++;
        s.row_hits += h->row == TRACE_ROW_HIT;
        s.row_closed += h->row == TRACE_ROW_CLOSED;
        s.row_conflicts += h->row == TRACE_ROW_CONFLICT;
        s.refresh_waits += h->has_met_refresh;
        s.busy_ps += h->end_at - h->data_at;
    }
    assert_memory_equal(&s, k, sizeof(s));
}

static int64_t sent_for(const struct trace_log *t, int core, uint32_t dma)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->link_count; i++)
        if (t->link[i].l.core == core && t->link[i].l.dma == dma)
            sum += t->link[i].l.payload_bytes;
    return sum;
}

/* every copy crosses every link on its way */
static void check_links(const struct trace_log *t, const struct machine *m)
{
    const struct net *net = machine_net(m);
    int per_chip = (int)machine_chip(m)->chip_cores;

    for (int link = 0; link < net_link_count(net); link++) {
        const struct net_link_stats *k = net_link(net, link);
        struct net_link_stats s = {.from = k->from, .to = k->to};

        for (size_t i = 0; i < t->link_count; i++) {
            if (t->link[i].link != link)
                continue;
            s.payload_bytes += t->link[i].l.payload_bytes;
            s.wire_bytes += t->link[i].l.wire_bytes;
            s.busy_ps += t->link[i].l.end - t->link[i].l.start;
        }
        assert_memory_equal(&s, k, sizeof(s));
    }
    for (int core = 0; core < t->core_count; core++)
        for (size_t i = 0; i < t->core[core].dma_count; i++) {
            const struct trace_dma *d = &t->core[core].dma[i];
            int hops = core / per_chip == d->target / per_chip ? 0
                       : net_steps(net_route(net, core / per_chip, d->target / per_chip));

            assert_int_equal(sent_for(t, core, d->number), hops * d->bytes);
        }
}

void trace_log_check(const struct trace_log *t, const struct machine *m)
{
    assert_int_equal(t->resumed_at, 0);
    assert_int_equal(t->begun, t->ended);
    for (int core = 0; core < t->core_count; core++)
        check_core(t, m, core);
    for (int chip = 0; chip < t->core_count / (int)machine_chip(m)->chip_cores; chip++)
        check_hbm(t, m, chip);
    if (machine_net(m))
        check_links(t, m);
}
