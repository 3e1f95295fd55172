/*
 * The DMA engines, chunk by chunk.
 *
 * Copies from the host share one port of their core, those to the host another,
 * then come those from HBM, to HBM, from CMEM, to CMEM, and the rest. A port takes a chunk
 * and is free again after the chunk's bytes at the port's rate. The first dma.turn_copies
 * copies of its queue take turns, chunk by chunk. Chunks do not wait for each other's data, but for a place in the
 * port's staging memory (sim/machine/staging.h). Copies to other cores share one more
 * port, each copy at the pace of the first link it uses.
 */
#include "sim/core/hooks.h"
#include "sim/machine/machine_impl.h"

void dma_reset(struct machine *m)
{
    for (int i = 0; i < m->core_count; i++) {
        struct core_ports *p = &m->ports[i];

        p->remote_free_at = p->hbm_free_at = p->peer_free_at = 0;
        staging_reset(&p->remote_staging);
        m->cmem[machine_chip_of(m, i)] = (struct cmem_port){{0, 0}};
        m->host[machine_chip_of(m, i)] = (struct host_link){{0, 0}};
        for (int j = 0; j < PORT_COUNT; j++) {
            p->port[j].free_at = 0;
            p->port[j].is_scheduled = false;
            p->port[j].first = p->port[j].count = 0;
            staging_reset(&p->port[j].staging);
        }
    }
}

static int port_of(const struct dma *d)
{
    if (d->source_space == SPACE_HOST)
        return PORT_FROM_HOST;
    if (d->destination_space == SPACE_HOST)
        return PORT_TO_HOST;
    if (d->source_space == SPACE_HBM)
        return PORT_FROM_HBM;
    if (d->destination_space == SPACE_HBM)
        return PORT_TO_HBM;
    if (d->source_space == SPACE_CMEM)
        return PORT_FROM_CMEM;
    return d->destination_space == SPACE_CMEM ? PORT_TO_CMEM : PORT_LOCAL;
}

static double port_gbps(const struct machine *m, int port)
{
    switch (port) {
    case PORT_FROM_HBM: case PORT_TO_HBM: return m->chip.dma_core_gbps;
    case PORT_FROM_CMEM: return m->chip.cmem_read_gbps;
    case PORT_TO_CMEM: return m->chip.cmem_write_gbps;
    case PORT_FROM_HOST: case PORT_TO_HOST: return m->chip.host_pcie_gbps;
    default: return m->chip.dma_local_gbps;
    }
}

int64_t dma_port_staging_bytes(const struct chip *chip, int port)
{
    return port == PORT_FROM_HOST || port == PORT_TO_HOST ? chip->host_staging_bytes
                                                          : chip->dma_staging_bytes;
}

static void port_put(struct machine *m, struct dma_port *p, int slot)
{
    p->slot[(p->first + p->count++) % (int)m->chip.dma_queue_depth] = slot;
}

/* behind those whose turn comes first: `dma.turn_copies` of a port take turns, the rest waits */
static void port_put_back(struct machine *m, struct dma_port *p, int slot)
{
    int depth = (int)m->chip.dma_queue_depth, turns = (int)m->chip.dma_turn_copies - 1;
    int before = turns < p->count ? turns : p->count;

    p->first = (p->first + depth - 1) % depth;
    p->count++;
    for (int i = 0; i < before; i++)
        p->slot[(p->first + i) % depth] = p->slot[(p->first + i + 1) % depth];
    p->slot[(p->first + before) % depth] = slot;
}

static int port_take(struct machine *m, struct dma_port *p)
{
    int slot = p->slot[p->first];

    p->first = (p->first + 1) % (int)m->chip.dma_queue_depth;
    p->count--;
    return slot;
}

/* the chunk from byte `at` of the copy on */
static int64_t chunk_at(const struct machine *m, const struct dma *d, int64_t at)
{
    int64_t left = d->bytes - at;

    return left < m->chip.dma_chunk_bytes ? left : m->chip.dma_chunk_bytes;
}

static int64_t chunk_of(const struct machine *m, const struct dma *d)
{
    return chunk_at(m, d, d->done_bytes);
}

