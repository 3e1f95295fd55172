/*
 * What a core did, on its way into the file: records into chunks, sums into
 * cells. A chunk begins with what units still do from before, so that a reader
 * may begin at any.
 */
#include "report/strace_records.h"
#include "report/strace_writer_impl.h"

#define NO_TRACK 255                    /* ends the list of busy units at the head of a chunk */

void core_out_init(struct core_out *c, const struct strace_writer *w, int number)
{
    *c = (struct core_out){.number = number, .writer = w};
    c->records.head = (struct chunk_head){.kind = CHUNK_RECORDS, .stream = (uint32_t)number};
}

void core_out_fini(struct core_out *c)
{
    mem_free(c->records.buf.data);
    mem_free(c->program_list);
}

void core_out_begin(struct core_out *c, cycle_t at)
{
    c->now = at;
    c->has_live = false;
    c->note.value = 0;
    memset(&c->tally, 0, sizeof(c->tally));
}

/* ---- records ---- */

static void begin_chunk(struct core_out *c, cycle_t at)
{
    struct buf *b = &c->records.buf;

    buf_reserve(b, (MACHINE_UNIT_MAX + 1) * (1 + VARINT_MAX));
    for (uint32_t left = c->tally.long_tracks; left; left &= left - 1) {
        int track = __builtin_ctz(left);

        if (c->tally.busy_until[track] <= at)
            continue;
        put_byte(b, (unsigned)track);
        put_varint(b, (uint64_t)(c->tally.busy_until[track] - at));
    }
    put_byte(b, NO_TRACK);
    c->coder = (struct core_coder){.at = at};
}

static inline void make_room(struct core_out *c, struct strace_out *out, cycle_t at)
{
    if (c->records.buf.size >= CHUNK_PAYLOAD_BYTES)
        stream_flush(&c->records, out);
    if (c->records.buf.size == 0)
        begin_chunk(c, at);
}

/* `r` with its bundle numbered through all programs */
static inline void put(struct core_out *c, struct trace_record r, cycle_t end)
{
    r.bundle += c->first_bundle;
    put_core_record(&c->records.buf, &c->coder, &r);
    stream_note(&c->records, r.at, end);
}

static inline bool keeps_bundles(const struct core_out *c)
{
    return c->writer->options.level >= TRACE_BUNDLE;
}

/* level op: intervals of one source operation */
static void end_note(struct core_out *c, struct strace_out *out)
{
    if (c->note.value && quota_take(&c->quota, c->writer, c->note.at)) {
        make_room(c, out, c->note.at);
        put(c, c->note, c->note.at + c->note.value);
    }
    c->note.value = 0;
}

static void add_note(struct core_out *c, struct strace_out *out, cycle_t at, int64_t count,
                     uint32_t bundle)
{
    const struct isa_bundle *b = c->program->program.bundle;

    if (c->note.value && c->note.at + c->note.value == at
        && b[c->note.bundle].note == b[bundle].note) {
        c->note.value += count;
        return;
    }
    end_note(c, out);
    c->note = (struct trace_record){.at = at, .value = count, .bundle = bundle,
                                    .kind = RECORD_NOTE};
}

static void add_notes(struct core_out *c, struct strace_out *out, const struct trace_record *r)
{
    uint32_t bundle = r->bundle, end = bundle + (uint32_t)r->value, next;

    if (r->kind == TRACE_STALL) {
        add_note(c, out, r->at, r->value, bundle);
        return;
    }
    for (; bundle < end; bundle = next) {
        next = c->program->tally.note_end[bundle];
        next = next < end ? next : end;
        add_note(c, out, r->at + (bundle - r->bundle), next - bundle, bundle);
    }
}

static void keep_run(struct core_out *c, struct strace_out *out, const struct trace_record *r)
{
    if (!keeps_bundles(c)) {
        c->quota.left_out++;
        if (c->writer->options.level == TRACE_OP)
            add_notes(c, out, r);
        return;
    }
    if (!quota_take(&c->quota, c->writer, r->at))
        return;
    make_room(c, out, r->at);
    if (c->has_live && r->kind == TRACE_RUN)
        put(c, c->live, r->at);
    put(c, *r, r->at + r->value);
}

static void run(struct core_out *c, struct strace_out *out, const struct trace_record *r)
{
    const struct tally_program *p = &c->program->tally;

    keep_run(c, out, r);
    if (r->kind == TRACE_STALL) {
        c->tally.value[STRACE_CELL_STALL + r->reason] += r->value;
    } else if (c->has_live) {
        tally_live(&c->tally, p, r->bundle, (uint64_t)c->live.value, r->at);
        tally_run(&c->tally, p, r->bundle + 1, r->value - 1, r->at + 1);
        c->has_live = false;
    } else {
        tally_run(&c->tally, p, r->bundle, r->value, r->at);
    }
    c->now = r->at + r->value;
}

/* in parts where the window's borders cut it */
static void cut_run(struct core_out *c, struct strace_out *out, const struct trace_record *r)
{
    const cycle_t border[2] = {c->writer->options.window_first, c->writer->options.window_end};
    struct trace_record part = *r;

    for (int i = 0; i < 2; i++) {
        int64_t before = border[i] - part.at;

        if (before <= 0 || before >= part.value)
            continue;
        part.value = before;
        run(c, out, &part);
        part.at = border[i];
        part.value = r->at + r->value - part.at;
        part.bundle = r->kind == TRACE_RUN ? part.bundle + (uint32_t)before : part.bundle;
    }
    run(c, out, &part);
}

/* marks and accesses lie within the run before them, and stay in its chunk */
static void keep_other(struct core_out *c, const struct trace_record *r)
{
    bool is_for_all = r->kind == TRACE_MARK || r->kind == TRACE_HALT;

    if (c->writer->options.level < (is_for_all ? TRACE_OP : TRACE_BUNDLE)) {
        c->quota.left_out++;
        return;
    }
    if (!quota_take(&c->quota, c->writer, r->at))
        return;
    if (c->records.buf.size == 0)
        begin_chunk(c, r->at);
    put(c, *r, r->at);
}

void core_out_record(struct core_out *c, struct strace_out *out, const struct trace_record *r)
{
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
        end_note(c, out);
        keep_other(c, r);
        break;
    default:
        keep_other(c, r);
        break;
    }
}

void core_out_repeat(struct core_out *c, struct strace_out *out, const struct trace_repeat *r)
{
    cycle_t end = r->at + r->period * r->count;

    end_note(c, out);
    for (uint32_t left = c->tally.long_tracks; left; left &= left - 1) {
        cycle_t *until = &c->tally.busy_until[__builtin_ctz(left)];

        *until += *until > r->at ? end - r->at : 0;
    }
    c->now = end;
    if (c->writer->options.level < TRACE_OP) {
        c->quota.left_out++;
        return;
    }
    if (!quota_take(&c->quota, c->writer, r->at))
        return;
    make_room(c, out, r->at);
    put_repeat(&c->records.buf, &c->coder, r);
    stream_note(&c->records, r->at, end);
}

void core_out_end(struct core_out *c, struct strace_out *out, cycle_t end)
{
    (void)end;
    end_note(c, out);
    stream_flush(&c->records, out);     /* units are free when the next launch begins */
}

void core_out_flush(struct core_out *c, struct strace_out *out)
{
    end_note(c, out);
    stream_flush(&c->records, out);
}
