/* The panel that puts a launch of one run beside one of another, and ranks the differences. */
#include "viz/panels/compare_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/draw/layout.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"

#define COLUMN_TILES_PER_FRAME 4         /* of each run, in a quick frame */
#define NOTE_TILES_PER_FRAME 1
#define LEGEND_MOST (STALL_COUNT + 5)

static void init(void *state)
{
    struct compare_panel *p = state;

    p->other_launch = SIZE_MAX;
}

static void release(struct compare_cache *c)
{
    if (c->run) {
        tiles_destroy(c->columns);
        tiles_destroy(c->notes);
    }
    memset(c, 0, sizeof(*c));
}

static void fini(void *state)
{
    struct compare_panel *p = state;

    release(&p->cache[0]);
    release(&p->cache[1]);
    compare_model_fini(&p->model);
    mem_free(p->mean);
}

/* ---- which launches ---- */

static bool shows_all(const struct view *v)
{
    return v->from <= 0 && v->end >= (double)ntrace_info(v->run)->cycles;
}

/* of A: the one that is looked at; the last one where all are */
static size_t own_launch(const struct view *v)
{
    const struct ntrace_info *i = ntrace_info(v->run);

    return shows_all(v) ? i->launch_count - 1
                        : steps_model_at(i, (cycle_t)((v->from + v->end) / 2));
}

static size_t other_launch(const struct compare_panel *p, const struct view *v)
{
    const size_t count = ntrace_info(v->other)->launch_count, own = own_launch(v);
    const size_t wanted = p->other_launch != SIZE_MAX ? p->other_launch
                          : shows_all(v) ? count - 1 : own;

    return wanted < count ? wanted : count - 1;
}

static void bind(struct compare_panel *p, const struct view *v)
{
    struct ntrace *const run[2] = {v->run, v->other};

    for (int i = 0; i < 2; i++) {
        struct compare_cache *c = &p->cache[i];

        if (c->run != run[i]) {
            release(c);
            *c = (struct compare_cache){run[i], tiles_create(run[i], COLUMNS_TILES_MAX),
                                        tiles_create(run[i], NOTE_COLUMNS_TILES_MAX)};
        }
        if (p->generation != v->generation) {
            tiles_forget(c->columns);
            tiles_forget(c->notes);
        }
        tiles_set_budget(c->columns, v->is_hurried ? COLUMN_TILES_PER_FRAME : -1, 0);
        tiles_set_budget(c->notes, v->is_hurried ? NOTE_TILES_PER_FRAME : -1, 0);
    }
}

static void load(struct compare_panel *p, const struct view *v)
{
    const size_t own = own_launch(v), other = other_launch(p, v);
    struct compare_model *m = &p->model;

    bind(p, v);
    if (m->side[0].run != v->run || m->side[1].run != v->other || m->core != v->core
        || m->side[0].launch != own || m->side[1].launch != other
        || p->generation != v->generation)
        compare_model_load(m, v->run, own, v->other, other, v->core);
    p->generation = v->generation;
}

/* ---- where things are ---- */

static size_t legend(const struct compare_panel *p, enum theme t,
                     struct legend_entry entry[LEGEND_MOST])
{
    const struct compare_model *m = &p->model;
    size_t count = 0;

    entry[count++] = (struct legend_entry){theme_color(t, COLOR_ISSUE), "issue"};
    for (int i = 0; i < STALL_COUNT; i++)
        if (m->side[0].parts.stall_cycles[i] || m->side[1].parts.stall_cycles[i])
            entry[count++] = (struct legend_entry){theme_stall_color(t, (enum stall_reason)i),
                                                   stall_name((enum stall_reason)i)};
    entry[count++] = (struct legend_entry){theme_color(t, COLOR_IDLE), "idle"};
    entry[count++] = (struct legend_entry){theme_color(t, COLOR_HBM_READ), "HBM read, of peak"};
    entry[count++] = (struct legend_entry){theme_color(t, COLOR_HBM_WRITE), "written"};
    entry[count++] = (struct legend_entry){theme_color(t, COLOR_LINK), "link busy"};
    return count;
}

