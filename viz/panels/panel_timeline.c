/*
 * The panel of time: a lane for each unit, copy and link of the cores, with stalls and operations.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/view/card.h"
#include "viz/models/model_range.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"
#include "viz/timeline/timeline.h"

/* tiles that a hurried frame may ask of the run: a few milliseconds */
#define COLUMNS_PER_FRAME 8
#define SPANS_PER_FRAME 3
#define NOTES_PER_FRAME 1

static void init(void *state)
{
    struct timeline *t = state;

    t->core_opened = -1;
}

static void fini(void *state)
{
    struct timeline *t = state;

    timeline_bind(t, NULL);
    mem_free(t->lane);
    mem_free(t->hidden);
    mem_free(t->mean);
    mem_free(t->cover);
}

static enum ntrace_series series_of(const struct lane *l)
{
    return l->kind == LANE_LINK ? NTRACE_LINK
           : l->kind == LANE_CHIP || l->kind == LANE_HBM ? NTRACE_HBM : NTRACE_CORE;
}

static void fill(struct timeline *t, const struct view *v, const struct lane *l, int width)
{
    enum ntrace_series s = series_of(l);
    size_t need = (size_t)(width * columns_member_count(t->columns, s));

    t->mean = mem_grow(t->mean, &t->mean_capacity, need, sizeof(*t->mean));
    columns_fill(t->columns, s, l->index, v->from, view_cycles_per_pixel(v, width), width, t->mean);
}

/* mean of a member over the pixels that were filled */
static double mean_of(const struct timeline *t, enum ntrace_series s, int member, int width)
{
    int members = columns_member_count(t->columns, s);
    double sum = 0;

    for (int i = 0; i < width; i++)
        sum += t->mean[i * members + member];
    return width > 0 ? sum / width : 0;
}

/* what matrix units did of what all of them could have done */
static double mxu_share(const struct timeline *t, int width)
{
    const struct ntrace_info *i = ntrace_info(t->run);
    double sum = 0;
    int count = 0;

    for (int u = 0; u < i->unit_count; u++) {
        const char *name = ntrace_unit_name(t->run, u);

        if (strncmp(name, "mxu", 3) != 0 || strchr(name, '.'))
            continue;
        sum += mean_of(t, NTRACE_CORE, NTRACE_CELL_UNIT + u, width);
        count++;
    }
    return count ? sum / count : 0;
}

/* what the number of a lane is; XProf's two numbers where a core or a chip is named */
static struct short_text lane_value(const struct timeline *t, const struct lane *l, int width)
{
    const struct chip *chip = ntrace_info(t->run)->chip;
    double per_second = 1 / chip_cycle_seconds(chip), rate = 0;
    struct short_text text = {""};

    if (l->kind == LANE_HBM || l->kind == LANE_CHIP)
        rate = per_second * (mean_of(t, NTRACE_HBM, NTRACE_HBM_READ_BYTES, width)
                             + mean_of(t, NTRACE_HBM, NTRACE_HBM_WRITE_BYTES, width));
    switch (l->kind) {
    case LANE_CORE:
        snprintf(text.text, sizeof(text.text), "MXU %.20s",
                 quantity_percent(mxu_share(t, width)).text);
        return text;
    case LANE_CHIP:
        snprintf(text.text, sizeof(text.text), "HBM %.20s",
                 quantity_percent(rate / chip_hbm_peak_bytes_per_second(chip)).text);
        return text;
    case LANE_BUNDLES:
        return quantity_percent(mean_of(t, NTRACE_CORE, NTRACE_CELL_ISSUE, width));
    case LANE_STALLS:
        return quantity_percent(1 - mean_of(t, NTRACE_CORE, NTRACE_CELL_ISSUE, width)
                                - mean_of(t, NTRACE_CORE, NTRACE_CELL_IDLE, width));
    case LANE_UNIT:
        return quantity_percent(mean_of(t, NTRACE_CORE, NTRACE_CELL_UNIT + l->unit, width));
    case LANE_HBM:
        return quantity_rate(rate);
    case LANE_LINK:
        return quantity_percent(1e-12 * per_second
                                * mean_of(t, NTRACE_LINK, NTRACE_LINK_BUSY_PS, width));
    default:
        return text;
    }
}

