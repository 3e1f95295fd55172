/*
 * Moves the marks of unknown ranges along with copies, and faults where unknown bytes would decide
 * something.
 */
#include "sim/core/known.h"

#include "base/arena.h"
#include "sim/core/hooks.h"

#include <stdio.h>
#include <string.h>

void core_fault_unknown(struct core *c, const char *text, const char *what)
{
    core_fault(c, FAULT_UNKNOWN, "%s needs %s, which timing mode does not work out; "
               "use --mode both", text, what);
}

static const char *name_of(const struct dma *d)
{
    return isa_info((enum isa_opcode)d->code)->mnemonic;
}

bool known_check_start(struct core *c, const struct dma *d)
{
    if (d->destination_space != SPACE_SMEM)
        return true;
    if (d->source_space == SPACE_VMEM)
        core_fault_unknown(c, name_of(d), "the contents of vmem");
    else if (d->source_space == SPACE_CMEM)
        core_fault_unknown(c, name_of(d), "the contents of cmem");
    return c->state != CORE_FAULTED;
}

/* of HBM or host memory */
static struct ranges *unknown_of(struct core *c, int space)
{
    return space == SPACE_HOST ? &c->unknown_host : c->unknown_hbm;
}

static struct hbm_store *store_of(const struct core *c, int space)
{
    return space == SPACE_HOST ? c->host : c->hbm;
}

static bool is_stored(int space)
{
    return space == SPACE_HBM || space == SPACE_HOST;
}

/* The copy's bundle is told, at the cycle at which its bytes become visible. */
static void fault_at_arrival(struct core *c, const struct dma *d, const struct range *unknown)
{
    char what[100];

    snprintf(what, sizeof(what), "%s bytes %lld..%lld, written from vectors",
             d->source_space == SPACE_HOST ? "host" : "hbm", (long long)unknown->first,
             (long long)unknown->end - 1);
    c->issue_at = c->is_resumed ? c->pending.at : c->now;
    c->pc = d->bundle;
    core_fault_unknown(c, name_of(d), what);
}

static void log_give_up(struct core *c)
{
    if (c->hbm_log)
        c->hooks->hbm_log.give_up(c->hbm_log);
}

static void log_unknown(struct core *c, int64_t address, int64_t bytes)
{
    if (c->hbm_log)
        c->hooks->hbm_log.unknown(c->hbm_log, address, bytes);
}

static void copy_from_store(struct core *c, const struct dma *d, int64_t source,
                            int64_t destination, int64_t bytes)
{
    struct ranges *unknown = unknown_of(c, d->source_space);
    const struct range *found = ranges_find(unknown, source, source + bytes);

    if (is_stored(d->destination_space)) {
        bool is_known = !ranges_cover(unknown, source, source + bytes);

        ranges_copy(unknown, source, source + bytes, unknown_of(c, d->destination_space),
                    destination);
        log_give_up(c);
        if (!is_known)
            return;
    } else if (found) {
        fault_at_arrival(c, d, found);
    } else if (d->source_space == SPACE_HBM) {
        if (c->hbm_log)
            c->hooks->hbm_log.read(c->hbm_log, c, source, bytes);
    } else {
        log_give_up(c);
    }
    copy_piece(c, d, source, destination, bytes);
}

static void copy_known_piece(struct core *c, const struct dma *d, int64_t source,
                             int64_t destination, int64_t bytes)
{
    struct ranges *unknown = unknown_of(c, d->destination_space);

    if (d->destination_space == SPACE_HOST)
        log_give_up(c);
    if (is_stored(d->source_space)) {
        copy_from_store(c, d, source, destination, bytes);
    } else if (d->source_space == SPACE_SMEM) {
        if (is_stored(d->destination_space))
            ranges_remove(unknown, destination, destination + bytes);
        copy_piece(c, d, source, destination, bytes);
        if (d->destination_space == SPACE_HBM && c->hbm_log)
            c->hooks->hbm_log.write(c->hbm_log, c, destination, bytes);
    } else {
        ranges_add(unknown, destination, destination + bytes);
        if (d->destination_space == SPACE_HBM)
            log_unknown(c, destination, bytes);
    }
}

void known_copy_local(struct core *c, const struct dma *d)
{
    struct dma_piece source, destination;

    if (d->destination_space == SPACE_VMEM || d->destination_space == SPACE_CMEM)
        return;
    for (int64_t done = 0; done < d->bytes && c->state != CORE_FAULTED; done += destination.bytes) {
        source = dma_piece(d, false, done, d->bytes - done);
        destination = dma_piece(d, true, done, source.bytes);
        copy_known_piece(c, d, source.address, destination.address, destination.bytes);
    }
}

static bool is_unknown(const struct ranges *unknown, const struct dma *d)
{
    struct dma_piece piece;

    for (int64_t done = 0; done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, false, done, d->bytes - done);
        if (!ranges_cover(unknown, piece.address, piece.address + piece.bytes))
            return false;
    }
    return true;
}

/* the marks go along, by byte of the copy; what is unknown altogether has no bytes to take */
void known_capture(const struct core *from, struct dma *d)
{
    bool is_smem = d->source_space == SPACE_SMEM;
    const struct ranges *unknown = d->source_space == SPACE_HOST ? &from->unknown_host
                                                                 : from->unknown_hbm;
    struct dma_piece piece;

    if (!is_smem && is_unknown(unknown, d)) {
        ranges_add(&d->unknown, 0, d->bytes);
        return;
    }
    d->data = mem_alloc((size_t)d->bytes);
    for (int64_t done = 0; done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, false, done, d->bytes - done);
        if (is_smem) {
            memcpy(d->data + done, from->smem + piece.address, (size_t)piece.bytes);
            continue;
        }
        hbm_store_read(store_of(from, d->source_space), piece.address, d->data + done,
                       (size_t)piece.bytes);
        ranges_copy(unknown, piece.address, piece.address + piece.bytes, &d->unknown, done);
    }
}

/* a shared HBM's bytes, kept since they were read */
static void deliver_to_smem(struct core *to, const struct dma *d)
{
    struct dma_piece piece;

    if (d->unknown.count > 0) {
        piece = dma_piece(d, false, d->unknown.item[0].first, d->bytes);
        fault_at_arrival(to, d, &(struct range){piece.address, piece.address + piece.bytes});
        return;
    }
    for (int64_t done = 0; done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, true, done, d->bytes - done);
        memcpy(to->smem + piece.address, d->data + done, (size_t)piece.bytes);
    }
}

static void deliver_to_store(struct core *to, const struct dma *d)
{
    struct hbm_store *store = store_of(to, d->destination_space);
    struct ranges *unknown = unknown_of(to, d->destination_space);
    struct dma_piece piece;

    for (int64_t done = 0; done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, true, done, d->bytes - done);
        if (d->source_space == SPACE_HBM)
            log_give_up(to);
        if (!d->data) {
            ranges_add(unknown, piece.address, piece.address + piece.bytes);
            log_unknown(to, piece.address, piece.bytes);
            continue;
        }
        hbm_store_write(store, piece.address, d->data + done, (size_t)piece.bytes);
        ranges_copy(&d->unknown, done, done + piece.bytes, unknown, piece.address);
    }
}

void known_deliver(struct core *to, struct dma *d)
{
    if (d->destination_space == SPACE_SMEM)
        deliver_to_smem(to, d);
    else if (is_stored(d->destination_space))
        deliver_to_store(to, d);
    dma_drop_data(d);
}
