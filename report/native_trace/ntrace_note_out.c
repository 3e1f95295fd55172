/*
 * Cycles by source operation. At level op the intervals themselves are
 * recorded; at every level their sums, in cells from NOTE_LEVEL on, finer ones
 * would hold little more than the records do. The last intervals are kept in
 * mind: a repeat says how long it went on, not with what.
 */
#include "report/native_trace/ntrace_records.h"
#include "report/native_trace/ntrace_writer_impl.h"

#define WIDTH ntrace_cell_width(NOTE_LEVEL)

void ntrace_note_out_init(struct ntrace_core_out *c)
{
    ntrace_pyramid_init(&c->notes, CHUNK_NOTE_CELLS, (uint32_t)c->number, NOTE_LEVEL, 0);
    c->note_cell_end = WIDTH;
}

void ntrace_note_out_fini(struct ntrace_core_out *c)
{
    ntrace_pyramid_fini(&c->notes);
    mem_free(c->note);
    mem_free(c->note_value);
}

/* note 0 stands for none of any program */
static uint32_t number_of(const struct ntrace_core_out *c, uint32_t bundle)
{
    uint32_t note = c->program->program.bundle[bundle].note;

    return note ? c->first_note + note : 0;
}

void ntrace_note_out_begin(struct ntrace_core_out *c, struct ntrace_out *out)
{
    int before = c->notes.member_count, needed;
    int64_t *value;

    c->note_count = 0;
    if (!c->program)
        return;
    if (!c->note)
        c->note = mem_alloc(NOTE_RUNS * sizeof(*c->note));
    needed = (int)(c->first_note + c->program->program.note_count + 1);
    if (needed <= before)
        return;
    value = mem_alloc((size_t)needed * sizeof(*value));
    if (c->note_value)
        memcpy(value, c->note_value, (size_t)before * sizeof(*value));
    mem_free(c->note_value);
    c->note_value = value;
    ntrace_pyramid_widen(&c->notes, out, needed);
}

static void close_cell(struct ntrace_core_out *c, struct ntrace_out *out)
{
    for (int i = 0; i < c->notes.member_count; i++) {
        if (!c->note_value[i])
            continue;
        ntrace_pyramid_cell(&c->notes, out, c->note_cell, c->note_value);
        memset(c->note_value, 0, (size_t)c->notes.member_count * sizeof(*c->note_value));
        return;
    }
}

static void open_cell_at(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at)
{
    close_cell(c, out);
    c->note_cell = at / WIDTH;
    c->note_cell_end = (c->note_cell + 1) * WIDTH;
}

static void fill(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at, cycle_t end,
                 const struct ntrace_filling *f)
{
    cycle_t whole_end, next;

    for (; at < end; at = next) {
        if (at >= c->note_cell_end)
            open_cell_at(c, out, at);
        whole_end = end / WIDTH * WIDTH;
        if (at % WIDTH == 0 && at < whole_end) {
            close_cell(c, out);
            ntrace_pyramid_fill(&c->notes, out, at, whole_end, f);
            next = whole_end;
            open_cell_at(c, out, next);
            continue;
        }
        next = c->note_cell_end < end ? c->note_cell_end : end;
        for (int i = 0; i < c->notes.member_count; i++)
            if (f->value[i])
                c->note_value[i] += ntrace_share_of(f->value[i], next - f->at, f->period)
                                    - ntrace_share_of(f->value[i], at - f->at, f->period);
    }
}

#define PLAIN_CYCLES 4                  /* cells: what is longer goes in as a filling */

static void count(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at, int64_t cycles,
                  uint32_t note)
{
    cycle_t end = at + cycles;
    int64_t *value;

    if (cycles >= PLAIN_CYCLES * WIDTH) {
        value = mem_alloc((size_t)c->notes.member_count * sizeof(*value));
        value[note] = 1;
        fill(c, out, at, end, &(struct ntrace_filling){at, 1, value});
        mem_free(value);
        return;
    }
    while (at < end) {
        cycle_t next;

        if (at >= c->note_cell_end)
            open_cell_at(c, out, at);
        next = c->note_cell_end < end ? c->note_cell_end : end;
        c->note_value[note] += next - at;
        at = next;
    }
}

