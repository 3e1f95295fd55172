/*
 * Reverse-mode differentiation, by groups of operations; private to grad*.c.
 *
 * A function grad_... gives the gradients of a node's operands, where they are
 * wanted, from that of its result, and says whether it knows how.
 */
#ifndef STACK_GRAD_IMPL_H
#define STACK_GRAD_IMPL_H
#include "stack/hlo/graph_shape.h"

struct grad {
    struct graph *g;
    int end;                            /* nodes from here on are gradients themselves */
    int *adjoint;                       /* by node: its gradient so far, or NODE_NONE */
    int **part;                         /* of nodes with several results: of each, or NULL */
    bool *is_active;                    /* depends on a node asked for */
    int *read_count;                    /* by node: operands of nodes below `end` that it is */
    int first;                          /* nodes below are not walked back */
    const int *wrt;                     /* asked for */
    int wrt_count;
};

/*
 * Gradients of nodes wrt[] from those of roots[], as graph_backward; NODE_NONE: no dependence.
 * Nodes below `first` receive gradients but are not walked back themselves.
 */
int grad_walk(struct graph *g, int first, const int *root, const int *seed, int root_count,
              const int *wrt, int count, int *gradient, struct err *e);

static inline bool grad_wants(const struct grad *gr, const struct graph_node *n, int operand)
{
    return gr->is_active[n->operand[operand]];
}

/* adds to the operand's gradient */
void grad_accumulate(struct grad *gr, const struct graph_node *n, int operand, int gradient);

/* constants folded: gradients are full of them */
int grad_fill(struct graph *g, const struct shape *shape, double value);
int grad_zeros(struct graph *g, int like);
int grad_multiply(struct graph *g, int a, int b);
int grad_scale(struct graph *g, int a, double factor);
int grad_negate(struct graph *g, int a);
int grad_spread(struct graph *g, int a, const struct shape *shape, const int *dims);
int grad_convert(struct graph *g, int a, enum graph_dtype dtype);

/* y: the node's number, dy: its gradient */
bool grad_unary(struct grad *gr, const struct graph_node *n, int y, int dy);
bool grad_binary(struct grad *gr, const struct graph_node *n, int y, int dy);
/* the node is a function of one array, which it gives that one's gradient at once, if it pays */
bool grad_slope(struct grad *gr, int result);
bool grad_choice(struct grad *gr, const struct graph_node *n, int dy);  /* select, clamp */
bool grad_move(struct grad *gr, const struct graph_node *n, int dy);
bool grad_dot(struct grad *gr, const struct graph_node *n, int dy);
bool grad_convolution(struct grad *gr, const struct graph_node *n, int dy);
bool grad_reduce(struct grad *gr, const struct graph_node *n, int y, int dy);
bool grad_window(struct grad *gr, const struct graph_node *n, int dy);
bool grad_index(struct grad *gr, const struct graph_node *n, int dy);
/* part[]: gradients of the results, NODE_NONE where there is none */
bool grad_collective(struct grad *gr, const struct graph_node *n, const int *part);
bool grad_sort(struct grad *gr, const struct graph_node *n, int y, const int *part);
int grad_call(struct grad *gr, const struct graph_node *n, const int *part, struct err *e);
#endif