/* what lanes have more than they need goes to memory and links */
static void place_lanes(struct compare_lanes *l, const struct draw_list *d,
                        const struct ntrace_info *info, struct rect r, int name_width)
{
    const int line = draw_line_height(d, TEXT_SMALL), gap = draw_scaled(d, 3);
    const int cores = info->core_count > 0 ? info->core_count : 1;
    const bool has_links = info->link_count > 0;
    struct rect button;
    int graph;

    l->header = layout_spare_top(&r, draw_line_height(d, TEXT_NORMAL) + draw_scaled(d, 6));
    button = layout_button_rect(d, l->header.x, l->header.y, "<");
    l->last = button;
    l->next = layout_button_rect(d, button.x + button.w + gap, l->header.y, ">");
    l->names = rect_cut_left(&r, name_width);
    l->box = r;
    l->ops = r.h > 5 * line ? rect_cut_top(&r, line + draw_scaled(d, 2)) : (struct rect){0};
    rect_cut_top(&r, l->ops.h > 0 ? gap : 0);
    graph = r.h > 6 * line ? r.h / 4 : 0;
    l->links = has_links ? rect_cut_bottom(&r, graph) : (struct rect){0};
    rect_cut_bottom(&r, l->links.h > 0 ? gap : 0);
    l->hbm = rect_cut_bottom(&r, graph);
    rect_cut_bottom(&r, l->hbm.h > 0 ? gap : 0);
    l->core_height = r.h / cores < 3 ? 3 : r.h / cores < 3 * line ? r.h / cores : 3 * line;
    l->core_count = r.h / l->core_height < cores ? r.h / l->core_height : cores;
    l->cores = rect_cut_top(&r, l->core_count * l->core_height);
}

static void place(struct compare_panel *p, const struct view *v, const struct draw_list *d,
                  struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10)), half;
    const int gap = draw_scaled(d, 8), line = draw_line_height(d, TEXT_SMALL);
    const int names = draw_text_width(d, TEXT_SMALL, "HBM, chip 99 ") + draw_scaled(d, 6);
    struct legend_entry entry[LEGEND_MOST];
    const size_t count = legend(p, v->theme, entry);
    const int row = line + draw_scaled(d, 1);
    struct compare_places *at = &p->at;

    at->words = layout_spare_top(&r, 2 * draw_line_height(d, TEXT_NORMAL));
    rect_cut_top(&r, gap);
    at->tables = (struct rect){0};
    if (r.h > 24 * row && r.w > 90 * draw_char_width(d, TEXT_SMALL))
        at->tables = rect_cut_bottom(&r, (r.h * 2 / 5 < 15 * row ? r.h * 2 / 5 : 15 * row));
    rect_cut_bottom(&r, gap);
    at->legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, count));
    rect_cut_bottom(&r, gap);
    at->ruler = layout_spare_top(&r, line + draw_scaled(d, 2));
    rect_cut_left(&at->ruler, names);
    half = rect_cut_top(&r, (r.h - gap) / 2);
    rect_cut_top(&r, gap);
    place_lanes(&at->lanes[0], d, ntrace_info(v->run), half, names);
    place_lanes(&at->lanes[1], d, ntrace_info(v->other), r, names);
}

/* both begin at the left; a part of A's launch that is looked at is shown of both */
static void place_times(struct compare_panel *p, const struct view *v)
{
    const struct compare_side *s = p->model.side;
    const double start = (double)s[0].start, end = start + (double)s[0].cycles;
    const bool is_part = v->from >= start && v->end <= end && v->end - v->from < end - start - 1;
    struct compare_places *at = &p->at;

    at->from_us = is_part ? (v->from - start) / s[0].mhz : 0;
    at->span_us = is_part ? (v->end - v->from) / s[0].mhz
                          : fmax((double)s[0].cycles / s[0].mhz, (double)s[1].cycles / s[1].mhz);
    at->span_us = at->span_us > 0 ? at->span_us : 1;
    for (int i = 0; i < 2; i++) {
        struct compare_lanes *l = &at->lanes[i];
        double pixels;

        l->from = (double)s[i].start + at->from_us * s[i].mhz;
        l->cycles_per_pixel = at->span_us * s[i].mhz / (l->box.w > 0 ? l->box.w : 1);
        pixels = ceil(((double)(s[i].start + s[i].cycles) - l->from) / l->cycles_per_pixel - 1e-6);
        l->width = pixels < 0 ? 0 : pixels < l->box.w ? (int)pixels : l->box.w;
    }
}

/* ---- all ---- */

/* "B takes 26,597 cycles = 28.3 µs more than A (86.2 %)." */
static const char *difference_words(const struct compare_model *m, struct arena *a)
{
    const double us = (double)m->side[0].cycles / m->side[0].mhz;
    const double more = (double)m->side[1].cycles / m->side[1].mhz - us;

    if (more == 0)
        return "Both take equally long.";
    return arena_printf(a, "B takes %s%s%s %s than A (%.1f %%).",
                        m->has_two_clocks ? "" : quantity_cycles(fabs(m->difference)).text,
                        m->has_two_clocks ? "" : " = ",
                        quantity_seconds(fabs(more) * 1e-6).text, more > 0 ? "more" : "less",
                        us > 0 ? 100 * fabs(more) / us : 0);
}

static const char *missing_words(bool has_a, bool has_b)
{
    return has_a && has_b ? "" : has_a ? " Of B only a part is there."
           : has_b ? " Of A only a part is there." : " Of both only a part is there.";
}

