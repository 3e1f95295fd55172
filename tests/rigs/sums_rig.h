/*
 * Sums over replicas that other kernels run beside: what tests of all-reduces and of
 * reduce-scatters ask of the graph of tests/rigs/one_graph.h.
 */
#ifndef TESTS_SUMS_RIG_H
#define TESTS_SUMS_RIG_H
#include "tests/rigs/one_graph.h"
#include "tests/rigs/run_graph.h"

/* random inputs, parameter 0 the replica's own, all others alike; output i of replica r is [r, i] */
void **sums_run(struct graph_run *run, int replicas);
float sums_element(void *const *out, int replica, int output, int64_t element);
/* x[owner + 1] + x[owner + 2] + .. + x[owner]: the order that is told of the block of a rank */
float sums_in_order(void *const *out, int replicas, int output, int64_t element, int owner);
/* `run` has taken fewer cycles than with nothing beside the sums, and as many as on two threads */
void sums_check_cycles(const struct graph_run *run, int replicas);
#endif
