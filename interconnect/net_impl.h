/*
 * Inside a network: the grid (way.c) and its links (net.c).
 */
#ifndef INTERCONNECT_NET_IMPL_H
#define INTERCONNECT_NET_IMPL_H
#include "interconnect/net.h"

enum { NEGATIVE, POSITIVE, DIRECTIONS };
#define PORTS (NET_DIM_MAX * DIRECTIONS)        /* port: axis * DIRECTIONS + direction */

/* Where chips are and how far apart: tables, so that a way costs no division. */
struct grid {
    int dim[NET_DIM_MAX];
    bool is_ring[NET_DIM_MAX];          /* really closes */
    int chip_count;
    int16_t (*position)[NET_DIM_MAX];   /* by chip */
    int16_t *steps[NET_DIM_MAX];        /* along an axis, by to - from, which may be negative */
    int16_t half[NET_DIM_MAX];          /* steps that are as far the other way round; 0: none */
};

void grid_init(struct grid *g, const struct net_config *c);
void grid_fini(struct grid *g);
/* the chip next to `chip` through a port, or -1 beyond the edge of a mesh */
int grid_neighbour(const struct grid *g, int chip, int axis, int direction);
struct net_way grid_way(const struct grid *g, int from, int to);
bool grid_way_leads(const struct grid *g, struct net_way w, int from, int to);
#endif
