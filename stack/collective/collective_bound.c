/*
 * What no algorithm can beat on these links (docs/collectives.md): bytes that
 * must pass the worst chip's links or the narrowest cut, and steps that must
 * follow each other.
 */
#include "stack/collective/collective_steps.h"

#include <assert.h>
#include <stdlib.h>

#define BOOK_HOP_SECONDS 1e-6
#define AXES 3

/* The chips that take part in one group, as a grid. */
struct grid {
    int dim[AXES];                      /* 1: the axis does not take part */
    bool is_ring[AXES];
    int chips, cores;                   /* cores: of a chip */
    double link_bps;                    /* payload bytes per second, one direction */
    double bytes;                       /* of one rank's array */
    double arrays;                      /* that one chip has to send for */
};

static struct grid grid_of(const struct collective_request *r)
{
    const struct chip *c = r->chip;
    double packet = (double)c->ici_packet_bytes;
    struct grid g = {.chips = 1, .cores = (int)c->chip_cores, .bytes = (double)r->bytes};
    bool is_own = r->kind == COLLECTIVE_ALL_TO_ALL || r->kind == COLLECTIVE_PERMUTE;

    for (int i = 0; i < AXES; i++) {
        g.dim[i] = r->axis[i] ? r->slice->dim[i] : 1;
        g.is_ring[i] = r->slice->is_ring[i] && g.dim[i] > 2;
        g.chips *= g.dim[i];
    }
    if (r->slice->core_count < g.cores)
        g.cores = r->slice->core_count;
    g.link_bps = 1e9 * c->ici_link_gbps * packet / (packet + (double)c->ici_packet_overhead_bytes);
    g.arrays = r->over_chips || is_own ? g.cores : 1;
    return g;
}

/* of the chip that has fewest, one direction; at a corner where an axis does not close */
static int link_count(const struct grid *g)
{
    int count = 0;

    for (int i = 0; i < AXES; i++)
        count += g->dim[i] == 1 ? 0 : g->is_ring[i] ? 2 : 1;
    return count;
}

/* between the chips farthest from each other */
static int diameter(const struct grid *g)
{
    int hops = 0;

    for (int i = 0; i < AXES; i++)
        hops += g->is_ring[i] ? g->dim[i] / 2 : g->dim[i] - 1;
    return hops;
}

/* All-to-all: half of the chips send to the other half across the middle of an axis. */
static double cut_seconds(const struct grid *g)
{
    double worst = 0;

    for (int i = 0; i < AXES; i++) {
        int low = g->dim[i] / 2, high = g->dim[i] - low;
        double pairs = (double)low * high * g->chips / g->dim[i];   /* for each link of the cut */
        double seconds = g->arrays * g->bytes / g->chips * pairs / g->link_bps
                         / (g->is_ring[i] ? 2 : 1);

        worst = seconds > worst ? seconds : worst;
    }
    return worst;
}

static int wrapped_steps(const struct grid *g, int axis, int from, int to)
{
    int steps = abs(to - from);

    return g->is_ring[axis] && steps > g->dim[axis] - steps ? g->dim[axis] - steps : steps;
}

/* Hops that rank `rank` of the group sends over: to the rank `shift` further. */
static int permute_hops(const struct collective_request *r, const struct grid *g, int rank)
{
    int per_chip = r->over_chips ? 1 : g->cores, ranks = g->chips * per_chip, hops = 0;
    int to = (int)((((int64_t)rank + r->shift) % ranks + ranks) % ranks) / per_chip;
    int from = rank / per_chip;

    for (int i = 0; i < AXES; i++) {
        hops += wrapped_steps(g, i, from % g->dim[i], to % g->dim[i]);
        from /= g->dim[i];
        to /= g->dim[i];
    }
    return hops;
}

/* Links that there are, for all the hops; and a chip's links for what it sends. */
static double permute_seconds(const struct collective_request *r, const struct grid *g,
                              int *most_hops)
{
    int per_chip = r->over_chips ? 1 : g->cores, ranks = g->chips * per_chip;
    double hops = 0, links = 0, together, alone = 0;

    *most_hops = 0;
    for (int i = 0; i < AXES; i++)
        links += g->dim[i] == 1 ? 0 : 2.0 * g->chips / g->dim[i]
                                      * (g->is_ring[i] ? g->dim[i] : g->dim[i] - 1);
    for (int rank = 0; rank < ranks; rank++) {
        int h = permute_hops(r, g, rank);

        hops += h;
        *most_hops = h > *most_hops ? h : *most_hops;
    }
    if (*most_hops == 0)
        return 0;
    together = hops * g->arrays / per_chip * g->bytes / links / g->link_bps;
    alone = g->bytes / g->link_bps / link_count(g);
    return together > alone ? together : alone;
}

