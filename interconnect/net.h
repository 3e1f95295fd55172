/*
 * The inter-chip network of a slice: a mesh or torus of chips.
 *
 * A message goes link by link, cut-through: its owner, who keeps the events,
 * asks net_route once for the steps it has to make, and calls net_take each time
 * the head of the message is at a chip, until no step is left. A link is a
 * resource with a "free from" instant in picoseconds; who asks first goes first,
 * so the calls must come in the order of their `at`. Nothing is ticked.
 *
 *     struct net_route route = net_route(n, from, to);
 *     hop = net_take(n, now, from, &route, bytes);           sender's memory free: hop.free_at
 *     while (!net_is_there(route))                           at hop.head_at, as an event
 *         hop = net_take(n, hop.head_at, hop.next, &route, bytes);
 *     the last byte is there at hop.there_at
 *
 * On an idle network that is hops x hop_ps + busy, busy being the time of the
 * bytes on one link. docs/network.md tells more.
 *
 * One chip for all: where every chip does the same at the same time, links of
 * one direction are all alike, and a folded network (`is_folded`) has one chip
 * with one link per direction. Distances are those of the whole grid: ask
 * net_route(n, 0, to) for a chip of the grid, and take every hop at chip 0, whose
 * neighbours are itself. A message of k hops takes the link of its direction k
 * times, which is what the k messages of its kind that pass each chip do in the
 * whole torus. The two agree if takes that fall on one link at one instant come
 * in an order that does not depend on chip numbers (who has come farthest first,
 * say). That is so with axes that are rings or at most two chips long: there no
 * chip is special. On a line, whose ends are, it is a mean: of the links of a
 * folded ring, 0 2 4 .. 5 3 1, each carries one message of two hops each way, so
 * a message takes both ways in turn.
 *
 * Not modelled: flit buffers and credits (a message that waits does not keep
 * those behind it from their links), virtual channels, link errors.
 */
#ifndef INTERCONNECT_NET_H
#define INTERCONNECT_NET_H
#include "base/archive.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

#define NET_DIM_MAX 3
#define NET_AXIS_MAX 16384              /* chips along an axis */

/* Which step comes next; all routes are as short as can be. */
enum net_routing {
    NET_XYZ,                            /* all along x, then y, then z */
    NET_ZYX,
    NET_ADAPTIVE,                       /* the link that is free first, of those that come nearer:
                                           messages may overtake each other */
    NET_ROUTING_COUNT
};
const char *net_routing_name(enum net_routing r);       /* "xyz", "zyx", "adaptive" */
/* NET_ROUTING_COUNT: no such name */
enum net_routing net_find_routing(const char *name);

struct net_config {
    int dim[NET_DIM_MAX];               /* chips along x, y, z; 1 where absent */
    bool is_ring[NET_DIM_MAX];          /* axis closes to a ring (ignored below 3 chips) */
    bool is_twisted;                    /* net_can_twist */
    bool is_folded;                     /* one chip stands for all */
    enum net_routing routing;
    double link_gbps;                   /* raw bytes per nanosecond per link and direction */
    int packet_bytes, packet_overhead_bytes;
    int flit_bytes;                     /* a packet's payload takes whole flits; 0: whole bytes */
    ps_t hop_ps;                        /* router and wire */
};

struct net_link_stats {
    int from, to;                       /* chip numbers: x + dim_x * (y + dim_y * z) */
    int64_t payload_bytes, wire_bytes;  /* without and with packet overhead */
    ps_t busy_ps;
};

struct net;

/*
 * A twisted torus is k x k x 2k or k x 2k x 2k: where a way round a short axis
 * closes, it comes out k further along every long axis, so that all axes are
 * about equally far. Dimensions in ascending order, none below 3; is_ring is not looked at.
 */
bool net_can_twist(const int dim[NET_DIM_MAX]);

struct net *net_create(const struct net_config *config);        /* config is copied */
void net_destroy(struct net *n);
void net_reset(struct net *n);          /* links free, statistics zero */
/* saves or loads all that a launch changes; the configuration must be the same */
void net_archive(struct net *n, struct archive *a);
uint32_t net_archive_crc(uint32_t crc);         /* archive_table_crc of its tables */

/* What a message has before it: signed steps along each axis. */
struct net_route {
    int16_t step[NET_DIM_MAX];
};

/*
 * The same for every message of a pair, and for every pair at the same distance.
 * On a ring the shorter way round; halfway round the positive way if the steps
 * along the other axes are an even number together, else the negative one, so
 * that traffic between all pairs loads both alike. In a twisted torus one of the
 * shortest routes, chosen so that traffic between all pairs loads all axes and
 * directions as nearly alike as can be. None if from == to.
 */
struct net_route net_route(const struct net *n, int from, int to);
/* whether it is a route from one chip to another: for what comes from a file */
bool net_route_leads(const struct net *n, struct net_route w, int from, int to);

static inline bool net_is_there(struct net_route w)
{
    return (w.step[0] | w.step[1] | w.step[2]) == 0;
}

static inline int net_steps(struct net_route w)
{
    int sum = 0;

    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        sum += w.step[axis] < 0 ? -w.step[axis] : w.step[axis];
    return sum;
}

struct net_hop {
    int next, link;                     /* chip at the end of the link; for net_link */
    ps_t start;                         /* when its first byte goes onto the link */
    ps_t head_at;                       /* the head is at `next` and may go on */
    ps_t free_at;                       /* the last byte has left, the link is free again */
    ps_t there_at;                      /* the last byte is at `next` */
};

/*
 * The head of a message of `bytes` bytes of payload is at `chip` at `at`: takes
 * the next link of the route and that step off it. There must be a step left.
 */
struct net_hop net_take(struct net *n, ps_t at, int chip, struct net_route *route, int64_t bytes);

/* A message's use of one link. */
struct net_use {
    int link;                           /* for net_link */
    ps_t start, end;
    int64_t payload_bytes, wire_bytes;
};

/* Tell `fn` of every use from now on, within net_take; NULL: nobody. */
typedef void net_watch_fn(void *context, const struct net_use *u);
void net_watch(struct net *n, net_watch_fn *fn, void *context);

int64_t net_wire_bytes(const struct net *n, int64_t bytes);     /* of a message, with overhead */
ps_t net_busy_ps(const struct net *n, int64_t bytes);           /* that it takes a link */
int net_link_count(const struct net *n);                /* directed links */
const struct net_link_stats *net_link(const struct net *n, int index);
ps_t net_link_free_at(const struct net *n, int index);  /* as far as it has been taken */
#endif
