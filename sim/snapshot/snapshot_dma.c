/*
 * Copies, ports and events in a snapshot. Of a core's DMA slots those in use
 * go in, with the bytes that a copy to another core has taken along.
 */
#include "sim/snapshot/snapshot_impl.h"

#include "base/arena.h"

#include <string.h>

static const struct field dma_fields[] = {
    SAVED(dma, code), SAVED(dma, source_space), SAVED(dma, destination_space),
    SAVED_BOOL(dma, is_remote), SAVED(dma, source), SAVED(dma, destination), SAVED(dma, bytes),
    SAVED(dma, run_bytes), SAVED(dma, level), SAVED(dma, flag), SAVED(dma, source_flag),
    SAVED(dma, target), SAVED(dma, done_bytes), SAVED(dma, arrived_bytes),
    SAVED_TIME(dma, last_ps), SAVED_TIME(dma, issued_at), SAVED_TIME(dma, stalled_from),
    SAVED(dma, bundle), SAVED(dma, number), SAVED_TIME(dma, started_ps),
    APART(dma, data), APART(dma, held), APART(dma, unknown), APART(dma, source_piece_bytes),
    APART(dma, destination_piece_bytes) /* follow */
};

static const struct field event_fields[] = {
    SAVED_TIME(event, at), SAVED(event, kind), SAVED(event, cause), SAVED(event, core),
    SAVED(event, sequence), SAVED(event, target), SAVED(event, slot), SAVED(event, flag),
    SAVED(event, value), SAVED(event, then), SAVED(event, way), SAVED(event, chip),
    SAVED_TIME(event, ready_at)};

static const struct field port_fields[] = {
    SAVED_TIME(dma_port, free_at), SAVED_BOOL(dma_port, is_scheduled), SAVED(dma_port, first),
    SAVED(dma_port, count), APART(dma_port, slot), APART(dma_port, staging)};

static const struct field staged_fields[] = {SAVED_TIME(staged, end), SAVED(staged, bytes)};

static const struct field ports_fields[] = {SAVED_TIME(core_ports, remote_free_at),
                                            SAVED_TIME(core_ports, hbm_free_at),
                                            SAVED_TIME(core_ports, peer_free_at),
                                            APART(core_ports, port),
                                            APART(core_ports, remote_staging)};

void snapshot_ranges_archive(struct ranges *r, int64_t limit, struct archive *a)
{
    size_t count = archive_count(a, r->count, sizeof(*r->item)), i;
    int64_t end = -1;

    if (archive_is_loading(a))
        r->count = 0;
    for (i = 0; i < count && !a->is_failed; i++) {
        struct range one = archive_is_loading(a) ? (struct range){0} : r->item[i];

        archive_bytes(a, &one, sizeof(one));
        archive_check(a, one.first > end && one.first < one.end && one.end <= limit,
                      "the snapshot has impossible ranges of bytes");
        if (archive_is_loading(a) && !a->is_failed)
            ranges_add(r, one.first, one.end);
        end = one.end;
    }
}

static void copy_held(struct dma *d)
{
    d->data = mem_alloc((size_t)d->bytes);
    hbm_hold_read(d->held, 0, d->data, (size_t)d->bytes);
    hbm_hold_free(d->held);
    d->held = NULL;
}

/* data behind it: what a copy holds that takes its bytes along, until it is delivered */
static void archive_dma(const struct core *c, struct dma *d, bool is_complete, struct archive *a)
{
    unsigned char *old = d->data;

    if (archive_is_loading(a))
        d->data = NULL;
    WALK(a, dma_fields, d);
    archive_check(a, (unsigned)d->code < OP_COUNT && (unsigned)d->target < (unsigned)c->core_count
                     && (unsigned)d->flag < c->chip->sync_flags
                     && (unsigned)d->source_flag < c->chip->sync_flags && d->done_bytes >= 0
                     && d->done_bytes <= d->bytes && d->arrived_bytes >= 0
                     && d->arrived_bytes <= d->done_bytes && dma_is_possible(c, d)
                     && (d->is_remote || (c->program && d->bundle < c->program->bundle_count)),
                  "the snapshot has an impossible copy of core %d", c->number);
    if (!a->is_failed && archive_is_loading(a)) {
        d->source_piece_bytes = dma_piece_bytes(d, false);
        d->destination_piece_bytes = dma_piece_bytes(d, true);
        archive_check(a, !dma_takes_data(c, d, is_complete) || d->bytes <= a->end - a->at,
                      "the snapshot ends inside the data of a copy");
    }
    if (!a->is_failed && dma_takes_data(c, d, is_complete)) {
        if (d->held)
            copy_held(d);
        if (!d->data)                   /* loading, or none of its bytes is known: zeros */
            d->data = mem_alloc((size_t)d->bytes);
        archive_bytes(a, d->data, (size_t)d->bytes);
        snapshot_ranges_archive(&d->unknown, d->bytes, a);
    }
    if (archive_is_loading(a))
        mem_free(old);
}

