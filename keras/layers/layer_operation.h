/*
 * Operations of keras.ops as layers: LAYER_OPERATION, whose parameters say which one (operations.def).
 *
 * A shape is found by making the operation in a graph of its own, once it is known to be sound.
 * Not here: what is another layer's work anyway (an activation, Reshape, Concatenate), sums over
 * the samples of a batch, operands whose batch is spread.
 */
#ifndef KERAS_LAYER_OPERATION_H
#define KERAS_LAYER_OPERATION_H
#include "keras/layers/layer_impl.h"

enum operation_kind {
#define OPERATION(id, class, form, operands, list, number, other, meaning) OPERATION_##id,
#include "keras/layers/operations.def"
    OPERATION_COUNT
};

struct operation_info {
    const char *class;
    const struct operation_form *form;
    int operands;
    const char *list, *number, *other;
};

/* what the operations of a file have in common */
struct operation_form {
    /* -1: the samples, constants among them, do not go */
    int (*check)(const struct layer *l, const struct shape *in, int count, struct err *e);
    /* operands are nodes; a constant's has no batch */
    int (*call)(struct layer_call *c, const int *operand, int count);
};
extern const struct operation_form operation_elements, operation_sums, operation_order,
    operation_moves, operation_products, operation_network;

const struct operation_info *operation_info(int operation);
/* -1: there is none of this class */
int operation_find(const char *class);
/* all classes, for messages; their number */
int operation_classes(const char *const **class);
/* of a Split, and of a TopK; else 1 */
int operation_output_count(const struct layer *l);
/* of output `which`, from 1 */
struct shape operation_more_shape(const struct layer *l, const struct shape *input,
                                  const struct shape *output, int which);

/* a dimension of samples of so many, or -1; `axis` counts the batch, and from the end if negative */
int operation_axis(int64_t axis, int rank);
/* the dimensions in the layer's axes, the batch being 0; -1 with a message */
int operation_axes(const struct layer *l, int rank, uint32_t *mask, struct err *e);
/* its truth: 1 where the predicate is, else 0; no gradient goes through */
int operation_truth(struct layer_call *c, int predicate);
int operation_is_not_zero(struct graph *g, int x);
/* an operation of one array, element by element */
int operation_of_one(struct layer_call *c, int x);
/* elements first .. end - 1 along a dimension, which counts the batch */
int operation_part(struct graph *g, int x, int dim, int64_t first, int64_t end);
/* the sum, or another of these, with dimensions of 1 in place of the mask's */
int operation_reduce(struct graph *g, enum graph_reduce kind, int x, uint32_t mask);
/* a node like x with its sizes of this many dimensions */
int operation_reshape(struct graph *g, int x, int rank, const int64_t *dim);
#endif
