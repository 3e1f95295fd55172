/*
 * Inside viz/panels/roofline_*.c and viz/panels/panel_roofline.c: the plane with roofs and points.
 */
#ifndef VIZ_ROOFLINE_DRAW_H
#define VIZ_ROOFLINE_DRAW_H
#include "viz/models/model_roofline.h"
#include "viz/view/view.h"

#define ROOF_MARK_MOST 256              /* drawn; those with most time */
#define ROOF_LABEL_MOST 64              /* texts in the plane */
#define ROOF_NO_POINT (SIZE_MAX - 1)

struct roof_mark {
    int x, y, size;                     /* middle, half the width */
    size_t point;                       /* of the model's op; SIZE_MAX: the whole step */
};

/* what was drawn where, to be pointed at */
struct roofline_plot {
    struct rect plane;
    struct roofline_frame frame;
    struct roofline_roofs roofs;
    struct roof_mark mark[ROOF_MARK_MOST];
    int mark_count;
    int named_count;                    /* marks that have their name beside them */
    struct rect taken[ROOF_LABEL_MOST];
    int taken_count;
};

const struct roofline_point *roofline_point(const struct roofline_model *m, size_t point);
rgba_t roofline_color(enum theme t, const struct roofline_point *p);    /* what bounds it */
/* disc HBM, square VMEM load, diamond VMEM store, triangle ICI */
void roofline_draw_mark(struct draw_list *d, enum roofline_resource memory, int x, int y, int size,
                        rgba_t color);
/* all of it, with axes; `chosen` has a frame */
void roofline_draw_plot(struct roofline_plot *plot, const struct roofline_model *m,
                        const struct view *v, struct draw_list *d, struct rect area,
                        size_t chosen);
#endif
