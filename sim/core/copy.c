/*
 * Contents of DMA copies. They arrive when the core they go to is woken from a
 * wait after their completion, by the thread that runs it. A copy to another
 * core takes its bytes along when it is issued, as pages that are shared until somebody writes to
 * them where it can; one inside a core reads them
 * when they move. So what a program sees depends on its own order and on times
 * only, never on how far other cores have run ahead.
 *
 * An HBM that cores share changes, and is read, in the serial phase, at the
 * instant at which a copy is complete (one to another core reads it when it is
 * issued). What a copy reads there it holds until it arrives; what it writes there
 * from other memories it takes along when it is issued.
 */
#include "sim/core/core.h"

#include "base/arena.h"
#include "sim/core/hooks.h"
#include "sim/core/known.h"
#include "sim/core/vregs.h"

#include <string.h>

#define BUFFER_BYTES 4096

int64_t dma_piece_bytes(const struct dma *d, bool is_destination)
{
    int64_t bytes = d->run_bytes;

    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        const struct dma_level *l = &d->level[i];

        if (l->count > 1 && (is_destination ? l->destination_stride : l->source_stride) != bytes)
            break;
        bytes *= l->count;
    }
    return bytes;
}

struct dma_piece dma_piece(const struct dma *d, bool is_destination, int64_t at, int64_t most)
{
    int64_t whole = is_destination ? d->destination_piece_bytes : d->source_piece_bytes;
    int64_t left = whole - at % whole, run = at / d->run_bytes;
    int64_t address = (is_destination ? d->destination : d->source) + at % d->run_bytes;

    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        const struct dma_level *l = &d->level[i];

        address += run % l->count * (is_destination ? l->destination_stride : l->source_stride);
        run /= l->count;
    }
    return (struct dma_piece){address, left < most ? left : most};
}

static struct hbm_store *store_of(const struct core *c, int space)
{
    return space == SPACE_HOST ? c->host : c->hbm;
}

/* NULL for HBM and host, which are not one array */
static unsigned char *array_of(const struct core *c, int space)
{
    switch (space) {
    case SPACE_VMEM: return c->vmem;
    case SPACE_SMEM: return c->smem;
    case SPACE_CMEM: return c->cmem;
    default: return NULL;
    }
}

void copy_piece(const struct core *c, const struct dma *d, int64_t source, int64_t destination,
                int64_t bytes)
{
    const unsigned char *source_array = array_of(c, d->source_space);
    unsigned char *destination_array = array_of(c, d->destination_space);
    const struct hbm_store *from = store_of(c, d->source_space);
    struct hbm_store *to = store_of(c, d->destination_space);
    unsigned char buffer[BUFFER_BYTES];
    int64_t part;

    if (source_array && destination_array) {
        memmove(destination_array + destination, source_array + source, (size_t)bytes);
    } else if (source_array) {
        hbm_store_write(to, destination, source_array + source, (size_t)bytes);
    } else if (destination_array) {
        hbm_store_read(from, source, destination_array + destination, (size_t)bytes);
    } else {
        for (int64_t done = 0; done < bytes; done += part) {
            part = bytes - done < BUFFER_BYTES ? bytes - done : BUFFER_BYTES;
            hbm_store_read(from, source + done, buffer, (size_t)part);
            hbm_store_write(to, destination + done, buffer, (size_t)part);
        }
    }
}

static void copy_local(struct core *c, const struct dma *d)
{
    struct dma_piece source, destination;

    for (int64_t done = 0; done < d->bytes; done += destination.bytes) {
        source = dma_piece(d, false, done, d->bytes - done);
        destination = dma_piece(d, true, done, source.bytes);
        copy_piece(c, d, source.address, destination.address, destination.bytes);
    }
}

/* one run out of HBM that is pages, for the most part */
static bool holds_pages(const struct dma *d)
{
    return d->source_space == SPACE_HBM && d->source_piece_bytes >= d->bytes &&
           d->bytes >= 2 * HBM_STORE_PAGE_BYTES;
}

/* they get there as pages: one run, too, at the same place of pages */
static bool puts_pages(const struct dma *d)
{
    return d->held && d->destination_space == SPACE_HBM && d->destination_piece_bytes >= d->bytes &&
           (d->source - d->destination) % HBM_STORE_PAGE_BYTES == 0;
}

static void capture(const struct core *from, struct dma *d)
{
    const unsigned char *array = array_of(from, d->source_space);
    struct dma_piece piece;

    if (from->mode == MODE_TIMING) {
        known_capture(from, d);
        return;
    }
    if (holds_pages(d)) {
        d->held = hbm_store_hold(from->hbm, d->source, (size_t)d->bytes);
        return;
    }
    d->data = mem_alloc_unset((size_t)d->bytes);
    for (int64_t done = 0; done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, false, done, d->bytes - done);
        if (array)
            memcpy(d->data + done, array + piece.address, (size_t)piece.bytes);
        else
            hbm_store_read(store_of(from, d->source_space), piece.address, d->data + done,
                           (size_t)piece.bytes);
    }
}

/* what the copy has taken along, from `at` on */
static void deliver_to_store(struct hbm_store *to, const struct dma *d, int64_t at,
                             struct dma_piece piece)
{
    unsigned char buffer[BUFFER_BYTES];
    int64_t part;

