/*
 * Takes a message over one link after the other, cut-through: each link is busy until an instant,
 * and first come is first served.
 */
#include "interconnect/net.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "interconnect/net_impl.h"

struct link {
    ps_t ready_at;                      /* the last byte of the message before has left */
    struct net_link_stats stats;
};

/* what a size costs on any link: few sizes are in use at a time, and dividing takes long */
#define COSTS 16
struct cost {
    int64_t bytes, wire_bytes;
    ps_t busy_ps;
};

struct net {
    struct net_config config;
    struct net_grid grid;
    double ps_per_byte;
    struct cost cost[COSTS];
    struct link *link;
    int link_count;
    int last_chip;                      /* chip numbers are & this: 0 where one stands for all */
    struct port {
        int next, link;                 /* -1: no such link */
    } (*port)[PORTS];                   /* by chip */
    net_watch_fn *watch;                /* NULL: nobody */
    void *watch_context;
};

/* both ports of an axis of two chips lead over one link to the other: so do they when folded */
static bool shares_link(const struct net *n, int axis, int direction)
{
    return n->config.is_folded && direction == POSITIVE && n->grid.dim[axis] == 2;
}

static void add_port(struct net *n, int chip, int axis, int direction)
{
    struct port *p = &n->port[chip][axis * DIRECTIONS + direction];
    int next = net_grid_neighbour(&n->grid, chip, axis, direction);

    *p = (struct port){-1, -1};
    if (shares_link(n, axis, direction)) {
        *p = n->port[chip][axis * DIRECTIONS + NEGATIVE];
        return;
    }
    if (n->config.is_folded)
        next = n->grid.dim[axis] > 1 ? 0 : -1;
    if (next < 0)
        return;
    *p = (struct port){next, n->link_count};
    n->link[n->link_count++].stats = (struct net_link_stats){.from = chip, .to = next};
}

static void add_links(struct net *n)
{
    int chips = n->config.is_folded ? 1 : n->grid.chip_count;

    n->last_chip = n->config.is_folded ? 0 : -1;
    n->port = mem_alloc((size_t)chips * sizeof(*n->port));
    n->link = mem_alloc((size_t)chips * PORTS * sizeof(*n->link));
    for (int chip = 0; chip < chips; chip++)
        for (int axis = 0; axis < NET_DIM_MAX; axis++)
            for (int direction = 0; direction < DIRECTIONS; direction++)
                add_port(n, chip, axis, direction);
}

struct net *net_create(const struct net_config *config)
{
    struct net *n = mem_alloc(sizeof(*n));

    assert(config->link_gbps > 0 && config->packet_bytes > 0);
    assert(config->packet_overhead_bytes >= 0 && config->hop_ps >= 0);
    assert(config->flit_bytes == 0 || config->packet_bytes % config->flit_bytes == 0);
    n->config = *config;
    n->ps_per_byte = 1000.0 / config->link_gbps;
    for (int i = 0; i < COSTS; i++)
        n->cost[i].bytes = -1;
    net_grid_init(&n->grid, config);
    add_links(n);
    return n;
}

void net_destroy(struct net *n)
{
    if (!n)
        return;
    net_grid_fini(&n->grid);
    mem_free(n->link);
    mem_free(n->port);
    mem_free(n);
}

void net_reset(struct net *n)
{
    for (int i = 0; i < n->link_count; i++) {
        struct net_link_stats *s = &n->link[i].stats;

        n->link[i].ready_at = 0;
        *s = (struct net_link_stats){.from = s->from, .to = s->to};
    }
}

static const char *const routing_names[] = {
    [NET_XYZ] = "xyz", [NET_ZYX] = "zyx", [NET_ADAPTIVE] = "adaptive"};

const char *net_routing_name(enum net_routing r)
{
    return routing_names[r];
}

enum net_routing net_find_routing(const char *name)
{
    enum net_routing r = NET_XYZ;

    while (r < NET_ROUTING_COUNT && strcmp(routing_names[r], name) != 0)
        r++;
    return r;
}

static const struct field link_fields[] = {SAVED_TIME(link, ready_at), APART(link, stats)};

static const struct field stats_fields[] = {
    SAVED(net_link_stats, payload_bytes), SAVED(net_link_stats, wire_bytes),
    SAVED(net_link_stats, busy_ps), APART(net_link_stats, from), APART(net_link_stats, to)};

void net_archive(struct net *n, struct archive *a)
{
    for (int i = 0; i < n->link_count; i++) {
        archive_fields(a, link_fields, COUNT_OF(link_fields), &n->link[i]);
        archive_fields(a, stats_fields, COUNT_OF(stats_fields), &n->link[i].stats);
    }
}

uint32_t net_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, link_fields, COUNT_OF(link_fields));
    return archive_table_crc(crc, stats_fields, COUNT_OF(stats_fields));
}

/* A message without payload, a flag say, still takes one header. */
static void find_cost(const struct net *n, struct cost *out, int64_t bytes)
{
    int64_t packets = bytes > 0 ? div_up(bytes, n->config.packet_bytes) : 1;

    assert(bytes >= 0);
    out->bytes = bytes;
    if (n->config.flit_bytes > 0)
        out->wire_bytes = round_up(bytes, n->config.flit_bytes);
    else
        out->wire_bytes = bytes;
    out->wire_bytes += packets * n->config.packet_overhead_bytes;
    out->busy_ps = (ps_t)ceil((double)out->wire_bytes * n->ps_per_byte);
}

