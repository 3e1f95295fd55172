/*
 * The graph IR: HLO-like tensor operations in static shapes.
 *
 * Nodes are numbered in topological order (operands come before users) and
 * live in the graph's arena. Builder functions infer and check shapes; a wrong
 * use by our own code is an assertion, user-provided shapes are checked by the
 * importers before. graph_verify checks everything again after each pass.
 *
 * A scalar has rank 0. Element types: f32, bf16 (a value rounded to bf16), s32
 * and pred. Not here yet: tuples inside the graph, control flow, convolution.
 */
#ifndef STACK_GRAPH_H
#define STACK_GRAPH_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GRAPH_RANK_MAX 6
#define GRAPH_OPERAND_MAX 3
#define NODE_NONE (-1)

enum graph_op {
#define HLO(id, name, arity, kind, meaning) HLO_##id,
#include "stack/hlo_ops.def"
    HLO_COUNT
};
enum graph_op_kind {
    KIND_SOURCE, KIND_UNARY, KIND_BINARY, KIND_OTHER, KIND_SHAPE, KIND_DOT, KIND_REDUCE,
    KIND_COLLECTIVE
};
enum graph_dtype { DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_PRED, DTYPE_COUNT };
enum graph_compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };
enum graph_reduce { REDUCE_ADD, REDUCE_MAX, REDUCE_MIN };
/* 1, 3, 6 passes */
enum graph_precision { PRECISION_DEFAULT, PRECISION_HIGH, PRECISION_HIGHEST };

struct shape {
    enum graph_dtype dtype;
    int rank;
    int64_t dim[GRAPH_RANK_MAX];
};

struct graph_node {
    enum graph_op op;
    struct shape shape;
    int operand_count;
    int operand[GRAPH_OPERAND_MAX];     /* node numbers, each below this node's */
    const char *name;                   /* unique; for dumps, reports and error messages */
    const char *source;                 /* what made it: "dense_1/MatMul"; never NULL */

    /* attributes, zero where the operation has none */
    int parameter_index;
    double value;                       /* CONSTANT */
    int dim;                            /* IOTA */
    int dims[GRAPH_RANK_MAX];           /* BROADCAST, TRANSPOSE */
    int lhs_contract, rhs_contract;     /* DOT: 0 or 1 */
    enum graph_precision precision;     /* DOT */
    enum graph_compare direction;
    enum graph_reduce reduce_kind;
    uint32_t reduce_mask;               /* bit d: dimension d is reduced */
};

struct graph_output {
    int node;
    const char *name;
    int alias_parameter;                /* overwrites this parameter's buffer; -1 = own buffer */
};

struct graph {
    struct arena *arena;
    const char *name;
    struct graph_node *node;
    int node_count;
    size_t node_capacity;
    int *parameter;                     /* node numbers by parameter index */
    int parameter_count;
    size_t parameter_capacity;
    struct graph_output *output;
    int output_count;
    size_t output_capacity;
    const char *source;                 /* copied into every node made from now on */
};

/* `a` holds all of the graph and must outlive it; graph_fini frees the growing arrays. */
void graph_init(struct graph *g, struct arena *a, const char *name);
void graph_fini(struct graph *g);

/* Builders return the new node's number. Shapes of operands must fit (asserted). */
int graph_parameter(struct graph *g, struct shape shape, const char *name);
int graph_constant(struct graph *g, struct shape shape, double value);
int graph_iota(struct graph *g, struct shape shape, int dim);
int graph_unary(struct graph *g, enum graph_op op, int a);
int graph_convert(struct graph *g, int a, enum graph_dtype dtype);   /* a itself if already so */
int graph_binary(struct graph *g, enum graph_op op, int a, int b);   /* equal shapes */
int graph_compare(struct graph *g, enum graph_compare direction, int a, int b);
int graph_select(struct graph *g, int pred, int a, int b);
int graph_broadcast(struct graph *g, int a, struct shape shape, const int *dims);
int graph_reshape(struct graph *g, int a, struct shape shape);
int graph_transpose(struct graph *g, int a, const int *dims);
int graph_dot(struct graph *g, int lhs, int rhs, int lhs_contract, int rhs_contract,
              enum graph_precision precision);          /* result f32 [lhs free, rhs free] */
int graph_reduce(struct graph *g, enum graph_reduce kind, int a, uint32_t mask);
int graph_all_reduce(struct graph *g, int a);
void graph_output(struct graph *g, int node, const char *name, int alias_parameter);

/* a scalar constant spread to the shape of node `like` */
int graph_splat(struct graph *g, int like, double value);

struct shape shape_make(enum graph_dtype dtype, int rank, const int64_t *dim);
struct shape shape_scalar(enum graph_dtype dtype);
bool shape_equal(const struct shape *a, const struct shape *b);
bool shape_same_dims(const struct shape *a, const struct shape *b);
int64_t shape_elems(const struct shape *s);
char *shape_print(const struct shape *s, char *buf, size_t buf_bytes);  /* "f32[64,128]" */

const char *graph_op_name(enum graph_op op);
enum graph_op_kind graph_op_kind(enum graph_op op);

/* Every rule of the IR (stack/graph_shape.h); passes are checked with it, importers report it. */
int graph_verify(const struct graph *g, struct err *e);

/* HLO-like text, one node a line. */
void graph_dump(const struct graph *g, FILE *to);

/*
 * Operations of one evaluation: 2MNK per dot, one per element of an elementwise
 * result, one per element that a reduction reads; moving data counts nothing.
 */
int64_t graph_flops(const struct graph *g);

/*
 * Reverse-mode differentiation: adds to `g` the gradients of scalar node `loss`
 * with respect to nodes wrt[0..count), and stores their numbers in gradient[].
 * The gradient of a node that the loss does not depend on is zero.
 * -1 when an operation on the way has no derivative.
 */
int graph_grad(struct graph *g, int loss, const int *wrt, int count, int *gradient,
               struct err *e);

/*
 * The same for a node `root` of any shape whose own gradient is node `seed`: to
 * go on backwards from a gradient already at hand. graph_grad is this with the
 * seed 1. Gradients of gradients are fine: what it adds are ordinary nodes.
 */
int graph_backward(struct graph *g, int root, int seed, const int *wrt, int count, int *gradient,
                   struct err *e);

/*
 * Clean-up passes; both renumber and rename nodes, so numbers kept outside the
 * graph's own outputs and parameters become invalid.
 * dead: removes nodes that no output needs; parameters stay, used or not.
 * common: makes one node of those that compute the same from the same.
 */
void graph_eliminate_dead(struct graph *g);
void graph_eliminate_common(struct graph *g);
#endif
