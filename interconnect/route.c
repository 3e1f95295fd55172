/* Computes the positions of chips and the routes between them. */
#include "interconnect/net_impl.h"

#include <assert.h>

#include "base/arena.h"

/* Steps from one position to another `delta` further, signed; the positive way on a tie. */
static int shortest(const struct net_grid *g, int axis, int delta)
{
    int length = g->dim[axis], positive = (delta + length) % length;

    if (!g->is_ring[axis])
        return delta;
    return positive <= length - positive ? positive : positive - length;
}

static void init_axis(struct net_grid *g, int axis)
{
    int length = g->dim[axis];
    int16_t *table = mem_alloc((size_t)(2 * length - 1) * sizeof(*table));

    g->steps[axis] = table + length - 1;
    for (int delta = 1 - length; delta < length; delta++)
        g->steps[axis][delta] = (int16_t)shortest(g, axis, delta);
    g->half[axis] = (int16_t)(!g->twist && g->is_ring[axis] && length % 2 == 0 ? length / 2 : 0);
}

void net_grid_init(struct net_grid *g, const struct net_config *c)
{
    g->chip_count = 1;
    g->twist = c->is_twisted ? c->dim[0] : 0;
    assert(!c->is_twisted || net_can_twist(c->dim));
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        assert(c->dim[axis] >= 1 && c->dim[axis] <= NET_AXIS_MAX);
        g->dim[axis] = c->dim[axis];
        g->is_ring[axis] = (c->is_ring[axis] || c->is_twisted) && c->dim[axis] > 2;
        g->chip_count *= c->dim[axis];
        init_axis(g, axis);
    }
    g->position = mem_alloc((size_t)g->chip_count * sizeof(*g->position));
    for (int chip = 0; chip < g->chip_count; chip++) {
        int rest = chip;

        for (int axis = 0; axis < NET_DIM_MAX; axis++) {
            g->position[chip][axis] = (int16_t)(rest % g->dim[axis]);
            rest /= g->dim[axis];
        }
    }
    if (g->twist)
        twist_init(g);
}

void net_grid_fini(struct net_grid *g)
{
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        mem_free(g->steps[axis] - (g->dim[axis] - 1));
    mem_free(g->position);
    mem_free(g->twisted_route);
}

static void shift_long_axes(const struct net_grid *g, int position[NET_DIM_MAX])
{
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        if (!net_grid_is_short(g, axis))
            position[axis] = (position[axis] + g->twist) % g->dim[axis];
}

/* `steps` further along an axis, which a ring takes round; false beyond the edge of a mesh */
static bool move(const struct net_grid *g, int position[NET_DIM_MAX], int axis, int steps)
{
    int length = g->dim[axis], end = position[axis] + steps;

    if (!g->is_ring[axis]) {
        position[axis] = end;
        return end >= 0 && end < length;
    }
    position[axis] = (end % length + length) % length;
    if (g->twist && net_grid_is_short(g, axis) && (end - position[axis]) / length % 2 != 0)
        shift_long_axes(g, position);
    return true;
}

int net_grid_neighbour(const struct net_grid *g, int chip, int axis, int direction)
{
    const int16_t *from = g->position[chip];
    int position[NET_DIM_MAX] = {from[0], from[1], from[2]};

    return move(g, position, axis, direction == POSITIVE ? 1 : -1) ? net_grid_chip_at(g, position)
                                                                   : -1;
}

/* what is halfway round goes the negative way where the other steps are odd together */
static void split_ties(const struct net_grid *g, struct net_route *w)
{
    int sum = w->step[0] + w->step[1] + w->step[2];

    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        if (w->step[axis] == g->half[axis] && (sum - w->step[axis]) % 2 != 0)
            w->step[axis] = (int16_t)-w->step[axis];
}

struct net_route net_grid_route(const struct net_grid *g, int from, int to)
{
    const int16_t *p = g->position[from], *q = g->position[to];
    struct net_route w;

    if (g->twist)
        return g->twisted_route[twist_difference(g, from, to)];
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        w.step[axis] = g->steps[axis][q[axis] - p[axis]];
    split_ties(g, &w);
    return w;
}

bool net_grid_route_leads(const struct net_grid *g, struct net_route w, int from, int to)
{
    int position[NET_DIM_MAX], least = g->twist ? 0 : 1;

    if (from < 0 || from >= g->chip_count)
        return false;
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        position[axis] = g->position[from][axis];
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        if (w.step[axis] < least - g->dim[axis] || w.step[axis] > g->dim[axis] - least
            || !move(g, position, axis, w.step[axis]))
            return false;
    return net_grid_chip_at(g, position) == to;
}
