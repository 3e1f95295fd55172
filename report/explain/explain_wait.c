/*
 * Waits for copies and for other cores, split by what they wait for. Counters
 * do not tell, so the parts are in proportion to what each would take by
 * itself; docs/explain.md has the formulas.
 */
#include "report/explain/explain_impl.h"

#include <math.h>

#define SMALL_BELOW 0.25                /* of its start-up time: a copy this short is small */

double explain_cycles_of_ns(const struct chip *c, double ns)
{
    return ns * (double)c->chip_clock_mhz * 1e-3;
}

void explain_count_copies(const struct core_counters *c, struct explain_copies *n)
{
    for (int code = 0; code < OP_COUNT; code++) {
        const struct isa_info *info = isa_info((enum isa_opcode)code);

        if (info->writes & ISA_REMOTE && info->format != ISA_FMT_DMA_DESC)
            n->remote += c->op_count[code];
        else if (info->reads & ISA_HBM)  /* a descriptor's either way; both start about as late */
            n->hbm_reads += c->op_count[code];
        else if (info->writes & ISA_HBM)
            n->hbm_writes += c->op_count[code];
    }
    n->hbm_bytes += c->hbm_read_bytes + c->hbm_write_bytes;
}

double explain_copy_start_cycles(const struct chip *c, const struct explain_copies *n)
{
    double copies = (double)(n->hbm_reads + n->hbm_writes);
    double ns = (double)c->dma_read_ns * (double)n->hbm_reads +
                (double)c->dma_write_ns * (double)n->hbm_writes;

    return copies > 0.0 ? explain_cycles_of_ns(c, ns / copies) : 0.0;
}

static int chip_of(const struct report_view *v, int core)
{
    return core / ((v->core_count + v->chip_count - 1) / v->chip_count);
}

/* of all bytes at the full rate of the memory of the core's chip */
static double memory_cycles(const struct report_view *v, int core)
{
    const struct hbm_stats *h = v->hbm[chip_of(v, core)];
    double peak = chip_hbm_peak_bytes_per_second(v->chip) * 1e-9;

    return peak > 0.0 ? explain_cycles_of_ns(v->chip, (double)(h->read_bytes + h->write_bytes) /
                                             peak) : 0.0;
}

/* of the core's own bytes at the rate of its copy engine */
static double engine_cycles(const struct chip *c, const struct explain_copies *n)
{
    return c->dma_core_gbps > 0.0
               ? explain_cycles_of_ns(c, (double)n->hbm_bytes / c->dma_core_gbps) : 0.0;
}

/* rows closed and opened, refreshes waited for, as if all banks shared them */
static double rows_cycles(const struct report_view *v, int core)
{
    const struct hbm_stats *h = v->hbm[chip_of(v, core)];
    const struct chip *c = v->chip;
    double ps = (double)h->row_conflicts * (double)(c->hbm_trp_ps + c->hbm_trcd_ps) +
                (double)h->row_closed * (double)c->hbm_trcd_ps +
                (double)h->refresh_waits * (double)chip_refresh_ps(c);
    double banks = (double)c->hbm_channels * (double)(c->hbm_banks ? c->hbm_banks : 1);

    return banks > 0.0 ? explain_cycles_of_ns(c, ps * 1e-3 / banks) : 0.0;
}

/* how often the core went on after a wait for HBM: each shows one start-up time at most */
static double hbm_waits(const struct report_view *v, int core, const struct explain_copies *n)
{
    const struct core_counters *c = v->core[core];
    double resume = (double)v->chip->sync_resume_cycles;
    double waits = resume > 0.0 ? (double)c->stall_cycles[STALL_SYNC] / resume : 0.0;

    if (c->stall_cycles[STALL_ICI] > 0)
        waits -= (double)n->remote;
    return fmax(waits, 1.0);
}

