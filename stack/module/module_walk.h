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
};

/* room for `count` values, and one */
struct module_value **module_walk_values(struct module_plan *p, int count);

/* the steps of a graph whose parameters are these values; each node's value goes to node[] */
int module_walk_graph(struct module_plan *p, const struct graph *g,
                      struct module_value **parameter, struct module_value **node, struct err *e);

int module_walk_while(struct module_walk *w, int node, struct err *e);
int module_walk_conditional(struct module_walk *w, int node, struct err *e);
#endif