static void draw_words(const struct compare_panel *p, const struct view *v, struct draw_list *d)
{
    const struct compare_model *m = &p->model;
    const char *text = arena_printf(
        &d->arena, "%s%s Core %d of both, launches aligned at their beginning; each list below "
        "adds up to the difference%s. The keys [ ] go to other launches of both runs, the buttons "
        "of one.", difference_words(m, &d->arena),
        missing_words(ntrace_info(v->run)->is_complete, ntrace_info(v->other)->is_complete),
        m->core, m->has_two_clocks ? ", in µs at the clock of B; what that clock does to the "
                                     "cycles of A is the row \"clock\"" : "");

    layout_paragraph(d, p->at.words, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct compare_panel *p = state;
    const char *refusal = compare_model_refusal(v->run, v->other, v->core, &d->arena);
    struct legend_entry entry[LEGEND_MOST];
    size_t count;

    p->is_drawn = !refusal;
    if (refusal) {
        layout_nothing(d, area, v->theme, refusal);
        return;
    }
    load(p, v);
    place(p, v, d, area);
    place_times(p, v);
    draw_words(p, v, d);
    for (int i = 0; i < 2; i++)
        draw_rect(d, p->at.lanes[i].box, theme_color(v->theme, COLOR_PANEL));
    compare_draw_ruler(p, v, d);
    for (int i = 0; i < 2; i++) {
        compare_draw_lanes(p, v, d, i);
        d->is_partial |= p->cache[i].columns->is_partial || p->cache[i].notes->is_partial;
    }
    compare_draw_tables(p, v, d);
    count = legend(p, v->theme, entry);
    layout_legend(d, p->at.legend, v->theme, entry, count);
}

/* ---- input ---- */

static void go_in_own(struct view *v, size_t launch)
{
    const struct ntrace_launch *l = &ntrace_info(v->run)->launch[launch];

    view_show(v, (double)l->start, (double)(l->start + l->cycles));
}

static size_t moved(size_t launch, int by, size_t count)
{
    if (by < 0)
        return launch > 0 ? launch - 1 : 0;
    return launch + 1 < count ? launch + 1 : launch;
}

static bool go_on(struct compare_panel *p, struct view *v, int by, bool own, bool other)
{
    const size_t a = own_launch(v), b = other_launch(p, v);
    const size_t next_a = moved(a, by, ntrace_info(v->run)->launch_count);
    const size_t next_b = moved(b, by, ntrace_info(v->other)->launch_count);

    p->other_launch = other ? next_b : b;
    if (own && next_a != a)
        go_in_own(v, next_a);
    return true;
}

static bool is_button(const struct compare_lanes *l, struct rect r, const struct input *i)
{
    return l->header.h > 0 && rect_has(r, i->x, i->y);
}

static bool press(struct compare_panel *p, struct view *v, const struct input *i)
{
    for (int side = 0; side < 2; side++) {
        const struct compare_lanes *l = &p->at.lanes[side];

        if (is_button(l, l->last, i))
            return go_on(p, v, -1, side == 0, side == 1);
        if (is_button(l, l->next, i))
            return go_on(p, v, 1, side == 0, side == 1);
    }
    return false;
}

/* the wheel and drags move through A's launch, and B goes with it */
static bool move(struct compare_panel *p, struct view *v, const struct input *i)
{
    const struct compare_lanes *l = &p->at.lanes[rect_has(p->at.lanes[1].box, i->x, i->y)];
    const struct compare_lanes *own = &p->at.lanes[0];

    if (!rect_has(l->box, i->x, i->y) || l->box.w <= 0)
        return false;
    if (shows_all(v)) {
        p->other_launch = other_launch(p, v);
        go_in_own(v, own_launch(v));
    }
    if (i->kind == INPUT_WHEEL)
        view_zoom(v, pow(0.8, i->dy), own->from + (i->x - own->box.x) * own->cycles_per_pixel);
    else
        view_pan(v, -(double)i->dx / l->box.w);
    return true;
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct compare_panel *p = state;

    (void)d;
    (void)area;
    if (!p->is_drawn || !v->other || p->cache[1].run != v->other)
        return false;
    if (i->kind == INPUT_KEY && (i->key == '[' || i->key == ']') && !i->has_ctrl)
        return go_on(p, v, i->key == ']' ? 1 : -1, true, true);
    if (i->kind == INPUT_PRESS && i->button == 1)
        return press(p, v, i);
    if (i->kind == INPUT_WHEEL || i->kind == INPUT_DRAG)
        return move(p, v, i);
    return false;
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct compare_panel *p = state;
    const char *text = "";

    (void)v;
    (void)area;
    if (!p->is_drawn)
        return "";
    for (int side = 0; side < 2 && !*text; side++)
        text = compare_lane_text(p, side, x, y, a);
    return *text ? text : compare_table_text(p, d, x, y, a);
}

const struct panel_class panel_compare = {
    .state_bytes = sizeof(struct compare_panel), .init = init, .fini = fini, .draw = draw,
    .input = input, .hover = hover};