/* the slots that are free, in the order they will be taken, then the others */
static void archive_queue(struct core *c, struct archive *a)
{
    int depth = (int)c->chip->dma_queue_depth, count = c->dma_free_count, i;
    bool is_free[1024] = {false};       /* dma.queue_depth is at most that */

    archive_bytes(a, &count, sizeof(count));
    archive_check(a, count >= 0 && count <= depth, "the snapshot has %d free DMA slots of %d",
                  count, depth);
    if (a->is_failed)
        count = 0;
    archive_bytes(a, c->dma_free, (size_t)count * sizeof(*c->dma_free));
    for (i = 0; i < count && !a->is_failed; i++) {
        int slot = c->dma_free[i];

        archive_check(a, slot >= 0 && slot < depth && !is_free[slot],
                      "the snapshot has DMA slot %d free, of %d", slot, depth);
        if (!a->is_failed)
            is_free[slot] = true;
    }
    for (i = 0; i < depth && !a->is_failed; i++)
        if (!is_free[i])
            archive_dma(c, &c->dma[i], false, a);
    c->dma_free_count = count;
}

static void archive_complete(struct core *c, struct archive *a)
{
    size_t count = archive_count(a, c->copy_count, 1), i;
    uint64_t visible = c->copy_visible;

    archive_bytes(a, &visible, sizeof(visible));
    archive_check(a, visible <= count, "the snapshot has %llu of %zu copies complete",
                  (unsigned long long)visible, count);
    if (archive_is_loading(a))
        c->copy_count = c->copy_visible = 0;
    for (i = 0; i < count && !a->is_failed; i++) {
        if (archive_is_loading(a)) {
            c->copy = mem_grow(c->copy, &c->copy_capacity, i + 1, sizeof(*c->copy));
            memset(&c->copy[i], 0, sizeof(*c->copy));
            c->copy_count = i + 1;
        }
        archive_dma(c, &c->copy[i], true, a);
    }
    if (archive_is_loading(a) && !a->is_failed)
        c->copy_visible = (size_t)visible;
}

/* loading finds a core as core_launch leaves it: no slot and no copy holds data */
void snapshot_copies_archive(struct core *c, struct archive *a)
{
    if (c->program)
        archive_queue(c, a);
    archive_complete(c, a);
}

/* chunks that a port waits for, the oldest first: they end in that order */
static void archive_staging(int64_t chunk_bytes, int64_t staging_bytes, struct staging *s,
                            struct archive *a)
{
    size_t count = archive_count(a, s->count, 1), i;
    ps_t last = 0;

    if (archive_is_loading(a))
        staging_reset(s);
    for (i = 0; i < count && !a->is_failed; i++) {
        struct staged one = archive_is_loading(a) ? (struct staged){0} : *staging_item(s, i);

        WALK(a, staged_fields, &one);
        archive_check(a, one.end >= last && one.bytes > 0
                         && one.bytes <= chunk_bytes
                         && (!archive_is_loading(a) || s->bytes + one.bytes <= staging_bytes),
                      "the snapshot has an impossible chunk under way");
        if (archive_is_loading(a) && !a->is_failed)
            staging_put(s, one.end, one.bytes);
        last = one.end;
    }
}

