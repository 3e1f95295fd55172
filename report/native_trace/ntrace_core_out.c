/*
 * What a core did, on its way into the file: records into chunks, sums into
 * cells. A chunk begins with what units still do from before, so that a reader
 * may begin at any.
 */
#include "report/native_trace/ntrace_records.h"
#include "report/native_trace/ntrace_writer_impl.h"
#include "sim/core/program.h"

#define NO_TRACK 255                    /* ends the list of busy units at the head of a chunk */

void ntrace_core_out_init(struct ntrace_core_out *c, const struct ntrace_writer *w, int number)
{
    *c = (struct ntrace_core_out){.number = number, .writer = w, .cell_end = NTRACE_CELL_CYCLES};
    c->records.head = (struct ntrace_chunk_head){.kind = CHUNK_RECORDS, .stream = (uint32_t)number};
    ntrace_pyramid_init(&c->cells, CHUNK_CORE_CELLS, (uint32_t)number, 0, NTRACE_CELL_COUNT);
    ntrace_note_out_init(c);
}

void ntrace_core_out_fini(struct ntrace_core_out *c)
{
    ntrace_pyramid_fini(&c->cells);
    ntrace_note_out_fini(c);
    mem_free(c->records.buf.data);
    mem_free(c->program_list);
}

/* ---- cells ---- */

static bool has_sums(const struct ntrace_core_out *c)
{
    int64_t any = 0;

    for (int i = 0; i < NTRACE_CELL_COUNT; i++)
        any |= c->tally.value[i];
    return any != 0;
}

/* the cell that `at` lies in is the open one from now on */
static void move_cell(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at)
{
    ntrace_tally_cut(&c->tally, c->cell_end);
    if (has_sums(c))
        ntrace_pyramid_cell(&c->cells, out, c->cell, c->tally.value);
    memset(c->tally.value, 0, sizeof(c->tally.value));
    ntrace_tally_carry(&c->tally, c->cell_end);
    c->cell = at / NTRACE_CELL_CYCLES;
    c->cell_end = (c->cell + 1) * NTRACE_CELL_CYCLES;
}

static void add_run(struct ntrace_core_out *c, struct ntrace_out *out, uint32_t bundle,
                    int64_t count, cycle_t at)
{
    const struct ntrace_tally_program *p = &c->program->tally;

    while (count) {
        int64_t part;

        if (at >= c->cell_end)
            move_cell(c, out, at);
        part = count < c->cell_end - at ? count : c->cell_end - at;
        ntrace_tally_run(&c->tally, p, bundle, part, at);
        bundle += (uint32_t)part;
        at += part;
        count -= part;
    }
}

/* Up to `end`, `f` goes on evenly; units that are still busy with what issued before stay so. */
static void add_filling(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at, cycle_t end,
                        const struct ntrace_filling *f)
{
    cycle_t whole_end = end / NTRACE_CELL_CYCLES * NTRACE_CELL_CYCLES, next;

    for (; at < end; at = next) {
        if (at >= c->cell_end)
            move_cell(c, out, at);
        if (at % NTRACE_CELL_CYCLES == 0 && at < whole_end &&
            !ntrace_tally_is_busy(&c->tally, at)) {
            ntrace_pyramid_fill(&c->cells, out, at, whole_end, f);
            next = whole_end;
            move_cell(c, out, next);
            continue;
        }
        next = c->cell_end < end ? c->cell_end : end;
        for (int i = 0; i < NTRACE_CELL_COUNT; i++)
            if (f->value[i])
                c->tally.value[i] += ntrace_share_of(f->value[i], next - f->at, f->period)
                                     - ntrace_share_of(f->value[i], at - f->at, f->period);
    }
}

#define SHORT_WAIT 256                  /* cycles: not worth a filling */

static void add_long_wait(struct ntrace_core_out *c, struct ntrace_out *out, int member, cycle_t at,
                          cycle_t end)
{
    int64_t value[NTRACE_CELL_COUNT] = {0};

    value[member] = 1;
    add_filling(c, out, at, end, &(struct ntrace_filling){at, 1, value});
}

static inline void add_wait(struct ntrace_core_out *c, struct ntrace_out *out, int member,
                            cycle_t at, cycle_t end)
{
    if (end - at > SHORT_WAIT) {
        add_long_wait(c, out, member, at, end);
        return;
    }
    while (at < end) {
        cycle_t next;

        if (at >= c->cell_end)
            move_cell(c, out, at);
        next = c->cell_end < end ? c->cell_end : end;
        c->tally.value[member] += next - at;
        at = next;
    }
}

