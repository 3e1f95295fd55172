/*
 * The panel of launches as bars of the breakdown's parts, with a table of the one that is chosen.
 */
#include "base/text.h"
#include "viz/draw/layout.h"
#include "viz/models/model_steps.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"
#include "viz/panels/steps_draw.h"

#include <stdio.h>
#include <string.h>

struct steps_panel {
    size_t top;                         /* launch of the first row */
};

struct steps_places {
    struct rect words, list, legend, parts, reasons;
    int row, name_width, number_width;
    size_t rows;
};

rgba_t steps_part_color(enum theme t, enum breakdown_part part)
{
    switch (part) {
    case BREAKDOWN_COMPUTE: return theme_color(t, COLOR_MXU);
    case BREAKDOWN_VECTOR: return theme_color(t, COLOR_VALU);
    case BREAKDOWN_HBM: return theme_stall_color(t, STALL_HBM);
    case BREAKDOWN_ICI: return theme_stall_color(t, STALL_ICI);
    default: return theme_color(t, COLOR_IDLE);
    }
}

enum { PARTS = BREAKDOWN_LAST_ON_CORE + 1 };

static void legend(enum theme t, struct legend_entry entry[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        entry[i] = (struct legend_entry){steps_part_color(t, (enum breakdown_part)i),
                                         breakdown_text((enum breakdown_part)i)->name};
}

/* ---- where things are ---- */

static struct steps_places place(const struct view *v, const struct draw_list *d,
                                 struct rect area)
{
    const size_t launches = ntrace_info(v->run)->launch_count;
    const int line = draw_line_height(d, TEXT_NORMAL), gap = draw_scaled(d, 12);
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    struct legend_entry entry[PARTS];
    struct steps_places at = {.row = line + draw_scaled(d, 8)};
    int wanted;

    legend(v->theme, entry);
    at.words = layout_spare_top(&r, 2 * line);
    rect_cut_top(&r, gap);
    at.legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, PARTS));
    rect_cut_bottom(&r, gap);
    wanted = launches < 1000 ? (int)launches * at.row : r.h;
    at.list = rect_cut_top(&r, wanted < r.h / 2 ? wanted : r.h / 2);
    at.rows = (size_t)(at.list.h / at.row);
    rect_cut_top(&r, 2 * gap);
    at.parts = rect_cut_left(&r, r.w * 11 / 20);
    rect_cut_left(&r, gap);
    at.reasons = r;
    at.name_width = 22 * draw_char_width(d, TEXT_NORMAL);
    at.number_width = 15 * draw_char_width(d, TEXT_NORMAL);
    if (at.list.w < 2 * (at.name_width + at.number_width))
        at.name_width = at.number_width = at.list.w / 5;
    return at;
}

/* the launch that the pointer is in, else the first of which more than half is shown */
static size_t chosen(const struct view *v)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    const size_t first = steps_model_at(info, (cycle_t)v->from);
    const struct ntrace_launch *l = &info->launch[first];

    if (v->cursor >= v->from && v->cursor < v->end)
        return steps_model_at(info, (cycle_t)v->cursor);
    return (double)(l->start + l->cycles / 2) < v->from && first + 1 < info->launch_count &&
           v->end > (double)(l->start + l->cycles) ? first + 1 : first;
}

/* ---- drawing ---- */

static void draw_parts(const struct view *v, struct draw_list *d, struct rect bar,
                       const struct step_parts *s, double pixels_per_cycle)
{
    cycle_t sum = 0;
    int x = bar.x;

    for (int i = 0; i < PARTS; i++) {
        int end;

        sum += s->parts.part[i];
        end = bar.x + (int)((double)sum * pixels_per_cycle + 0.5);
        if (end > x)
            draw_rect(d, (struct rect){x, bar.y, end - x, bar.h},
                      steps_part_color(v->theme, (enum breakdown_part)i));
        x = end > x ? end : x;
    }
}

static void draw_launch(const struct view *v, struct draw_list *d, const struct steps_places *at,
                        size_t launch, int y)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    const struct ntrace_launch *l = &info->launch[launch];
    const int line = draw_line_height(d, TEXT_NORMAL), pad = (at->row - line) / 2;
    const rgba_t color = theme_color(v->theme, l->is_faulted ? COLOR_WARNING : COLOR_TEXT);
    struct rect row = {at->list.x, y, at->list.w, at->row}, name, number;
    struct step_parts s;
    char text[64];

    steps_model_launch(v->run, v->core, launch, &s);
    if (launch == chosen(v))
        draw_rect(d, row, theme_color(v->theme, COLOR_SELECTION));
    name = rect_cut_left(&row, at->name_width);
    number = rect_cut_right(&row, at->number_width);
    name.y += pad;
    number.y += pad;
    name.h = number.h = line;
    snprintf(text, sizeof(text), "launch %zu", launch);
    draw_text_fit(d, rect_inset(name, 0), TEXT_NORMAL, color, *l->name ? l->name : text);
    row.y += pad / 2;
    row.h -= pad;
    draw_parts(v, d, row, &s, (double)row.w / (double)steps_model_longest(info));
    rect_cut_left(&number, draw_char_width(d, TEXT_NORMAL));
    draw_text_fit(d, number, TEXT_NORMAL, color, text_thousands(l->cycles).text);
}

