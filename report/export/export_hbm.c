/* Tells the tracks of memory and of the links between chips. */
#include "report/export/export_walk.h"

#include "sim/time/clock.h"

static cycle_t cycle_of(const struct export_run *r, ps_t at)
{
    cycle_t next = clock_cycle_at(r->info->chip->chip_clock_mhz, at);

    return export_ps(r, next) > at ? next - 1 : next;
}

static void set_times_ps(const struct export_walker *w, struct export_slice *s, ps_t start,
                         ps_t end)
{
    s->start_ps = start;
    s->end_ps = end;
    s->start = cycle_of(w->r, start);
    s->end = cycle_of(w->r, end);
}

/* ----- channels of HBM */

static bool put_burst(void *context, const struct trace_hbm *h)
{
    static const char *const rows[] = {[TRACE_ROW_HIT] = "open", [TRACE_ROW_CLOSED] = "closed",
                                       [TRACE_ROW_CONFLICT] = "another one open"};
    struct export_walker *w = context;
    struct export_names *n = w->r->names;
    struct export_slice s = {.bytes = h->bytes, .is_write = h->is_write, .touches_hbm = true};

    set_times_ps(w, &s, h->data_at, h->end_at);
    if (!w->sink->counts_only) {
        s.name = export_name(n, h->is_write ? "write" : "read");
        export_arg_number(&s, KEY_BANK, h->bank);
        export_arg_number(&s, KEY_BYTES, h->bytes);
        export_arg_text(&s, KEY_ROW, export_name(n, rows[h->row]));
        if (h->has_met_refresh)
            export_arg_text(&s, KEY_REFRESH, export_name(n, "yes"));
    }
    if (h->channel >= 0 && h->channel < w->r->info->channel_count)
        export_row_slice(w, &w->row[h->channel], &s);
    return true;
}

void export_walk_hbm(struct export_walker *w, int chip)
{
    int channels = w->r->info->channel_count;
    int counters = export_counter_rows(w, NULL, EXPORT_HBM);
    struct export_process p = {.kind = EXPORT_HBM, .index = chip};

    p.name = arena_printf(&w->arena, "HBM of chip %d", chip);
    export_begin_process(w, &p, channels + counters);
    for (int i = 0; i < channels; i++) {
        w->row[i].kind = EXPORT_CHANNEL;
        w->row[i].index = i;
        w->row[i].name = arena_printf(&w->arena, "channel %d", i);
    }
    if (export_shows(w->r, EXPORT_CHANNEL))
        ntrace_walk_hbm(w->r->t, chip, w->r->options.first, w->r->end, put_burst, w);
    export_counter_rows(w, &w->row[channels], EXPORT_HBM);
    export_counter_samples(w, &w->row[channels], EXPORT_HBM, chip);
    export_end_process(w);
}

/* ----- links */

struct link_walk {
    struct export_walker *w;
    struct export_row *row;
};

static bool put_message(void *context, const struct trace_link *l)
{
    const struct link_walk *k = context;
    struct export_names *n = k->w->r->names;
    struct export_slice s = {.bytes = l->payload_bytes};
    bool is_copy = l->dma != UINT32_MAX;

    set_times_ps(k->w, &s, l->start, l->end);
    if (!k->w->sink->counts_only) {
        s.name = export_name(n, is_copy ? "copy" : "sync flag");
        export_arg_number(&s, KEY_CORE, l->core);
        if (is_copy)
            export_arg_number(&s, KEY_COPY, l->dma);
        export_arg_number(&s, KEY_BYTES, l->payload_bytes);
        export_arg_number(&s, KEY_WIRE, l->wire_bytes);
    }
    export_row_slice(k->w, k->row, &s);
    return true;
}

static void put_link(struct export_walker *w, int link)
{
    struct link_walk k = {w, &w->row[2 * link]};
    int from, to;

    ntrace_link_ends(w->r->t, link, &from, &to);
    k.row[0] = (struct export_row){.kind = EXPORT_LINK, .index = link, .rank = 2 * link,
        .name = arena_printf(&w->arena, "link %d: chip %d to %d", link, from, to)};
    k.row[1] = (struct export_row){.kind = EXPORT_COUNTER, .index = link, .rank = 2 * link + 1,
        .name = arena_printf(&w->arena, "link %d: chip %d to %d, on the wire", link, from, to),
        .unit = "GB/s"};
    if (export_shows(w->r, EXPORT_LINK))
        ntrace_walk_links(w->r->t, link, w->r->options.first, w->r->end, put_message, &k);
    export_counter_samples(w, &k.row[1], EXPORT_ICI, link);
}

void export_walk_links(struct export_walker *w)
{
    struct export_process p = {.kind = EXPORT_ICI, .name = "links between chips"};

    export_begin_process(w, &p, 2 * w->r->info->link_count);
    for (int link = 0; link < w->r->info->link_count; link++)
        if (export_has_link(w->r, link))
            put_link(w, link);
    export_end_process(w);
}
