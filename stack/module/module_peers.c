/*
 * Kernels of Pallas that reach other devices by themselves: where those are, and flags to meet at.
 *
 * A device may enter such a kernel while another is still busy with what stands before it, whose
 * flags and VMEM the kernel's are. So all meet first, in rounds: in round r each tells the device
 * 2^r further on, by a flag that only this one raises, so that one which is a kernel ahead does no
 * harm. As many flags as there are rounds are kept from all other kernels.
 */
#include "stack/module/module_impl.h"

#include "stack/mosaic/mosaic.h"

#include <string.h>

static int rounds_of(int devices)
{
    int rounds = 0;

    while (devices > 1 << rounds)
        rounds++;
    return rounds;
}

static int devices_of(const struct module_settings *s)
{
    return s->replica_count > 1 ? s->replica_count : 1;
}

/* device d on core d times so many: their table is not needed */
static bool is_even(const struct module_settings *s)
{
    for (int d = 0; s->device_core && d < s->replica_count; d++)
        if (s->device_core[d] != d * module_cores(s))
            return false;
    return true;
}

static const struct array *add_cores(struct module_plan *p, const char *name)
{
    const struct module_settings *s = p->settings;
    int64_t devices = s->replica_count;
    struct shape shape = shape_make(DTYPE_S32, 1, &devices);
    const void *table = arena_copy(p->arena, s->device_core, (size_t)devices, sizeof(int32_t));

    return &module_plan_add_literal(p, arena_printf(p->arena, "%s.cores", name), &shape, table)
                ->array;
}

void module_plan_add_peers(struct module_plan *p, struct module_step *s,
                           const struct mosaic_kernel *k)
{
    struct kernel_peers *peers = arena_alloc(p->arena, sizeof(*peers));

    *peers = (struct kernel_peers){.count = devices_of(p->settings),
                                   .cores_each = module_cores(p->settings)};
    if (!is_even(p->settings))
        peers->cores = add_cores(p, s->name);
    if (mosaic_reaches_devices(k))
        peers->flag_count = rounds_of(peers->count);
    s->peers = peers;
}

int module_plan_peer_flags(const struct module_plan *p)
{
    int flags = 0;

    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].peers && p->step[i].peers->flag_count > flags)
            flags = p->step[i].peers->flag_count;
    return flags;
}
