/*
 * Three tables below the lanes: parts, reasons, source operations, each adding up to
 * the difference of the launches.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "viz/panels/compare_draw.h"
#include "viz/panels/steps_draw.h"

#define NUMBER_CHARS 10

static rgba_t compare_row_color(enum theme t, const struct compare_row *r)
{
    switch (r->kind) {
    case COMPARE_PART: return steps_part_color(t, (enum breakdown_part)r->index);
    case COMPARE_ISSUE: return theme_color(t, COLOR_ISSUE);
    case COMPARE_STALL: return theme_stall_color(t, (enum stall_reason)r->index);
    case COMPARE_OP: return theme_op_color(t, r->color);
    case COMPARE_CLOCK: return theme_color(t, COLOR_MISC);
    case COMPARE_REST: return theme_color(t, COLOR_WARNING);
    default: return theme_color(t, COLOR_IDLE);
    }
}

/* "+12,345" cycles, or "+13.13" µs */
static char *difference_text(const struct compare_model *m, double difference, char *buf,
                             size_t bytes)
{
    const char *sign = difference > 0 ? "+" : "";

    if (m->has_two_clocks)
        snprintf(buf, bytes, "%s%.2f", sign, difference);
    else
        snprintf(buf, bytes, "%s%s", sign, text_thousands(llround(difference)).text);
    return buf;
}

struct cells {
    int name, number, bar;              /* widths */
    int first;                          /* of A, B, difference: those that have room */
};

static struct cells cells_of(const struct draw_list *d, int width)
{
    const int one = draw_char_width(d, TEXT_SMALL), number = NUMBER_CHARS * one;
    const int bar = width > 64 * one ? width - 60 * one : 0;
    struct cells c = {.number = number, .bar = bar < 12 * one ? bar : 12 * one};

    c.name = width - 3 * number - c.bar;
    if (c.name < 8 * one) {             /* the difference alone */
        c.name = width - number;
        c.bar = 0;
        c.first = 2;
    }
    return c;
}

static void draw_number(struct draw_list *d, struct rect *row, int width, rgba_t color,
                        const char *text)
{
    struct rect r = rect_cut_left(row, width);
    const int w = draw_text_width(d, TEXT_SMALL, text);

    if (w < r.w)
        rect_cut_left(&r, r.w - w);
    draw_text_fit(d, r, TEXT_SMALL, color, text);
}

/* from the middle to the right: more time in B */
static void draw_bar(struct draw_list *d, const struct view *v, struct rect r, double difference,
                     double most, rgba_t color)
{
    const int middle = r.x + r.w / 2, half = r.w / 2 - 1;
    const int w = most > 0 ? (int)(fabs(difference) / most * half + 0.5) : 0;

    draw_rect(d, (struct rect){difference < 0 ? middle - w : middle, r.y + 2, w, r.h - 4}, color);
    draw_rect(d, (struct rect){middle, r.y, 1, r.h}, theme_color(v->theme, COLOR_DIM_TEXT));
}

static void draw_cells(struct draw_list *d, struct rect row, const struct cells *c, rgba_t color,
                       const char *name, const char *const number[3])
{
    const int one = draw_char_width(d, TEXT_SMALL);
    struct rect r = rect_cut_left(&row, c->name);

    rect_cut_right(&r, one);
    draw_text_fit(d, r, TEXT_SMALL, color, name);
    for (int i = c->first; i < 3; i++)
        draw_number(d, &row, c->number, color, number[i]);
}

static void draw_values(const struct compare_model *m, struct draw_list *d, struct rect row,
                        const struct cells *c, rgba_t color, const char *name, cycle_t a, cycle_t b,
                        double difference)
{
    struct short_text ta = text_thousands(a), tb = text_thousands(b);
    char td[48];
    const char *const number[3] = {ta.text, tb.text,
                                   difference_text(m, difference, td, sizeof(td))};

    draw_cells(d, row, c, color, name, number);
}

static void draw_row(const struct compare_model *m, const struct view *v, struct draw_list *d,
                     struct rect row, const struct cells *c, const struct compare_row *r)
{
    const int one = draw_char_width(d, TEXT_SMALL), swatch = draw_scaled(d, 9);
    const rgba_t color = compare_row_color(v->theme, r);
    struct rect bar = row, rest = row;
    const struct cells inner = {c->name - swatch - one, c->number, c->bar, c->first};

    draw_rect(d, (struct rect){row.x, row.y + (row.h - swatch) / 2, swatch, swatch}, color);
    draw_frame(d, (struct rect){row.x, row.y + (row.h - swatch) / 2, swatch, swatch},
               theme_color(v->theme, COLOR_GRID));
    rect_cut_left(&rest, swatch + one);
    rect_cut_right(&rest, c->bar);
    draw_values(m, d, rest, &inner, theme_color(v->theme, COLOR_TEXT), r->name,
                r->cycles[0], r->cycles[1], r->difference);
    if (c->bar > 0)
        draw_bar(d, v, rect_cut_right(&bar, c->bar - one), r->difference, fabs(m->difference),
                 color);
}

