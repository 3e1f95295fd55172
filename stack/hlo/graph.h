/*
 * The graph IR: operations of HLO in static shapes, with HLO's names, attributes
 * and meaning, so that a reader of HLO text builds it node by node.
 *
 * Nodes are numbered in topological order (operands come before users) and
 * live in the graph's arena. Builder functions infer and check shapes; a wrong
 * use by our own code is an assertion, user-provided shapes are checked by the
 * importers before. graph_verify checks everything again after each pass.
 *
 * A scalar has rank 0. A node has one array as its result or, with
 * tuple_count > 0, several; get-tuple-element takes one of them. A called
 * computation (fusion, while, conditional) is a graph of its own: its parameters
 * are the caller's operands, its outputs the results.
 *
 * Reductions, scatters, sorts name what they combine with by a kind instead of
 * a computation of two scalars, and start at its identity. Not here: dynamic
 * shapes, complex numbers, 64 bits (importers narrow them).
 */
#ifndef STACK_GRAPH_H
#define STACK_GRAPH_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GRAPH_RANK_MAX 8
#define GRAPH_SPATIAL_MAX 3             /* of a convolution */
#define NODE_NONE (-1)
#define GRAPH_CALLED_MAX 2              /* computations that a node calls */
#define GRAPH_TRIPS_UNKNOWN (-1)        /* of a loop whose condition ends it */

enum graph_op {
#define HLO(id, name, arity, kind, types, again, traits, attributes, meaning) HLO_##id,
#include "stack/hlo/hlo_ops.def"
    HLO_COUNT
};
enum graph_op_kind {
    KIND_SOURCE, KIND_UNARY, KIND_BINARY, KIND_OTHER, KIND_SHAPE, KIND_DOT, KIND_CONV, KIND_REDUCE,
    KIND_WINDOW, KIND_INDEX, KIND_SORT, KIND_TUPLE, KIND_CALL, KIND_COLLECTIVE, KIND_MESSAGE
};
/* hlo_ops.def says what they mean */
enum graph_op_trait {
    TRAIT_EXPENSIVE = 1 << 0, TRAIT_SLOPE = 1 << 1, TRAIT_RATIONAL = 1 << 2,
    TRAIT_KEEPS_BF16 = 1 << 3, TRAIT_FLAT = 1 << 4, TRAIT_SAME_BITS = 1 << 5
};
/*
 * Fields of a node: SHAPE and TYPE of it are what is wanted (graph_infer), LIMITS are start, limit
 * and stride, PADDING low, high and interior, PRODUCT dot, LABELS conv, WHERE gather, PAIRS pair;
 * the others are fields of these names.
 */
enum graph_attribute {
    ATTRIBUTE_SHAPE = 1 << 0, ATTRIBUTE_TYPE = 1 << 1, ATTRIBUTE_PARAMETER_INDEX = 1 << 2,
    ATTRIBUTE_VALUE = 1 << 3, ATTRIBUTE_LITERAL = 1 << 4, ATTRIBUTE_DIM = 1 << 5,
    ATTRIBUTE_DIMS = 1 << 6, ATTRIBUTE_PRODUCT = 1 << 7, ATTRIBUTE_PRECISION = 1 << 8,
    ATTRIBUTE_DIRECTION = 1 << 9, ATTRIBUTE_REDUCE_KIND = 1 << 10,
    ATTRIBUTE_REDUCE_MASK = 1 << 11, ATTRIBUTE_LIMITS = 1 << 12, ATTRIBUTE_PADDING = 1 << 13,
    ATTRIBUTE_SIZES = 1 << 14, ATTRIBUTE_WINDOW = 1 << 15, ATTRIBUTE_LABELS = 1 << 16,
    ATTRIBUTE_WHERE = 1 << 17, ATTRIBUTE_GROUPS = 1 << 18, ATTRIBUTE_PAIRS = 1 << 19,
    ATTRIBUTE_MESSAGE = 1 << 20, ATTRIBUTE_COUNT = 1 << 21, ATTRIBUTE_CALLED = 1 << 22,
    ATTRIBUTE_ATTENTION = 1 << 23, ATTRIBUTE_EDGE = 1 << 24, ATTRIBUTE_MOSAIC = 1 << 25,
    ATTRIBUTE_TRIPS = 1 << 26
};
enum graph_dtype {
    DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_PRED, DTYPE_U32, DTYPE_S8, DTYPE_U8, DTYPE_COUNT
};
enum graph_compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };
/* what reduce, reduce-window, scatter and all-reduce combine with */
enum graph_reduce {
    REDUCE_ADD, REDUCE_MAX, REDUCE_MIN, REDUCE_MUL, REDUCE_AND, REDUCE_OR,
    REDUCE_ARGMAX, REDUCE_ARGMIN,       /* reduce over one dimension: s32 index of the first
                                         * extreme, a NaN being more extreme than any number */
    REDUCE_REPLACE                      /* scatter only: the update itself */
};
/* 1, 3, 6 passes */
enum graph_precision { PRECISION_DEFAULT, PRECISION_HIGH, PRECISION_HIGHEST };

