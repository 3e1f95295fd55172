/* Lays out pieces that several panels are made of: paragraphs, legends, buttons, axes. */
#ifndef VIZ_LAYOUT_H
#define VIZ_LAYOUT_H
#include "viz/draw/draw.h"
#include "viz/draw/theme.h"

#define LAYOUT_AXIS_MARKS 64

/* Words of `text` in lines of at most box.w, as many lines as fit into box.h, the last with an
 * ellipsis where there are more. Returns the height used. */
int layout_paragraph(struct draw_list *d, struct rect box, enum text_size size, rgba_t color,
                     const char *text);
/* lines that it would take */
int layout_paragraph_lines(const struct draw_list *d, int width, enum text_size size,
                           const char *text);

struct legend_entry {
    rgba_t color;
    const char *text;
};
/* Swatches with their texts in rows from the top of the box; what does not fit is left out.
 * Returns the height used. */
int layout_legend(struct draw_list *d, struct rect box, enum theme t,
                  const struct legend_entry *entry, size_t count);
int layout_legend_height(const struct draw_list *d, int width, const struct legend_entry *entry,
                         size_t count);

/* A button as wide as its text, at x, y; returns where it is. */
struct rect layout_button(struct draw_list *d, int x, int y, enum theme t, bool is_chosen,
                          const char *text);
struct rect layout_button_rect(const struct draw_list *d, int x, int y, const char *text);

/* Round values between from and end, at most `most`: 1, 2 or 5 times a power of ten apart.
 * Returns their count. */
int layout_marks(double from, double end, int most, double mark[LAYOUT_AXIS_MARKS]);
/*
 * A time axis along the top of `box`: cycles with thousands, and lines down through `below`.
 * Returns its height.
 */
int layout_time_axis(struct draw_list *d, struct rect box, enum theme t, double from, double end,
                     struct rect below);
/* x of a time in a box that shows from..end */
int layout_time_x(struct rect box, double from, double end, double at);

/* A strip of `size` off the bottom, or off the top, of `r`; of height 0, and nothing cut, where it
 * would take more than a third. */
struct rect layout_spare_bottom(struct rect *r, int size);
struct rect layout_spare_top(struct rect *r, int size);

/* In the middle of the box: why there is nothing to show. */
void layout_nothing(struct draw_list *d, struct rect box, enum theme t, const char *text);
#endif
