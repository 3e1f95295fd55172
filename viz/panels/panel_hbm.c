/* The panel of one chip's HBM: its rate over time, and its banks' bursts close up. */
#include "base/text.h"
#include "viz/view/axis.h"
#include "viz/draw/layout.h"
#include "viz/models/model_hbm.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"
#include "viz/view/time_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMN_PIXELS 3
#define HEAT_STEPS 12                   /* shades: neighbours of one shade are one rectangle */
#define REFRESH_PIXELS 8                /* nearer to each other they are not drawn */

struct hbm_panel {
    struct hbm_model model;
    struct view_shown shown;            /* that the model is of */
    int channel;                        /* whose banks are shown */
};

struct hbm_places {
    struct rect words, ruler, left, chart, channels, banks, legend;
};

static void fini(void *state)
{
    struct hbm_panel *p = state;

    hbm_model_fini(&p->model);
}

static void prepare(struct hbm_panel *p, const struct view *v, int width)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    const int chip = v->core / (int)info->chip->chip_cores, columns = width / COLUMN_PIXELS;

    if (!view_shown_changes(&p->shown, v, chip, columns))
        return;
    hbm_model_load(&p->model, v->run, chip, p->shown.from, p->shown.end,
                   (size_t)(columns > 1 ? columns : 1));
    if (p->channel >= p->model.channel_count)
        p->channel = 0;
}

/* ---- where things are ---- */

enum { KEY_READ, KEY_WRITE, KEY_PEAK, KEY_HIT, KEY_CLOSED, KEY_CONFLICT, KEY_REFRESH, KEY_COUNT };

static void colors(enum theme t, rgba_t color[KEY_COUNT])
{
    color[KEY_READ] = theme_color(t, COLOR_HBM_READ);
    color[KEY_WRITE] = theme_color(t, COLOR_HBM_WRITE);
    color[KEY_PEAK] = theme_color(t, COLOR_ACCENT);
    color[KEY_HIT] = theme_color(t, COLOR_VALU);
    color[KEY_CLOSED] = theme_color(t, COLOR_SCALAR);
    color[KEY_CONFLICT] = theme_color(t, COLOR_WARNING);
    color[KEY_REFRESH] = theme_color(t, COLOR_TEXT);
}

static void legend(enum theme t, struct legend_entry entry[KEY_COUNT])
{
    static const char *const meanings[KEY_COUNT] = {
        "read", "written", "peak of all data buses", "row hit: the row was open",
        "row closed: one activate first", "row conflict: another row was open, precharge first",
        "refresh: all banks stand still",
    };
    rgba_t color[KEY_COUNT];

    colors(t, color);
    for (int i = 0; i < KEY_COUNT; i++)
        entry[i] = (struct legend_entry){color[i], meanings[i]};
}

static struct hbm_places place(const struct view *v, const struct draw_list *d, struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    const int gap = draw_scaled(d, 8), small = draw_line_height(d, TEXT_SMALL);
    struct legend_entry entry[KEY_COUNT];
    struct hbm_places at;
    bool is_low;

    legend(v->theme, entry);
    at.words = layout_spare_top(&r, 2 * draw_line_height(d, TEXT_NORMAL));
    rect_cut_top(&r, gap);
    at.legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, KEY_COUNT));
    rect_cut_bottom(&r, gap);
    at.left = rect_cut_left(&r, draw_text_width(d, TEXT_SMALL, "channel 127 ") + gap);
    at.ruler = layout_spare_top(&r, axis_ruler_height(d));
    is_low = r.h < 12 * small;          /* only the chart */
    at.chart = rect_cut_top(&r, is_low ? r.h - small : r.h * 2 / 5);
    rect_cut_top(&r, gap + small);
    at.channels = rect_cut_top(&r, is_low ? 0 : (r.h - gap - small) / 2);
    rect_cut_top(&r, gap + small);
    at.banks = r;
    return at;
}

/* ---- the chart ---- */

static double column_rate(const struct hbm_panel *p, double bytes)
{
    return hbm_model_rate(&p->model, bytes, p->model.width_cycles);
}

/* left border of a column, which may lie left of what is shown */
static int column_x(const struct hbm_panel *p, const struct view *v, struct rect r, size_t column)
{
    const struct axis a = axis_of_view(v, r);
    const double x = axis_x(&a, (double)(p->model.from + (cycle_t)column * p->model.width_cycles));

    return x < r.x ? r.x : x > r.x + r.w ? r.x + r.w : (int)x;
}

