/* Appends commands to draw lists, and measures the one face that texts are set in. */
#include "viz/draw/draw.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viz/draw/font.h"

#define EVERYWHERE ((struct rect){-(1 << 20), -(1 << 20), 1 << 21, 1 << 21})

void draw_init(struct draw_list *d, int scale_percent)
{
    memset(d, 0, sizeof(*d));
    arena_init(&d->arena);
    d->scale_percent = scale_percent;
}

void draw_fini(struct draw_list *d)
{
    arena_fini(&d->arena);
    mem_free(d->command);
    memset(d, 0, sizeof(*d));
}

void draw_clear(struct draw_list *d)
{
    arena_fini(&d->arena);
    d->count = 0;
    d->clip_count = 0;
    d->is_partial = false;
}

static struct draw_command *append(struct draw_list *d, enum draw_kind kind, struct rect r,
                                   rgba_t color)
{
    struct draw_command *c = &MEM_ADD(d->command, d->count, d->capacity);

    *c = (struct draw_command){.kind = kind, .r = r, .color = color, .text = ""};
    return c;
}

void draw_rect(struct draw_list *d, struct rect r, rgba_t color)
{
    if (r.w > 0 && r.h > 0)
        append(d, DRAW_RECT, r, color);
}

void draw_frame(struct draw_list *d, struct rect r, rgba_t color)
{
    if (r.w < 2 || r.h < 2) {
        draw_rect(d, r, color);
        return;
    }
    draw_rect(d, (struct rect){r.x, r.y, r.w, 1}, color);
    draw_rect(d, (struct rect){r.x, r.y + r.h - 1, r.w, 1}, color);
    draw_rect(d, (struct rect){r.x, r.y + 1, 1, r.h - 2}, color);
    draw_rect(d, (struct rect){r.x + r.w - 1, r.y + 1, 1, r.h - 2}, color);
}

void draw_line(struct draw_list *d, int x1, int y1, int x2, int y2, int width, rgba_t color)
{
    append(d, DRAW_LINE, (struct rect){x1, y1, x2 - x1, y2 - y1}, color)->line_width =
        width > 0 ? width : 1;
}

void draw_disc(struct draw_list *d, int x, int y, int radius, rgba_t color)
{
    if (radius > 0)
        append(d, DRAW_DISC, (struct rect){x - radius, y - radius, 2 * radius, 2 * radius}, color);
}

void draw_clip(struct draw_list *d, struct rect r)
{
    struct rect outer = d->clip_count ? d->clip[d->clip_count - 1] : EVERYWHERE;

    assert(d->clip_count < DRAW_CLIP_MAX);
    r = rect_meet(r, outer);
    d->clip[d->clip_count++] = r;
    append(d, DRAW_CLIP, r, 0);
}

void draw_clip_end(struct draw_list *d)
{
    assert(d->clip_count > 0);
    d->clip_count--;
    append(d, DRAW_CLIP, d->clip_count ? d->clip[d->clip_count - 1] : EVERYWHERE, 0);
}

int draw_scaled(const struct draw_list *d, int pixels_at_100)
{
    return (pixels_at_100 * d->scale_percent + 50) / 100;
}

int draw_char_width(const struct draw_list *d, enum text_size size)
{
    return font_char_width(font_pixels(size, d->scale_percent));
}

int draw_line_height(const struct draw_list *d, enum text_size size)
{
    return font_line_height(font_pixels(size, d->scale_percent));
}

int draw_text_width(const struct draw_list *d, enum text_size size, const char *text)
{
    return (int)font_length(text) * draw_char_width(d, size);
}

int draw_text(struct draw_list *d, int x, int y, enum text_size size, rgba_t color,
              const char *text)
{
    struct draw_command *c;
    int width = draw_text_width(d, size, text);

    if (!width)
        return 0;
    c = append(d, DRAW_TEXT, (struct rect){x, y, width, draw_line_height(d, size)}, color);
    c->size = size;
    c->text = arena_strdup(&d->arena, text);
    return width;
}

int draw_textf(struct draw_list *d, int x, int y, enum text_size size, rgba_t color,
               const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return draw_text(d, x, y, size, color, text);
}

void draw_text_fit(struct draw_list *d, struct rect box, enum text_size size, rgba_t color,
                   const char *text)
{
    size_t length = font_length(text), room;
    int char_width = draw_char_width(d, size);
    const char *end = text;
    char *cut;

    if (box.w < char_width || draw_line_height(d, size) > box.h)
        return;
    room = (size_t)(box.w / char_width);
    if (length <= room) {
        draw_text(d, box.x, box.y, size, color, text);
        return;
    }
    if (room < 2)                       /* an ellipsis by itself says nothing */
        return;
    while (--room)
        font_next(&end);
    cut = arena_printf(&d->arena, "%.*s…", (int)(end - text), text);
    draw_text(d, box.x, box.y, size, color, cut);
}

/* ---- looking at a list ---- */
