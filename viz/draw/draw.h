/*
 * Draw lists: what a panel shows, as rectangles, lines, discs and texts, in
 * pixels of the window. Panels only append to a list; viz/sdl/sdl_*.c puts one on
 * a screen or into a picture. So what is on screen can be tested without SDL:
 * by what the list holds, and by its hash.
 *
 * Text is set in one monospaced face (DejaVu Mono), whose width follows from
 * the number of characters; panels measure before they write, and no two texts
 * of a list overlap (tests/rigs/draw_rig.h finds such).
 */
#ifndef VIZ_DRAW_H
#define VIZ_DRAW_H
#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rect {
    int x, y, w, h;
};
bool rect_has(struct rect r, int x, int y);
struct rect rect_inset(struct rect r, int by);
struct rect rect_meet(struct rect a, struct rect b);    /* what both share; w or h 0: nothing */
bool rect_is_seen(struct rect r);                       /* has pixels */
bool rect_covers(struct rect a, struct rect b);         /* all of b lies in a */
/* cut a strip of `size` pixels off `r`, which keeps the rest; size is cut to what there is */
struct rect rect_cut_top(struct rect *r, int size);
struct rect rect_cut_bottom(struct rect *r, int size);
struct rect rect_cut_left(struct rect *r, int size);
struct rect rect_cut_right(struct rect *r, int size);

typedef uint32_t rgba_t;                /* 0xRRGGBBAA */

enum text_size { TEXT_SMALL, TEXT_NORMAL, TEXT_TITLE, TEXT_SIZE_COUNT };

enum draw_kind { DRAW_RECT, DRAW_LINE, DRAW_DISC, DRAW_TEXT, DRAW_CLIP, DRAW_KIND_COUNT };

struct draw_command {
    enum draw_kind kind;
    rgba_t color;
    struct rect r;                      /* rectangle, box of the text, new clip; a line goes from
                                         * x, y to x + w, y + h; a disc fills its box */
    int line_width;
    enum text_size size;
    const char *text;                   /* in the list's arena */
};

#define DRAW_CLIP_MAX 16

struct draw_list {
    struct arena arena;
    struct draw_command *command;
    size_t count, capacity;
    struct rect clip[DRAW_CLIP_MAX];
    int clip_count;                     /* open now */
    bool is_partial;                    /* panels: something is still to come, draw again soon */
    int scale_percent;                  /* 100, 150, 200: of texts and everything around them */
};
void draw_init(struct draw_list *d, int scale_percent);
void draw_fini(struct draw_list *d);
void draw_clear(struct draw_list *d);

void draw_rect(struct draw_list *d, struct rect r, rgba_t color);       /* filled */
void draw_frame(struct draw_list *d, struct rect r, rgba_t color);      /* its border, one pixel */
void draw_line(struct draw_list *d, int x1, int y1, int x2, int y2, int width, rgba_t color);
void draw_disc(struct draw_list *d, int x, int y, int radius, rgba_t color);
/* what follows is cut to `r`; draw_clip_end returns to the clip before (nested) */
void draw_clip(struct draw_list *d, struct rect r);
void draw_clip_end(struct draw_list *d);

/* pixels at this list's scale */
int draw_scaled(const struct draw_list *d, int pixels_at_100);
int draw_char_width(const struct draw_list *d, enum text_size size);
int draw_line_height(const struct draw_list *d, enum text_size size);
int draw_text_width(const struct draw_list *d, enum text_size size, const char *text);
/* top left corner; nothing is drawn of an empty text. Returns the width. */
int draw_text(struct draw_list *d, int x, int y, enum text_size size, rgba_t color,
              const char *text);
int draw_textf(struct draw_list *d, int x, int y, enum text_size size, rgba_t color,
               const char *format, ...) __attribute__((format(printf, 6, 7)));
/* shortened to `width` with an ellipsis at its end, not drawn when that leaves nothing */
void draw_text_fit(struct draw_list *d, struct rect box, enum text_size size, rgba_t color,
                   const char *text);
#endif