struct shape {
    enum graph_dtype dtype;
    int rank;
    int64_t dim[GRAPH_RANK_MAX];
};

/*
 * dot: lhs_contract[i] goes with rhs_contract[i]; result [batch, lhs free, rhs free], or, where a
 * layout was chosen for it (has_order), these in another order: its dimension i is order[i] of them
 */
struct graph_dot {
    int batch_count, contract_count;
    int lhs_batch[GRAPH_RANK_MAX], rhs_batch[GRAPH_RANK_MAX];
    int lhs_contract[GRAPH_RANK_MAX], rhs_contract[GRAPH_RANK_MAX];
    int has_order, order[GRAPH_RANK_MAX];
    int is_alone;                       /* a kernel by itself, as of groups of rows: nothing else
                                           goes into it, arrays lie in HBM and as they come */
};

/* one dimension of a window, as HLO's window={size= stride= pad= lhs_dilate= rhs_dilate=} */
struct graph_window {
    int64_t size, stride;               /* at least 1 */
    int64_t pad_low, pad_high;          /* of the operand, may be negative */
    int64_t base_dilation, window_dilation;     /* at least 1 */
    bool is_reversed;
};

/* dim_labels: which dimension is what; spatial ones in the order of the window */
struct graph_conv {
    int spatial_count;
    int in_batch, in_feature, in_spatial[GRAPH_SPATIAL_MAX];
    int kernel_in, kernel_out, kernel_spatial[GRAPH_SPATIAL_MAX];
    int out_batch, out_feature, out_spatial[GRAPH_SPATIAL_MAX];
    int64_t feature_groups, batch_groups;       /* at least 1 */
};

/* gather and scatter, in HLO's terms; of a scatter offset_dims are update_window_dims, */
struct graph_gather {                   /* collapsed_dims inserted_window_dims */
    int offset_count, collapsed_count, map_count, batching_count;
    int offset_dims[GRAPH_RANK_MAX], collapsed_dims[GRAPH_RANK_MAX];
    int start_index_map[GRAPH_RANK_MAX];
    int operand_batching[GRAPH_RANK_MAX], indices_batching[GRAPH_RANK_MAX];
    int index_vector_dim;
    int64_t slice_sizes[GRAPH_RANK_MAX];        /* gather only */
};

/*
 * HLO's replica_groups: `count` groups of `size` devices, one group after the other in member[],
 * which has every device once. The rank of a device in its group is its place there. member NULL:
 * one group of all devices 0..size - 1. HLO knows replicas and partitions; here is one number for
 * both, that of the device.
 */
struct graph_groups {
    int count, size;
    const int32_t *member;
};

struct graph_pair { int32_t source, target; };  /* devices */

/*
 * One array from a core to another whose program is another one (docs/parallel.md). Both programs
 * know where it arrives and the flags, by which they meet; several may come as one message, of
 * which the first waits and the last gives the room back.
 */
