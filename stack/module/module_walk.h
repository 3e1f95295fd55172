/*
 * The walk over a graph's nodes that lists the steps of a launch (module_steps.c), and what loops
 * and conditionals add to it (module_flow.c). Private to these two.
 */
#ifndef STACK_MODULE_WALK_H
#define STACK_MODULE_WALK_H
#include "stack/module/module_impl.h"

/* values of a node's results, by number */
struct module_walk {
    struct module_plan *plan;
    const struct graph *g;
    struct module_value **node;
    struct module_value ***element;     /* of nodes with several results */
    bool is_main;
    int first_buffer;                   /* those from here on have been made for this graph */
    const bool *may_change;             /* by parameter: it lies in memory that is this graph's to
                                           write; NULL: none does */
};

/* room for `count` values, and one */
struct module_value **module_walk_values(struct module_plan *p, int count);

/*
 * The steps of a graph whose parameters are these values; each node's value goes to node[].
 * may_change as in struct module_walk.
 */
int module_walk_graph(struct module_plan *p, const struct graph *g,
                      struct module_value **parameter, const bool *may_change,
                      struct module_value **node, struct err *e);

/* module_reuse.c: nobody reads operand k of the node afterwards, and its memory is this graph's to
 * write */
bool module_walk_may_take(const struct module_walk *w, int node, int k);

int module_walk_while(struct module_walk *w, int node, struct err *e);
int module_walk_conditional(struct module_walk *w, int node, struct err *e);
#endif