void ntrace_note_out_end(struct ntrace_core_out *c, struct ntrace_out *out)
{
    const struct ntrace_note_run *n;

    if (c->has_open_note && c->writer->options.level == TRACE_OP) {
        n = &c->note[(c->note_count - 1) % NOTE_RUNS];
        ntrace_core_out_keep(
            c, out,
            &(struct trace_record){
                .at = n->at, .value = n->cycles, .bundle = n->bundle, .kind = RECORD_NOTE},
            n->end);
    }
    c->has_open_note = false;
}

static void add(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at, int64_t cycles,
                uint32_t bundle)
{
    struct ntrace_note_run *last = &c->note[(c->note_count - 1) % NOTE_RUNS];
    uint32_t note = number_of(c, bundle);

    count(c, out, at, cycles, note);
    if (c->has_open_note && last->end == at && number_of(c, last->bundle) == note) {
        last->end += cycles;
        last->cycles += cycles;
        return;
    }
    ntrace_note_out_end(c, out);
    c->note[c->note_count++ % NOTE_RUNS] =
        (struct ntrace_note_run){at, at + cycles, cycles, bundle};
    c->has_open_note = true;
    c->open_note = note;
}

/* most runs go on with the source operation of the one before, in the same cell */
static bool goes_on(struct ntrace_core_out *c, const struct trace_record *r)
{
    struct ntrace_note_run *last = &c->note[(c->note_count - 1) % NOTE_RUNS];
    uint32_t most = c->program->tally.note_end[r->bundle] - r->bundle;

    if (!c->has_open_note || last->end != r->at || r->at + r->value > c->note_cell_end
        || (r->kind == TRACE_RUN && r->value > most) || number_of(c, r->bundle) != c->open_note)
        return false;
    last->end += r->value;
    last->cycles += r->value;
    c->note_value[c->open_note] += r->value;
    return true;
}

void ntrace_note_out_run(struct ntrace_core_out *c, struct ntrace_out *out,
                         const struct trace_record *r)
{
    uint32_t bundle = r->bundle, end = bundle + (uint32_t)r->value, next;

    if (goes_on(c, r))
        return;
    if (r->kind == TRACE_STALL) {
        add(c, out, r->at, r->value, bundle);
        return;
    }
    for (; bundle < end; bundle = next) {
        next = c->program->tally.note_end[bundle];
        next = next < end ? next : end;
        add(c, out, r->at + (bundle - r->bundle), next - bundle, bundle);
    }
}

#define WINDOW_NOTES 256                /* different ones that are remembered of a repeat */

/* What the window of a repeat has of each: sums, and a bundle of each that there is. */
struct window_notes {
    int64_t *value;
    uint32_t bundle[WINDOW_NOTES];
    size_t count;
};

static void sum_window(const struct ntrace_core_out *c, cycle_t first, cycle_t last,
                       struct window_notes *w)
{
    uint64_t kept = c->note_count < NOTE_RUNS ? c->note_count : NOTE_RUNS, i;

    for (i = 1; i <= kept; i++) {
        const struct ntrace_note_run *n = &c->note[(c->note_count - i) % NOTE_RUNS];
        cycle_t from = later(n->at, first), end = n->end < last ? n->end : last;
        int64_t *value = &w->value[number_of(c, n->bundle)];

        if (n->end <= first)
            break;
        if (from >= end)
            continue;
        if (*value == 0 && w->count < WINDOW_NOTES)
            w->bundle[w->count++] = n->bundle;
        *value += ntrace_share_of(n->cycles, end - n->at, n->end - n->at)
                  - ntrace_share_of(n->cycles, from - n->at, n->end - n->at);
    }
}

void ntrace_note_out_repeat(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_repeat *r)
{
    cycle_t end = r->at + r->period * r->count;
    struct window_notes w = {.count = 0};

    ntrace_note_out_end(c, out);
    w.value = mem_alloc((size_t)c->notes.member_count * sizeof(*w.value));
    sum_window(c, r->at - r->period, r->at, &w);
    fill(c, out, r->at, end, &(struct ntrace_filling){r->at, r->period, w.value});
    for (size_t i = 0; i < w.count; i++)
        c->note[c->note_count++ % NOTE_RUNS] = (struct ntrace_note_run){
            r->at, end, w.value[number_of(c, w.bundle[i])] * r->count, w.bundle[i]};
    mem_free(w.value);
}

void ntrace_note_out_flush(struct ntrace_core_out *c, struct ntrace_out *out, bool is_end)
{
    ntrace_note_out_end(c, out);
    if (is_end && c->note_value)
        close_cell(c, out);
    ntrace_pyramid_flush(&c->notes, out, is_end);
}