struct graph_message {
    const int32_t *peer;                /* by device: the core at the other end */
    int64_t address;                    /* where it arrives, in the receiver's HBM */
    int arrival_flag, room_flag;        /* of the receiver's core; of the sender's */
    int64_t arrival_bytes;              /* RECEIVE: that must have arrived; 0: it has waited */
    int rooms_awaited;                  /* SEND, before it sends: signals of room */
    bool gives_room;                    /* RECEIVE, when it has copied */
    bool is_wait;                       /* SEND: that is all, nothing is sent */
};

/*
 * What a custom call asks of the kernel of attention (docs/kernels.md); the computation that it
 * calls says the same in basic operations. With kv_len - q_len = past, query t of a sequence sees
 * its first past + t + 1 keys.
 */
enum graph_attention_form { ATTENTION_FLASH, ATTENTION_PAGED, ATTENTION_RAGGED };
struct graph_attention {
    enum graph_attention_form form;
    int is_causal;                      /* FLASH: else all keys are seen; the others always are */
    int64_t sequences, heads_q, heads_kv, depth, q_len, kv_len;         /* of one sequence */
    int64_t block_q, block_kv;          /* queries and keys of a step */
    int64_t page_tokens, pages;         /* PAGED, RAGGED: tokens of a page; how many there are */
};

/*
 * Where a dynamic slice or update begins, as far as it follows from how often the loops around it
 * have run: start d of `known` is first[d] + the sum of step[d][k] times the trips that loop k has
 * done before, loop 0 being the innermost. The operand then says nothing.
 */
#define GRAPH_TRIP_LOOPS 4
struct graph_trips {
    int64_t known;                      /* bit d: start d is known */
    int64_t first[GRAPH_RANK_MAX], step[GRAPH_RANK_MAX][GRAPH_TRIP_LOOPS];
};

struct graph;
struct kept_edge;                       /* stack/hlo/kept.h */
struct mosaic_kernel;                   /* stack/mosaic/mosaic.h */

struct graph_node {
    enum graph_op op;
    struct shape shape;                 /* of the only or first result */
    const struct shape *tuple;          /* of all results, */
    int tuple_count;                    /* 0: one array */
    int operand_count;
    int *operand;                       /* node numbers, each below this node's; the node's own */
    const char *name;                   /* unique; for dumps, reports and error messages */
    const char *source;                 /* what made it: "dense_1/MatMul"; never NULL */
    int unit;                           /* of a program that is kept: kept.h; 0: of none */
    int gradient_of;                    /* in the graph that was differentiated: the node through */
                                        /* which gradients go by this one; NODE_NONE elsewhere */

