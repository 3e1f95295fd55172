/* Puts time from left to right: pixels and cycles, and the ruler above a panel. */
#ifndef VIZ_AXIS_H
#define VIZ_AXIS_H
#include "viz/view/view.h"

struct axis {
    double from, cycles_per_pixel;      /* cycle at the left border of pixel x */
    int x, width;
};
struct axis axis_of_view(const struct view *v, struct rect area);
struct axis axis_of_run(const struct view *v, struct rect area);        /* all of it */
double axis_cycle(const struct axis *a, double x);
double axis_x(const struct axis *a, double cycle);
/* pixels that [from, end) covers, at least one wide, cut to the axis; w 0: outside */
struct rect axis_rect(const struct axis *a, double from, double end, int y, int h);

/* cycles above, time below, with lines through `through` at the marks */
void axis_draw_ruler(const struct view *v, struct draw_list *d, struct rect area,
                     struct rect through);
int axis_ruler_height(const struct draw_list *d);
/* a line where the cursor is, if it is in sight */
void axis_draw_cursor(const struct view *v, struct draw_list *d, struct rect through);
#endif