/* A table row: swatch, name, bar, cycles and share, what it means. */
static void draw_table_row(const struct view *v, struct draw_list *d, struct rect *r,
                           rgba_t color, const char *name, cycle_t cycles, cycle_t all,
                           const char *meaning)
{
    const int line = draw_line_height(d, TEXT_NORMAL), small = draw_line_height(d, TEXT_SMALL);
    const int c = draw_char_width(d, TEXT_NORMAL), swatch = draw_scaled(d, 10);
    struct rect row, box;
    char text[80];

    if (r->h < line + small)
        return;
    row = rect_cut_top(r, line);
    box = rect_cut_left(&row, swatch + c);
    draw_rect(d, (struct rect){box.x, box.y + (line - swatch) / 2, swatch, swatch}, color);
    snprintf(text, sizeof(text), "%s, %.1f %%", text_thousands(cycles).text,
             all > 0 ? 100.0 * (double)cycles / (double)all : 0);
    draw_text_fit(d, rect_cut_right(&row, 24 * c < row.w * 2 / 3 ? 24 * c : row.w * 2 / 3),
                  TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
    draw_text_fit(d, row, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), name);
    row = rect_cut_top(r, small);
    rect_cut_left(&row, swatch + c);
    draw_text_fit(d, row, TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), meaning);
    rect_cut_top(r, draw_scaled(d, 4));
}

static void draw_details(const struct view *v, struct draw_list *d, const struct steps_places *at)
{
    const int line = draw_line_height(d, TEXT_NORMAL);
    struct rect parts = at->parts, reasons = at->reasons;
    enum stall_reason reason[STALL_COUNT];
    struct step_parts s;
    int count;

    if (parts.h < 3 * line)
        return;
    steps_model_launch(v->run, v->core, chosen(v), &s);
    draw_text_fit(d, rect_cut_top(&parts, line + draw_scaled(d, 4)), TEXT_NORMAL,
                  theme_color(v->theme, COLOR_ACCENT), "where its cycles went");
    for (int i = 0; i < PARTS; i++)
        draw_table_row(v, d, &parts, steps_part_color(v->theme, (enum breakdown_part)i),
                       breakdown_text((enum breakdown_part)i)->name, s.parts.part[i], s.cycles,
                       breakdown_text((enum breakdown_part)i)->meaning);
    draw_text_fit(d, rect_cut_top(&reasons, line + draw_scaled(d, 4)), TEXT_NORMAL,
                  theme_color(v->theme, COLOR_ACCENT), "issued, and why it waited");
    draw_table_row(v, d, &reasons, theme_color(v->theme, COLOR_ISSUE), "issue", s.issue_cycles,
                   s.cycles, theme_meaning(COLOR_ISSUE));
    count = steps_model_reasons(&s, reason);
    for (int i = 0; i < count; i++)
        draw_table_row(v, d, &reasons, theme_stall_color(v->theme, reason[i]),
                       stall_name(reason[i]), s.stall_cycles[reason[i]], s.cycles,
                       theme_stall_meaning(reason[i]));
}

static void draw_words(const struct view *v, struct draw_list *d, struct rect r)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    const struct ntrace_launch *l = &info->launch[chosen(v)];
    char text[600];

    snprintf(text, sizeof(text), "Core %d, %zu launch%s; chosen: %s, %s = %s.%s%s A click on a bar "
             "goes there; the bars are as long as their cycles.", v->core, info->launch_count,
             info->launch_count == 1 ? "" : "es", *l->name ? l->name : "launch",
             quantity_cycles((double)l->cycles).text,
             quantity_seconds((double)l->cycles * chip_cycle_seconds(info->chip)).text,
             l->is_faulted ? " It faulted: " : "", l->is_faulted ? l->fault : "");
    layout_paragraph(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void keep_in_sight(struct steps_panel *p, const struct steps_places *at, size_t count)
{
    if (p->top + at->rows > count)
        p->top = count > at->rows ? count - at->rows : 0;
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    struct steps_panel *p = state;
    struct legend_entry entry[PARTS];
    struct steps_places at;

    if (info->launch_count == 0) {
        layout_nothing(d, area, v->theme, "No launch has ended in this trace.");
        return;
    }
    at = place(v, d, area);
    keep_in_sight(p, &at, info->launch_count);
    draw_words(v, d, at.words);
    for (size_t i = 0; i < at.rows && p->top + i < info->launch_count; i++)
        draw_launch(v, d, &at, p->top + i, at.list.y + (int)i * at.row);
    draw_details(v, d, &at);
    legend(v->theme, entry);
    layout_legend(d, at.legend, v->theme, entry, PARTS);
}

/* ---- input ---- */

static void go_to(struct view *v, size_t launch)
{
    const struct ntrace_launch *l = &ntrace_info(v->run)->launch[launch];

    view_show(v, (double)l->start, (double)(l->start + l->cycles));
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    const size_t count = ntrace_info(v->run)->launch_count;
    struct steps_panel *p = state;
    struct steps_places at;
    size_t launch;

    if (count == 0)
        return false;
    at = place(v, d, area);
    if (i->kind == INPUT_WHEEL && rect_has(at.list, i->x, i->y)) {
        p->top = i->dy > 0 ? (p->top > 3 ? p->top - 3 : 0) : p->top + 3;
        keep_in_sight(p, &at, count);
        return true;
    }
    if (i->kind == INPUT_KEY && (i->key == KEY_UP || i->key == KEY_DOWN)) {
        launch = chosen(v);
        if (i->key == KEY_UP ? launch == 0 : launch + 1 >= count)
            return false;
        go_to(v, i->key == KEY_UP ? launch - 1 : launch + 1);
        return true;
    }
    if (i->kind != INPUT_PRESS || i->button != 1 || !rect_has(at.list, i->x, i->y))
        return false;
    launch = p->top + (size_t)((i->y - at.list.y) / at.row);
    if (launch >= count)
        return false;
    go_to(v, launch);
    return true;
}

const struct panel_class panel_steps = {
    .state_bytes = sizeof(struct steps_panel), .draw = draw, .input = input};