    /* attributes, zero where the operation has none (hlo_ops.def; graph_verify checks it) */
    int parameter_index;
    double value;                       /* CONSTANT: in every element, unless */
    const void *literal;                /* dense row-major elements of 4 bytes, or NULL; */
                                        /* PARTITION_ID: by device, `count` of them, or NULL */
    int dim;                            /* IOTA, CONCATENATE, SORT, REDUCE_SCATTER, ALL_GATHER; */
                                        /* GET_TUPLE_ELEMENT: which */
    int dims[GRAPH_RANK_MAX];           /* BROADCAST, TRANSPOSE; REVERSE: `dim` of them */
    struct graph_dot dot;
    enum graph_precision precision;     /* DOT, CONVOLUTION */
    enum graph_compare direction;       /* COMPARE, SELECT_AND_SCATTER; SORT: LT rising, */
                                        /* GT falling */
    enum graph_reduce reduce_kind;
    uint32_t reduce_mask;               /* bit d: dimension d is reduced */
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];   /* SLICE */
    int64_t low[GRAPH_RANK_MAX], high[GRAPH_RANK_MAX], interior[GRAPH_RANK_MAX];    /* PAD */
    int64_t sizes[GRAPH_RANK_MAX];      /* DYNAMIC_SLICE */
    const struct graph_trips *trips;    /* DYNAMIC_SLICE, DYNAMIC_UPDATE_SLICE; or NULL */
    const struct graph_window *window;  /* CONVOLUTION: a window per spatial dimension; */
                                        /* REDUCE_WINDOW, SELECT_AND_SCATTER: per dimension */
    const struct graph_conv *conv;
    const struct graph_gather *gather;
    const struct graph_groups *groups;  /* of collectives; ALL_REDUCE: NULL is all devices */
    const struct graph_pair *pair;      /* COLLECTIVE_PERMUTE: `count` of them */
    const struct graph_message *message;        /* SEND, RECEIVE */
    const struct graph_attention *attention;    /* CUSTOM_CALL */
    const struct mosaic_kernel *mosaic; /* MOSAIC */
    const struct kept_edge *edge;       /* ADD_DEPENDENCY of a program that is kept, or NULL */
    bool is_held;                       /* differentiation takes it for a constant */
    int64_t count;                      /* TOP_K: k; WHILE: trips; RNG_BITS: number of the stream */
    const struct graph *called[GRAPH_CALLED_MAX];   /* FUSION, CUSTOM_CALL: body; WHILE: body, */
                                        /* condition; CONDITIONAL: if true, if false */
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
    const char *source;                 /* copied into every node made from now on, */
    int gradient_of, unit;              /* these, too */
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
int graph_bitcast_convert(struct graph *g, int a, enum graph_dtype dtype);      /* likewise */
int graph_binary(struct graph *g, enum graph_op op, int a, int b);   /* equal shapes */
int graph_compare(struct graph *g, enum graph_compare direction, int a, int b);
int graph_select(struct graph *g, int pred, int a, int b);
int graph_broadcast(struct graph *g, int a, struct shape shape, const int *dims);
int graph_reshape(struct graph *g, int a, struct shape shape);
int graph_transpose(struct graph *g, int a, const int *dims);
/* two matrices, result f32 [lhs free, rhs free] */
int graph_dot(struct graph *g, int lhs, int rhs, int lhs_contract, int rhs_contract,
              enum graph_precision precision);
/* any ranks; `dtype` of the result is f32, or bf16 for a sum that is rounded once at the end */
int graph_dot_general(struct graph *g, int lhs, int rhs, const struct graph_dot *dot,
                      enum graph_dtype dtype, enum graph_precision precision);
int graph_convolution(struct graph *g, int input, int kernel, const struct graph_window *window,
                      const struct graph_conv *conv, enum graph_dtype dtype,
                      enum graph_precision precision);
int graph_literal(struct graph *g, struct shape shape, const void *elements);   /* copied */
int graph_clamp(struct graph *g, int low, int a, int high);     /* low, high: scalars or as a */
int graph_slice(struct graph *g, int a, const int64_t *start, const int64_t *limit,
                const int64_t *stride);                         /* stride NULL: 1 */
int graph_pad(struct graph *g, int a, int value, const int64_t *low, const int64_t *high,
              const int64_t *interior);                         /* value: scalar; may be negative */
int graph_concatenate(struct graph *g, const int *operand, int count, int dim);
int graph_reverse(struct graph *g, int a, const int *dims, int count);
/* start: one s32 scalar per dimension, clamped so that the slice lies inside */
int graph_dynamic_slice(struct graph *g, int a, const int *start, const int64_t *sizes);
int graph_dynamic_update_slice(struct graph *g, int a, int update, const int *start);
int graph_gather(struct graph *g, int a, int indices, const struct graph_gather *gather);
int graph_scatter(struct graph *g, enum graph_reduce kind, int a, int indices, int updates,
                  const struct graph_gather *scatter);
int graph_reduce_window(struct graph *g, enum graph_reduce kind, int a,
                        const struct graph_window *window);     /* one per dimension of a */
/* of each window the element that is GE (or LE) all others, the first of equals, gets the source */
int graph_select_and_scatter(struct graph *g, enum graph_compare direction, int a, int source,
                             const struct graph_window *window);
/* sorts by operand[0], stable; the others go along; several results unless count is 1 */
int graph_sort(struct graph *g, const int *operand, int count, int dim,
               enum graph_compare direction);