/* when the port, which has a copy, takes its next chunk: free, and with a place for it */
static ps_t next_turn(struct machine *m, struct core *c, int port)
{
    struct dma_port *p = &m->ports[c->number].port[port];
    ps_t free_at = later(m->now_ps, p->free_at);
    ps_t at = staging_room(&p->staging, free_at, chunk_of(m, &c->dma[p->slot[p->first]]),
                           dma_port_staging_bytes(&m->chip, port));

    c->dma_staging_ps += at - free_at;
    return at;
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

static void count_end(struct core *c, cycle_t at)
{
    if (--c->dma_active == 0) {
        c->busy_cycles[TRACK_DMA] += at - c->dma_busy_from;
        c->busy_until[TRACK_DMA] = at;
    }
}

/* Functional mode: the same bytes and events without time. */
static void complete_at_once(struct machine *m, struct core *c, int slot)
{
    const struct dma *d = &c->dma[slot];
    struct core *to = machine_target(m, d->target);

    if (d->source_space == SPACE_HBM)
        c->hbm_read_bytes += d->bytes;
    if (d->source_space == SPACE_CMEM)
        c->cmem_read_bytes += d->bytes;
    if (d->source_space == SPACE_HOST)
        c->host_read_bytes += d->bytes;
    if (d->destination_space == SPACE_HOST)
        c->host_write_bytes += d->bytes;
    if (d->destination_space == SPACE_HBM)
        to->hbm_write_bytes += d->bytes;
    if (d->destination_space == SPACE_CMEM)
        to->cmem_write_bytes += d->bytes;
    if (machine_chip_of(m, c->number) != machine_chip_of(m, d->target)) {
        c->ici_sent_bytes += d->bytes;
        to->ici_received_bytes += d->bytes;
    }
    if (peer_between(m, c->number, d->target))
        peer_take(m, c, d->bytes);
    if (d->is_remote)
        serial_push(m, m->now_ps, EVENT_SENT, c, slot);
    serial_push(m, m->now_ps, EVENT_DONE, c, slot);
}

void dma_start(struct machine *m, struct core *c, int slot)
{
    struct dma *d = &c->dma[slot];
    struct dma_port *p = &m->ports[c->number].port[port_of(d)];

    c->dma_count++;
    count_start(c, d);
    copy_started(c, d);
    d->last_ps = m->now_ps;
    if (m->options.mode == MODE_FUNCTIONAL) {
        complete_at_once(m, c, slot);
        return;
    }
    if (d->is_remote) {
        if (m->options.check_races)
            c->hooks->race.arrive(m, c, d);
        serial_push(m, m->now_ps + m->chip.dma_local_ns * PS_PER_NS, EVENT_CHUNK, c, slot);
        return;
    }
    port_put(m, p, slot);
    if (!p->is_scheduled)
        serial_push(m, next_turn(m, c, port_of(d)), EVENT_PORT, c, port_of(d));
    p->is_scheduled = true;
}

/* from byte `at` of the copy on, at most `most`: as far as its runs touch, at any level */
static struct dma_piece touching_pieces(const struct dma *d, bool is_write, int64_t at,
                                        int64_t most)
{
    struct dma_piece piece = dma_piece(d, is_write, at, most), next;

    while (piece.bytes < most) {
        next = dma_piece(d, is_write, at + piece.bytes, most - piece.bytes);
        if (next.address != piece.address + piece.bytes)
            break;
        piece.bytes += next.bytes;
    }
    return piece;
}

/* what `bytes` bytes of one side hold the engine for: pieces, each in whole vectors */
static int64_t vectors_bytes(const struct machine *m, const struct dma *d, bool is_write,
                             int64_t bytes)
{
    int64_t vector = m->chip.dma_vector_bytes, sum = 0, at = d->done_bytes, end = at + bytes;

    if ((is_write ? d->destination_piece_bytes : d->source_piece_bytes) >= d->bytes)
        return div_up(bytes, vector) * vector;
    while (at < end) {
        struct dma_piece piece = touching_pieces(d, is_write, at, end - at);

        sum += div_up(piece.bytes, vector) * vector;
        at += piece.bytes;
    }
    return sum;
}

/*
 * `bytes` bytes from byte `at` of the copy on, piece by piece, asked of the HBM at now_ps. Reads
 * and writes of a core share its way there, so that together they stay below core_gbps.
 */
static ps_t access_hbm(struct machine *m, struct core *c, const struct dma *d, int64_t at,
                       int64_t bytes, bool is_write)
{
    struct hbm *hbm = m->hbm[machine_chip_of(m, c->number)];
    int64_t share = c->shares_hbm ? 0 : c->number % m->chip.chip_cores * m->share_bytes;
    int64_t end = at + bytes;
    ps_t *way_free_at = &m->ports[c->number].hbm_free_at;
    ps_t last = later(*way_free_at, m->now_ps) + ps_of_bytes(bytes, m->chip.dma_core_gbps);

    *way_free_at = last;
    *(is_write ? &c->hbm_write_bytes : &c->hbm_read_bytes) += bytes;
    while (at < end) {
        struct dma_piece piece = touching_pieces(d, is_write, at, end - at);

        last = later(last, hbm_access(hbm, m->now_ps, share + piece.address, piece.bytes,
                                      is_write));
        at += piece.bytes;
    }
    return last;
}

/* the cores of a chip share the CMEM, whatever the addresses */
static ps_t access_cmem(struct machine *m, struct core *c, int64_t bytes, bool is_write)
{
    ps_t *free_at = &m->cmem[machine_chip_of(m, c->number)].free_at[is_write];

    *(is_write ? &c->cmem_write_bytes : &c->cmem_read_bytes) += bytes;
    *free_at = later(*free_at, m->now_ps)
               + ps_of_bytes(bytes, is_write ? m->chip.cmem_write_gbps : m->chip.cmem_read_gbps);
    return *free_at;
}

/* and the link to their host, each direction for itself */
static ps_t access_host(struct machine *m, struct core *c, int64_t bytes, bool is_write)
{
    ps_t *free_at = &m->host[machine_chip_of(m, c->number)].free_at[is_write];

    *(is_write ? &c->host_write_bytes : &c->host_read_bytes) += bytes;
    *free_at = later(*free_at, m->now_ps) + ps_of_bytes(bytes, m->chip.host_pcie_gbps);
    return *free_at;
}

/* when the next `bytes` bytes of the copy have left or reached the memory of one side */
static ps_t access_side(struct machine *m, struct core *c, const struct dma *d, int64_t bytes,
                        bool is_write)
{
    switch (is_write ? d->destination_space : d->source_space) {
    case SPACE_HBM: return access_hbm(m, c, d, d->done_bytes, bytes, is_write);
    case SPACE_CMEM: return access_cmem(m, c, bytes, is_write);
    case SPACE_HOST: return access_host(m, c, bytes, is_write);
    default: return m->now_ps;
    }
}

/* what was measured for copies from HBM to CMEM belongs to the HBM */
static ps_t fixed_ps(const struct machine *m, const struct dma *d)
{
    int64_t ns = 0;

    switch (port_of(d)) {
    case PORT_LOCAL: return m->chip.dma_local_ns * PS_PER_NS;
    case PORT_FROM_CMEM: case PORT_TO_CMEM: return m->chip.cmem_latency_ns * PS_PER_NS;
    default:
        ns += d->source_space == SPACE_HBM ? m->chip.dma_read_ns : 0;
        ns += d->destination_space == SPACE_HBM ? m->chip.dma_write_ns : 0;
        ns += d->source_space == SPACE_HOST ? m->chip.host_latency_ns : 0;
        ns += d->destination_space == SPACE_HOST ? m->chip.host_latency_ns : 0;
        return ns * PS_PER_NS;
    }
}

/* for how many bytes a chunk holds its port: those of its longer side; inside one HBM of both */
static int64_t port_bytes(const struct machine *m, const struct dma *d, int64_t bytes)
{
    int64_t in = vectors_bytes(m, d, false, bytes), out = vectors_bytes(m, d, true, bytes);

    return d->source_space == SPACE_HBM && d->destination_space == SPACE_HBM && !d->is_remote
               ? in + out : later(in, out);
}

static void take_chunk(struct machine *m, struct core *c, int port)
{
    struct dma_port *p = &m->ports[c->number].port[port];
    int slot = port_take(m, p);
    struct dma *d = &c->dma[slot];
    int64_t bytes = chunk_of(m, d);
    ps_t end;

    if (d->done_bytes == 0)
        d->started_ps = m->now_ps;
    p->free_at = m->now_ps + ps_of_bytes(port_bytes(m, d, bytes), port_gbps(m, port));
    end = later(p->free_at, access_side(m, c, d, bytes, false));
    end = later(end, access_side(m, c, d, bytes, true));
    staging_put(&p->staging, end + fixed_ps(m, d), bytes);
    d->last_ps = later(d->last_ps, end);
    d->done_bytes += bytes;
    if (d->done_bytes < d->bytes)
        port_put_back(m, p, slot);
    else
        serial_push(m, d->last_ps + fixed_ps(m, d), EVENT_DONE, c, slot);
}

/* nothing else can happen up to and at `at` */
static bool is_next(const struct machine *m, ps_t at)
{
    return at < m->horizon_ps && (m->queue.count == 0 || m->queue.item[0].at > at);
}

/*
 * Chunks with nothing in between need no event each: a long copy alone is one.
 * They count as events all the same, so that a pause leaves the same numbers.
 */
void dma_port_chunk(struct machine *m, struct core *c, int port)
{
    struct dma_port *p = &m->ports[c->number].port[port];
    ps_t at = 0;

    take_chunk(m, c, port);
    while (p->count > 0 && is_next(m, at = next_turn(m, c, port))) {
        m->now_ps = at;
        c->serial_sequence++;
        take_chunk(m, c, port);
    }
    p->is_scheduled = p->count > 0;
    if (p->is_scheduled)
        serial_push(m, at, EVENT_PORT, c, port);
}

static int64_t bytes_of_chunk(const struct machine *m, const struct dma *d, int32_t number)
{
    return chunk_at(m, d, number * m->chip.dma_chunk_bytes);
}

static void push_chunk(struct machine *m, struct core *c, const struct event *e, ps_t at,
                       enum event_kind kind)
{
    struct event next = *e;

    next.at = at;
    next.kind = (uint8_t)kind;
    next.sequence = c->serial_sequence++;
    event_push(&m->queue, &next);
}

/* The instant is known at which a chunk has come over: what comes next there. */
static void come_over(struct machine *m, struct core *c, const struct event *e, ps_t there_at)
{
    struct dma *d = &c->dma[e->slot];

    d->last_ps = later(d->last_ps, there_at);
    if (d->destination_space == SPACE_HBM) {
        push_chunk(m, c, e, d->last_ps, EVENT_ARRIVE);
        return;
    }
    d->arrived_bytes += bytes_of_chunk(m, d, e->value);
    if (d->arrived_bytes == d->bytes)
        serial_push(m, d->last_ps + m->chip.dma_local_ns * PS_PER_NS, EVENT_DONE, c, e->slot);
}

/* The head of a chunk is at a chip that is not its end: when this link is free again. */
static ps_t take_link(struct machine *m, struct core *c, struct event *e)
{
    const struct dma *d = &c->dma[e->slot];
    struct net_hop hop;

    c->hooks->tracing.names_sender(m, c->number, d->number);
    hop = net_take(m->net, m->now_ps, e->chip, &e->way, bytes_of_chunk(m, d, e->value));
    e->chip = hop.next;
    if (net_is_there(e->way))
        come_over(m, c, e, later(e->ready_at, hop.there_at));
    else
        push_chunk(m, c, e, hop.head_at, EVENT_HOP);
    return hop.free_at;
}

void dma_hop(struct machine *m, struct core *c, const struct event *e)
{
    struct event chunk = *e;

    take_link(m, c, &chunk);
}

/* To a core of the same chip, maybe itself: when the link there is free again, if it takes one. */
static ps_t send_inside(struct machine *m, struct core *c, struct event *chunk, int64_t bytes)
{
    ps_t free_at = m->now_ps;

    if (c->dma[chunk->slot].target != c->number) {
        free_at = peer_take(m, c, bytes);
        chunk->ready_at = later(chunk->ready_at, free_at) + m->chip.dma_peer_ns * PS_PER_NS;
    }
    come_over(m, c, chunk, chunk->ready_at);
    return free_at;
}

/*
 * The next chunk, whose bytes are read by read_at, goes on its way at now_ps:
 * the instant at which the way is free again.
 */
static ps_t send_chunk(struct machine *m, struct core *c, int slot, int64_t bytes, ps_t read_at)
{
    const struct dma *d = &c->dma[slot];
    int from = machine_chip_of(m, c->number), to = machine_chip_of(m, d->target);
    double gbps = d->target == c->number ? m->chip.dma_local_gbps : m->chip.dma_core_gbps;
    ps_t sent_at = m->now_ps + ps_of_bytes(port_bytes(m, d, bytes), gbps);
    struct event chunk = {.core = (uint16_t)c->number, .target = c->number, .slot = slot,
                          .value = (int32_t)(d->done_bytes / m->chip.dma_chunk_bytes),
                          .then = EVENT_ARRIVE, .chip = from, .ready_at = later(read_at, sent_at)};

    m->ports[c->number].remote_free_at = sent_at;
    if (from == to)
        return later(sent_at, send_inside(m, c, &chunk, bytes));
    c->ici_sent_bytes += bytes;
    machine_target(m, d->target)->ici_received_bytes += bytes;
    chunk.way = net_route(m->net, from, to);
    return later(sent_at, take_link(m, c, &chunk));
}

/* when what sends to other cores takes a chunk that asks now: free, and with a place for it */
static ps_t remote_turn(struct machine *m, struct core *c, int64_t bytes)
{
    struct core_ports *p = &m->ports[c->number];

    if (p->remote_free_at <= m->now_ps) {
        p->remote_free_at = staging_room(&p->remote_staging, m->now_ps, bytes,
                                         m->chip.dma_staging_bytes);
        c->dma_staging_ps += p->remote_free_at - m->now_ps;
    }
    return p->remote_free_at;
}

/*
 * A chunk that finds the way taken keeps its place in the order, so that copies
 * take turns. What comes from HBM is asked for when it is sent, and is there when
 * both are done.
 */
void dma_remote_chunk(struct machine *m, struct core *c, const struct event *e)
{
    struct dma *d = &c->dma[e->slot];
    int64_t bytes = chunk_of(m, d);
    ps_t sent_at, read_at = m->now_ps, turn = remote_turn(m, c, bytes);

    if (turn > m->now_ps) {
        struct event again = *e;

        again.at = turn;
        event_push(&m->queue, &again);
        return;
    }
    if (d->done_bytes == 0)
        d->started_ps = m->now_ps;
    if (d->source_space == SPACE_HBM)
        read_at = access_hbm(m, c, d, d->done_bytes, bytes, false)
                  + m->chip.dma_read_ns * PS_PER_NS;
    sent_at = send_chunk(m, c, e->slot, bytes, read_at);
    staging_put(&m->ports[c->number].remote_staging, later(sent_at, read_at), bytes);
    d->done_bytes += bytes;
    if (d->done_bytes < d->bytes)
        serial_push(m, sent_at, EVENT_CHUNK, c, e->slot);
    else
        serial_push(m, later(sent_at, read_at), EVENT_SENT, c, e->slot);
}

/* a chunk is written into the other core's HBM when it gets there */
void dma_arrive(struct machine *m, struct core *c, const struct event *e)
{
    struct dma *d = &c->dma[e->slot];
    int64_t bytes = bytes_of_chunk(m, d, e->value);

    d->last_ps = later(d->last_ps, access_hbm(m, machine_target(m, d->target), d,
                                              e->value * m->chip.dma_chunk_bytes, bytes, true));
    d->arrived_bytes += bytes;
    if (d->arrived_bytes == d->bytes)
        serial_push(m, d->last_ps + (m->chip.dma_local_ns + m->chip.dma_write_ns) * PS_PER_NS,
                    EVENT_DONE, c, e->slot);
}

/* the sender may write over the source from now on */
void dma_sent(struct machine *m, struct core *c, int slot)
{
    struct dma *d = &c->dma[slot];

    if (m->options.check_races)
        c->hooks->race.complete(m, c, d, true);
    serial_raise(m, c, d->source_flag, (int32_t)(d->bytes / m->chip.dma_granule_bytes),
                 CAUSE_ICI);
}

static enum event_cause cause_of(const struct dma *d)
{
    if (d->is_remote)
        return CAUSE_ICI;
    if (d->source_space == SPACE_HBM || d->destination_space == SPACE_HBM)
        return CAUSE_HBM;
    return d->source_space == SPACE_CMEM || d->destination_space == SPACE_CMEM ? CAUSE_CMEM
                                                                               : CAUSE_CORE;
}

void dma_done(struct machine *m, struct core *c, int slot)
{
    struct dma *d = &c->dma[slot];
    struct core *to = machine_target(m, d->target);

    count_end(c, clock_cycle_at(c->clock_mhz, m->now_ps));
    c->hooks->tracing.tells_copy(m, c, d);
    copy_done(c, to, d);
    MEM_ADD(to->copy, to->copy_count, to->copy_capacity) = *d;
    if (to->log)
        to->hooks->log.done(to->log, c->number, to->number, d);
    d->data = NULL;                     /* the copy in the list holds them now */
    d->held = NULL;
    d->unknown = (struct ranges){.count = 0};
    c->dma_free[c->dma_free_count++] = slot;
    if (m->options.check_races)
        c->hooks->race.complete(m, c, d, false);
    serial_raise(m, to, d->flag,
                 (int32_t)(d->bytes / m->chip.dma_granule_bytes), cause_of(d));
}
