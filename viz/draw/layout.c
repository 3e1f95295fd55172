/* Breaks paragraphs into lines, and lays out legends, buttons and time axes within a rectangle. */
#include "viz/draw/layout.h"

#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX 512

/* ---- paragraphs ---- */

/* bytes of `text` that one line of `room` characters takes: up to a space, or all that fits */
static size_t line_bytes(const struct draw_list *d, int width, enum text_size size,
                         const char *text)
{
    char line[LINE_MAX];
    size_t good = 0, i;

    for (i = 1; i < LINE_MAX - 1; i++) {
        if (text[i] && text[i] != ' ')
            continue;
        memcpy(line, text, i);
        line[i] = '\0';
        if (draw_text_width(d, size, line) > width)
            break;
        good = i;
        if (!text[i])
            break;
    }
    if (good == 0)                      /* one word, wider than the line: cut by draw_text_fit */
        good = i < LINE_MAX - 1 ? i : LINE_MAX - 2;
    return good;
}

int layout_paragraph_lines(const struct draw_list *d, int width, enum text_size size,
                           const char *text)
{
    int lines = 0;

    while (*text) {
        text += line_bytes(d, width, size, text);
        while (*text == ' ')
            text++;
        lines++;
    }
    return lines;
}

int layout_paragraph(struct draw_list *d, struct rect box, enum text_size size, rgba_t color,
                     const char *text)
{
    const int height = draw_line_height(d, size);
    int y = box.y;

    while (*text && y + height <= box.y + box.h) {
        const bool is_last = y + 2 * height > box.y + box.h;
        size_t bytes = is_last ? strlen(text) : line_bytes(d, box.w, size, text);
        char line[LINE_MAX];

        snprintf(line, sizeof(line), "%.*s", (int)(bytes < LINE_MAX ? bytes : LINE_MAX - 1), text);
        draw_text_fit(d, (struct rect){box.x, y, box.w, height}, size, color, line);
        text += bytes;
        while (*text == ' ')
            text++;
        y += height;
    }
    return y - box.y;
}

/* ---- legends ---- */

struct legend_place {
    int x, y, gap, swatch, line;
};

static struct legend_place legend_begin(const struct draw_list *d)
{
    return (struct legend_place){.gap = draw_scaled(d, 14), .swatch = draw_scaled(d, 10),
                                 .line = draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 3)};
}

static int entry_width(const struct draw_list *d, const struct legend_place *p, const char *text)
{
    return p->swatch + draw_scaled(d, 5) + draw_text_width(d, TEXT_SMALL, text);
}

static void legend_place(const struct draw_list *d, struct legend_place *p, int width,
                         const char *text)
{
    if (p->x > 0 && p->x + entry_width(d, p, text) > width) {
        p->x = 0;
        p->y += p->line;
    }
}

int layout_legend_height(const struct draw_list *d, int width, const struct legend_entry *entry,
                         size_t count)
{
    struct legend_place p = legend_begin(d);

    for (size_t i = 0; i < count; i++) {
        legend_place(d, &p, width, entry[i].text);
        p.x += entry_width(d, &p, entry[i].text) + p.gap;
    }
    return p.y + p.line;
}

int layout_legend(struct draw_list *d, struct rect box, enum theme t,
                  const struct legend_entry *entry, size_t count)
{
    struct legend_place p = legend_begin(d);
    const int text_at = p.swatch + draw_scaled(d, 5);

    for (size_t i = 0; i < count; i++) {
        struct rect swatch;

        legend_place(d, &p, box.w, entry[i].text);
        if (p.y + p.line > box.h)
            break;
        swatch = (struct rect){box.x + p.x, box.y + p.y + (p.line - p.swatch) / 2, p.swatch,
                               p.swatch};
        draw_rect(d, swatch, entry[i].color);
        draw_frame(d, swatch, theme_color(t, COLOR_GRID));
        draw_text_fit(d, (struct rect){box.x + p.x + text_at, box.y + p.y, box.w - p.x - text_at,
                                       p.line}, TEXT_SMALL, theme_color(t, COLOR_DIM_TEXT),
                      entry[i].text);
        p.x += entry_width(d, &p, entry[i].text) + p.gap;
    }
    return p.y + p.line;
}

