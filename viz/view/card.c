/* Measures a card's lines, finds a place beside the pointer, and draws it. */
#include "viz/view/card.h"

#include <string.h>

#include "viz/draw/font.h"

#define LINE_CHARS_MAX 96

struct size {
    int lines, chars;
};

static struct size measure(const char *text)
{
    struct size s = {0, 0};

    while (*text) {
        const char *end = text + strcspn(text, "\n");
        int chars = 0;

        while (text < end) {
            font_next(&text);
            chars++;
        }
        s.lines++;
        s.chars = chars > s.chars ? chars : s.chars;
        text = *end ? end + 1 : end;
    }
    s.chars = s.chars > LINE_CHARS_MAX ? LINE_CHARS_MAX : s.chars;
    return s;
}

/* beside the pointer, on the side that has room */
static int beside(int at, int size, int low, int high, int gap)
{
    int to = at + gap;

    if (to + size > high)
        to = at - gap - size;
    if (to < low)
        to = high - size;
    return to < low ? low : to;
}

void card_draw(const struct view *v, struct draw_list *d, struct rect area, int x, int y,
               const char *text)
{
    int one = draw_char_width(d, TEXT_SMALL), line = draw_line_height(d, TEXT_SMALL), i;
    int edge = draw_scaled(d, 8), gap = draw_scaled(d, 14), room;
    struct size s = measure(text);
    struct rect box = {0, 0, s.chars * one + 2 * edge, s.lines * line + 2 * edge};

    box.w = box.w > area.w ? area.w : box.w;
    box.h = box.h > area.h ? area.h : box.h;
    room = (box.h - 2 * edge) / line;
    if (!s.lines || room < 1)
        return;
    box.x = beside(x, box.w, area.x, area.x + area.w, gap);
    box.y = beside(y, box.h, area.y, area.y + area.h, gap);
    draw_rect(d, (struct rect){box.x + 2, box.y + 2, box.w, box.h}, 0x00000060);
    draw_rect(d, box, theme_color(v->theme, COLOR_BACKGROUND));
    draw_frame(d, box, theme_color(v->theme, COLOR_ACCENT));
    for (i = 0; i < room && *text; i++) {
        size_t length = strcspn(text, "\n");
        const char *one_line = i == room - 1 && s.lines > room
                                   ? "…" : arena_printf(&d->arena, "%.*s", (int)length, text);

        draw_text_fit(d, (struct rect){box.x + edge, box.y + edge + i * line, box.w - 2 * edge,
                                       line}, TEXT_SMALL,
                      theme_color(v->theme, i ? COLOR_TEXT : COLOR_ACCENT), one_line);
        text += length + (text[length] != '\0');
    }
}
