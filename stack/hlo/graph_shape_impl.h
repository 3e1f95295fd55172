/*
 * Shape inference by groups of operations; private to graph_shape*.c. Each
 * function is graph_infer for its group.
 */
#ifndef STACK_GRAPH_SHAPE_IMPL_H
#define STACK_GRAPH_SHAPE_IMPL_H
#include "stack/hlo/graph_shape.h"

#define TYPE(dtype) (1u << (dtype))
#define FLOATS (TYPE(DTYPE_F32) | TYPE(DTYPE_BF16))
#define WORDS (TYPE(DTYPE_S32) | TYPE(DTYPE_U32))
#define INTEGERS (WORDS | TYPE(DTYPE_S8) | TYPE(DTYPE_U8))
#define NUMBERS (FLOATS | INTEGERS)
#define BITS (INTEGERS | TYPE(DTYPE_PRED))
#define ANY (NUMBERS | TYPE(DTYPE_PRED))

static inline const struct shape *shape_of_operand(const struct graph *g,
                                                   const struct graph_node *n, int i)
{
    return &g->node[n->operand[i]].shape;
}

static inline bool shape_has_type(const struct shape *s, unsigned types)
{
    return (TYPE(s->dtype) & types) != 0;
}

/* dimensions at least 1, their product at most SHAPE_ELEMS_MAX */
int shape_infer_check_dims(const struct graph_node *n, const struct shape *s, struct err *e);
int shape_infer_bad_type(const struct graph_node *n, const struct shape *s, struct err *e);
int shape_infer_bad_pair(const struct graph_node *n, const struct shape *a, const struct shape *b,
                         struct err *e);
/* dims[] are all different and in 0..rank-1; `what` names them in the message */
int shape_infer_check_list(const struct graph_node *n, const char *what, const int *dims, int count,
                           int rank, struct err *e);
/* the type that this reduction takes */
int shape_infer_check_reduction(const struct graph_node *n, const struct shape *a, struct err *e);
/* what a window makes of a dimension; -1 with a message where nothing is left */
int shape_infer_window(const struct graph_node *n, int dim, int64_t length,
                       const struct graph_window *w, int64_t *out, struct err *e);

int shape_infer_shape_op(const struct graph *g, const struct graph_node *n, struct shape *out,
                         struct err *e);
int shape_infer_dot(const struct graph *g, const struct graph_node *n, struct shape *out,
                    struct err *e);
int shape_infer_convolution(const struct graph *g, const struct graph_node *n, struct shape *out,
                            struct err *e);
int shape_infer_reduce(const struct graph *g, const struct graph_node *n, struct shape *out,
                       struct err *e);
int shape_infer_windowed(const struct graph *g, const struct graph_node *n, struct shape *out,
                         struct err *e);
int shape_infer_indexed(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e);
int shape_infer_sorted(const struct graph *g, const struct graph_node *n, struct shape *out,
                       struct err *e);
int shape_infer_tuple(const struct graph *g, const struct graph_node *n, struct shape *out,
                      struct err *e);
int shape_infer_message(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e);
int shape_infer_collective(const struct graph *g, const struct graph_node *n, struct shape *out,
                           struct err *e);
/* one operand's result, where shape_infer_collective takes it */
struct shape shape_infer_collected(const struct graph_node *n, const struct shape *operand);
int shape_infer_call(const struct graph *g, const struct graph_node *n, struct shape *out,
                     struct err *e);
#endif
