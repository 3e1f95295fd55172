/*
 * The inter-chip network of a slice: a mesh or torus of chips.
 *
 * Links are serialised resources with a "ready at" instant in picoseconds;
 * messages travel by dimension order (x, then y, then z; the shorter way round
 * on a ring, positive on a tie), cut-through, with a header per packet. Time is
 * an argument; messages are submitted in non-decreasing order of `at`.
 *
 * Not modelled: flit buffers and credits, adaptive routing, link errors.
 */
#ifndef INTERCONNECT_NET_H
#define INTERCONNECT_NET_H
#include "base/archive.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

#define NET_DIM_MAX 3

struct net_config {
    int dim[NET_DIM_MAX];               /* chips along x, y, z; 1 where absent */
    bool is_ring[NET_DIM_MAX];          /* axis closes to a ring (ignored below 3 chips) */
    double link_gbps;                   /* raw bytes per nanosecond per link and direction */
    int packet_bytes, packet_overhead_bytes;
    ps_t hop_ps;                        /* router and wire */
};

struct net_link_stats {
    int from, to;                       /* chip numbers: x + dim_x * (y + dim_y * z) */
    int64_t payload_bytes, wire_bytes;  /* without and with packet overhead */
    ps_t busy_ps;
};

struct net;

struct net *net_create(const struct net_config *config);        /* config is copied */
void net_destroy(struct net *n);
void net_reset(struct net *n);          /* links free, statistics zero */
/* saves or loads all that a launch changes; the configuration must be the same */
void net_archive(struct net *n, struct archive *a);
uint32_t net_archive_crc(uint32_t crc);         /* archive_table_crc of its tables */

/*
 * Send `bytes` of payload from one chip to another, ready at `at`. Returns the
 * instant the last byte arrives; *sent_at is when the last byte has left the
 * first link's sender. from == to is an error of the caller (asserted).
 */
ps_t net_send(struct net *n, ps_t at, int from, int to, int64_t bytes, ps_t *sent_at);

/* A message's use of one link. */
struct net_use {
    int link;                           /* for net_link */
    ps_t start, end;
    int64_t payload_bytes, wire_bytes;
};

/* Tell `fn` of every use from now on, within net_send; NULL: nobody. */
typedef void net_watch_fn(void *context, const struct net_use *u);
void net_watch(struct net *n, net_watch_fn *fn, void *context);

int net_hop_count(const struct net *n, int from, int to);       /* links on the way */
int net_link_count(const struct net *n);                /* directed links */
const struct net_link_stats *net_link(const struct net *n, int index);
#endif
