/* The panel of the roofline: points of source operations in a plot, and a list beside it. */
#include "base/text.h"
#include "viz/draw/layout.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"
#include "viz/panels/roofline_draw.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HURRIED_BUDGET 10000            /* records and bundles counted between looks at the clock */

struct roofline_panel {
    struct roofline_model model;
    int generation;                     /* of the view that the model is of */
    struct roofline_plot plot;          /* as drawn last */
    size_t chosen;                      /* point that was clicked; ROOF_NO_POINT: none */
    size_t top;                         /* first row of the list */
};

struct roofline_places {
    struct rect words, legend, plot, list;
    int row;
};

static void init(void *state)
{
    struct roofline_panel *p = state;

    p->chosen = ROOF_NO_POINT;
}

static void fini(void *state)
{
    struct roofline_panel *p = state;

    roofline_model_fini(&p->model);
}

static void find_range(const struct view *v, cycle_t *from, cycle_t *end)
{
    const cycle_t all = ntrace_info(v->run)->cycles;

    *from = (cycle_t)(v->has_selection ? v->selection_from : v->from);
    *end = (cycle_t)ceil(v->has_selection ? v->selection_end : v->end);
    *end = *end > all ? all : *end;
    *from = *from < 0 ? 0 : *from > *end ? *end : *from;
}

/* true when all is counted */
static bool prepare(struct roofline_panel *p, const struct view *v)
{
    struct roofline_model *m = &p->model;
    cycle_t from, end;

    find_range(v, &from, &end);
    if (m->run != v->run || m->core != v->core || m->from != from || m->end != end
        || p->generation != v->generation) {
        roofline_model_restart(m, v->run, v->core, from, end);
        p->generation = v->generation;
        p->chosen = ROOF_NO_POINT;
    }
    while (!roofline_model_advance(m, v->is_hurried ? HURRIED_BUDGET : INT64_MAX))
        if (v->is_hurried && (!v->late_ns || view_is_late(v->late_ns)))
            return false;
    return true;
}

/* ---- where things are ---- */

enum { KEY_LATENCY = ROOF_RESOURCE_COUNT, KEY_COUNT };

static void legend(enum theme t, struct legend_entry entry[KEY_COUNT])
{
    static const char *const texts[KEY_COUNT] = {
        [ROOF_COMPUTE] = "bound by MXU", [ROOF_HBM] = "by HBM",
        [ROOF_VMEM_READ] = "by VMEM load", [ROOF_VMEM_WRITE] = "by VMEM store",
        [ROOF_ICI] = "by ICI", [KEY_LATENCY] = "by latency: uses nothing for 30 % of its time",
    };

    for (int i = 0; i < KEY_COUNT; i++) {
        struct roofline_point p = {.bound = (enum roofline_resource)(i < KEY_LATENCY ? i : 0)};

        p.use[p.bound] = i < KEY_LATENCY ? 1 : 0;
        entry[i] = (struct legend_entry){roofline_color(t, &p), texts[i]};
    }
}

static const char shapes[] =
    "disc: uses HBM most of its memories, square: VMEM load, diamond: VMEM store, triangle: ICI, "
    "and lies under that roof; the larger, the more time; framed: the mean of all cores";

static struct roofline_places place(const struct view *v, const struct draw_list *d,
                                    struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    const int gap = draw_scaled(d, 8), small = draw_line_height(d, TEXT_SMALL);
    const int one = draw_char_width(d, TEXT_SMALL);
    struct legend_entry entry[KEY_COUNT];
    struct roofline_places at = {.row = small + draw_scaled(d, 4)};

    legend(v->theme, entry);
    at.words = layout_spare_top(&r, 2 * draw_line_height(d, TEXT_NORMAL));
    rect_cut_top(&r, gap);
    at.legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, KEY_COUNT)
                                    + small * layout_paragraph_lines(d, r.w, TEXT_SMALL, shapes));
    rect_cut_bottom(&r, gap);
    if (r.w >= 140 * one) {
        at.list = rect_cut_right(&r, r.w * 9 / 20 < 80 * one ? r.w * 9 / 20 : 80 * one);
        rect_cut_right(&r, 2 * gap);
    }
    at.plot = r;
    return at;
}

/* ---- the list ---- */

/* widths in characters: time, share, FLOP/s, FLOP/B, bound; the name has the rest */
enum { CELL_TIME, CELL_SHARE, CELL_RATE, CELL_INTENSITY, CELL_BOUND, CELL_COUNT };
static const int cell_chars[CELL_COUNT] = {10, 7, 9, 8, 16};
static const char *const cell_names[CELL_COUNT] = {"µs", "%", "TFLOP/s", "FLOP/B",
                                                   "bound by"};