    if (!d->held) {
        hbm_store_write(to, piece.address, d->data + at, (size_t)piece.bytes);
        return;
    }
    for (int64_t done = 0; done < piece.bytes; done += part) {
        part = piece.bytes - done < BUFFER_BYTES ? piece.bytes - done : BUFFER_BYTES;
        hbm_hold_read(d->held, (size_t)(at + done), buffer, (size_t)part);
        hbm_store_write(to, piece.address + done, buffer, (size_t)part);
    }
}

static void deliver_to_array(unsigned char *to, const struct dma *d, int64_t at, int64_t bytes)
{
    if (d->held)
        hbm_hold_read(d->held, (size_t)at, to, (size_t)bytes);
    else
        memcpy(to, d->data + at, (size_t)bytes);
}

static void deliver(struct core *to, struct dma *d)
{
    unsigned char *array = array_of(to, d->destination_space);
    bool is_put = puts_pages(d);
    struct dma_piece piece;

    if (is_put)
        hbm_store_put(to->hbm, d->destination, d->held);
    for (int64_t done = 0; !is_put && done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, true, done, d->bytes - done);
        if (array)
            deliver_to_array(array + piece.address, d, done, piece.bytes);
        else
            deliver_to_store(store_of(to, d->destination_space), d, done, piece);
    }
    dma_drop_data(d);
}

static bool writes_shared(const struct core *c, const struct dma *d)
{
    return c->shares_hbm && d->destination_space == SPACE_HBM;
}

static bool reads_shared(const struct core *c, const struct dma *d)
{
    return c->shares_hbm && d->source_space == SPACE_HBM;
}

/* timing mode knows nothing of these */
static bool is_of_lanes(int space)
{
    return space == SPACE_VMEM || space == SPACE_CMEM;
}

bool dma_takes_data(const struct core *from, const struct dma *d, bool is_complete)
{
    bool is_timing = from->mode == MODE_TIMING;

    if (is_complete && writes_shared(from, d))
        return false;                   /* they are there */
    if (d->is_remote)
        return !is_timing
               || (d->source_space == SPACE_HBM && d->destination_space == SPACE_HBM);
    if (is_timing && (is_of_lanes(d->source_space) || is_of_lanes(d->destination_space)))
        return false;
    return reads_shared(from, d) ? is_complete : writes_shared(from, d);
}

void copy_issued(const struct core *from, struct dma *d)
{
    if (dma_takes_data(from, d, false) && !reads_shared(from, d))
        capture(from, d);
}

void copy_started(const struct core *from, struct dma *d)
{
    if (d->is_remote && reads_shared(from, d) && dma_takes_data(from, d, false))
        capture(from, d);
}

void copy_done(struct core *from, struct core *to, struct dma *d)
{
    if (!d->is_remote && reads_shared(from, d)
        && (writes_shared(to, d) || dma_takes_data(from, d, true)))
        capture(from, d);
    if (writes_shared(to, d))
        (to->mode == MODE_TIMING ? known_deliver : deliver)(to, d);
}

void dma_drop_data(struct dma *d)
{
    mem_free(d->data);
    hbm_hold_free(d->held);
    d->data = NULL;
    d->held = NULL;
    ranges_fini(&d->unknown);
}

static void note_smem(struct core *c, const struct dma *d)
{
    struct dma_piece piece;

    for (int64_t done = 0; done < d->bytes; done += piece.bytes) {
        piece = dma_piece(d, true, done, d->bytes - done);
        core_note_smem(c, piece.address + piece.bytes);
    }
}

/* registers that stand for rows from the lowest that the copy writes to the highest */
static void settle_destination(struct core *c, const struct dma *d)
{
    int64_t first = d->destination, end = d->destination + d->run_bytes;

    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        int64_t reach = (d->level[i].count - 1) * d->level[i].destination_stride;

        first += reach < 0 ? reach : 0;
        end += reach > 0 ? reach : 0;
    }
    vregs_before_rows(c, first / ROW_BYTES, (end + ROW_BYTES - 1) / ROW_BYTES);
}

static void move_contents(struct core *c, struct dma *d)
{
    bool is_timing = c->mode == MODE_TIMING;

    if (d->destination_space == SPACE_SMEM)
        note_smem(c, d);
    if (d->destination_space == SPACE_VMEM)
        settle_destination(c, d);
    if (writes_shared(c, d))
        return;
    if (d->is_remote || dma_takes_data(c, d, true))
        (is_timing ? known_deliver : deliver)(c, d);
    else
        (is_timing ? known_copy_local : copy_local)(c, d);
    if (c->origins)
        c->hooks->origins.arrive(c->origins, c, d);
}

void copy_apply(struct core *c, struct dma *d)
{
    int before;

    if (!c->watch) {
        move_contents(c, d);
        return;
    }
    before = c->hooks->watch.work_begin(c, CORE_COPIES);
    move_contents(c, d);
    c->hooks->watch.work_end(c, before);
}

void core_apply_copies(struct core *c, size_t count)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        copy_apply(c, &c->copy[i]);
        if (c->checks)
            c->hooks->checks.arrived(c, &c->copy[i]);
    }
    c->copy_count -= count;
    c->copy_visible -= c->copy_visible < count ? c->copy_visible : count;
    memmove(c->copy, c->copy + count, c->copy_count * sizeof(*c->copy));
}
