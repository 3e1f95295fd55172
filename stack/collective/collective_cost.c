/*
 * What an algorithm will take, roughly: steps times their latency, and bytes
 * over the rate of the links that work. Good enough to choose by;
 * docs/collectives.md has the formulas.
 */
#include "stack/collective/collective_impl.h"

#include <math.h>

#include "base/units.h"

/* instructions around a step, and what an addition takes beside its bytes */
#define STEP_CYCLES 30
#define ADD_CYCLES 30
#define ADD_BYTES_PER_CYCLE 1024
#define TREE_CHUNK_BYTES (16 * KIB)

struct cost {
    const struct collective_plan *p;
    double link_gbps;                   /* for one core: those of a chip share its links */
    double hop_ns, step_ns, memory_ns, cycle_ns;
    double bytes;
};

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static struct cost cost_of(const struct collective_plan *p)
{
    const struct chip *c = &p->chip;
    double packet = (double)c->ici_packet_bytes;
    struct cost k = {.p = p, .bytes = (double)p->request.bytes};

    k.link_gbps = c->ici_link_gbps * packet / (packet + (double)c->ici_packet_overhead_bytes) /
                  p->cores_per_chip;
    k.cycle_ns = 1e3 / (double)c->chip_clock_mhz;
    k.hop_ns = (double)c->ici_hop_ns;
    k.step_ns = k.hop_ns + 2 * (double)c->dma_local_ns + STEP_CYCLES * k.cycle_ns;
    k.memory_ns = (double)(c->dma_read_ns + c->dma_write_ns);
    return k;
}

static bool closes(const struct collective_plan *p, int axis)
{
    return axis > 0 && p->slice.is_ring[axis - 1] && !p->slice.is_twisted;
}

/* times that the data of a reduce-scatter or an all-gather go round */
static int rounds_of(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
}

static double ring_ns(const struct cost *k, double ranks, double bytes, double gbps, double step_ns)
{
    return (ranks - 1) * rounds_of(k->p->request.kind) * (step_ns + bytes / ranks / gbps);
}

/* All-gather steps pass through HBM, or the arrays through VMEM, there and back. */
static double memory_ns(const struct cost *k, double steps)
{
    double streams_ns = steps * k->memory_ns;

    if (k->p->request.kind == COLLECTIVE_REDUCE_SCATTER)
        return k->memory_ns;
    return least(streams_ns, k->memory_ns + 2 * k->bytes / (double)k->p->chip.dma_core_gbps);
}

static double predict_ring(const struct cost *k)
{
    int channels = k->p->request.algo == COLLECTIVE_BIRING && k->p->rank_count > 2 ? 2 : 1;

    return ring_ns(k, k->p->rank_count, k->bytes, channels * k->link_gbps, k->step_ns) +
           memory_ns(k, k->p->rank_count - 1);
}

static double predict_torus(const struct cost *k)
{
    const struct collective_plan *p = k->p;
    double channels = 0, bytes = k->bytes, time_ns = 0, steps = 0;

    for (int i = 1; i < PLAN_DIMS; i++)
        channels += p->axis_count[i] == 1 ? 0 : closes(p, i) ? 2 : 1;
    channels = most(1, least(channels, k->bytes / p->rank_count / 128));
    for (int i = 0; i < PLAN_DIMS; i++) {
        bool is_inside = i == 0, is_folded = i > 0 && p->axis_count[i] > 2 && !closes(p, i);

        time_ns += ring_ns(k, p->axis_count[i], bytes,
                           is_inside ? (double)p->chip.dma_local_gbps / 3 : channels * k->link_gbps,
                           k->step_ns + (is_folded ? k->hop_ns : 0));
        bytes /= p->axis_count[i];
        steps += p->axis_count[i] - 1;
    }
    return time_ns + memory_ns(k, steps);
}

/*
 * Along an axis arrays go straight to all, so many over one link and so many
 * hops for the farthest; or, on a ring, from neighbour to neighbour.
 */
static double predict_exchange(const struct cost *k)
{
    double time_ns = k->memory_ns, array_ns = k->bytes / k->link_gbps;

    for (int i = 0; i < PLAN_DIMS; i++) {
        double n = k->p->axis_count[i], hops = closes(k->p, i) ? n / 2 : n - 1;
        double arrays = closes(k->p, i) ? n * (n + 2) / 8 : n * n / 4;
        double straight_ns = k->step_ns + most(hops * k->hop_ns, arrays * array_ns);

        if (n > 1)
            time_ns += (closes(k->p, i) ? least(straight_ns, hops * (k->step_ns + array_ns))
                                        : straight_ns) +
                       ADD_CYCLES * k->cycle_ns * log2(n) +
                       (n - 1) * k->cycle_ns * k->bytes / ADD_BYTES_PER_CYCLE;
    }
    return time_ns;
}

static double predict_tree(const struct cost *k)
{
    double depth = 0, chunk = least(k->bytes, TREE_CHUNK_BYTES);

    for (int i = 0; i < PLAN_DIMS; i++)
        depth += closes(k->p, i) ? k->p->axis_count[i] / 2 : k->p->axis_count[i] - 1;
    return k->memory_ns + rounds_of(k->p->request.kind) *
           (depth * (k->step_ns + chunk / k->link_gbps) + (k->bytes - chunk) / k->link_gbps);
}

/* One rank sends to all others. */
static double predict_direct(const struct cost *k)
{
    double links = 0, hops = 0;

    for (int i = 1; i < PLAN_DIMS; i++) {
        int n = k->p->axis_count[i];

        links += n == 1 ? 0 : closes(k->p, i) ? 2 : 1;
        hops += closes(k->p, i) ? n / 2 : n - 1;
    }
    return k->memory_ns + 2 * hops * k->hop_ns + k->step_ns +
           (k->p->rank_count - 1) * k->bytes / (most(links, 1) * k->link_gbps);
}

double plan_step_ns(const struct collective_plan *p)
{
    return cost_of(p).step_ns;
}

double plan_link_ns(const struct collective_plan *p, int64_t bytes)
{
    return (double)bytes / cost_of(p).link_gbps;
}

double plan_predict_ns(const struct collective_plan *p)
{
    struct cost k = cost_of(p);

    switch (p->request.algo) {
    case COLLECTIVE_TORUS: return predict_torus(&k);
    case COLLECTIVE_TREE: return predict_tree(&k);
    case COLLECTIVE_EXCHANGE: return predict_exchange(&k);
    case COLLECTIVE_DIRECT: return predict_direct(&k);
    default: return predict_ring(&k);
    }
}
