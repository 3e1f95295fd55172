/* Walks a trace once for all formats: processes, rows of tracks, lanes. */
#include "report/export/export_walk.h"

#include "sim/time/clock.h"

#include <string.h>

const char *export_key_name(enum export_key k)
{
    static const char *const names[] = {
#define KEY(id, name, xprof) name,
#include "report/export/export_keys.def"
    };

    return names[k];
}

const char *export_key_xprof(enum export_key k)
{
    static const char *const names[] = {
#define KEY(id, name, xprof) xprof,
#include "report/export/export_keys.def"
    };

    return names[k];
}

ps_t export_ps(const struct export_run *r, cycle_t at)
{
    return clock_edge_ps(r->info->chip->chip_clock_mhz, at);
}

/* what a level has; below, what the trace or the user left out */
static const enum trace_level least_level[EXPORT_KIND_COUNT] = {
    [EXPORT_OPS] = TRACE_OP, [EXPORT_COPIES] = TRACE_OP, [EXPORT_COUNTER] = TRACE_OP,
    [EXPORT_BUNDLES] = TRACE_BUNDLE, [EXPORT_STALLS] = TRACE_BUNDLE,
    [EXPORT_FLAGS] = TRACE_BUNDLE, [EXPORT_UNIT] = TRACE_BUNDLE, [EXPORT_MARKS] = TRACE_BUNDLE,
    [EXPORT_CHANNEL] = TRACE_BUNDLE, [EXPORT_LINK] = TRACE_BUNDLE,
};

bool export_shows(const struct export_run *r, enum export_kind kind)
{
    return (r->kinds >> kind & 1u) && r->options.level >= least_level[kind];
}

void export_arg_number(struct export_slice *s, enum export_key key, int64_t value)
{
    s->arg[s->arg_count++] = (struct export_arg){.key = key, .value = value};
}

void export_arg_text(struct export_slice *s, enum export_key key, uint32_t text)
{
    if (text)
        s->arg[s->arg_count++] = (struct export_arg){.key = key, .text = text};
}

void export_begin_process(struct export_walker *w, struct export_process *p, int row_count)
{
    p->id = ++w->process_count;
    w->process = p;
    w->row = arena_array(&w->arena, (size_t)row_count, sizeof(*w->row));
    w->row_count = row_count;
    for (int i = 0; i < row_count; i++)
        w->row[i].rank = i;
    if (w->sink->begin)
        w->sink->begin(w->sink->context, p);
}

void export_end_process(struct export_walker *w)
{
    if (w->sink->end)
        w->sink->end(w->sink->context, w->process);
    for (int i = 0; i < w->row_count; i++)
        mem_free(w->row[i].lane);
    arena_fini(&w->arena);
}

static struct export_lane *add_lane(struct export_walker *w, struct export_row *row)
{
    struct export_lane *lane = arena_alloc(&w->arena, sizeof(*lane));
    size_t number = row->count;

    lane->track = (struct export_track){
        .process = w->process, .kind = row->kind, .index = row->index, .lane = (int)number,
        .id = ++w->track_count, .rank = row->rank, .unit = row->unit,
        .name = number ? arena_printf(&w->arena, "%s #%zu", row->name, number) : row->name};
    row->lane = mem_grow(row->lane, &row->capacity, number + 1, sizeof(struct export_lane *));
    row->lane[row->count++] = lane;
    if (w->sink->track)
        w->sink->track(w->sink->context, &lane->track);
    return lane;
}

static bool has_room(const struct export_walker *w, const struct export_lane *lane,
                     const struct export_slice *s)
{
    return lane->end <= s->start_ps || s->end_ps == s->start_ps
           || (w->sink->nests && lane->start == s->start_ps && lane->end == s->end_ps);
}

static int launch_at(struct export_walker *w, cycle_t at)
{
    const struct ntrace_info *info = w->r->info;
    int launch = w->launch;

    while (launch > 0 && info->launch[launch].start > at)
        launch--;
    while ((size_t)launch + 1 < info->launch_count && info->launch[launch + 1].start <= at)
        launch++;
    return w->launch = launch;
}

/* walks go by when something was asked for, a slice by when it was done */
static bool is_outside(const struct export_run *r, const struct export_slice *s)
{
    return (s->start >= r->end && r->end < r->info->cycles)
           || (s->end <= r->options.first && s->start < r->options.first);
}

/* the first lane that is free at its start; a marker overlaps nothing */
void export_row_slice(struct export_walker *w, struct export_row *row, struct export_slice *s)
{
    struct export_lane *lane = NULL;
    size_t i = 0;

    if (!w->sink->slice || is_outside(w->r, s))
        return;
    s->launch = launch_at(w, s->start);
    while (i < row->count && !has_room(w, row->lane[i], s))
        i++;
    lane = i < row->count ? row->lane[i] : add_lane(w, row);
    if (s->end_ps > lane->end) {
        lane->start = s->start_ps;
        lane->end = s->end_ps;
    }
    w->sink->slice(w->sink->context, &lane->track, s);
}

void export_row_sample(struct export_walker *w, struct export_row *row, cycle_t at, double value)
{
    struct export_lane *lane = row->count ? row->lane[0] : add_lane(w, row);

    if (w->sink->sample)
        w->sink->sample(w->sink->context, &lane->track, at, value);
}

static bool has_chip(const struct export_run *r, int chip)
{
    int cores = (int)r->info->chip->chip_cores;

    for (int core = chip * cores; core < (chip + 1) * cores && core < r->info->core_count; core++)
        if (export_has_core(r, core))
            return true;
    return false;
}

/* with one core asked for: the links that leave or reach its chip */
bool export_has_link(const struct export_run *r, int link)
{
    int from, to;

    ntrace_link_ends(r->t, link, &from, &to);
    return has_chip(r, from) || has_chip(r, to);
}

void export_walk(struct export_run *r, const struct export_sink *sink)
{
    struct export_walker w = {.r = r, .sink = sink};

    arena_init(&w.arena);
    if (r->end <= r->options.first)
        return;
    if (export_shows(r, EXPORT_COPIES) && !sink->counts_only)
        export_copies_gather(r, sink->wants_flows && export_shows(r, EXPORT_STALLS), &w.copies);
    for (int core = 0; core < r->info->core_count; core++)
        if (export_has_core(r, core))
            export_walk_core(&w, core);
    for (int chip = 0; chip < r->info->chip_count; chip++)
        if (has_chip(r, chip))
            export_walk_hbm(&w, chip);
    if (r->info->link_count)
        export_walk_links(&w);
    export_copies_free(&w.copies);
}