static void draw_name(struct timeline *t, const struct view *v, struct draw_list *d,
                      const struct lane *l, struct rect r, int width)
{
    int one = draw_char_width(d, TEXT_SMALL), line = draw_line_height(d, TEXT_SMALL);
    bool is_head = l->kind == LANE_CORE || l->kind == LANE_CHIP;
    int y = r.y + (r.h > 2 * line ? 2 : (r.h - line) / 2), w;
    rgba_t ink = theme_color(v->theme, is_head ? COLOR_TEXT : COLOR_DIM_TEXT);
    const struct short_text value = lane_value(t, l, width);
    char name[64];

    timeline_lane_name(t, l, name, sizeof(name));
    if (!is_head)
        draw_rect(d, (struct rect){r.x + one, y + 2, one / 2, line - 4},
                  timeline_lane_color(t, v, l));
    w = draw_text_width(d, TEXT_SMALL, value.text);
    if (w + one <= r.w)
        draw_text(d, r.x + r.w - w - one, y, TEXT_SMALL, theme_color(v->theme, COLOR_TEXT),
                  value.text);
    draw_text_fit(d, (struct rect){r.x + (is_head ? one / 2 : 2 * one), y,
                                   r.w - w - (is_head ? 2 : 4) * one, line},
                  TEXT_SMALL, ink, name);
}

/* where the cycles that are shown went, in words; beside the name of an open core */
static void draw_summary(struct timeline *t, const struct view *v, struct draw_list *d,
                         const struct lane *l, struct rect r)
{
    double share[STALL_COUNT + 1], best;
    char text[512] = "";
    int i, pick;

    if (l->kind != LANE_CORE)
        return;
    share[STALL_COUNT] = mean_of(t, NTRACE_CORE, NTRACE_CELL_ISSUE, r.w);
    for (i = 0; i < STALL_COUNT; i++)
        share[i] = mean_of(t, NTRACE_CORE, NTRACE_CELL_STALL + i, r.w);
    for (int k = 0; k < 6; k++) {
        for (i = 0, pick = 0, best = 0.0005; i <= STALL_COUNT; i++)
            if (share[i] > best) {
                best = share[i];
                pick = i;
            }
        if (best <= 0.0005)
            break;
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s", k ? " · " : "",
                 pick == STALL_COUNT ? "issue" : stall_name((enum stall_reason)pick),
                 quantity_percent(share[pick]).text);
        share[pick] = 0;
    }
    draw_text_fit(d, (struct rect){r.x + draw_scaled(d, 4),
                                   r.y + (r.h - draw_line_height(d, TEXT_SMALL)) / 2,
                                   r.w - draw_scaled(d, 8), draw_line_height(d, TEXT_SMALL)},
                  TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), text);
}

static void draw_lane(struct timeline *t, const struct view *v, struct draw_list *d,
                      const struct lane *l, struct rect r)
{
    bool is_head = l->kind == LANE_CORE || l->kind == LANE_CHIP;
    bool is_open = (l + 1 < t->lane + t->lane_count) && l[1].kind != LANE_CORE
                   && l[1].kind != LANE_CHIP;
    struct rect inside = {r.x, r.y + 2, r.w, r.h - 4};

    if (l->kind == LANE_OPS)
        timeline_draw_ops(t, v, d, l, inside);
    else if (l->kind == LANE_DMA)
        timeline_draw_dmas(t, v, d, l, inside);
    else if (is_head && is_open)
        draw_summary(t, v, d, l, r);
    else if (is_head || series_of(l) != NTRACE_CORE || !timeline_is_near(v, r.w))
        timeline_draw_columns(t, v, d, l, inside);
}