/*
 * Units begin and end each period as busy as the window left them, so a repeat
 * has just what its periods have, and the work under way moves to its end.
 */
static void add_repeat(struct ntrace_core_out *c, struct ntrace_out *out,
                       const struct trace_repeat *r)
{
    cycle_t until[MACHINE_UNIT_MAX], end = r->at + r->period * r->count;
    int64_t value[NTRACE_CELL_COUNT] = {0};

    value[NTRACE_CELL_ISSUE] = r->issue_cycles;
    memcpy(value + NTRACE_CELL_STALL, r->stall_cycles, sizeof(r->stall_cycles));
    memcpy(value + NTRACE_CELL_UNIT, r->busy_cycles, sizeof(r->busy_cycles));
    value[NTRACE_CELL_UNIT + TRACK_DMA] = 0;    /* the copies tell */
    if (r->at >= c->cell_end)
        move_cell(c, out, r->at);
    ntrace_tally_cut(&c->tally, r->at);
    memcpy(until, c->tally.busy_until, sizeof(until));
    memset(c->tally.busy_until, 0, sizeof(until));
    add_filling(c, out, r->at, end, &(struct ntrace_filling){r->at, r->period, value});
    for (int i = 0; i < MACHINE_UNIT_MAX; i++)
        c->tally.busy_until[i] = until[i] > r->at ? until[i] + (end - r->at) : until[i];
    ntrace_tally_carry(&c->tally, end);
}

void ntrace_core_out_begin(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at)
{
    c->now = at;
    c->known_until = 0;
    c->has_live = false;
    if (at >= c->cell_end)
        move_cell(c, out, at);
    ntrace_note_out_begin(c, out);
}

/* ---- records ---- */

static void begin_chunk(struct ntrace_core_out *c, cycle_t at)
{
    struct ntrace_buf *b = &c->records.buf;

    ntrace_buf_reserve(b, (MACHINE_UNIT_MAX + 1) * (1 + VARINT_MAX));
    for (uint32_t left = c->tally.long_tracks; left; left &= left - 1) {
        int track = __builtin_ctz(left);

        if (c->tally.busy_until[track] <= at)
            continue;
        ntrace_put_byte(b, (unsigned)track);
        ntrace_put_varint(b, (uint64_t)c->tally.busy_until[track]);
    }
    ntrace_put_byte(b, NO_TRACK);
    c->coder = (struct ntrace_core_coder){.at = 0};
}

static inline void make_room(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at)
{
    if (c->records.buf.size >= CHUNK_PAYLOAD_BYTES)
        ntrace_stream_flush(&c->records, out);
    if (c->records.buf.size == 0)
        begin_chunk(c, at);
}

/* with its bundle numbered through all programs */
static inline void put(struct ntrace_core_out *c, const struct trace_record *r, cycle_t end)
{
    ntrace_put_core_record(&c->records.buf, &c->coder, r, c->first_bundle);
    ntrace_stream_note(&c->records, r->at, end);
}

void ntrace_core_out_keep(struct ntrace_core_out *c, struct ntrace_out *out,
                          const struct trace_record *r, cycle_t end)
{
    if (!ntrace_quota_take(&c->quota, c->writer, r->at))
        return;
    make_room(c, out, r->at);
    put(c, r, end);
}

static inline void keep_run(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_record *r)
{
    if (c->writer->options.level < TRACE_BUNDLE) {
        c->quota.left_out++;
        return;
    }
    if (!ntrace_quota_take(&c->quota, c->writer, r->at))
        return;
    make_room(c, out, r->at);
    if (c->has_live && r->kind == TRACE_RUN)
        put(c, &c->live, r->at);
    put(c, r, r->at + r->value);
}

static inline void run(struct ntrace_core_out *c, struct ntrace_out *out,
                       const struct trace_record *r)
{
    c->has_live &= c->live.at == r->at;
    ntrace_note_out_run(c, out, r);
    keep_run(c, out, r);
    if (r->kind == TRACE_STALL) {
        add_wait(c, out, NTRACE_CELL_STALL + r->reason, r->at, r->at + r->value);
    } else if (c->has_live) {
        if (r->at >= c->cell_end)
            move_cell(c, out, r->at);
        ntrace_tally_live(&c->tally, &c->program->tally, r->bundle, (uint64_t)c->live.value, r->at);
        add_run(c, out, r->bundle + 1, r->value - 1, r->at + 1);
    } else {
        add_run(c, out, r->bundle, r->value, r->at);
    }
    c->has_live &= r->kind == TRACE_STALL;
    c->now = r->at + r->value;
}