static int rate_y(const struct hbm_panel *p, struct rect r, double rate)
{
    const double share = rate / (p->model.peak_bytes_per_second * 1.08);

    return r.y + r.h - (int)((share < 1 ? share : 1) * r.h + 0.5);
}

static void draw_chart_axis(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                            const struct hbm_places *at)
{
    const double peak = p->model.peak_bytes_per_second;
    const int line = draw_line_height(d, TEXT_SMALL), h = at->chart.h;
    const int steps = h > 8 * line ? 4 : h > 4 * line ? 2 : 1;

    for (int i = 0; i <= steps && h > 3 * line; i++) {
        const int y = rate_y(p, at->chart, peak * i / steps);

        draw_line(d, at->chart.x, y, at->chart.x + at->chart.w, y, i == steps ? 2 : 1,
                  theme_color(v->theme, i == steps ? COLOR_ACCENT : COLOR_GRID));
        draw_text_fit(d, (struct rect){at->left.x, i == 0 ? y - line : y - line / 2, at->left.w,
                                       line}, TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT),
                      quantity_rate(peak * i / steps).text);
    }
}

static void draw_chart(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                       const struct hbm_places *at)
{
    const struct rect r = at->chart;
    rgba_t color[KEY_COUNT];

    colors(v->theme, color);
    for (size_t i = 0; i < p->model.count; i++) {
        const struct hbm_column *c = &p->model.column[i];
        const int x = column_x(p, v, r, i), end = column_x(p, v, r, i + 1);
        const int read = rate_y(p, r, column_rate(p, c->read_bytes));
        const int all = rate_y(p, r, column_rate(p, c->read_bytes + c->write_bytes));

        if (end <= x)
            continue;
        draw_rect(d, (struct rect){x, read, end - x, r.y + r.h - read}, color[KEY_READ]);
        draw_rect(d, (struct rect){x, all, end - x, read - all}, color[KEY_WRITE]);
    }
}

static void draw_refreshes(const struct view *v, struct draw_list *d, struct rect r)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    const struct axis a = axis_of_view(v, r);
    const double period = hbm_model_refresh_cycles(info);
    double at;

    if (period / a.cycles_per_pixel < draw_scaled(d, REFRESH_PIXELS))
        return;
    for (at = hbm_model_refresh(info, v->from); at < v->end;
         at = hbm_model_refresh(info, at + period / 2))
        draw_rect(d, (struct rect){(int)axis_x(&a, at), r.y - draw_scaled(d, 4), draw_scaled(d, 2),
                                   draw_scaled(d, 4)}, theme_color(v->theme, COLOR_TEXT));
}

/* ---- channels ---- */

static int heat_step(const struct hbm_panel *p, size_t column, int channel)
{
    return (int)(hbm_model_channel_share(&p->model, column, channel) * HEAT_STEPS + 0.5);
}

static void draw_channel(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                         struct rect r, int channel)
{
    size_t i = 0, next;

    for (; i < p->model.count; i = next) {
        const int step = heat_step(p, i, channel), x = column_x(p, v, r, i);
        int end;

        for (next = i + 1; next < p->model.count && heat_step(p, next, channel) == step; next++)
            ;
        end = column_x(p, v, r, next);
        if (step > 0 && end > x)
            draw_rect(d, (struct rect){x, r.y, end - x, r.h},
                      theme_heat(v->theme, (double)step / HEAT_STEPS));
    }
}

/* one of `count` rows of equal height, with a gap where there is room */
static struct rect row_of(struct rect r, int count, int index)
{
    const int y = r.y + index * r.h / count, end = r.y + (index + 1) * r.h / count;

    return (struct rect){r.x, y, r.w, end - y > 4 ? end - y - 1 : end - y};
}

/* names of as many rows as have room for one */
static void draw_row_names(const struct view *v, struct draw_list *d, const struct hbm_places *at,
                           struct rect rows, int count, const char *what)
{
    const int line = draw_line_height(d, TEXT_SMALL);
    const int every = rows.h > 0 ? (line * count + rows.h - 1) / rows.h : count;
    char text[32];

