/* What variables hold at some time: pages of HBM that are shared, or copies of the host's. */
#include "train/strategy/strategy_impl.h"

#include <string.h>

static void take(struct strategy *s, struct strategy_snapshot *k, int device, int variable)
{
    const struct array *a = &s->place[variable]->array;
    size_t at = strategy_snapshot_at(k, device, variable);

    if (k->hold) {
        k->hold[at] = machine_hbm_hold(s->options.machine, s->core[device], a->address, a->bytes);
        return;
    }
    k->value[at] = mem_alloc(strategy_device_bytes(s, variable));
    memcpy(k->value[at], s->place[variable]->value[device], strategy_device_bytes(s, variable));
}

struct strategy_snapshot *strategy_snapshot(struct strategy *s, struct err *e)
{
    struct strategy_snapshot *k;
    size_t count;

    if (strategy_place_variables(s, e))
        return NULL;
    k = mem_alloc(sizeof(*k));
    k->device_count = s->device_count;
    k->variable_count = s->set->count;
    count = (size_t)k->device_count * (size_t)k->variable_count;
    if (s->options.machine)
        k->hold = mem_alloc((count + 1) * sizeof(*k->hold));
    else
        k->value = mem_alloc((count + 1) * sizeof(*k->value));
    for (int d = 0; d < k->device_count; d++)
        for (int v = 0; v < k->variable_count; v++)
            if (strategy_holds(s, d, v))
                take(s, k, d, v);
    return k;
}

void strategy_snapshot_free(struct strategy_snapshot *k)
{
    size_t count = k ? (size_t)k->device_count * (size_t)k->variable_count : 0;

    for (size_t i = 0; i < count; i++)
        if (k->hold)
            hbm_hold_free(k->hold[i]);
        else
            mem_free(k->value[i]);
    if (k) {
        mem_free(k->hold);
        mem_free(k->value);
    }
    mem_free(k);
}
