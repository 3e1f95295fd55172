/* Lays out the timeline's lanes: which there are, how high, and where. */
#include <stdio.h>
#include <string.h>

#include "viz/timeline/timeline.h"

/* pixels at 100 % */
static const int heights[LANE_KIND_COUNT] = {
    [LANE_CORE] = 22, [LANE_OPS] = 22, [LANE_BUNDLES] = 18, [LANE_STALLS] = 26, [LANE_UNIT] = 18,
    [LANE_DMA] = 68, [LANE_CHIP] = 22, [LANE_HBM] = 52, [LANE_LINK] = 18};

static void release(struct timeline *t)
{
    tiles_destroy(t->columns);
    tiles_destroy(t->spans);
    tiles_destroy(t->notes);
    mem_free(t->is_open);
    t->columns = t->spans = t->notes = NULL;
    t->is_open = NULL;
}

void timeline_bind(struct timeline *t, const struct view *v)
{
    const struct ntrace_info *i = v ? ntrace_info(v->run) : NULL;

    if (!v || t->run != v->run) {
        release(t);
        t->hidden_count = 0;
        t->run = v ? v->run : NULL;
        if (!v)
            return;
        t->generation = v->generation;
        t->columns = tiles_create(t->run, COLUMNS_TILES_MAX);
        t->spans = tiles_create(t->run, SPANS_TILES_MAX);
        t->notes = tiles_create(t->run, NOTE_COLUMNS_TILES_MAX);
        t->is_open = mem_alloc((size_t)(i->core_count + i->chip_count) + 1);
        t->core_opened = -1;
        if (i->chip_count == 1)
            t->is_open[i->core_count] = true;
    }
    if (t->generation != v->generation) {
        tiles_forget(t->columns);
        tiles_forget(t->spans);
        tiles_forget(t->notes);
        t->dense_ops.is_known = t->dense_dmas.is_known = false;
        t->generation = v->generation;
    }
    if (t->core_opened != v->core && v->core >= 0 && v->core < i->core_count) {
        if (t->core_opened < 0 && i->core_count)
            t->is_open[i->core_count + v->core / (i->core_count / i->chip_count)] = true;
        t->is_open[v->core] = true;
        t->core_opened = v->core;
        t->scroll = -1;                 /* to its first lane, once that is known */
    }
}

static bool is_hidden(const struct timeline *t, enum lane_kind kind, int index, int unit)
{
    for (size_t i = 0; i < t->hidden_count; i++)
        if (t->hidden[i].kind == kind && t->hidden[i].index == index && t->hidden[i].unit == unit)
            return true;
    return false;
}

bool timeline_hide(struct timeline *t, const struct lane *l)
{
    if (!l)
        return false;
    MEM_ADD(t->hidden, t->hidden_count, t->hidden_capacity) = *l;
    return true;
}

bool timeline_show_all(struct timeline *t)
{
    bool was_hidden = t->hidden_count > 0;

    t->hidden_count = 0;
    return was_hidden;
}

static void add(struct timeline *t, const struct draw_list *d, enum lane_kind kind, int index,
                int unit)
{
    struct lane *last = t->lane_count ? &t->lane[t->lane_count - 1] : NULL;
    int y = last ? last->y + last->h : 0;

    if (is_hidden(t, kind, index, unit))
        return;
    MEM_ADD(t->lane, t->lane_count, t->lane_capacity) = (struct lane){
        kind, index, unit, y, draw_scaled(d, heights[kind])};
}

static void add_core(struct timeline *t, const struct draw_list *d, int core)
{
    const struct ntrace_info *i = ntrace_info(t->run);

    add(t, d, LANE_CORE, core, 0);
    if (!t->is_open[core] || is_hidden(t, LANE_CORE, core, 0))
        return;
    if (i->level >= TRACE_OP)
        add(t, d, LANE_OPS, core, 0);
    add(t, d, LANE_BUNDLES, core, 0);
    add(t, d, LANE_STALLS, core, 0);
    for (int u = 0; u < i->unit_count; u++)
        if (strcmp(ntrace_unit_name(t->run, u), "dma") != 0)
            add(t, d, LANE_UNIT, core, u);
    if (i->level >= TRACE_OP)
        add(t, d, LANE_DMA, core, 0);
}

static void add_chip(struct timeline *t, const struct draw_list *d, int chip)
{
    const struct ntrace_info *i = ntrace_info(t->run);
    int from, to;

    add(t, d, LANE_CHIP, chip, 0);
    if (!t->is_open[i->core_count + chip] || is_hidden(t, LANE_CHIP, chip, 0))
        return;
    add(t, d, LANE_HBM, chip, 0);
    for (int link = 0; link < i->link_count; link++) {
        ntrace_link_ends(t->run, link, &from, &to);
        if (from == chip)
            add(t, d, LANE_LINK, link, 0);
    }
}

