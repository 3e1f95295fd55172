/*
 * One function per group of operations of the reference interpreter. Private
 * to interp*.c. Values are dense arrays as in stack/interp.h; `to` never
 * overlaps an operand.
 */
#ifndef STACK_INTERP_OPS_H
#define STACK_INTERP_OPS_H
#include "stack/graph.h"

/* UNARY, BINARY and select over `count` elements; `type` is that of operand 0 (select: 1) */
void interp_unary(const struct graph_node *n, enum graph_dtype type, const void *a, void *to,
                  int64_t count);
void interp_binary(const struct graph_node *n, enum graph_dtype type, const void *a,
                   const void *b, void *to, int64_t count);
void interp_select(const void *pred, const void *a, const void *b, void *to, int64_t count);

/* CONSTANT and IOTA */
void interp_source(const struct graph_node *n, void *to);

/* BROADCAST and TRANSPOSE; `from` is the operand's shape */
void interp_move(const struct graph_node *n, const struct shape *from, const void *a, void *to);

/* sum[] has an element per element of the result; n->shape's type is the operand's */
void interp_reduce(const struct graph_node *n, const struct shape *from, const void *a,
                   double *sum, void *to);

/* f32 values to bf16 values, in place */
void interp_round_bf16(float *x, int64_t count);
#endif
