/*
 * For tests of passes: one graph, which a pass changes and which must compute afterwards what it
 * computed before, by the interpreter.
 */
#ifndef TESTS_PASS_RIG_H
#define TESTS_PASS_RIG_H
#include "stack/passes/pass.h"

extern struct arena arena;              /* that of tests/rigs/one_graph.c */
extern struct graph graph;
extern struct chip v5e;
extern uint64_t hlo_seed;               /* of random graphs of HLO: their own inputs; 0: small ones */

/* what kernels take, as pass_fusion asks: take_all unless a test sets another */
extern int (*kernel_check_supported)(const struct graph *body, const struct chip *chip,
                                     struct err *e);
/* everything of one product or move at most */
int take_all(const struct graph *body, const struct chip *chip, struct err *e);
/* elementwise and reductions only, and few of them */
int take_loops(const struct graph *body, const struct chip *chip, struct err *e);

int pass_rig_setup(void **state);
int pass_rig_teardown(void **state);

int count_of(const struct graph *g, enum graph_op op);
int count_all(const struct graph *g, enum graph_op op);         /* in fusions, too */
const struct graph_node *result_node(void);                     /* of the first output */

/* runs the pass; the graph computes what it computed before */
void run_pass(int (*pass)(struct graph *, const struct pass_context *, struct err *));
void simplify(int result);              /* the graph's one result */

#define F32(...) \
    shape_make(DTYPE_F32, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
               (int64_t[]){__VA_ARGS__})
#define DIMS(...) (int[]){__VA_ARGS__}
#define RUN(test) cmocka_unit_test_setup_teardown(test, pass_rig_setup, pass_rig_teardown)
#endif
