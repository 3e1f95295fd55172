/*
 * Contents of DMA copies, moved when the copy is complete. Copies inside one
 * core are done by the thread that runs the core next, before its next bundle.
 */
#include "sim/core.h"

#include <string.h>

#define BUFFER_BYTES 4096

int64_t dma_piece_bytes(const struct dma *d, bool is_destination)
{
    int64_t bytes = d->run_bytes;
    int i;

    for (i = 0; i < DMA_LEVEL_MAX; i++) {
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
    int i;

    for (i = 0; i < DMA_LEVEL_MAX; i++) {
        const struct dma_level *l = &d->level[i];

        address += run % l->count * (is_destination ? l->destination_stride : l->source_stride);
        run /= l->count;
    }
    return (struct dma_piece){address, left < most ? left : most};
}

/* NULL for the HBM, which is not one array */
static unsigned char *array_of(const struct core *c, int space)
{
    switch (space) {
    case SPACE_VMEM: return c->vmem;
    case SPACE_SMEM: return c->smem;
    case SPACE_CMEM: return c->cmem;
    default: return NULL;
    }
}

static void copy_piece(const struct core *from, int64_t source, const unsigned char *source_array,
                       const struct core *to, int64_t destination,
                       unsigned char *destination_array, int64_t bytes)
{
    unsigned char buffer[BUFFER_BYTES];
    int64_t done, part;

    if (source_array && destination_array) {
        memmove(destination_array + destination, source_array + source, (size_t)bytes);
    } else if (source_array) {
        hbm_store_write(to->hbm, destination, source_array + source, (size_t)bytes);
    } else if (destination_array) {
        hbm_store_read(from->hbm, source, destination_array + destination, (size_t)bytes);
    } else {
        for (done = 0; done < bytes; done += part) {
            part = bytes - done < BUFFER_BYTES ? bytes - done : BUFFER_BYTES;
            hbm_store_read(from->hbm, source + done, buffer, (size_t)part);
            hbm_store_write(to->hbm, destination + done, buffer, (size_t)part);
        }
    }
}

static void copy(const struct core *from, const struct core *to, const struct dma *d)
{
    const unsigned char *source_array = array_of(from, d->source_space);
    unsigned char *destination_array = array_of(to, d->destination_space);
    struct dma_piece source, destination;
    int64_t done;

    for (done = 0; done < d->bytes; done += destination.bytes) {
        source = dma_piece(d, false, done, d->bytes - done);
        destination = dma_piece(d, true, done, source.bytes);
        copy_piece(from, source.address, source_array, to, destination.address,
                   destination_array, destination.bytes);
    }
}

void dma_copy_remote(struct core *from, struct core *to, const struct dma *d)
{
    copy(from, to, d);
}

void core_apply_copies(struct core *c)
{
    size_t i;

    for (i = 0; i < c->copy_count; i++)
        copy(c, c, &c->copy[i]);
    c->copy_count = 0;
}
