/* Tells the tracks of a core: units, stalls, copies, source operations. */
#include "report/export/export_walk.h"

#include "sim/observe/inspect.h"

/* rows in the order in which people look; units follow, then counters */
enum row {
    ROW_STEPS, ROW_MODULES, ROW_OPS, ROW_COPIES, ROW_BUNDLES, ROW_STALLS, ROW_FLAGS, ROW_MARKS,
    ROW_UNITS
};

static const struct {
    enum export_kind kind;
    const char *name;
} fixed_rows[ROW_UNITS] = {
    [ROW_STEPS] = {EXPORT_STEPS, "steps"},
    [ROW_MODULES] = {EXPORT_MODULES, "programs"},
    [ROW_OPS] = {EXPORT_OPS, "source operations"},
    [ROW_COPIES] = {EXPORT_COPIES, "copies"},
    [ROW_BUNDLES] = {EXPORT_BUNDLES, "bundles"},
    [ROW_STALLS] = {EXPORT_STALLS, "stalls"},
    [ROW_FLAGS] = {EXPORT_FLAGS, "sync flag"},
    [ROW_MARKS] = {EXPORT_MARKS, "markers"},
};

static void set_times(const struct export_walker *w, struct export_slice *s, cycle_t start,
                      cycle_t end)
{
    s->start = start;
    s->end = end;
    s->start_ps = export_ps(w->r, start);
    s->end_ps = export_ps(w->r, end);
}

/* ----- launches */

static void put_launch(struct export_walker *w, size_t index)
{
    const struct ntrace_info *info = w->r->info;
    const struct ntrace_launch *l = &info->launch[index];
    char text[32];
    struct export_slice s = {0};

    set_times(w, &s, l->start, l->start + l->cycles);
    export_arg_number(&s, KEY_STEP, (int64_t)index + 1);
    if (l->is_faulted)
        export_arg_text(&s, KEY_FAULT, export_name(w->r->names, *l->fault ? l->fault : "fault"));
    snprintf(text, sizeof(text), "step %zu", index + 1);
    s.name = export_name(w->r->names, *l->name ? l->name : text);
    if (export_shows(w->r, EXPORT_STEPS))
        export_row_slice(w, &w->row[ROW_STEPS], &s);
    s.name = export_program_name(w->r->programs, w->core);
    export_arg_number(&s, KEY_PROGRAM, export_program_id(w->r->programs, w->core));
    if (export_shows(w->r, EXPORT_MODULES))
        export_row_slice(w, &w->row[ROW_MODULES], &s);
}

static void put_launches(struct export_walker *w)
{
    const struct ntrace_info *info = w->r->info;

    for (size_t i = 0; i < info->launch_count; i++) {
        const struct ntrace_launch *l = &info->launch[i];

        if (l->start < w->r->end && l->start + l->cycles > w->r->options.first)
            put_launch(w, i);
    }
}

/* ----- source operations */

static bool put_op(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    struct export_walker *w = context;
    struct export_slice s = {.note = note};

    set_times(w, &s, start, end);
    s.name = export_note_name(w->r->programs, w->core, note);
    if (!s.name)                        /* hand-written programs name none: they are one */
        s.name = export_program_name(w->r->programs, w->core);
    export_row_slice(w, &w->row[ROW_OPS], &s);
    return true;
}

/* ----- copies */

static void describe_copy(struct export_walker *w, struct export_slice *s,
                          const struct trace_dma *d, int core)
{
    struct export_programs *p = w->r->programs;
    char path[48];

    snprintf(path, sizeof(path), "%s to %s", memory_name((enum memory)d->source_space),
             memory_name((enum memory)d->destination_space));
    s->name = export_name(w->r->names, isa_info((enum isa_opcode)d->code)->mnemonic);
    export_arg_number(s, KEY_BUNDLE, d->bundle);
    export_arg_text(s, KEY_PATH, export_name(w->r->names, path));
    export_arg_number(s, KEY_BYTES, d->bytes);
    export_arg_number(s, KEY_FROM, d->source_address);
    export_arg_number(s, KEY_TO, d->destination_address);
    if (d->target != core)
        export_arg_number(s, KEY_TARGET, d->target);
    export_arg_number(s, KEY_FLAG, d->flag);
    export_arg_number(s, KEY_QUEUED, d->started_at - d->issued_at);
    export_arg_text(s, KEY_SOURCE, export_bundle_source(p, core, d->bundle));
    export_arg_text(s, KEY_NOTE, export_note_name(p, core, s->note));
}

static void put_copy(struct export_walker *w, const struct trace_dma *d, uint64_t flow)
{
    struct export_slice s = {.bytes = d->bytes, .flow = flow,
                             .is_write = d->destination_space == MEMORY_HBM};

    set_times(w, &s, d->issued_at, d->done_at);
    s.note = export_bundle_note(w->r->programs, w->core, d->bundle);
    s.touches_hbm = d->source_space == MEMORY_HBM || d->destination_space == MEMORY_HBM;
    if (!w->sink->counts_only)
        describe_copy(w, &s, d, w->core);
    export_row_slice(w, &w->row[ROW_COPIES], &s);
}

static bool count_copy(void *context, const struct trace_dma *d)
{
    put_copy(context, d, 0);
    return true;
}

static void put_copies(struct export_walker *w)
{
    const struct export_copies *c = &w->copies;

    if (w->sink->counts_only) {
        ntrace_walk_dmas(w->r->t, w->core, w->r->options.first, w->r->end, count_copy, w);
        return;
    }
    for (size_t i = export_copies_first(c, w->core); i < c->count && c->copy[i].core == w->core;
         i++)
        put_copy(w, &c->copy[i].dma, c->copy[i].flow);
}

