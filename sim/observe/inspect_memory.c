/* Shows what memories hold at a pause, and the copies between them. */
#include "sim/observe/inspect.h"

#include "sim/machine/machine_impl.h"

#include <assert.h>
#include <string.h>

const char *memory_name(enum memory memory)
{
    static const char *const names[MEMORY_COUNT] = {"hbm", "vmem", "smem", "cmem", "host"};

    return names[memory];
}

int64_t machine_memory_bytes(const struct machine *m, enum memory memory)
{
    switch (memory) {
    case MEMORY_HBM: return m->share_bytes;
    case MEMORY_VMEM: return m->chip.vmem_bytes;
    case MEMORY_SMEM: return m->chip.smem_bytes;
    case MEMORY_HOST: return m->chip.host_window_bytes;
    default: return m->core[0].cmem_bytes;
    }
}

static int read_cmem(const struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                     struct err *e)
{
    const struct core *c = &m->core[core];

    if (address < 0 || bytes < 0 || address > c->cmem_bytes || bytes > c->cmem_bytes - address)
        return err_set(e, "core %d: cmem bytes %lld..%lld out of 0..%lld", core,
                       (long long)address, (long long)(address + bytes - 1),
                       (long long)c->cmem_bytes - 1);
    memcpy(to, c->cmem + address, (size_t)bytes);
    return 0;
}

int machine_memory_read(struct machine *m, int core, enum memory memory, int64_t address, void *to,
                        int64_t bytes, struct err *e)
{
    assert(core >= 0 && core < m->core_count);
    switch (memory) {
    case MEMORY_HBM: return machine_hbm_read(m, core, address, to, bytes, e);
    case MEMORY_VMEM: return machine_vmem_read(m, core, address, to, bytes, e);
    case MEMORY_SMEM: return machine_smem_read(m, core, address, to, bytes, e);
    case MEMORY_HOST: return machine_host_read(m, core, address, to, bytes, e);
    default: return read_cmem(m, core, address, to, bytes, e);
    }
}

/* ---- copies: those in the queue, oldest slot first, then complete ones ---- */

static bool is_free(const struct core *c, int slot)
{
    for (int i = 0; i < c->dma_free_count; i++)
        if (c->dma_free[i] == slot)
            return true;
    return false;
}

static int queued_count(const struct core *c)
{
    return c->program ? (int)c->chip->dma_queue_depth - c->dma_free_count : 0;
}

int machine_copy_count(const struct machine *m, int core)
{
    const struct core *c = &m->core[core];

    return queued_count(c) + (int)c->copy_count;
}

static const struct dma *copy_at(const struct core *c, int index)
{
    int slot, queued = queued_count(c);

    if (index >= queued)
        return &c->copy[index - queued];
    for (slot = 0; is_free(c, slot) || index-- > 0;)
        slot++;
    return &c->dma[slot];
}

void machine_copy(const struct machine *m, int core, int index, struct copy_view *to)
{
    const struct core *c = &m->core[core];
    const struct dma *d = copy_at(c, index);

    *to = (struct copy_view){
        .code = (enum isa_opcode)d->code, .source = (enum memory)d->source_space,
        .destination = (enum memory)d->destination_space, .is_remote = d->is_remote,
        .is_complete = index >= queued_count(c), .source_address = d->source,
        .destination_address = d->destination, .bytes = d->bytes, .done_bytes = d->done_bytes,
        .is_strided = d->run_bytes < d->bytes, .run_bytes = d->run_bytes, .flag = d->flag,
        .source_flag = d->source_flag, .target = d->target, .issued_at = d->issued_at,
        .bundle = d->bundle};
}

bool machine_copy_touches(const struct machine *m, int core, int index, bool is_destination,
                          int64_t address, int64_t bytes)
{
    const struct dma *d = copy_at(&m->core[core], index);
    struct dma_piece piece;

    for (int64_t at = 0; at < d->bytes; at += piece.bytes) {
        piece = dma_piece(d, is_destination, at, d->bytes - at);
        if (piece.address < address + bytes && address < piece.address + piece.bytes)
            return true;
    }
    return false;
}

int64_t machine_copies_issued(const struct machine *m, int core)
{
    return m->core[core].dma_count;
}
