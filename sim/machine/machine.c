/* What a machine is asked about itself and its last launch, and work on its host threads. */
#include "sim/machine/machine_impl.h"

int machine_core_count(const struct machine *m)
{
    return m->core_count;
}

const struct chip *machine_chip(const struct machine *m)
{
    return &m->chip;
}

const struct slice *machine_slice(const struct machine *m)
{
    return &m->slice;
}

enum run_mode machine_mode(const struct machine *m)
{
    return m->options.mode;
}

bool machine_shares_hbm(const struct machine *m)
{
    return m->options.shared_hbm;
}

bool machine_is_one_chip(const struct machine *m)
{
    return m->options.one_chip;
}

int64_t machine_hbm_share_bytes(const struct machine *m)
{
    return m->share_bytes;
}

int machine_check_core(const struct machine *m, int core, struct err *e)
{
    if (core < 0 || core >= m->core_count)
        return err_set(e, "core %d out of 0..%d", core, m->core_count - 1);
    return 0;
}

void machine_launch_parallel(struct machine *m, int count, void (*fn)(void *context, int index),
                             void *context)
{
    int *index = mem_alloc((size_t)count * sizeof(*index)), i;

    for (i = 0; i < count; i++)
        index[i] = i;
    rounds_run(m->rounds, fn, context, index, count);
    mem_free(index);
}

int32_t machine_flag(const struct machine *m, int core, int flag)
{
    return m->core[core].flag[flag];
}

cycle_t machine_cycles(const struct machine *m)
{
    return m->cycles;
}

const struct core_counters *machine_counters(const struct machine *m, int core)
{
    return &m->core[core].counters;
}

const struct fault *machine_fault(const struct machine *m)
{
    return &m->fault;
}

const struct stand_in_site *machine_stand_in(const struct machine *m, int core)
{
    return &m->core[core].stand_in;
}

const struct hbm_stats *machine_hbm_stats(const struct machine *m, int chip)
{
    return hbm_get_stats(m->hbm[chip]);
}

const struct net *machine_net(const struct machine *m)
{
    return m->net;
}
