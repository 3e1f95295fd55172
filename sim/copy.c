/*
 * Contents of DMA copies, moved when the copy is complete. Copies inside one
 * core are done by the thread that runs the core next, before its next bundle.
 */
#include "sim/core.h"

#include <string.h>

static void copy_run(struct core *c, int code, int64_t from, int64_t to, size_t bytes)
{
    switch (code) {
    case OP_DMA_HBM_VMEM: case OP_DMA_HBM_VMEM_STR:
        hbm_store_read(c->hbm, from, c->vmem + to, bytes);
        break;
    case OP_DMA_VMEM_HBM: case OP_DMA_VMEM_HBM_STR:
        hbm_store_write(c->hbm, to, c->vmem + from, bytes);
        break;
    case OP_DMA_HBM_SMEM:
        hbm_store_read(c->hbm, from, c->smem + to, bytes);
        break;
    default:
        memcpy(c->smem + to, c->vmem + from, bytes);
        break;
    }
}

static void copy_local(struct core *c, const struct dma *d)
{
    int64_t done = 0, from = d->source, to = d->destination;

    while (done < d->bytes) {
        int64_t left = d->bytes - done;
        int64_t bytes = left < d->run_bytes ? left : d->run_bytes;

        copy_run(c, d->code, from, to, (size_t)bytes);
        done += bytes;
        from += d->source_stride;
        to += d->destination_stride;
    }
}

void dma_copy_remote(struct core *from, struct core *to, const struct dma *d)
{
    memmove(to->vmem + d->destination, from->vmem + d->source, (size_t)d->bytes);
}

void core_apply_copies(struct core *c)
{
    size_t i;

    for (i = 0; i < c->copy_count; i++)
        copy_local(c, &c->copy[i]);
    c->copy_count = 0;
}