static bool is_same_source(const struct lane *a, const struct lane *b)
{
    return b && series_of(a) == series_of(b) && a->index == b->index && a->kind != LANE_HBM
           && a->kind != LANE_CHIP && a->kind != LANE_LINK;
}

static void draw_lanes(struct timeline *t, const struct view *v, struct draw_list *d,
                       const struct timeline_places *p)
{
    const struct lane *filled = NULL;
    size_t i, k;

    t->copy_count = 0;
    for (i = 0; i < t->lane_count; i++) {
        const struct lane *l = &t->lane[i];
        struct rect r = {p->lanes.x, p->lanes.y + l->y - t->scroll, p->lanes.w, l->h};

        if (r.y + r.h <= p->lanes.y || r.y >= p->lanes.y + p->lanes.h)
            continue;
        if (!is_same_source(l, filled))
            fill(t, v, l, r.w);
        filled = l;
        draw_rect(d, (struct rect){p->names.x, r.y, p->names.w + r.w, 1},
                  theme_color(v->theme, l->kind == LANE_CORE || l->kind == LANE_CHIP
                                            ? COLOR_DIM_TEXT : COLOR_GRID));
        draw_name(t, v, d, l, (struct rect){p->names.x, r.y, p->names.w, r.h}, r.w);
        draw_clip(d, p->lanes);
        draw_lane(t, v, d, l, r);
        draw_clip_end(d);
    }
    for (i = 0; i < t->lane_count; i = k) {     /* the open cores again, for what is over lanes */
        struct rect r = {p->lanes.x, p->lanes.y + t->lane[i].y - t->scroll, p->lanes.w, 0};

        for (k = i + 1; k < t->lane_count && t->lane[k].kind != LANE_CORE
                        && t->lane[k].kind != LANE_CHIP; k++)
            r.h = t->lane[k].y + t->lane[k].h - t->lane[i].y;
        if (t->lane[i].kind != LANE_CORE || k == i + 1 || r.y >= p->lanes.y + p->lanes.h
            || r.y + r.h <= p->lanes.y)
            continue;
        draw_clip(d, p->lanes);
        if (timeline_is_near(v, r.w))
            timeline_draw_events(t, v, d, &t->lane[i], k - i,
                                 (struct rect){r.x, p->lanes.y, r.w, p->lanes.h});
        timeline_draw_repeats(t, v, d, &t->lane[i], r);
        timeline_draw_arrows(t, v, d, &t->lane[i], k - i, p->lanes);
        draw_clip_end(d);
    }
}

static void draw_marks(const struct view *v, struct draw_list *d, struct rect r)
{
    struct axis a = axis_of_view(v, r);
    struct rect s = axis_rect(&a, v->selection_from, v->selection_end, r.y, r.h);
    struct rect c = axis_rect(&a, v->cursor, v->cursor, r.y, r.h);

    if (v->has_selection && s.w) {
        draw_rect(d, s, theme_color(v->theme, COLOR_SELECTION));
        draw_frame(d, s, theme_color(v->theme, COLOR_ACCENT));
    }
    for (int i = 0; i < VIEW_BOOKMARKS; i++) {
        struct rect b = axis_rect(&a, v->bookmark[i], v->bookmark[i], r.y, r.h);

        if (v->bookmark[i] >= 0 && b.w)
            draw_rect(d, b, theme_color(v->theme, COLOR_WARNING));
    }
    if (v->cursor >= 0 && c.w)
        draw_rect(d, c, theme_color(v->theme, COLOR_CURSOR));
}

/* at the left of a strip above the lanes, `down` pixels below its upper edge */
static void head_text(const struct view *v, struct draw_list *d, const struct timeline_places *p,
                      const struct rect *beside, int down, enum color_role role, const char *text)
{
    int one = draw_char_width(d, TEXT_SMALL);

    draw_text_fit(d, (struct rect){beside->x - p->gutter + one, beside->y + down,
                                   p->gutter - 2 * one, beside->h - down},
                  TEXT_SMALL, theme_color(v->theme, role), text);
}

