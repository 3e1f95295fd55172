/*
 * For programs whose tests each build one graph: `g` in `arena`, empty when a test begins.
 *
 *     const struct CMUnitTest tests[] = {RUN(a_sentence_that_is_tested)};
 */
#ifndef TESTS_ONE_GRAPH_H
#define TESTS_ONE_GRAPH_H
#include "stack/hlo/graph.h"

extern struct arena arena;
extern struct graph g;

/* cmocka's setup and teardown of a test */
int one_graph_open(void **state);
int one_graph_close(void **state);
/* an empty graph in the middle of a test; all that was in the arena is gone */
void one_graph_again(void);

#define RUN(test) cmocka_unit_test_setup_teardown(test, one_graph_open, one_graph_close)
#endif
