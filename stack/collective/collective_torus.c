/*
 * Ring after ring along each axis. Part i of the data begins with axis i and
 * goes on cyclically, so that at any time each axis has a part of its own; an
 * axis that closes has a second part that goes the other way round. Inside the
 * chips, where cores are ranks too, all parts begin and end.
 */
#include "stack/collective/collective_channel.h"

/* axes of chips with two ranks or more, as dims; returns how many */
static int list_axes(const struct collective_plan *p, int axis[3])
{
    int count = 0;

    for (int i = 1; i < PLAN_DIMS; i++)
        if (p->dim[i].count > 1)
            axis[count++] = i;
    return count;
}

static struct plan_route make_route(const struct collective_plan *p, const int *axis,
                                    int axis_count, int first, int direction)
{
    struct plan_route r = {0};

    if (p->dim[0].count > 1)
        r.direction[r.dim_count++] = 1;
    for (int i = 0; i < axis_count; i++) {
        r.dim[r.dim_count] = axis[(first + i) % axis_count];
        r.direction[r.dim_count] = p->dim[r.dim[r.dim_count]].closes ? direction : 1;
        r.dim_count++;
    }
    return r;
}

int plan_torus(struct collective_plan *p, struct arena *a, struct err *e)
{
    struct plan_route *routes = arena_array(a, CHANNELS_MAX, sizeof(*routes));
    int axis[3], axis_count, count = 0;

    plan_set_axes(p, true, a);
    axis_count = list_axes(p, axis);
    p->is_symmetric = plan_closes(p);
    p->is_uniform = !p->place_of;
    for (int i = 0; i < axis_count; i++)
        routes[count++] = make_route(p, axis, axis_count, i, 1);
    for (int i = 0; i < axis_count; i++)
        if (p->dim[axis[i]].closes)
            routes[count++] = make_route(p, axis, axis_count, i, -1);
    if (axis_count == 0)
        routes[count++] = make_route(p, axis, 0, 0, 1);
    return plan_channels(p, routes, count, a, e);
}