/* ----- what happens bundle by bundle */

static void describe(struct export_walker *w, struct export_slice *s, const struct trace_event *e)
{
    struct export_programs *p = w->r->programs;

    export_arg_number(s, KEY_BUNDLE, e->bundle);
    if (e->op) {
        export_arg_number(s, KEY_OP, e->op - 1);
        export_arg_text(s, KEY_TEXT, export_op_text(p, w->core, e->op));
    }
    export_arg_text(s, KEY_SOURCE, export_bundle_source(p, w->core, e->bundle));
    export_arg_text(s, KEY_NOTE, export_note_name(p, w->core, s->note));
}

static void put_stall(struct export_walker *w, struct export_slice *s, enum stall_reason reason)
{
    const struct export_copies *c = &w->copies;

    if (!w->sink->counts_only)
        s->name = export_name(w->r->names, stall_name(reason));
    while (w->next_wait < c->wait_count && c->wait[w->next_wait].core == w->core
           && c->wait[w->next_wait].start < s->start)
        w->next_wait++;
    if (w->next_wait < c->wait_count && c->wait[w->next_wait].core == w->core
        && c->wait[w->next_wait].start == s->start) {
        s->flow = c->wait[w->next_wait].flow;
        s->ends_flow = true;
    }
    if (export_shows(w->r, EXPORT_STALLS))
        export_row_slice(w, &w->row[ROW_STALLS], s);
    s->flow = 0;
    if (export_shows(w->r, EXPORT_FLAGS) && (export_is_wait(reason) || reason == STALL_SYNC))
        export_row_slice(w, &w->row[ROW_FLAGS], s);
}

static void put_unit(struct export_walker *w, struct export_slice *s, const struct trace_event *e)
{
    s->op = e->op;
    s->bytes = e->bytes;
    if (!w->sink->counts_only) {
        s->name = export_op_name(w->r->programs, w->core, e->op);
        if (!s->name)
            s->name = export_name(w->r->names, isa_info((enum isa_opcode)e->code)->mnemonic);
    }
    if (export_shows(w->r, EXPORT_UNIT))
        export_row_slice(w, &w->row[ROW_UNITS + e->track], s);
}

static void put_mark(struct export_walker *w, struct export_slice *s, const struct trace_event *e)
{
    char text[32];

    snprintf(text, sizeof(text), "marker %lld", (long long)e->bytes);
    s->name = export_name(w->r->names, text);
    export_arg_number(s, KEY_MARKER, e->bytes);
    s->end = s->start;
    s->end_ps = s->start_ps;
    if (export_shows(w->r, EXPORT_MARKS))
        export_row_slice(w, &w->row[ROW_MARKS], s);
}

static bool put_event(void *context, const struct trace_event *e)
{
    struct export_walker *w = context;
    struct export_slice s = {.note = export_bundle_note(w->r->programs, w->core, e->bundle)};

    set_times(w, &s, e->start, e->end);
    if (!w->sink->counts_only)
        describe(w, &s, e);
    if (e->track >= 0)
        put_unit(w, &s, e);
    else if (e->track == TRACK_IS_STALL)
        put_stall(w, &s, (enum stall_reason)e->stall);
    else if (e->track == TRACK_IS_MARK)
        put_mark(w, &s, e);
    else if (export_shows(w->r, EXPORT_BUNDLES)) {
        if (!w->sink->counts_only)
            s.name = export_bundle_name(w->r->programs, w->core, e->bundle);
        export_row_slice(w, &w->row[ROW_BUNDLES], &s);
    }
    return true;
}

static void put_events(struct export_walker *w)
{
    bool is_slot = w->r->options.level == TRACE_SLOT;

    if (!export_shows(w->r, EXPORT_BUNDLES) && !export_shows(w->r, EXPORT_UNIT))
        return;
    w->next_wait = export_waits_first(&w->copies, w->core);
    ntrace_walk_core(w->r->t, w->core, w->r->options.first, w->r->end,
                     export_shows(w->r, EXPORT_BUNDLES), is_slot, put_event, w);
}

void export_walk_core(struct export_walker *w, int core)
{
    const struct ntrace_info *info = w->r->info;
    int units = info->unit_count, counters = export_counter_rows(w, NULL, EXPORT_CORE);
    struct export_process p = {.kind = EXPORT_CORE, .index = core};

    w->core = core;
    p.name = arena_printf(&w->arena, "core %d (chip %d)", core,
                          core / (int)info->chip->chip_cores);
    export_begin_process(w, &p, ROW_UNITS + units + counters);
    for (int i = 0; i < ROW_UNITS + units; i++) {
        w->row[i].kind = i < ROW_UNITS ? fixed_rows[i].kind : EXPORT_UNIT;
        w->row[i].name = i < ROW_UNITS ? fixed_rows[i].name
                                       : ntrace_unit_name(w->r->t, i - ROW_UNITS);
        w->row[i].index = i < ROW_UNITS ? 0 : i - ROW_UNITS;
    }
    put_launches(w);
    if (export_shows(w->r, EXPORT_OPS))
        ntrace_walk_ops(w->r->t, core, w->r->options.first, w->r->end, put_op, w);
    if (export_shows(w->r, EXPORT_COPIES))
        put_copies(w);
    put_events(w);
    export_counter_rows(w, &w->row[ROW_UNITS + units], EXPORT_CORE);
    export_counter_samples(w, &w->row[ROW_UNITS + units], EXPORT_CORE, core);
    export_end_process(w);
}
