/*
 * Sets the simulation of a collective operation by operation up: network, costs, and each core's
 * place in its group.
 */
#include "base/arena.h"
#include "stack/collective/collective_impl.h"
#include "stack/collective/collective_steps_impl.h"

/* Where a core stands is asked once: it costs more than to look an operation up. */
struct placed_plan {
    const struct collective_plan *plan;
    struct plan_rank *rank;             /* by core */
};

#include <stdio.h>

static int plan_op_count(const void *context, int core)
{
    const struct placed_plan *p = context;

    return collective_op_count(p->plan, core);
}

static void plan_op(const void *context, int core, int index, struct collective_op *out)
{
    const struct placed_plan *p = context;

    plan_op_of(p->plan, &p->rank[core], index, out);
}

static struct net_config net_of(const struct slice *s, const struct collective_costs *k)
{
    struct net_config net = {.link_gbps = k->link_gbps, .packet_bytes = k->packet_bytes,
                             .packet_overhead_bytes = k->packet_overhead_bytes,
                             .hop_ps = k->hop_ps};

    for (int i = 0; i < NET_DIM_MAX; i++) {
        net.dim[i] = s->dim[i];
        net.is_ring[i] = s->is_ring[i];
    }
    return net;
}

int collective_steps_run(const struct collective_plan *p, const struct collective_steps_options *o,
                         struct collective_result *out, struct err *e)
{
    const struct collective_request *r = collective_plan_request(p);
    struct collective_costs of_chip;
    const struct collective_costs *costs = o->costs;
    struct net_config net;
    struct placed_plan placed = {.plan = p};
    struct err inner;
    int status;
    struct collective_steps_lists lists = {
        .context = &placed, .op_count = plan_op_count, .op = plan_op,
        .core_count = r->slice->core_count, .flag_count = collective_flag_count(p),
        .cores_per_chip = r->slice->core_count / r->slice->chip_count,
        .is_symmetric = collective_is_symmetric(p)};

    if (!costs) {
        collective_costs_of(r->chip, r->type, &of_chip);
        costs = &of_chip;
    }
    net = net_of(r->slice, costs);
    placed.rank = mem_alloc((size_t)lists.core_count * sizeof(*placed.rank));
    for (int i = 0; i < lists.core_count; i++)
        plan_locate(p, i, &placed.rank[i]);
    status = collective_steps_engine_run(&lists, &net, costs, o, out, &inner);
    mem_free(placed.rank);
    if (status != 0)
        return err_set(e, "%s: that is a mistake of this program's plan of a %s by %s", inner.msg,
                       collective_kind_name(r->kind), collective_algo_name(r->algo));
    return 0;
}