void timeline_lay_out(struct timeline *t, const struct draw_list *d)
{
    const struct ntrace_info *i = ntrace_info(t->run);
    int per_chip = i->chip_count ? i->core_count / i->chip_count : 0;

    t->lane_count = 0;
    for (int chip = 0; chip < i->chip_count; chip++) {
        for (int core = chip * per_chip; core < (chip + 1) * per_chip; core++)
            add_core(t, d, core);
        add_chip(t, d, chip);
    }
    for (size_t k = 0; t->scroll < 0 && k < t->lane_count; k++)
        if (t->lane[k].kind == LANE_CORE && t->lane[k].index == t->core_opened)
            t->scroll = t->lane[k].y;
}

int timeline_height(const struct timeline *t)
{
    const struct lane *last = t->lane_count ? &t->lane[t->lane_count - 1] : NULL;

    return last ? last->y + last->h : 0;
}

struct timeline_places timeline_places(const struct view *v, const struct draw_list *d,
                                       struct rect area)
{
    struct timeline_places p;
    struct rect left;

    p.legend = rect_cut_bottom(&area, timeline_legend_height(v, d, area.w));
    p.gutter = 24 * draw_char_width(d, TEXT_SMALL);
    if (p.gutter > area.w / 3)
        p.gutter = area.w / 3;
    left = rect_cut_left(&area, p.gutter);
    p.minimap = rect_cut_top(&area, draw_scaled(d, 38));
    p.ruler = rect_cut_top(&area, axis_ruler_height(d));
    p.steps = rect_cut_top(&area, draw_scaled(d, 22));
    p.lanes = area;
    p.names = (struct rect){left.x, area.y, left.w, area.h};
    return p;
}

void timeline_lane_name(const struct timeline *t, const struct lane *l, char *buf, size_t bytes)
{
    const struct ntrace_info *i = ntrace_info(t->run);
    int from, to;

    switch (l->kind) {
    case LANE_CORE: snprintf(buf, bytes, "%s core %d",
                             t->is_open[l->index] ? "▾" : "▸", l->index); break;
    case LANE_CHIP: snprintf(buf, bytes, "%s chip %d",
                             t->is_open[i->core_count + l->index] ? "▾" : "▸", l->index); break;
    case LANE_OPS: snprintf(buf, bytes, "operations"); break;
    case LANE_BUNDLES: snprintf(buf, bytes, "bundles"); break;
    case LANE_STALLS: snprintf(buf, bytes, "stalls"); break;
    case LANE_DMA: snprintf(buf, bytes, "copies"); break;
    case LANE_HBM: snprintf(buf, bytes, "HBM"); break;
    case LANE_LINK:
        ntrace_link_ends(t->run, l->index, &from, &to);
        snprintf(buf, bytes, "link %d→%d", from, to);
        break;
    default: snprintf(buf, bytes, "%s", ntrace_unit_name(t->run, l->unit)); break;
    }
}

rgba_t timeline_lane_color(const struct timeline *t, const struct view *v, const struct lane *l)
{
    switch (l->kind) {
    case LANE_UNIT: return theme_unit_color(v->theme, ntrace_unit_name(t->run, l->unit));
    case LANE_BUNDLES: return theme_color(v->theme, COLOR_ISSUE);
    case LANE_DMA: return theme_color(v->theme, COLOR_DMA);
    case LANE_LINK: return theme_color(v->theme, COLOR_LINK);
    default: return theme_color(v->theme, COLOR_DIM_TEXT);
    }
}

const struct lane *timeline_lane_at(const struct timeline *t, const struct timeline_places *p,
                                    int y)
{
    y -= p->lanes.y;
    if (y < 0 || y >= p->lanes.h)
        return NULL;
    y += t->scroll;
    for (size_t i = 0; i < t->lane_count; i++)
        if (y >= t->lane[i].y && y < t->lane[i].y + t->lane[i].h)
            return &t->lane[i];
    return NULL;
}

size_t timeline_launch_at(const struct ntrace_info *i, double at)
{
    size_t low = 0, high = i->launch_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if ((double)i->launch[middle].start <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool timeline_is_near(const struct view *v, int width)
{
    return view_cycles_per_pixel(v, width) < TIMELINE_EVENTS_BELOW
           && ntrace_info(v->run)->level >= TRACE_BUNDLE;
}