static void draw_head(struct timeline *t, const struct view *v, struct draw_list *d,
                      const struct timeline_places *p)
{
    int line = draw_line_height(d, TEXT_SMALL);
    char text[96];

    timeline_draw_minimap(t, v, d, p->minimap);
    snprintf(text, sizeof(text), "whole run, core %d", v->core);
    head_text(v, d, p, &p->minimap, 2, COLOR_DIM_TEXT, text);
    head_text(v, d, p, &p->minimap, 2 + line, COLOR_DIM_TEXT,
              quantity_cycles((double)ntrace_info(v->run)->cycles).text);
    axis_draw_ruler(v, d, p->ruler, (struct rect){p->steps.x, p->steps.y, p->steps.w,
                                                  p->steps.h + p->lanes.h});
    head_text(v, d, p, &p->ruler, draw_scaled(d, 2), COLOR_DIM_TEXT, "cycles");
    head_text(v, d, p, &p->ruler, draw_scaled(d, 3) + line, COLOR_DIM_TEXT, "time");
    snprintf(text, sizeof(text), "%zu hidden: Shift+h", t->hidden_count);
    head_text(v, d, p, &p->steps, (p->steps.h - line) / 2,
              t->hidden_count ? COLOR_WARNING : COLOR_TEXT,
              t->hidden_count ? text : "launches, % of shown");
    draw_clip(d, p->steps);
    timeline_draw_steps(v, d, p->steps);
    draw_clip_end(d);
}

static void draw_selection_card(const struct view *v, struct draw_list *d, struct rect area)
{
    struct range_sums sums;
    /* on the side where the selection is not */
    bool is_left = v->selection_from + v->selection_end > v->from + v->end;

    model_range_sum(v->run, v->core, (cycle_t)llround(v->selection_from),
                    (cycle_t)llround(v->selection_end), &sums);
    card_draw(v, d, area, is_left ? area.x : area.x + area.w, area.y,
              model_range_text(v->run, &sums, v->core, &d->arena));
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct timeline *t = state;
    struct timeline_places p = timeline_places(v, d, area);
    int most;

    timeline_bind(t, v);
    timeline_lay_out(t, d);
    tiles_set_budget(t->columns, v->is_hurried ? COLUMNS_PER_FRAME : -1, v->late_ns);
    tiles_set_budget(t->spans, v->is_hurried ? SPANS_PER_FRAME : -1, v->late_ns);
    tiles_set_budget(t->notes, v->is_hurried ? NOTES_PER_FRAME : -1, v->late_ns);
    most = timeline_height(t) - p.lanes.h;
    t->scroll = t->scroll > most ? most : t->scroll;
    t->scroll = t->scroll < 0 ? 0 : t->scroll;
    draw_clip(d, area);
    draw_rect(d, area, theme_color(v->theme, COLOR_PANEL));
    draw_head(t, v, d, &p);
    draw_clip(d, (struct rect){p.names.x, p.names.y, p.names.w + p.lanes.w, p.lanes.h});
    draw_lanes(t, v, d, &p);
    draw_clip_end(d);
    draw_marks(v, d, (struct rect){p.steps.x, p.ruler.y, p.steps.w,
                                   p.ruler.h + p.steps.h + p.lanes.h});
    if (v->has_selection)
        draw_selection_card(v, d, p.lanes);
    timeline_draw_legend(t, v, d, p.legend);
    draw_clip_end(d);
    d->is_partial = d->is_partial || t->columns->is_partial || t->spans->is_partial
                    || t->notes->is_partial;
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct timeline *t = state;
    const char *text;

    timeline_bind(t, v);
    timeline_lay_out(t, d);
    text = timeline_hover(t, v, d, area, x, y, a);
    return text;
}

const struct panel_class panel_timeline = {
    .state_bytes = sizeof(struct timeline), .init = init, .fini = fini, .draw = draw,
    .input = timeline_input, .hover = hover};
