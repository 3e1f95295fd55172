/*
 * The DMA engines, chunk by chunk.
 *
 * Copies from HBM share one port of their core, copies to HBM another, copies
 * from VMEM to SMEM a third. A port takes a chunk, is free again after the
 * chunk's bytes at dma.core_gbps (dma.local_gbps), and turns to the next copy.
 * Chunks do not wait for each other's data. Copies to other cores go chunk by
 * chunk too, each copy at the pace of the first link it uses.
 */
#include "sim/machine_impl.h"

static ps_t transfer_ps(int64_t bytes, double gbps)
{
    return (ps_t)((double)bytes * PS_PER_NS / gbps + 0.5);
}

void dma_reset(struct machine *m)
{
    int i, j;

    for (i = 0; i < m->core_count; i++) {
        struct core_ports *p = &m->ports[i];

        p->remote_free_at = 0;
        for (j = 0; j < PORT_COUNT; j++) {
            p->port[j].free_at = 0;
            p->port[j].is_scheduled = false;
            p->port[j].first = p->port[j].count = 0;
        }
    }
}

static int port_of(const struct dma *d)
{
    switch (d->code) {
    case OP_DMA_VMEM_HBM: case OP_DMA_VMEM_HBM_STR: return PORT_TO_HBM;
    case OP_DMA_VMEM_SMEM: return PORT_LOCAL;
    default: return PORT_FROM_HBM;
    }
}

static void port_put(struct machine *m, struct dma_port *p, int slot)
{
    p->slot[(p->first + p->count++) % (int)m->chip.dma_queue_depth] = slot;
}

static int port_take(struct machine *m, struct dma_port *p)
{
    int slot = p->slot[p->first];

    p->first = (p->first + 1) % (int)m->chip.dma_queue_depth;
    p->count--;
    return slot;
}

/* The core was stalled just before this issue, so nothing of its own started meanwhile. */
static void count_start(struct core *c, const struct dma *d)
{
    cycle_t waited_from = later(d->stalled_from, c->busy_until[TRACK_DMA]);

    if (c->dma_active++ > 0)
        return;
    if (d->issued_at > waited_from)
        c->waiting_cycles[TRACK_DMA] += d->issued_at - waited_from;
    c->dma_busy_from = later(d->issued_at, c->busy_until[TRACK_DMA]);
}

static void count_end(struct core *c, const struct dma *d, cycle_t at)
{
    if (--c->dma_active == 0) {
        c->busy_cycles[TRACK_DMA] += at - c->dma_busy_from;
        c->busy_until[TRACK_DMA] = at;
    }
    if (c->is_traced)
        core_trace(c, &(struct trace_event){.start = d->issued_at, .end = at, .bundle = d->bundle,
                                            .code = (uint16_t)d->code, .track = TRACK_DMA,
                                            .bytes = d->bytes});
}

void dma_start(struct machine *m, struct core *c, int slot)
{
    struct dma *d = &c->dma[slot];
    struct dma_port *p = &m->ports[c->number].port[port_of(d)];

    c->dma_count++;
    count_start(c, d);
    d->last_ps = m->now_ps;
    if (d->code == OP_DMA_VMEM_REMOTE) {
        serial_push(m, m->now_ps + m->chip.dma_local_ns * PS_PER_NS, EVENT_CHUNK, c, slot);
        return;
    }
    port_put(m, p, slot);
    if (!p->is_scheduled)
        serial_push(m, later(m->now_ps, p->free_at), EVENT_PORT, c, port_of(d));
    p->is_scheduled = true;
}

/* the piece of `bytes` bytes behind done_bytes, run by run, asked of the HBM at now_ps */
static ps_t access_hbm(struct machine *m, const struct core *c, const struct dma *d, int64_t bytes,
                       bool is_write)
{
    struct hbm *hbm = m->hbm[machine_chip_of(m, c->number)];
    int64_t base = c->number % m->chip.chip_cores * m->share_bytes
                   + (is_write ? d->destination : d->source);
    int64_t stride = is_write ? d->destination_stride : d->source_stride;
    int64_t run = stride == d->run_bytes ? d->bytes : d->run_bytes;
    int64_t at = d->done_bytes, end = d->done_bytes + bytes;
    ps_t last = m->now_ps;

    while (at < end) {
        int64_t offset = at % run, piece = run - offset;

        if (piece > end - at)
            piece = end - at;
        last = later(last, hbm_access(hbm, m->now_ps, base + at / run * stride + offset, piece,
                                      is_write));
        at += piece;
    }
    return last;
}

