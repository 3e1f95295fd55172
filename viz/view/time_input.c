/* Moves a view by wheel and drag, and sets the cursor. */
#include "viz/view/time_input.h"

#include <math.h>

#include "viz/view/axis.h"

bool time_input(struct view *v, const struct input *i, struct rect box)
{
    const struct axis a = axis_of_view(v, box);
    const double all = (double)ntrace_info(v->run)->cycles, at = axis_cycle(&a, i->x);

    if (i->kind == INPUT_KEY || !rect_has(box, i->x, i->y))
        return false;
    switch (i->kind) {
    case INPUT_WHEEL:
        view_zoom(v, pow(0.8, i->dy), at);
        if (i->dx)
            view_pan(v, 0.05 * i->dx);
        return true;
    case INPUT_DRAG:
        view_pan(v, -(double)i->dx / (box.w > 0 ? box.w : 1));
        return true;
    case INPUT_MOVE:
        v->cursor = at < 0 ? 0 : at > all ? all : at;
        return true;
    default:
        return false;
    }
}