/* bytes a chip must send, in arrays of a rank */
static double share_sent(enum collective_kind kind, double chips)
{
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE: return 2 * (chips - 1) / chips;
    case COLLECTIVE_REDUCE_SCATTER: case COLLECTIVE_ALL_GATHER: case COLLECTIVE_ALL_TO_ALL:
        return (chips - 1) / chips;
    case COLLECTIVE_BROADCAST: return 1;
    default: return 0;
    }
}

static double bandwidth_seconds(const struct collective_request *r, const struct grid *g)
{
    double cut;
    double chip = g->chips < 2 ? 0 : share_sent(r->kind, g->chips) * g->arrays * g->bytes
                                     / g->link_bps / link_count(g);
    int hops;

    if (r->kind == COLLECTIVE_PERMUTE)
        return permute_seconds(r, g, &hops);
    if (r->kind != COLLECTIVE_ALL_TO_ALL)
        return chip;
    cut = cut_seconds(g);
    return cut > chip ? cut : chip;
}

/*
 * The start of the program, and steps. The least that waits for the one before:
 * a copy of one granule to the next chip and its wait. Data that nobody has to
 * touch on the way goes on without waiting, and pays hops alone.
 */
static double latency_seconds(const struct collective_request *r, const struct grid *g)
{
    const struct chip *c = r->chip;
    struct collective_costs k;
    int hops = diameter(g);
    double step, hop, start;

    collective_costs_of(c, r->type, &k);
    start = 1e-6 / (double)k.clock_mhz * (double)k.program.start_cycles;
    hop = 1e-12 * (double)k.hop_ps;
    step = 1e-12 * 2 * (double)k.local_ps
           + 1e-6 / (double)k.clock_mhz
             * (double)(k.program.op_cycles[COLLECTIVE_SEND] + k.resume_cycles
                        + k.program.op_cycles[COLLECTIVE_WAIT])
           + (double)(c->dma_granule_bytes + c->ici_packet_overhead_bytes)
             / (1e9 * c->ici_link_gbps);
    switch (r->kind) {
    case COLLECTIVE_PERMUTE:
        permute_seconds(r, g, &hops);
        return start + (hops ? hops * hop + step : 0);
    case COLLECTIVE_ALL_TO_ALL: case COLLECTIVE_ALL_GATHER: case COLLECTIVE_BROADCAST:
    case COLLECTIVE_BARRIER:
        return start + (hops ? hops * hop + step : 0);
    default:
        return start + hops * (hop + step);
    }
}

/* The published equations, for rings on all axes; they count 1 us per hop. */
static double book_seconds(const struct collective_request *r, const struct grid *g)
{
    double whole = g->arrays * g->bytes, gather, axes = 0, half_round = 0;

    for (int i = 0; i < AXES; i++) {
        if (g->dim[i] > 1 && !g->is_ring[i])
            return 0;
        axes += g->dim[i] > 1;
        half_round += g->dim[i] > 1 ? g->dim[i] / 2.0 : 0;
    }
    if (axes == 0)
        return 0;
    if (r->kind == COLLECTIVE_ALL_TO_ALL)
        whole *= g->chips;
    gather = whole / (2 * g->link_bps * axes);
    half_round *= BOOK_HOP_SECONDS;
    switch (r->kind) {
    case COLLECTIVE_ALL_REDUCE: return 2 * (gather > half_round ? gather : half_round);
    case COLLECTIVE_REDUCE_SCATTER: case COLLECTIVE_ALL_GATHER:
        return gather > half_round ? gather : half_round;
    case COLLECTIVE_ALL_TO_ALL:
        return gather / 4 > half_round ? gather / 4 : half_round;
    default: return 0;
    }
}

/* as nccl-tests define bus bandwidth: what links would have to do if all were alike */
static double bus_factor(const struct collective_request *r, const struct grid *g)
{
    double ranks = g->chips * (r->over_chips ? 1.0 : g->cores);

    switch (r->kind) {
    case COLLECTIVE_ALL_REDUCE: return 2 * (ranks - 1) / ranks;
    case COLLECTIVE_REDUCE_SCATTER: case COLLECTIVE_ALL_GATHER: case COLLECTIVE_ALL_TO_ALL:
        return (ranks - 1) / ranks;
    case COLLECTIVE_BARRIER: return 0;
    default: return 1;
    }
}

void collective_find_bound(const struct collective_request *r, struct collective_bound *out)
{
    struct grid g = grid_of(r);

    *out = (struct collective_bound){.bandwidth_seconds = bandwidth_seconds(r, &g),
                                     .latency_seconds = latency_seconds(r, &g),
                                     .book_seconds = book_seconds(r, &g),
                                     .bus_factor = bus_factor(r, &g)};
    out->seconds = out->bandwidth_seconds > out->latency_seconds ? out->bandwidth_seconds
                                                                 : out->latency_seconds;
}
