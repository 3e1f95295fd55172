/* Reads and writes a machine's memories for the host, between launches. */
#include "sim/core/hooks.h"
#include "sim/machine/machine_impl.h"

#include <assert.h>
#include <string.h>

static int check_host_range(const struct machine *m, int core, const char *memory,
                            int64_t address, int64_t bytes, int64_t limit, struct err *e)
{
    if (machine_check_core(m, core, e) != 0)
        return -1;
    if (address < 0 || bytes < 0 || address > limit || bytes > limit - address)
        return err_set(e, "core %d: %s bytes %lld..%lld out of 0..%lld", core, memory,
                       (long long)address, (long long)(address + bytes - 1),
                       (long long)limit - 1);
    return 0;
}

static int read_store(struct machine *m, const struct core *c, enum memory_space space,
                      int64_t address, void *to, int64_t bytes, struct err *e)
{
    bool is_host = space == SPACE_HOST;
    const struct range *unknown = ranges_find(is_host ? &c->unknown_host : c->unknown_hbm,
                                              address, address + bytes);

    if (unknown)
        return err_set(e, "core %d: timing mode does not work out %s bytes %lld..%lld; "
                       "use --mode both", c->number, is_host ? "host" : "hbm",
                       (long long)unknown->first, (long long)unknown->end - 1);
    if (m->watch)
        m->core->hooks->watch.transfer_begin(m);
    hbm_store_read(is_host ? c->host : c->hbm, address, to, (size_t)bytes);
    if (m->watch)
        m->core->hooks->watch.transfer_end(m);
    return 0;
}

int machine_hbm_write(struct machine *m, int core, int64_t address, const void *from,
                      int64_t bytes, struct err *e)
{
    if (check_host_range(m, core, "hbm", address, bytes, m->share_bytes, e) != 0)
        return -1;
    if (m->watch)
        m->core->hooks->watch.transfer_begin(m);
    hbm_store_write(m->core[core].hbm, address, from, (size_t)bytes);
    ranges_remove(m->core[core].unknown_hbm, address, address + bytes);
    if (m->watch)
        m->core->hooks->watch.transfer_end(m);
    return 0;
}

int machine_hbm_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                     struct err *e)
{
    if (check_host_range(m, core, "hbm", address, bytes, m->share_bytes, e) != 0)
        return -1;
    return read_store(m, &m->core[core], SPACE_HBM, address, to, bytes, e);
}

struct hbm_hold *machine_hbm_hold(const struct machine *m, int core, int64_t address,
                                  int64_t bytes)
{
    assert(core >= 0 && core < m->core_count);
    assert(address >= 0 && bytes >= 0 && address + bytes <= m->share_bytes);
    return hbm_store_hold(m->core[core].hbm, address, (size_t)bytes);
}

int machine_hbm_put(struct machine *m, int core, int64_t address, const struct hbm_hold *from,
                    int64_t bytes, struct err *e)
{
    if (check_host_range(m, core, "hbm", address, bytes, m->share_bytes, e) != 0)
        return -1;
    if (m->watch)
        m->core->hooks->watch.transfer_begin(m);
    hbm_store_put(m->core[core].hbm, address, from);
    ranges_remove(m->core[core].unknown_hbm, address, address + bytes);
    if (m->watch)
        m->core->hooks->watch.transfer_end(m);
    return 0;
}

int machine_host_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                      struct err *e)
{
    if (check_host_range(m, core, "host", address, bytes, m->chip.host_window_bytes, e) != 0)
        return -1;
    return read_store(m, &m->core[core], SPACE_HOST, address, to, bytes, e);
}

int machine_hbm_set_unknown(struct machine *m, int core, int64_t address, int64_t bytes,
                            struct err *e)
{
    if (check_host_range(m, core, "hbm", address, bytes, m->share_bytes, e) != 0)
        return -1;
    if (m->options.mode == MODE_TIMING)
        ranges_add(m->core[core].unknown_hbm, address, address + bytes);
    return 0;
}

static void tell_checks(const struct core *c, enum memory_space space, int64_t first,
                        int64_t bytes)
{
    if (c->checks)
        c->hooks->checks.host_write(c->checks, space, first, bytes);
}

int machine_smem_write(struct machine *m, int core, int64_t address, const void *from,
                       int64_t bytes, struct err *e)
{
    if (check_host_range(m, core, "smem", address, bytes, m->chip.smem_bytes, e) != 0)
        return -1;
    memcpy(m->core[core].smem + address, from, (size_t)bytes);
    core_note_smem(&m->core[core], address + bytes);
    tell_checks(&m->core[core], SPACE_SMEM, address, bytes);
    return 0;
}

int machine_smem_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                      struct err *e)
{
    if (check_host_range(m, core, "smem", address, bytes, m->chip.smem_bytes, e) != 0)
        return -1;
    memcpy(to, m->core[core].smem + address, (size_t)bytes);
    return 0;
}

int machine_vmem_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                      struct err *e)
{
    if (check_host_range(m, core, "vmem", address, bytes, m->chip.vmem_bytes, e) != 0)
        return -1;
    if (m->options.mode == MODE_TIMING)
        return err_set(e, "core %d: timing mode does not work out vmem; use --mode both", core);
    memcpy(to, m->core[core].vmem + address, (size_t)bytes);
    return 0;
}

int machine_vmem_write(struct machine *m, int core, int64_t address, const void *from,
                       int64_t bytes, struct err *e)
{
    if (check_host_range(m, core, "vmem", address, bytes, m->chip.vmem_bytes, e) != 0)
        return -1;
    memcpy(m->core[core].vmem + address, from, (size_t)bytes);
    core_note_vmem(&m->core[core], address / ROW_BYTES, (address + bytes + ROW_BYTES - 1) / ROW_BYTES);
    tell_checks(&m->core[core], SPACE_VMEM, address, bytes);
    return 0;
}
