/*
 * What an algorithm will take, roughly: steps times their latency, and bytes
 * over the rate of the links that work. Good enough to choose by;
 * docs/collectives.md has the formulas.
 */
#include "stack/collective_impl.h"

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

/* All-gather steps pass through HBM, the others from VMEM to VMEM. */
static double ring_ns(const struct cost *k, double ranks, double bytes, double gbps, double step_ns)
{
    enum collective_kind kind = k->p->request.kind;
    double through_hbm = kind == COLLECTIVE_REDUCE_SCATTER ? 0 : k->memory_ns;

    return (ranks - 1) * (rounds_of(kind) * (step_ns + bytes / ranks / gbps) + through_hbm);
}

static double predict_ring(const struct cost *k)
{
    int flows = k->p->request.algo == COLLECTIVE_BIRING && k->p->rank_count > 2 ? 2 : 1;

    return ring_ns(k, k->p->rank_count, k->bytes, flows * k->link_gbps, k->step_ns);
}

static double predict_torus(const struct cost *k)
{
    const struct collective_plan *p = k->p;
    double flows = 0, bytes = k->bytes, time_ns = 0;

    for (int i = 1; i < PLAN_DIMS; i++)
        flows += p->axis_count[i] == 1 ? 0 : closes(p, i) ? 2 : 1;
    flows = most(1, least(flows, k->bytes / p->rank_count / 128));
    for (int i = 0; i < PLAN_DIMS; i++) {
        bool is_inside = i == 0, is_folded = i > 0 && p->axis_count[i] > 2 && !closes(p, i);

        time_ns += ring_ns(k, p->axis_count[i], bytes,
                           is_inside ? (double)p->chip.dma_local_gbps / 3 : flows * k->link_gbps,
                           k->step_ns + (is_folded ? k->hop_ns : 0));
        bytes /= p->axis_count[i];
    }
    return time_ns;
}

/* Along an axis all arrays pass its middle: so many on a link, so many hops for the farthest. */
static double predict_exchange(const struct cost *k)
{
    double time_ns = k->memory_ns;

    for (int i = 0; i < PLAN_DIMS; i++) {
        double n = k->p->axis_count[i], hops = closes(k->p, i) ? n / 2 : n - 1;
        double arrays = n * n / (closes(k->p, i) ? 8 : 4);

        if (n > 1)
            time_ns += k->step_ns + most(hops * k->hop_ns, arrays * k->bytes / k->link_gbps) +
                       (n - 1) * k->cycle_ns * (ADD_CYCLES + k->bytes / ADD_BYTES_PER_CYCLE);
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