/* those that have no room, together */
static void draw_others(const struct compare_model *m, const struct view *v, struct draw_list *d,
                        struct rect row, const struct cells *c, enum compare_list list,
                        size_t from)
{
    double difference = 0;
    cycle_t a = 0, b = 0;
    char text[40];

    for (size_t i = from; i < m->count[list]; i++) {
        a += m->row[list][i].cycles[0];
        b += m->row[list][i].cycles[1];
        difference += m->row[list][i].difference;
    }
    snprintf(text, sizeof(text), "%zu others", m->count[list] - from);
    rect_cut_right(&row, c->bar);
    draw_values(m, d, row, c, theme_color(v->theme, COLOR_DIM_TEXT), text, a, b, difference);
}

static struct rect column_of(const struct compare_panel *p, const struct draw_list *d, int list)
{
    const struct rect t = p->at.tables;
    const int gap = draw_scaled(d, 16), w = (t.w - 2 * gap) / 3;

    return (struct rect){t.x + list * (w + gap), t.y, w, t.h};
}

/* rows that fit below the heading, without the one for the sum */
static size_t rows_of(const struct draw_list *d, int height)
{
    const int rows = height / (draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 1));

    return rows > 3 ? (size_t)rows - 2 : 0;
}

static void draw_table(const struct compare_panel *p, const struct view *v, struct draw_list *d,
                       enum compare_list list)
{
    static const char *const headings[COMPARE_LIST_COUNT] = {
        "cycles by part", "cycles by reason to wait", "cycles by source operation"};
    const char *const names[3] = {"A", "B", p->model.has_two_clocks ? "B-A, µs" : "B-A"};
    const struct compare_model *m = &p->model;
    struct rect r = column_of(p, d, (int)list), row;
    const struct cells c = cells_of(d, r.w);
    const int height = draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 1);
    const size_t rows = rows_of(d, r.h);
    const size_t shown = m->count[list] > rows ? rows - 1 : m->count[list];

    row = rect_cut_top(&r, height);
    rect_cut_right(&row, c.bar);
    draw_cells(d, row, &c, theme_color(v->theme, COLOR_ACCENT), headings[list], names);
    for (size_t i = 0; i < shown; i++)
        draw_row(m, v, d, rect_cut_top(&r, height), &c, &m->row[list][i]);
    if (shown < m->count[list])
        draw_others(m, v, d, rect_cut_top(&r, height), &c, list, shown);
    row = rect_cut_top(&r, height);
    draw_rect(d, (struct rect){row.x, row.y, row.w - c.bar, 1}, theme_color(v->theme, COLOR_GRID));
    rect_cut_right(&row, c.bar);
    draw_values(m, d, row, &c, theme_color(v->theme, COLOR_TEXT), "all",
                m->side[0].cycles, m->side[1].cycles, m->difference);
}

void compare_draw_tables(const struct compare_panel *p, const struct view *v, struct draw_list *d)
{
    if (rows_of(d, p->at.tables.h) < 2)
        return;
    for (int i = 0; i < COMPARE_LIST_COUNT; i++)
        draw_table(p, v, d, (enum compare_list)i);
}

static const char *meaning(const struct compare_row *r)
{
    switch (r->kind) {
    case COMPARE_PART: return breakdown_text((enum breakdown_part)r->index)->meaning;
    case COMPARE_ISSUE: return theme_meaning(COLOR_ISSUE);
    case COMPARE_STALL: return theme_stall_meaning((enum stall_reason)r->index);
    case COMPARE_CLOCK: return "the cycles of A at the clock of B, less those at its own";
    case COMPARE_IDLE: return theme_meaning(COLOR_IDLE);
    case COMPARE_REST: return "left out, or cut off: what happened then is not known";
    default: return "bundles of this source operation, issued or held back";
    }
}

const char *compare_table_text(const struct compare_panel *p, const struct draw_list *d, int x,
                               int y, struct arena *a)
{
    const int height = draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 1);
    const struct compare_model *m = &p->model;
    char td[48];

    for (int list = 0; list < COMPARE_LIST_COUNT; list++) {
        const struct rect r = column_of(p, d, list);
        const size_t rows = rows_of(d, r.h);
        const size_t shown = m->count[list] > rows ? rows - 1 : m->count[list];
        const size_t row = (size_t)((y - r.y) / height) - 1;
        const struct compare_row *k;

        if (!rect_has(r, x, y) || y < r.y + height || rows < 2 || row >= shown)
            continue;
        k = &m->row[list][row];
            return arena_printf(a, "%s\n%s\n \nA %s, B %s cycles: %s %s\n%.1f %% of the difference",
                            k->name, meaning(k), text_thousands(k->cycles[0]).text,
                            text_thousands(k->cycles[1]).text,
                            difference_text(m, k->difference, td, sizeof(td)),
                            m->has_two_clocks ? "µs" : "cycles",
                            m->difference != 0 ? 100 * k->difference / m->difference : 0.0);
    }
    return "";
}