static void draw_row(const struct view *v, struct draw_list *d, struct rect row, rgba_t color,
                     const char *name, char cell[CELL_COUNT][40])
{
    const int one = draw_char_width(d, TEXT_SMALL), line = draw_line_height(d, TEXT_SMALL);

    for (int i = CELL_COUNT - 1; i >= 0; i--) {
        struct rect r = rect_cut_right(&row, cell_chars[i] * one);
        const int w = draw_text_width(d, TEXT_SMALL, cell[i]);

        if (i != CELL_BOUND && w < r.w)
            r.x += r.w - w;             /* numbers end at the right */
        else
            rect_cut_left(&r, one);
        r.h = line;
        draw_text_fit(d, r, TEXT_SMALL, color, cell[i]);
    }
    rect_cut_right(&row, one);
    row.h = line;
    draw_text_fit(d, row, TEXT_SMALL, color, name);
    (void)v;
}

static void draw_point_row(const struct roofline_panel *p, const struct view *v,
                           struct draw_list *d, struct rect row, size_t point)
{
    const struct roofline_point *at = roofline_point(&p->model, point);
    const rgba_t color = theme_color(v->theme, at->rate > 0 ? COLOR_TEXT : COLOR_DIM_TEXT);
    const int size = draw_scaled(d, 5);
    char cell[CELL_COUNT][40] = {"", "", "-", "-", ""};

    if (point == p->chosen)
        draw_rect(d, row, theme_color(v->theme, COLOR_SELECTION));
    roofline_draw_mark(d, at->memory, row.x + size, row.y + draw_line_height(d, TEXT_SMALL) / 2,
                       size, roofline_color(v->theme, at));
    rect_cut_left(&row, 3 * size);
    snprintf(cell[CELL_TIME], 40, "%.3f", at->seconds * 1e6);
    snprintf(cell[CELL_SHARE], 40, "%.1f", 100 * at->share);
    if (at->rate > 0) {
        snprintf(cell[CELL_RATE], 40, "%.4g", at->rate / 1e12);
        snprintf(cell[CELL_INTENSITY], 40, "%.3g", at->intensity);
    }
    snprintf(cell[CELL_BOUND], 40, "%s %.0f %%", roofline_roof_name(at->bound),
             100 * at->use[at->bound]);
    if (roofline_model_bound(at) != roofline_roof_name(at->bound))
        snprintf(cell[CELL_BOUND], 40, "%s", roofline_model_bound(at));
    draw_row(v, d, row, color, at->name, cell);
}

/* of the list: the whole step first, then the operations; ROOF_NO_POINT: none */
static size_t point_of_row(const struct roofline_panel *p, size_t row)
{
    const size_t point = row == 0 ? SIZE_MAX : p->top + row - 1;

    return row > 0 && point >= p->model.op_count ? ROOF_NO_POINT : point;
}

static void draw_list(const struct roofline_panel *p, const struct view *v, struct draw_list *d,
                      const struct roofline_places *at)
{
    struct rect r = at->list, row;
    char heading[CELL_COUNT][40], text[80];
    size_t i, rows;

    if (r.h < 4 * at->row)
        return;
    for (i = 0; i < CELL_COUNT; i++)
        snprintf(heading[i], sizeof(heading[i]), "%s", cell_names[i]);
    row = rect_cut_top(&r, at->row);
    rect_cut_left(&row, 3 * draw_scaled(d, 5));
    draw_row(v, d, row, theme_color(v->theme, COLOR_ACCENT), "source operation", heading);
    rows = (size_t)(r.h / at->row) - 1;
    for (i = 0; i < rows; i++) {
        const size_t point = point_of_row(p, i);

        if (point == ROOF_NO_POINT)
            break;
        if (point != SIZE_MAX || p->model.has_step)
            draw_point_row(p, v, d, rect_cut_top(&r, at->row), point);
        else
            rect_cut_top(&r, at->row);
    }
    if (p->model.op_count <= rows - 1)
        return;
    snprintf(text, sizeof(text), "%zu to %zu of %zu: the wheel shows others", p->top + 1,
             p->top + i - 1, p->model.op_count);
    draw_text_fit(d, rect_cut_top(&r, draw_line_height(d, TEXT_SMALL)), TEXT_SMALL,
                  theme_color(v->theme, COLOR_DIM_TEXT), text);
}

/* ---- words ---- */

static int without_point(const struct roofline_model *m)
{
    int count = 0;

    for (size_t i = 0; i < m->op_count; i++)
        count += m->op[i].rate <= 0;
    return count;
}

