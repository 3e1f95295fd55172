/*
 * Combining elements under a window: values are f32 or s32 in registers, as
 * move_gather_widen makes them.
 */
#ifndef STACK_WINDOW_COMBINE_H
#define STACK_WINDOW_COMBINE_H
#include "stack/hlo/graph.h"
#include "stack/backend/builder.h"

/* whether there is an operation for it */
bool window_combines(enum graph_reduce kind, enum graph_dtype dtype);

/* a combined with b, into `to` (-1: a new register); returns where it is */
int window_combine(struct builder *m, enum graph_reduce kind, enum graph_dtype dtype, int to, int a,
                   struct isa_operand b);

/* bits of the identity in a register */
uint32_t window_identity(enum graph_reduce kind, enum graph_dtype dtype);

/* mask: not (best >= x), or not (best <= x): x takes over */
int window_takes_over(struct builder *m, enum graph_compare direction, enum graph_dtype dtype,
                      int best, int x);
#endif
