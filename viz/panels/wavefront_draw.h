/*
 * Inside viz/panels/panel_wavefront.c and viz/panels/wavefront_*.c: the parts of the picture
 * of a matrix unit, and the colours that they share.
 */
#ifndef VIZ_WAVEFRONT_DRAW_H
#define VIZ_WAVEFRONT_DRAW_H
#include "viz/draw/layout.h"
#include "viz/models/model_wavefront.h"

enum wave_color {
    WAVE_COLOR_EMPTY,                   /* holds nothing */
    WAVE_COLOR_HELD,                    /* an idle PE with weights */
    WAVE_COLOR_FIRST,                   /* multiplies the first row of a vmatmul */
    WAVE_COLOR_ROW, WAVE_COLOR_ROW_2,   /* other rows; of every second vmatmul */
    WAVE_COLOR_NEXT, WAVE_COLOR_NEXT_2, /* the same, with the weights of every second latch */
    WAVE_COLOR_EDGE,                    /* waits at the edge, half as strong: in or out */
    WAVE_COLOR_STAGED, WAVE_COLOR_STAGED_2, WAVE_COLOR_NEWEST,
    WAVE_COLOR_READY, WAVE_COLOR_UNDER_WAY,
    WAVE_COLOR_COUNT
};

/* What is drawn: a frame of a unit. */
struct wave_picture {
    const struct wavefront *wave;
    const struct wave_frame *frame;
    enum theme theme;
    rgba_t color[WAVE_COLOR_COUNT];
    rgba_t pe[WAVE_DIAGONALS];          /* of the diagonals */
    int side;                           /* pixels of the whole array, more than fit where zoomed */
    int first_row, first_column;        /* of the array, where zoomed in */
};
#define WAVE_EDGE_SHARE 4               /* the edges are drawn this many times shorter */

void wave_picture_begin(struct wave_picture *p, const struct wavefront *w,
                        const struct wave_frame *f, enum theme t);
/* of the rows of a vmatmul but its first */
enum wave_color wave_row_color(const struct wave_op *o);
/* where PE `index` of a row or column begins, in pixels from the first */
static inline int wave_pixel(const struct wave_picture *p, int index)
{
    return index * p->side / p->wave->size;
}
/* the array alone in `box`, which shows as much of it as fits */
void wave_draw_array(const struct wave_picture *p, struct draw_list *d, struct rect box);
/* rows on their way in, left of the array; sums on their way out, below */
void wave_draw_edges(const struct wave_picture *p, struct draw_list *d, struct rect array);
/* rows and columns of a staging register, in a square */
void wave_draw_staging(const struct wave_picture *p, struct draw_list *d, struct rect box,
                       int staging);
/* results: a box for each place of the FIFO */
void wave_draw_fifo(const struct wave_picture *p, struct draw_list *d, struct rect box);
/* what the unit's port, array and pops do from..end, with a line at the frame's cycle */
void wave_draw_strip(const struct wave_picture *p, struct draw_list *d, struct rect box,
                     cycle_t from, cycle_t end);
int wave_strip_height(const struct draw_list *d);
/* numbers and how to read the picture; the array took rows in so many percent of cycles */
void wave_draw_numbers(const struct wave_picture *p, struct draw_list *d, struct rect r,
                       double busy_percent);
/* returns the height used */
int wave_legend(const struct wave_picture *p, struct draw_list *d, struct rect box);
int wave_legend_height(const struct wave_picture *p, const struct draw_list *d, int width);
#endif