static const struct cost *cost_of(struct net *n, int64_t bytes)
{
    struct cost *c = &n->cost[(uint64_t)bytes / 32 % COSTS];

    if (c->bytes != bytes)
        find_cost(n, c, bytes);
    return c;
}

/* the axis with steps left that comes first in the order of axes */
static int first_axis(const struct net *n, const struct net_route *w)
{
    if (n->config.routing == NET_XYZ)
        return w->step[0] ? 0 : w->step[1] ? 1 : 2;
    return w->step[2] ? 2 : w->step[1] ? 1 : 0;
}

static ps_t free_from(const struct net *n, ps_t at, const struct port *p)
{
    return later(at, n->link[p->link].ready_at);
}

/* Halfway round, both ways are as short: turns the steps round where that link is free sooner. */
static void turn_if_sooner(const struct net *n, ps_t at, const struct port *ports, int axis,
                           struct net_route *w)
{
    const struct port *p = &ports[axis * DIRECTIONS];
    int16_t half = n->grid.half[axis], *step = &w->step[axis];
    int ahead = *step > 0 ? POSITIVE : NEGATIVE;

    if (half && (*step == half || *step == -half)
        && free_from(n, at, &p[1 - ahead]) < free_from(n, at, &p[ahead]))
        *step = (int16_t)-*step;
}

static int freest_axis(const struct net *n, ps_t at, const struct port *ports, struct net_route *w)
{
    ps_t best = PS_NEVER;
    int best_axis = 0;

    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        ps_t from;

        if (!w->step[axis])
            continue;
        turn_if_sooner(n, at, ports, axis, w);
        from = free_from(n, at, &ports[axis * DIRECTIONS + (w->step[axis] > 0)]);
        if (from < best) {
            best = from;
            best_axis = axis;
        }
    }
    return best_axis;
}

/* Folded, messages along a line take both ways in turn, as those of all its chips do on average. */
static int port_of(const struct net *n, const struct net_route *w, int axis)
{
    bool is_line = n->config.is_folded && !n->grid.is_ring[axis] && n->grid.dim[axis] > 2;

    if (is_line && w->step[axis] % 2 == 0)
        return axis * DIRECTIONS + (w->step[axis] < 0);
    return axis * DIRECTIONS + (w->step[axis] > 0);
}

static void tell(const struct net *n, const struct net_hop *h, int64_t payload, int64_t wire)
{
    const struct net_use use = {.link = h->link, .start = h->start, .end = h->free_at,
                                .payload_bytes = payload, .wire_bytes = wire};

    n->watch(n->watch_context, &use);
}

struct net_hop net_take(struct net *n, ps_t at, int chip, struct net_route *route, int64_t bytes)
{
    const struct cost *cost = cost_of(n, bytes);
    const struct port *ports = n->port[chip & n->last_chip], *p;
    int axis = n->config.routing == NET_ADAPTIVE ? freest_axis(n, at, ports, route)
                                                 : first_axis(n, route);
    int step = route->step[axis] > 0 ? 1 : -1;
    struct net_hop hop;
    struct link *l;

    assert(route->step[axis] != 0);
    p = &ports[port_of(n, route, axis)];
    route->step[axis] = (int16_t)(route->step[axis] - step);
    l = &n->link[p->link];
    hop.next = p->next;
    hop.link = p->link;
    hop.start = later(at, l->ready_at);
    hop.head_at = hop.start + n->config.hop_ps;
    hop.free_at = l->ready_at = hop.start + cost->busy_ps;
    hop.there_at = hop.free_at + n->config.hop_ps;
    l->stats.payload_bytes += bytes;
    l->stats.wire_bytes += cost->wire_bytes;
    l->stats.busy_ps += cost->busy_ps;
    if (n->watch)
        tell(n, &hop, bytes, cost->wire_bytes);
    return hop;
}

void net_watch(struct net *n, net_watch_fn *fn, void *context)
{
    n->watch = fn;
    n->watch_context = context;
}

struct net_route net_route(const struct net *n, int from, int to)
{
    assert(from >= 0 && from < n->grid.chip_count && to >= 0 && to < n->grid.chip_count);
    return net_grid_route(&n->grid, from, to);
}

bool net_route_leads(const struct net *n, struct net_route w, int from, int to)
{
    return net_grid_route_leads(&n->grid, w, from, to);
}

int64_t net_wire_bytes(const struct net *n, int64_t bytes)
{
    struct cost c;

    find_cost(n, &c, bytes);
    return c.wire_bytes;
}

ps_t net_busy_ps(const struct net *n, int64_t bytes)
{
    struct cost c;

    find_cost(n, &c, bytes);
    return c.busy_ps;
}

int net_link_count(const struct net *n)
{
    return n->link_count;
}

ps_t net_link_free_at(const struct net *n, int index)
{
    assert(index >= 0 && index < n->link_count);
    return n->link[index].ready_at;
}

const struct net_link_stats *net_link(const struct net *n, int index)
{
    assert(index >= 0 && index < n->link_count);
    return &n->link[index].stats;
}
