/*
 * Adds up the energy of a launch over every operation that each core executed and every byte that
 * moved.
 */
#include "report/energy/energy.h"

#include "sim/observe/inspect.h"

/* of a program's operations, worked out once for all cores that run it */
struct priced {
    const struct isa_program *program;
    struct energy *op;
};

static void price(const struct energy_costs *c, const struct machine *m,
                  const struct isa_program *p, struct priced *to, struct arena *a)
{
    if (to->program == p)
        return;
    to->program = p;
    to->op = arena_array(a, p->op_count, sizeof(*to->op));
    for (uint32_t i = 0; i < p->op_count; i++)
        to->op[i] = energy_of_op(c, machine_chip(m), &p->op[i]);
}

static void add_core(const struct energy_costs *c, const struct machine *m, int core,
                     struct priced *priced, struct arena *a, struct energy *sum)
{
    const struct isa_program *p = machine_program(m, core);
    const struct core_counters *n = machine_counters(m, core);

    if (!p)
        return;
    price(c, m, p, priced, a);
    for (uint32_t b = 0; b < p->bundle_count; b++)
        for (int i = 0; i < p->bundle[b].op_count; i++) {
            const struct energy *one = &priced->op[p->bundle[b].first_op + (uint32_t)i];

            energy_add(one, machine_op_executed(m, core, b, i), sum);
        }
    energy_add_fetch(c, n->issue_cycles, sum);
    energy_add_copies(c, n->hbm_read_bytes + n->hbm_write_bytes + n->ici_sent_bytes +
                         n->ici_received_bytes,
                      n->cmem_read_bytes + n->cmem_write_bytes, 0, 0, sum);
}

struct energy energy_of_launch(const struct energy_costs *c, const struct machine *m)
{
    const struct net *net = machine_net(m);
    struct priced priced = {0};
    struct energy sum = {{0}};
    struct arena a;

    arena_init(&a);
    for (int i = 0; i < machine_core_count(m); i++)
        add_core(c, m, i, &priced, &a, &sum);
    for (int i = 0; i < machine_slice(m)->chip_count; i++) {
        const struct hbm_stats *h = machine_hbm_stats(m, i);

        energy_add_copies(c, 0, 0, h->read_bytes + h->write_bytes, 0, &sum);
    }
    for (int i = 0; net && i < net_link_count(net); i++)
        energy_add_copies(c, 0, 0, 0, net_link(net, i)->wire_bytes, &sum);
    arena_fini(&a);
    return sum;
}
