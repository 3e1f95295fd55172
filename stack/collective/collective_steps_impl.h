/*
 * What the files of collective_steps share: lists of operations, whoever makes
 * them, and what the parts of the machine cost.
 */
#ifndef STACK_COLLECTIVE_STEPS_IMPL_H
#define STACK_COLLECTIVE_STEPS_IMPL_H
#include "interconnect/net.h"
#include "stack/collective/collective_steps.h"

/* Lists of all cores, as a plan has them; tests write some by hand. */
struct collective_steps_lists {
    const void *context;
    int (*op_count)(const void *context, int core);
    void (*op)(const void *context, int core, int index, struct collective_op *out);
    int core_count, cores_per_chip, flag_count;
    bool is_symmetric;
};

/* Run them to their end; -1 with *e where cores wait for what never comes. */
int collective_steps_engine_run(const struct collective_steps_lists *l,
                                const struct net_config *net, const struct collective_costs *costs,
                                const struct collective_steps_options *o,
                                struct collective_result *out, struct err *e);

#endif
