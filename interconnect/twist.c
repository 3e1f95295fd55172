/*
 * Routes in a twisted torus. It looks the same from every chip, so a route depends
 * on the distance alone: a table by the chip that is as far from chip 0.
 */
#include "interconnect/net_impl.h"

#include <string.h>

#include "base/arena.h"

bool net_can_twist(const int dim[NET_DIM_MAX])
{
    return dim[0] > 2 && (dim[1] == dim[0] || dim[1] == 2 * dim[0]) && dim[2] == 2 * dim[0];
}

int twist_difference(const struct net_grid *g, int from, int to)
{
    const int16_t *p = g->position[from], *q = g->position[to];
    int difference[NET_DIM_MAX], shift = 0;

    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        difference[axis] = q[axis] - p[axis];
        if (net_grid_is_short(g, axis) && difference[axis] < 0) {
            difference[axis] += g->twist;
            shift ^= g->twist;
        }
    }
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        if (net_grid_is_short(g, axis))
            continue;
        difference[axis] += difference[axis] < 0 ? g->dim[axis] : 0;
        difference[axis] += shift;
        difference[axis] -= difference[axis] >= g->dim[axis] ? g->dim[axis] : 0;
    }
    return net_grid_chip_at(g, difference);
}

/*
 * Candidate `choice` of the routes from chip 0 to `chip`: along each axis the
 * positive or the negative way. A negative way along a short axis comes out
 * shifted, which the long ones have to make up for.
 */
static struct net_route candidate(const struct net_grid *g, int chip, unsigned choice)
{
    struct net_route w;
    int shift = 0;

    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        if (net_grid_is_short(g, axis) && choice >> axis & 1)
            shift ^= g->twist;
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        int steps = g->position[chip][axis];

        if (!net_grid_is_short(g, axis))
            steps = (steps + shift) % g->dim[axis];
        w.step[axis] = (int16_t)(choice >> axis & 1 ? steps - g->dim[axis] : steps);
    }
    return w;
}

static int64_t *load_of(int64_t load[PORTS], struct net_route w, int axis)
{
    return &load[axis * DIRECTIONS + (w.step[axis] > 0)];
}

static void add_load(int64_t load[PORTS], struct net_route w, int times)
{
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        *load_of(load, w, axis) += times * (w.step[axis] < 0 ? -w.step[axis] : w.step[axis]);
}

/* how uneven all routes together would be with this one */
static int64_t unevenness(const int64_t load[PORTS], struct net_route w)
{
    int64_t with[PORTS], sum = 0;

    for (int port = 0; port < PORTS; port++)
        with[port] = load[port];
    add_load(with, w, 1);
    for (int port = 0; port < PORTS; port++)
        sum += with[port] * with[port];
    return sum;
}

static struct net_route best_route(const struct net_grid *g, int chip, const int64_t load[PORTS])
{
    struct net_route best = candidate(g, chip, 0);

    for (unsigned choice = 1; choice < 1u << NET_DIM_MAX; choice++) {
        struct net_route w = candidate(g, chip, choice);
        int longer = net_steps(w) - net_steps(best);

        if (longer < 0 || (longer == 0 && unevenness(load, w) < unevenness(load, best)))
            best = w;
    }
    return best;
}

/* each route in turn is chosen again, given all the others, until that changes nothing */
void twist_init(struct net_grid *g)
{
    enum { ROUNDS = 16 };
    int64_t load[PORTS] = {0};
    bool changes = true;

    g->twisted_route = mem_alloc((size_t)g->chip_count * sizeof(*g->twisted_route));
    for (int round = 0; round < ROUNDS && changes; round++) {
        changes = false;
        for (int chip = 0; chip < g->chip_count; chip++) {
            struct net_route *w = &g->twisted_route[chip], before = *w;

            add_load(load, before, -1);
            *w = best_route(g, chip, load);
            add_load(load, *w, 1);
            changes |= memcmp(w, &before, sizeof(before)) != 0;
        }
    }
}