static void draw_words(const struct roofline_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r, bool is_done)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    const struct roofline_model *m = &p->model;
    const int points = (int)m->op_count - without_point(m), unnamed =
        p->plot.mark_count - p->plot.named_count;
    char note[160] = "", names[80] = "", text[700];

    if (!is_done)
        snprintf(note, sizeof(note), " Still counting: core %d of %d.", m->turn + 1,
                 info->core_count);
    else if (info->left_out_count > 0)
        snprintf(note, sizeof(note), " The trace left %lld records out, which are not counted.",
                 (long long)info->left_out_count);
    if (unnamed > 0)
        snprintf(names, sizeof(names), ", %d of them without room for a name", unnamed);
    snprintf(text, sizeof(text), "Lines are what one core can do at most; points what core %d did "
             "in cycles %s to %s of the run: %d source operation%s with matrix products%s; "
             "%d without are in the list alone.%s", v->core,
             text_thousands(m->from).text, text_thousands(m->end).text,
             points, points == 1 ? "" : "s", names, without_point(m), note);
    layout_paragraph(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct roofline_panel *p = state;
    struct roofline_places at = place(v, d, area);
    struct legend_entry entry[KEY_COUNT];
    bool is_done;

    if (ntrace_info(v->run)->level < TRACE_BUNDLE) {
        layout_nothing(d, area, v->theme, "This trace does not tell which bundles issued: record "
                       "with --trace-level bundle to see a roofline.");
        return;
    }
    is_done = prepare(p, v);
    d->is_partial |= !is_done;
    if (p->top >= p->model.op_count)
        p->top = 0;
    roofline_draw_plot(&p->plot, &p->model, v, d, at.plot, p->chosen);
    draw_words(p, v, d, at.words, is_done);
    draw_list(p, v, d, &at);
    legend(v->theme, entry);
    rect_cut_top(&at.legend, layout_legend(d, at.legend, v->theme, entry, KEY_COUNT));
    layout_paragraph(d, at.legend, TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), shapes);
}

/* ---- the pointer ---- */

/* ROOF_NO_POINT: nothing is there */
static size_t point_at(const struct roofline_panel *p, const struct roofline_places *at, int x,
                       int y)
{
    if (rect_has(at->list, x, y) && y >= at->list.y + at->row)
        return point_of_row(p, (size_t)((y - at->list.y) / at->row - 1));
    for (int i = p->plot.mark_count - 1; i >= 0; i--) {     /* what lies on top first */
        const struct roof_mark *k = &p->plot.mark[i];

        if (abs(x - k->x) <= k->size + 1 && abs(y - k->y) <= k->size + 1)
            return k->point;
    }
    return ROOF_NO_POINT;
}

static struct roofline_places places_of(const struct view *v, struct rect area)
{
    struct roofline_places at;
    struct draw_list d;

    draw_init(&d, v->scale_percent);    /* for the measures of text */
    at = place(v, &d, area);
    draw_fini(&d);
    return at;
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct roofline_panel *p = state;
    const struct roofline_places at = places_of(v, area);

    (void)d;
    if (i->kind == INPUT_WHEEL && rect_has(at.list, i->x, i->y)) {
        const size_t by = 3;

        if (i->dy > 0)
            p->top = p->top > by ? p->top - by : 0;
        else if (p->top + by < p->model.op_count)
            p->top += by;
        return true;
    }
    if (i->kind != INPUT_PRESS || i->button != 1 || p->model.run != v->run)
        return false;
    p->chosen = point_at(p, &at, i->x, i->y);
    return true;
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct roofline_panel *p = state;
    const struct roofline_places at = places_of(v, area);
    const size_t point = p->model.run ? point_at(p, &at, x, y) : ROOF_NO_POINT;
    const struct roofline_point *k = roofline_point(&p->model, point);
    char *text;

    (void)d;
    if (point == ROOF_NO_POINT || (point == SIZE_MAX && !p->model.has_step))
        return "";
    text = arena_printf(a, "%s%s\n%.3f µs, %.1f %% of the time shown\nbound by %s\n \n%-11s %5.1f "
                        "%%  %s issued", k->name,
                        point == SIZE_MAX ? arena_printf(a, ", mean of %d core%s",
                                                         p->model.core_count,
                                                         p->model.core_count == 1 ? "" : "s") : "",
                        k->seconds * 1e6, 100 * k->share, roofline_model_bound(k),
                        roofline_roof_name(ROOF_COMPUTE), 100 * k->use[ROOF_COMPUTE],
                        quantity_flops(k->flops).text);
    for (int i = 0; i < ROOF_MEMORY_COUNT; i++)
        text = arena_printf(a, "%s\n%-11s %5.1f %%  %s", text,
                            roofline_roof_name((enum roofline_resource)i), 100 * k->use[i],
                            quantity_bytes(k->bytes[i]).text);
    if (k->rate <= 0)
        return arena_printf(a, "%s\n \nno matrix products: no point", text);
    return arena_printf(a, "%s\n \n%s at %.4g FLOP per byte of %s", text,
                        roofline_rate(k->rate, "FLOP/s").text, k->intensity,
                        roofline_roof_name(k->memory));
}

const struct panel_class panel_roofline = {
    .state_bytes = sizeof(struct roofline_panel), .init = init, .fini = fini, .draw = draw,
    .input = input, .hover = hover};