int graph_top_k(struct graph *g, int a, int64_t k);     /* last dimension: values, s32 indices */
int graph_tuple_element(struct graph *g, int tuple, int index);
/*
 * u32 that depend on the s32 scalar `seed`, `stream` and the place in the array alone, as the
 * machine draws them tile by tile. The array lies in tiles of 8 rows by 128 lanes as
 * stack/hlo/array.h has it without an order (rank 0 and 1 linear); the elements of tile t are what
 * one vrng gives on core 0 after setrngseed graph_rng_key(seed, stream, t): row r, lane c is
 * word r * 128 + c of docs/numerics.md. Other cores have other keys, hence other bits.
 */
int graph_rng_bits(struct graph *g, struct shape shape, int seed, int64_t stream);
static inline uint32_t graph_rng_key(uint32_t seed, int64_t stream, int64_t tile)
{
    return seed + 0x9e3779b9u * (uint32_t)stream + 0x85ebca6bu * (uint32_t)tile;
}
/* operands, results and the body's parameters and outputs are the same list of arrays */
int graph_while(struct graph *g, const int *operand, int count, const struct graph *body,
                int64_t trips);
/*
 * As long as `condition`, of the same parameters, gives true: its one output is a scalar predicate.
 * The node's count is GRAPH_TRIPS_UNKNOWN.
 */
int graph_while_condition(struct graph *g, const int *operand, int count, const struct graph *body,
                          const struct graph *condition);
/*
 * What `if_true` or `if_false` makes of operand[0..count), by the scalar predicate `pred`: both have
 * these as parameters, and outputs of the same shapes. Operand 0 of the node is `pred`.
 */
int graph_conditional(struct graph *g, int pred, const int *operand, int count,
                      const struct graph *if_true, const struct graph *if_false);
/*
 * Of `branches` computations that number `index`, an s32 scalar, the last one where there is no
 * such number: conditionals in each other's second branch. Their graphs are copied.
 */
int graph_switch(struct graph *g, int index, const int *operand, int count,
                 const struct graph *const *branch, int branches);
int graph_fusion(struct graph *g, const int *operand, int count, const struct graph *body);
/* `body` computes what the kernel does */
int graph_custom_call(struct graph *g, const int *operand, int count, const struct graph *body,
                      const struct graph_attention *attention);
/* the kernel must live as long as the graph */
int graph_mosaic(struct graph *g, const int *operand, int count,
                 const struct mosaic_kernel *kernel);
struct mosaic_type;
/* of an array that such a kernel has; dtype DTYPE_COUNT: graphs have no such elements */
struct shape graph_mosaic_shape(const struct mosaic_type *t);
const char *graph_attention_name(enum graph_attention_form form);       /* "flash_attention" */
int graph_reduce(struct graph *g, enum graph_reduce kind, int a, uint32_t mask);

/*
 * Between devices, all of which run the same graph. Groups and pairs are copied. Several operands
 * at once are as many results, which get-tuple-element takes one by one.
 */
int graph_all_reduce(struct graph *g, int a);           /* a sum over all devices */
int graph_all_reduce_all(struct graph *g, const int *operand, int count);
int graph_all_reduce_groups(struct graph *g, const int *operand, int count,
                            const struct graph_groups *groups);
/* sums over each group, of which rank r has block r of `size` along `dim` */
int graph_reduce_scatter(struct graph *g, const int *operand, int count, int dim,
                         const struct graph_groups *groups);
/* the arrays of a group one behind the other along `dim`, in rank order */
int graph_all_gather(struct graph *g, const int *operand, int count, int dim,
                     const struct graph_groups *groups);
/* each target has what its source had, a device that is none zeros */
/* entry r of dimension 0 from the device of rank r, which has one for each rank of its group */
int graph_all_to_all(struct graph *g, int a, const struct graph_groups *groups);
int graph_collective_permute(struct graph *g, int a, const struct graph_pair *pair, int count);
/* the device's own number, a u32 scalar: HLO's partition-id, and its replica-id */
int graph_partition_id(struct graph *g);
int graph_replica_id(struct graph *g);