/* ---- buttons ---- */

struct rect layout_button_rect(const struct draw_list *d, int x, int y, const char *text)
{
    return (struct rect){x, y, draw_text_width(d, TEXT_NORMAL, text) + draw_scaled(d, 16),
                         draw_line_height(d, TEXT_NORMAL) + draw_scaled(d, 6)};
}

struct rect layout_button(struct draw_list *d, int x, int y, enum theme t, bool is_chosen,
                          const char *text)
{
    const struct rect r = layout_button_rect(d, x, y, text);
    const rgba_t back = theme_color(t, is_chosen ? COLOR_ACCENT : COLOR_PANEL);

    draw_rect(d, r, back);
    draw_frame(d, r, theme_color(t, COLOR_ACCENT));
    draw_text(d, r.x + draw_scaled(d, 8), r.y + draw_scaled(d, 3), TEXT_NORMAL,
              is_chosen ? theme_text_on(back) : theme_color(t, COLOR_TEXT), text);
    return r;
}

/* ---- axes ---- */

int layout_marks(double from, double end, int most, double mark[LAYOUT_AXIS_MARKS])
{
    double raw, unit, step, at;
    int count = 0;

    if (!(end > from) || most < 1)
        return 0;
    if (most > LAYOUT_AXIS_MARKS)
        most = LAYOUT_AXIS_MARKS;
    raw = (end - from) / most;
    unit = pow(10, floor(log10(raw)));
    step = unit;
    if (step < raw)
        step = 2 * unit;
    if (step < raw)
        step = 5 * unit;
    if (step < raw)
        step = 10 * unit;
    for (at = ceil(from / step) * step; at <= end && count < most; at += step)
        mark[count++] = at;
    return count;
}

int layout_time_x(struct rect box, double from, double end, double at)
{
    double x = (at - from) / (end - from) * box.w;

    return box.x + (int)(x < -1 ? -1 : x > box.w ? box.w : x);
}

int layout_time_axis(struct draw_list *d, struct rect box, enum theme t, double from, double end,
                     struct rect below)
{
    const int height = draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 4);
    double mark[LAYOUT_AXIS_MARKS];
    int count, text_end = box.x;
    struct short_text number;

    if (box.h < draw_line_height(d, TEXT_SMALL))
        return 0;
    count = layout_marks(from, end, box.w / (draw_text_width(d, TEXT_SMALL,
                                                             text_thousands((int64_t)end).text)
                                            + draw_scaled(d, 30)), mark);
    for (int i = 0; i < count; i++) {
        const int x = layout_time_x(box, from, end, mark[i]);

        if (mark[i] != floor(mark[i]))
            continue;
        draw_line(d, x, below.y, x, below.y + below.h, 1, theme_color(t, COLOR_GRID));
        number = text_thousands((int64_t)mark[i]);
        if (x < text_end || x + draw_text_width(d, TEXT_SMALL, number.text) > box.x + box.w)
            continue;
        text_end = x + draw_text(d, x, box.y, TEXT_SMALL, theme_color(t, COLOR_DIM_TEXT),
                                 number.text) + draw_scaled(d, 6);
    }
    return height;
}

struct rect layout_spare_bottom(struct rect *r, int size)
{
    return rect_cut_bottom(r, size <= r->h / 3 ? size : 0);
}

struct rect layout_spare_top(struct rect *r, int size)
{
    return rect_cut_top(r, size <= r->h / 3 ? size : 0);
}

void layout_nothing(struct draw_list *d, struct rect box, enum theme t, const char *text)
{
    const int lines = layout_paragraph_lines(d, box.w * 3 / 4, TEXT_NORMAL, text);
    const int wanted = lines * draw_line_height(d, TEXT_NORMAL);
    const int height = wanted < box.h ? wanted : box.h;
    struct rect r = {box.x + box.w / 8, box.y + (box.h - height) / 2, box.w * 3 / 4, height};

    layout_paragraph(d, r, TEXT_NORMAL, theme_color(t, COLOR_DIM_TEXT), text);
}
