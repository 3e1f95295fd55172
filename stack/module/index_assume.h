/*
 * Timing mode knows what the host has written, but nothing that a kernel has
 * computed; yet which rows a gather or scatter asks for decides its time. So
 * they are assumed: parameters that are indices are written with made-up ones,
 * and indices that the graph computes become such parameters.
 */
#ifndef STACK_INDEX_ASSUME_H
#define STACK_INDEX_ASSUME_H
#include "sim/machine/machine.h"
#include "stack/kernels/index/index_data.h"
#include "stack/module/module.h"

/*
 * Indices, starts and seeds that the graph computes are parameters "assumed.N" instead, behind its
 * own; what has computed them becomes an output behind its own, so that its kernels stay. In loops
 * and branches, too, where they are the same in all rounds. Returns their number.
 */
int index_assume(struct graph *g);

/* Writes the indices among the parameters of `g`, of which `m` was compiled, into a core's HBM. */
int index_assume_write(const struct graph *g, const struct module *m, struct machine *machine,
                       int core, const struct index_data *d, struct err *e);
#endif