/*
 * Messages and their order: each takes the one before it, or anything that is to come first. What
 * a message says is the caller's, and must live as long as the graph.
 */
int graph_send(struct graph *g, int a, int before, const struct graph_message *message);
int graph_receive(struct graph *g, struct shape shape, int before,
                  const struct graph_message *message);
int graph_add_dependency(struct graph *g, int a, int before);
/* here or in what it calls; NULL has none */
bool graph_has_collective(const struct graph *g);
/* 0, or -1 with the node whose groups or pairs do not go with so many devices */
int graph_check_devices(const struct graph *g, int device_count, struct err *e);

void graph_output(struct graph *g, int node, const char *name, int alias_parameter);

/* what is added from now on stands for `n`: its source and its unit */
static inline void graph_stand_for(struct graph *g, const struct graph_node *n)
{
    g->source = n->source;
    g->unit = n->unit;
}

/* several arrays as one; only for get-tuple-element to take apart */
int graph_tuple(struct graph *g, const int *operand, int count);

/*
 * Any node: `n` says operation and attributes (copied; wanted shape and literal as
 * graph_infer reads them), its operands, name and source being ignored. Also
 * copies a node of another graph, whose arena must then outlive this one.
 */
int graph_add(struct graph *g, const struct graph_node *n, const int *operand, int count);

/* a scalar constant spread to the shape of node `like` */
int graph_splat(struct graph *g, int like, double value);

struct shape shape_make(enum graph_dtype dtype, int rank, const int64_t *dim);
struct shape shape_scalar(enum graph_dtype dtype);
bool shape_equal(const struct shape *a, const struct shape *b);
bool shape_same_dims(const struct shape *a, const struct shape *b);
int64_t shape_elems(const struct shape *s);
char *shape_print(const struct shape *s, char *buf, size_t buf_bytes);  /* "f32[64,128]" */

/* what a reduction starts at: 0, 1, the lowest or highest value of the type, all ones */
double graph_identity(enum graph_reduce kind, enum graph_dtype dtype);

const char *graph_op_name(enum graph_op op);
enum graph_op_kind graph_op_kind(enum graph_op op);
bool graph_op_is_elementwise(enum graph_op op);         /* UNARY, BINARY or OTHER */
unsigned graph_op_types(enum graph_op op);      /* of elementwise operands: bits 1 << dtype */
unsigned graph_op_traits(enum graph_op op);     /* of enum graph_op_trait */
unsigned graph_op_attributes(enum graph_op op); /* of enum graph_attribute */
int graph_op_cost(enum graph_op op);    /* vector operations per element: hlo_ops.def, again */

/* Every rule of the IR (stack/hlo/graph_shape.h); passes are checked with it, importers report it. */
int graph_verify(const struct graph *g, struct err *e);

/* HLO-like text, one node a line. */
void graph_dump(const struct graph *g, FILE *to);

/*
 * Operations of one evaluation: 2MNK per dot and batch; per convolution likewise for each tap
 * that meets an element, not padding or a hole, as XLA counts; one per element of an elementwise
 * result; one per element that a reduction, window or scatter reads. Moving data counts nothing.
 * Of a loop that its condition ends one trip counts, of a conditional the branch that costs more.
 */
int64_t graph_node_flops(const struct graph *g, int node);
int64_t graph_flops(const struct graph *g);

/*
 * Reverse-mode differentiation: adds to `g` the gradients of scalar node `loss`
 * with respect to nodes wrt[0..count), and stores their numbers in gradient[].
 * The gradient of a node that the loss does not depend on is zero.
 * -1 when an operation on the way has no derivative.
 */
int graph_grad(struct graph *g, int loss, const int *wrt, int count, int *gradient,
               struct err *e);

/* No gradient flows through this node any more: JAX's stop_gradient. The node itself. */
int graph_hold(struct graph *g, int node);

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