static ps_t fixed_ps(const struct machine *m, int port)
{
    switch (port) {
    case PORT_FROM_HBM: return m->chip.dma_read_ns * PS_PER_NS;
    case PORT_TO_HBM: return m->chip.dma_write_ns * PS_PER_NS;
    default: return m->chip.dma_local_ns * PS_PER_NS;
    }
}

static int64_t chunk_of(const struct machine *m, const struct dma *d)
{
    int64_t left = d->bytes - d->done_bytes;

    return left < m->chip.dma_chunk_bytes ? left : m->chip.dma_chunk_bytes;
}

void dma_port_chunk(struct machine *m, struct core *c, int port)
{
    struct dma_port *p = &m->ports[c->number].port[port];
    int slot = port_take(m, p);
    struct dma *d = &c->dma[slot];
    int64_t bytes = chunk_of(m, d);

    p->free_at = m->now_ps + transfer_ps(bytes, port == PORT_LOCAL ? m->chip.dma_local_gbps
                                                                   : m->chip.dma_core_gbps);
    d->last_ps = later(d->last_ps, p->free_at);
    if (port != PORT_LOCAL)
        d->last_ps = later(d->last_ps, access_hbm(m, c, d, bytes, port == PORT_TO_HBM));
    d->done_bytes += bytes;
    if (d->done_bytes < d->bytes)
        port_put(m, p, slot);
    else
        serial_push(m, d->last_ps + fixed_ps(m, port), EVENT_DONE, c, slot);
    if (port == PORT_FROM_HBM)
        c->hbm_read_bytes += bytes;
    else if (port == PORT_TO_HBM)
        c->hbm_write_bytes += bytes;
    p->is_scheduled = p->count > 0;
    if (p->is_scheduled)
        serial_push(m, p->free_at, EVENT_PORT, c, port);
}

/* A chunk that finds the way taken keeps its place in the order, so that copies take turns. */
void dma_remote_chunk(struct machine *m, struct core *c, const struct event *e)
{
    int slot = e->slot;
    struct core_ports *p = &m->ports[c->number];
    struct dma *d = &c->dma[slot];
    int64_t bytes = chunk_of(m, d);
    int from = machine_chip_of(m, c->number), to = machine_chip_of(m, d->target);
    ps_t sent_at;

    if (p->remote_free_at > m->now_ps) {
        struct event again = *e;

        again.at = p->remote_free_at;
        event_push(&m->queue, &again);
        return;
    }
    p->remote_free_at = m->now_ps + transfer_ps(bytes, from == to ? m->chip.dma_local_gbps
                                                                  : m->chip.dma_core_gbps);
    sent_at = p->remote_free_at;
    d->last_ps = later(d->last_ps, sent_at);
    if (from != to) {
        d->last_ps = later(d->last_ps, net_send(m->net, m->now_ps, from, to, bytes, &sent_at));
        sent_at = later(sent_at, p->remote_free_at);
        c->ici_sent_bytes += bytes;
        m->core[d->target].ici_received_bytes += bytes;
    }
    d->done_bytes += bytes;
    if (d->done_bytes < d->bytes) {
        serial_push(m, sent_at, EVENT_CHUNK, c, slot);
        return;
    }
    serial_push(m, sent_at, EVENT_SENT, c, slot);
    serial_push(m, later(d->last_ps, sent_at) + m->chip.dma_local_ns * PS_PER_NS, EVENT_DONE, c,
                slot);
}

/*
 * The contents go over at once, although the flag at the destination rises
 * later: until then the destination range is the sender's by agreement, and
 * the sender may write over the source from now on.
 */
void dma_sent(struct machine *m, struct core *c, int slot)
{
    struct dma *d = &c->dma[slot];

    dma_copy_remote(c, &m->core[d->target], d);
    serial_raise(m, c, d->source_flag, (int32_t)(d->bytes / m->chip.dma_granule_bytes),
                 CAUSE_ICI);
}

static enum event_cause cause_of(const struct dma *d)
{
    if (d->code == OP_DMA_VMEM_REMOTE)
        return CAUSE_ICI;
    return d->code == OP_DMA_VMEM_SMEM ? CAUSE_CORE : CAUSE_HBM;
}

void dma_done(struct machine *m, struct core *c, int slot)
{
    const struct dma *d = &c->dma[slot];

    count_end(c, d, clock_cycle_at(c->clock_mhz, m->now_ps));
    if (d->code != OP_DMA_VMEM_REMOTE) {
        c->copy = mem_grow(c->copy, &c->copy_capacity, c->copy_count + 1, sizeof(*c->copy));
        c->copy[c->copy_count++] = *d;
    }
    c->dma_free[c->dma_free_count++] = slot;
    serial_raise(m, &m->core[d->target], d->flag,
                 (int32_t)(d->bytes / m->chip.dma_granule_bytes), cause_of(d));
}