/* in parts where the window's borders cut it */
static void cut_run(struct ntrace_core_out *c, struct ntrace_out *out, const struct trace_record *r)
{
    const cycle_t border[3] = {c->now, c->writer->options.window_first,
                               c->writer->options.window_end};
    struct trace_record part = *r;

    if (border[2] == 0 && border[0] <= r->at) {
        run(c, out, r);
        return;
    }
    for (int i = 0; i < 3; i++) {
        int64_t before = border[i] - part.at;

        if (before <= 0 || before >= part.value)
            continue;
        part.value = before;
        if (i > 0)                      /* what was told before is not told again */
            run(c, out, &part);
        part.at = border[i];
        part.value = r->at + r->value - part.at;
        part.bundle = r->kind == TRACE_RUN ? part.bundle + (uint32_t)before : part.bundle;
    }
    run(c, out, &part);
}

/* marks and accesses lie within the run before them, and stay in its chunk */
static void keep_other(struct ntrace_core_out *c, struct ntrace_out *out,
                       const struct trace_record *r)
{
    bool is_for_all = r->kind == TRACE_MARK || r->kind == TRACE_HALT;

    if (c->writer->options.level < (is_for_all ? TRACE_OP : TRACE_BUNDLE))
        c->quota.left_out++;
    else if (r->kind == TRACE_HALT || c->records.buf.size == 0)
        ntrace_core_out_keep(c, out, r, r->at);
    else if (ntrace_quota_take(&c->quota, c->writer, r->at))
        put(c, r, r->at);
}

/* Told before a snapshot was taken up. A halt goes with the run that it ends. */
static bool is_known(const struct ntrace_core_out *c, const struct trace_record *r)
{
    switch (r->kind) {
    case TRACE_RUN:
    case TRACE_STALL:
        return r->at + r->value <= c->known_until;
    case TRACE_HALT:
        return r->at <= c->known_until;
    default:
        return r->at < c->known_until;
    }
}

void ntrace_core_out_record(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_record *r)
{
    if (c->known_until && is_known(c, r))
        return;
    switch (r->kind) {
    case TRACE_RUN:
    case TRACE_STALL:
        cut_run(c, out, r);
        break;
    case TRACE_LIVE:
        c->live = *r;
        c->has_live = true;
        break;
    case TRACE_HALT:
        ntrace_note_out_end(c, out);
        keep_other(c, out, r);
        break;
    default:
        keep_other(c, out, r);
        break;
    }
}

void ntrace_core_out_repeat(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_repeat *r)
{
    if (r->at < c->known_until)
        return;
    ntrace_note_out_repeat(c, out, r);
    if (c->writer->options.level < TRACE_OP) {
        c->quota.left_out++;
    } else if (ntrace_quota_take(&c->quota, c->writer, r->at)) {
        make_room(c, out, r->at);
        ntrace_put_repeat(&c->records.buf, &c->coder, r);
        ntrace_stream_note(&c->records, r->at, r->at + r->period * r->count);
    }
    add_repeat(c, out, r);
    c->now = r->at + r->period * r->count;
}

/* units are free when the next launch begins; what they still did does not count */
void ntrace_core_out_end(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t end)
{
    if (c->program)
        ntrace_note_out_end(c, out);
    add_wait(c, out, NTRACE_CELL_IDLE, c->now, end);
    ntrace_tally_cut(&c->tally, end);
    memset(c->tally.busy_until, 0, sizeof(c->tally.busy_until));
    c->tally.long_tracks = 0;
    ntrace_stream_flush(&c->records, out);
    c->now = end;
}

void ntrace_core_out_launch(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct core_counters *k)
{
    int64_t value[NTRACE_CELL_COUNT] = {0};

    value[NTRACE_CELL_ISSUE] = k->issue_cycles;
    value[NTRACE_CELL_IDLE] = k->idle_cycles;
    memcpy(value + NTRACE_CELL_STALL, k->stall_cycles, sizeof(k->stall_cycles));
    for (int i = 0; i < k->unit_count; i++)
        value[NTRACE_CELL_UNIT + i] = k->unit[i].busy_cycles;
    if (k->cycles > 0)
        add_filling(c, out, c->now, c->now + k->cycles,
                    &(struct ntrace_filling){c->now, k->cycles, value});
    c->now += k->cycles;
}

void ntrace_core_out_flush(struct ntrace_core_out *c, struct ntrace_out *out, bool is_end)
{
    ntrace_note_out_flush(c, out, is_end);
    ntrace_stream_flush(&c->records, out);
    if (is_end)
        move_cell(c, out, c->cell_end);
    ntrace_pyramid_flush(&c->cells, out, is_end);
}