static bool is_small(const struct chip *c, const struct explain_copies *n)
{
    double copies = (double)(n->hbm_reads + n->hbm_writes), ns;

    if (copies == 0.0 || c->dma_core_gbps <= 0.0)
        return false;
    ns = (double)n->hbm_bytes / copies / c->dma_core_gbps;
    return explain_cycles_of_ns(c, ns) < SMALL_BELOW * explain_copy_start_cycles(c, n);
}

static void split_hbm(const struct explain_input *in, int core, cycle_t wait,
                      cycle_t cycles[CAUSE_COUNT])
{
    const struct report_view *v = in->view;
    struct explain_copies n = {0};
    double weight[3], memory, bytes;    /* of start, rows, bytes */
    cycle_t part[3];

    explain_count_copies(v->core[core], &n);
    memory = memory_cycles(v, core);
    bytes = fmax(memory, engine_cycles(v->chip, &n));
    weight[2] = fmin(bytes, (double)wait);              /* what is longer is hidden */
    weight[1] = fmax(0.0, rows_cycles(v, core) - (bytes - memory));     /* behind the engine */
    weight[0] = fmax(hbm_waits(v, core, &n) * explain_copy_start_cycles(v->chip, &n),
                     (double)wait - weight[1] - weight[2]);
    explain_divide(wait, weight, 3, part);
    cycles[is_small(v->chip, &n) ? CAUSE_SMALL_DMAS : CAUSE_HBM_START] += part[0];
    cycles[CAUSE_HBM_ROWS] += part[1];
    cycles[CAUSE_HBM_BYTES] += part[2];
}

/* ----- other cores */

static double mean_remote_bytes(const struct report_view *v)
{
    struct explain_copies all = {0};
    double bytes = 0.0;
    int cores_per_chip = (v->core_count + v->chip_count - 1) / v->chip_count;

    for (int i = 0; i < v->core_count; i++) {
        explain_count_copies(v->core[i], &all);
        bytes += (double)v->core[i]->ici_sent_bytes;
    }
    /* around a ring through all cores, one copy in so many leaves its chip */
    return all.remote > 0 ? bytes * cores_per_chip / (double)all.remote : 0.0;
}

static void split_ici(const struct explain_input *in, int core, cycle_t wait,
                      cycle_t cycles[CAUSE_COUNT])
{
    const struct report_view *v = in->view;
    int busiest = view_busiest_link(v);
    double cores_per_chip = (double)((v->core_count + v->chip_count - 1) / v->chip_count);
    struct explain_copies n = {0};
    double local_ns, weight[3];         /* links, distance, cores */
    cycle_t part[3];

    explain_count_copies(v->core[core], &n);
    local_ns = (double)(v->chip->dma_local_ns + v->chip->dma_peer_ns);
    if (v->chip->dma_peer_gbps > 0.0)
        local_ns += mean_remote_bytes(v) / v->chip->dma_peer_gbps;
    weight[0] = busiest < 0 ? 0.0
                            : explain_cycles_of_ns(v->chip,
                                                   (double)v->link[busiest]->busy_ps * 1e-3);
    weight[1] = busiest < 0 ? 0.0
                            : explain_cycles_of_ns(v->chip, (double)n.remote / cores_per_chip *
                                                                (double)v->chip->ici_hop_ns);
    weight[2] = explain_cycles_of_ns(v->chip, (double)n.remote *
                                                  (1.0 - 1.0 / cores_per_chip) * local_ns);
    weight[2] = fmax(weight[2], (double)wait - weight[0] - weight[1]);
    explain_divide(wait, weight, 3, part);
    cycles[CAUSE_ICI_BYTES] += part[0];
    cycles[CAUSE_ICI_HOPS] += part[1];
    cycles[CAUSE_ICI_CORES] += part[2];
}

void explain_waits(const struct explain_input *in, int core, const struct explain_pool *p,
                   cycle_t cycles[CAUSE_COUNT])
{
    if (p->stall_cycles[STALL_HBM] > 0)
        split_hbm(in, core, p->stall_cycles[STALL_HBM], cycles);
    if (p->stall_cycles[STALL_ICI] > 0)
        split_ici(in, core, p->stall_cycles[STALL_ICI], cycles);
}
