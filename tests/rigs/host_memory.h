/*
 * Contents for the host's memory that a core's copies reach. Programs bring theirs there by copies.
 */
#ifndef TESTS_HOST_MEMORY_H
#define TESTS_HOST_MEMORY_H
#include "sim/machine/machine_impl.h"

static inline void host_memory_write(struct machine *m, int core, int64_t address,
                                     const void *from, int64_t bytes)
{
    struct core *c = m->core + core;

    hbm_store_write(c->host, address, from, (size_t)bytes);
    ranges_remove(&c->unknown_host, address, address + bytes);
}
#endif