void snapshot_ports_archive(const struct chip *chip, struct core_ports *p, struct archive *a)
{
    int depth = (int)chip->dma_queue_depth, i, j;

    WALK(a, ports_fields, p);
    for (i = 0; i < PORT_COUNT; i++) {
        struct dma_port *port = &p->port[i];

        WALK(a, port_fields, port);
        archive_check(a, port->first >= 0 && port->first < depth && port->count >= 0
                         && port->count <= depth,
                      "the snapshot has %d copies at a port for %d", port->count, depth);
        for (j = 0; j < port->count && !a->is_failed; j++) {
            int *slot = &port->slot[(port->first + j) % depth];

            archive_bytes(a, slot, sizeof(*slot));
            archive_check(a, *slot >= 0 && *slot < depth, "the snapshot has DMA slot %d of %d",
                          *slot, depth);
        }
        archive_staging(chip->dma_chunk_bytes, dma_port_staging_bytes(chip, i), &port->staging,
                        a);
    }
    archive_staging(chip->dma_chunk_bytes, chip->dma_staging_bytes, &p->remote_staging, a);
}

/* what it is, or becomes at the end of its way */
static unsigned aim_of(const struct event *e)
{
    return e->kind == EVENT_HOP ? e->then : e->kind;
}

/* what its `slot` counts */
static int64_t slots_of(const struct machine *m, const struct event *e)
{
    switch (aim_of(e)) {
    case EVENT_ADD: case EVENT_STORE: case EVENT_REMOTE_ADD: case EVENT_REMOTE_STORE:
        return m->core[e->core].program->bundle_count;
    case EVENT_PORT:
        return PORT_COUNT;
    case EVENT_READ: case EVENT_REMOTE_READ: case EVENT_PEEK: case EVENT_ANSWER:
        return S_CONST;
    default:
        return m->chip.dma_queue_depth;
    }
}

/* the core where it ends; -1: nothing of this kind goes over links */
static int end_of_way(const struct machine *m, const struct event *e)
{
    switch (e->then) {
    case EVENT_ADD: case EVENT_STORE: case EVENT_PEEK: return e->target;
    case EVENT_ANSWER: return e->core;
    case EVENT_ARRIVE: return m->core[e->core].dma[e->slot].target;
    default: return -1;
    }
}

static bool is_on_its_way(const struct machine *m, const struct event *e)
{
    int end = end_of_way(m, e);

    return end >= 0 && m->net && !net_is_there(e->way)
           && net_route_leads(m->net, e->way, e->chip, machine_chip_of(m, end));
}

static bool has_bytes(const struct machine *m, const struct event *e)
{
    return e->value >= 0
           && e->value * m->chip.dma_chunk_bytes < m->core[e->core].dma[e->slot].bytes;
}

static bool is_possible(const struct machine *m, const struct event *e)
{
    return e->kind < EVENT_KIND_COUNT && e->cause <= CAUSE_ICI && e->core < m->core_count
           && e->target >= 0 && e->target < m->core_count && e->flag >= 0
           && e->flag < m->chip.sync_flags && e->at >= m->now_ps && m->core[e->core].program
           && e->slot >= 0 && e->slot < slots_of(m, e)
           && (e->kind != EVENT_HOP || is_on_its_way(m, e))
           && (aim_of(e) != EVENT_ARRIVE || has_bytes(m, e));
}

/* in the order of the heap, which loading makes anew */
void snapshot_events_archive(const struct machine *m, struct event_list *l, struct archive *a)
{
    size_t count = archive_count(a, l->count, 1), i;
    struct event e;

    if (archive_is_loading(a))
        l->count = 0;
    for (i = 0; i < count && !a->is_failed; i++) {
        e = archive_is_loading(a) ? (struct event){0} : l->item[i];
        WALK(a, event_fields, &e);
        archive_check(a, is_possible(m, &e), "the snapshot has an impossible event");
        if (archive_is_loading(a) && !a->is_failed)
            event_push(l, &e);
    }
}

uint32_t snapshot_copies_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, dma_fields, COUNT_OF(dma_fields));
    crc = archive_table_crc(crc, event_fields, COUNT_OF(event_fields));
    crc = archive_table_crc(crc, port_fields, COUNT_OF(port_fields));
    crc = archive_table_crc(crc, staged_fields, COUNT_OF(staged_fields));
    return archive_table_crc(crc, ports_fields, COUNT_OF(ports_fields));
}
