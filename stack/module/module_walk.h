/*
 * The walk over a graph's nodes that lists the steps of a launch (module_steps.c), and what loops
 * (module_flow.c) and conditionals (module_branch.c) add to it. Private to these three.
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
/* the same of a node with several results, of which number `result` would lie there */
bool module_walk_may_become(const struct module_walk *w, int node, int k, int result);

/* what loops and conditionals have in common: a step of flow; one that reads a predicate and goes
 * one way or the other; a copy of what is about to be overwritten */
struct module_step module_walk_step(enum module_step_kind kind, const struct graph_node *n);
void module_walk_guard(struct module_plan *p, struct module_step s, struct module_value *pred);
struct module_value *module_walk_save(struct module_plan *p, struct module_value *v);
/*
 * Each of the collectives here has flags of its own, so that any may follow any other but itself.
 * In a loop around, what is left away in one round would let one follow itself: they have fences
 * there. Whether they do; who asks ends that by `p->fences -= ..` behind them.
 */
bool module_walk_begin_collectives(struct module_plan *p, const struct graph_node *n);

/* module_again.c: the loop's body gives operand k back as it is; operands, by number, of which a copy
 * is made before the loop for its rounds to read */
bool module_walk_is_unchanged(const struct graph_node *loop, int k);
void module_walk_keep_read(const struct module_walk *w, int node, bool *is_kept);

int module_walk_while(struct module_walk *w, int node, struct err *e);
int module_walk_conditional(struct module_walk *w, int node, struct err *e);
#endif