    for (int i = 0; i < count; i += every > 1 ? every : 1) {
        const struct rect row = row_of(rows, count, i);

        if (row.y + line > rows.y + rows.h)
            return;
        snprintf(text, sizeof(text), "%s %d", what, i);
        draw_text_fit(d, (struct rect){at->left.x, row.y, at->left.w, line}, TEXT_SMALL,
                      theme_color(v->theme, COLOR_DIM_TEXT), text);
    }
}

static void draw_caption(const struct view *v, struct draw_list *d, struct rect below,
                         const char *text)
{
    const int line = draw_line_height(d, TEXT_SMALL);

    draw_text_fit(d, (struct rect){below.x, below.y - line - draw_scaled(d, 2), below.w, line},
                  TEXT_SMALL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw_channels(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                          const struct hbm_places *at)
{
    const int count = p->model.channel_count;
    char text[160];

    snprintf(text, sizeof(text), "share of time that the data bus of each of the %d channels is "
             "taken, %s", count, v->theme == THEME_LIGHT ? "from white (0 %) to brown (100 %)"
                                                         : "from black (0 %) to yellow (100 %)");
    draw_caption(v, d, at->channels, text);
    draw_rect(d, at->channels, theme_color(v->theme, COLOR_PANEL));
    draw_row_names(v, d, at, at->channels, count, "channel");
    for (int i = 0; i < count; i++) {
        const struct rect row = row_of(at->channels, count, i);

        draw_channel(p, v, d, row, i);
        if (i == p->channel && p->model.has_runs)
            draw_frame(d, row, theme_color(v->theme, COLOR_ACCENT));
    }
}

/* ---- banks ---- */

static const int key_of_row[] = {
    [TRACE_ROW_HIT] = KEY_HIT, [TRACE_ROW_CLOSED] = KEY_CLOSED, [TRACE_ROW_CONFLICT] = KEY_CONFLICT,
};

static void draw_run(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                     struct rect r, const struct trace_hbm *h, const rgba_t color[KEY_COUNT])
{
    const struct axis a = axis_of_view(v, r);
    const struct rect row = row_of(r, p->model.bank_count, h->bank);
    const double from = (double)h->data_at / p->model.ps_per_cycle;
    const double end = (double)h->end_at / p->model.ps_per_cycle;
    const struct rect data = axis_rect(&a, from, end, row.y, row.h);

    if (data.w > 0)
        draw_rect(d, data, color[key_of_row[h->row]]);
}

static void draw_banks_of_runs(const struct hbm_panel *p, const struct view *v,
                               struct draw_list *d, const struct hbm_places *at,
                               const rgba_t color[KEY_COUNT])
{
    char text[160];

    snprintf(text, sizeof(text), "banks of channel %d, while the data bus moves their data (a "
             "click on a channel chooses it)", p->channel);
    draw_caption(v, d, at->banks, text);
    draw_row_names(v, d, at, at->banks, p->model.bank_count, "bank");
    for (size_t i = 0; i < p->model.run_count; i++)
        if (p->model.run[i].channel == p->channel && p->model.run[i].bank < p->model.bank_count &&
            p->model.run[i].bank >= 0)
            draw_run(p, v, d, at->banks, &p->model.run[i], color);
}

static void draw_banks_of_sums(const struct hbm_panel *p, const struct view *v,
                               struct draw_list *d, const struct hbm_places *at,
                               const rgba_t color[KEY_COUNT])
{
    const struct rect r = at->banks;

    draw_caption(v, d, r, "how runs of bursts found their rows, in all banks (zoom in to see "
                 "each)");
    for (size_t i = 0; i < p->model.count; i++) {
        const struct hbm_column *c = &p->model.column[i];
        const double all = c->hits + c->closed + c->conflicts;
        const int x = column_x(p, v, r, i), width = column_x(p, v, r, i + 1) - x;
        const int hits = all > 0 ? (int)(c->hits / all * r.h) : 0;
        const int closed = all > 0 ? (int)((c->hits + c->closed) / all * r.h) : 0;

        if (all <= 0 || width <= 0)
            continue;
        draw_rect(d, (struct rect){x, r.y + r.h - hits, width, hits}, color[KEY_HIT]);
        draw_rect(d, (struct rect){x, r.y + r.h - closed, width, closed - hits},
                  color[KEY_CLOSED]);
        draw_rect(d, (struct rect){x, r.y, width, r.h - closed}, color[KEY_CONFLICT]);
    }
}

static void draw_banks(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                       const struct hbm_places *at)
{
    rgba_t color[KEY_COUNT];

    colors(v->theme, color);
    draw_rect(d, at->banks, theme_color(v->theme, COLOR_PANEL));
    if (p->model.has_runs)
        draw_banks_of_runs(p, v, d, at, color);
    else
        draw_banks_of_sums(p, v, d, at, color);
}

/* ---- all ---- */

static void draw_words(const struct hbm_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r)
{
    const struct hbm_column *t = &p->model.total;
    const double rate = hbm_model_rate(&p->model, t->read_bytes + t->write_bytes,
                                       p->model.total_cycles);
    const double runs = t->hits + t->closed + t->conflicts;
    char text[500];

    snprintf(text, sizeof(text), "HBM of chip %d, in the cycles shown: %s read, %s written, %s of "
             "%s peak (%.1f %%). Rows: %.1f %% hit, %.1f %% closed, %.1f %% conflict; %s runs met "
             "a refresh.", p->shown.index, quantity_bytes(t->read_bytes).text,
             quantity_bytes(t->write_bytes).text, quantity_rate(rate).text,
             quantity_rate(p->model.peak_bytes_per_second).text,
             100 * rate / p->model.peak_bytes_per_second, runs > 0 ? 100 * t->hits / runs : 0,
             runs > 0 ? 100 * t->closed / runs : 0, runs > 0 ? 100 * t->conflicts / runs : 0,
             text_thousands((int64_t)t->refreshes).text);
    layout_paragraph(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct hbm_panel *p = state;
    const struct hbm_places at = place(v, d, area);
    struct legend_entry entry[KEY_COUNT];
    struct rect through = at.chart;

    if (ntrace_info(v->run)->level < TRACE_OP) {
        layout_nothing(d, area, v->theme, "This trace has only launches: record with --trace-level "
                       "op or bundle to see what the HBM did.");
        return;
    }
    prepare(p, v, at.chart.w);
    draw_words(p, v, d, at.words);
    draw_rect(d, at.chart, theme_color(v->theme, COLOR_PANEL));
    through.h = at.banks.y + at.banks.h - through.y;
    if (at.ruler.h > 0)
        axis_draw_ruler(v, d, at.ruler, at.chart);
    draw_chart(p, v, d, &at);
    draw_chart_axis(p, v, d, &at);
    if (at.channels.h > 0) {
        draw_channels(p, v, d, &at);
        draw_refreshes(v, d, at.channels);
        draw_banks(p, v, d, &at);
    }
    axis_draw_cursor(v, d, through);
    legend(v->theme, entry);
    layout_legend(d, at.legend, v->theme, entry, KEY_COUNT);
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct hbm_panel *p = state;
    struct rect box;
    struct hbm_places at = place(v, d, area);

    if (i->kind == INPUT_PRESS && rect_has(at.channels, i->x, i->y) && at.channels.h > 0) {
        p->channel = (i->y - at.channels.y) * p->model.channel_count / at.channels.h;
        return true;
    }
    box = at.chart;
    box.h = at.banks.y + at.banks.h - box.y;
    return time_input(v, i, box);
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct hbm_panel *p = state;
    const struct hbm_column *c;
    struct hbm_places at = place(v, d, area);
    struct axis axis = axis_of_view(v, at.chart);
    double column = (axis_cycle(&axis, x) - (double)p->model.from) / (double)p->model.width_cycles;

    if (x < at.chart.x || x >= at.chart.x + at.chart.w || y < at.chart.y || p->model.count == 0 ||
        column < 0 || column >= (double)p->model.count)
        return "";
    c = &p->model.column[(size_t)column];
    return arena_printf(a, "%lld cycles from %lld on\nread %s, written %s\nrows: %.0f hit, %.0f "
                        "closed, %.0f conflict", (long long)p->model.width_cycles,
                        (long long)(p->model.from + (cycle_t)column * p->model.width_cycles),
                        quantity_rate(column_rate(p, c->read_bytes)).text,
                        quantity_rate(column_rate(p, c->write_bytes)).text,
                        c->hits, c->closed, c->conflicts);
}

const struct panel_class panel_hbm = {
    .state_bytes = sizeof(struct hbm_panel), .fini = fini, .draw = draw,
    .input = input, .hover = hover};
