/* Private to a network: declares the grid (route.c) and its links (net.c). */
#ifndef INTERCONNECT_NET_IMPL_H
#define INTERCONNECT_NET_IMPL_H
#include "interconnect/net.h"

enum { NEGATIVE, POSITIVE, DIRECTIONS };
#define PORTS (NET_DIM_MAX * DIRECTIONS)        /* port: axis * DIRECTIONS + direction */

/* Where chips are and how far apart: tables, so that a route costs no division. */
struct net_grid {
    int dim[NET_DIM_MAX];
    bool is_ring[NET_DIM_MAX];          /* really closes */
    int chip_count;
    int16_t (*position)[NET_DIM_MAX];   /* by chip */
    int16_t *steps[NET_DIM_MAX];        /* along an axis, by to - from, which may be negative */
    int16_t half[NET_DIM_MAX];          /* steps that are as far the other way round; 0: none */
    int twist;                          /* length of short axes, 0: not twisted */
    struct net_route *twisted_route;    /* by the chip to which it leads from chip 0 */
};

void net_grid_init(struct net_grid *g, const struct net_config *c);
void net_grid_fini(struct net_grid *g);
/* the chip next to `chip` through a port, or -1 beyond the edge of a mesh */
int net_grid_neighbour(const struct net_grid *g, int chip, int axis, int direction);
struct net_route net_grid_route(const struct net_grid *g, int from, int to);
bool net_grid_route_leads(const struct net_grid *g, struct net_route w, int from, int to);

/* interconnect/twist.c: routes in a twisted torus by distance; positions and twist are set */
void twist_init(struct net_grid *g);
/* the chip that is as far from chip 0 as `to` is from `from` */
int twist_difference(const struct net_grid *g, int from, int to);

static inline bool net_grid_is_short(const struct net_grid *g, int axis)
{
    return g->dim[axis] == g->twist;
}

static inline int net_grid_chip_at(const struct net_grid *g, const int position[NET_DIM_MAX])
{
    return position[0] + g->dim[0] * (position[1] + g->dim[1] * position[2]);
}
#endif
