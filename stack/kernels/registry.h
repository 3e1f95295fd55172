/*
 * The registry of kernels (registry.def): which kind makes a body, and the whole way from a
 * compile request to a segment.
 */
#ifndef STACK_KERNELS_REGISTRY_H
#define STACK_KERNELS_REGISTRY_H
#include "stack/kernels/pipeline/kernel.h"

/* The kind that makes this body: that of its most particular operation (kernels.def); or NULL. */
const struct kernel_kind *kernel_kind_of(const struct graph *body);
const struct kernel_kind *kernel_kind_named(const char *name);

/* The whole way: kind, tiling, code. -1 with a message naming the node. */
int kernel_compile(const struct kernel_job *job, struct arena *a, struct segment *out,
                   struct err *e);

/* A graph of one operation with its operands as parameters, for a node outside a fusion. */
struct graph *kernel_body_of(const struct graph *g, int node, struct arena *a);
#endif
