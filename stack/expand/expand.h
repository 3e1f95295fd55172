/* Declares what pass_expand.c makes of operations, where it takes more than a few lines. */
#ifndef STACK_EXPAND_H
#define STACK_EXPAND_H
#include "stack/hlo/graph.h"

/*
 * A convolution of many images with few channels and a stride of two in both of two dimensions,
 * or its gradient by the kernel, on images of half the size with four times the channels (space
 * to depth). NODE_NONE: `n` is another node. `n` and its operands are of `g`. In a graph that
 * is trained fewer images are enough.
 */
int expand_first_layer(struct graph *g, const struct graph_node *n, bool is_trained);

/*
 * A convolution along one dimension with one feature in and out, as one of many features, each by
 * itself. NODE_NONE: `n` is another node, or has little to do.
 */
int expand_filter(struct graph *g, const struct graph_node *n);

/*
 * A convolution of planes, images of one channel or of few each by itself, as sums of the images
 * shifted. NODE_NONE: `n` is another node, or has little to do.
 */
int expand_planes(struct graph *g, const struct graph_node *n);

/*
 * A convolution of few channels whose windows lie side by side, as a product of patches.
 * NODE_NONE: `n` is another node.
 */
int expand_patches(struct graph *g, const struct graph_node *n);

/*
 * A gradient by a kernel of one pixel with its operands exchanged, where that leaves less to turn.
 * NODE_NONE: `n` is another node, or lies well.
 */
int expand_turned(struct graph *g, const struct graph_node *n);

/*
 * A collective of so many devices as kernels do it: of one device none at all; blocks that would
 * end inside tiles along a new dimension outside of them. `n` and its operands are of `g`.
 */
int expand_collective(struct graph *g, const struct graph_node *n, int device_count);

/*
 * A convolution of s8 and u8 by convolutions of bf16; a dot of them likewise unless the matrix
 * units take it as it is. NODE_NONE: `n` is another node.
 */
int expand_bytes(struct graph *g, const struct graph_node *n, bool has_dots);
/* A dot of s32 or u32 by vectors or such dots of bytes. NODE_NONE: `n` is another node. */
int expand_small(struct graph *g, const struct graph_node *n, bool has_dots);
/*
 * A dot as a product element by element and a sum, [batch, lhs free, rhs free] with what is in a
 * group of dimensions as one: for importers, where a product in passes would not do.
 */
int expand_dot_by_vectors(struct graph *g, const struct graph_node *n, const int *operand);
/*
 * A gather of single elements from short tables, or a scatter of one into each row, by comparison,
 * to the same bits. NODE_NONE: `n` is another node, or its table is long.
 */
int expand_lookup(struct graph *g, const struct graph_node *n);
/* A gather that surely becomes one by comparison, so that its indices may be what a kernel made. */
bool expand_is_compared(const struct graph *g, const struct graph_node *n);
/* The operation that combines two elements as a scatter does; false: it replaces one. */
bool expand_combines(enum graph_reduce kind, enum graph_op *op);
/*
 * Dynamic slices and updates of vectors from a start, a scalar, that is not known: by comparison, or
 * as rows. NODE_NONE: another node; or they are left to kernels, being short, of whole tiles, or of
 * too long a vector.
 */
int expand_vector(struct graph *g, const struct graph_node *n);

/*
 * A product of one row with each of many matrices that lie apart, by vectors, where a copy of the
 * matrices would take longer. NODE_NONE: `n` is another node, or is faster as a product.
 */
struct chip;
int expand_row(struct graph *g, const struct graph_node *n, const struct chip *chip);
/* A product of many tiny matrices, or of a long thin one, by vectors. NODE_NONE: `n` is another node. */
int expand_tiny(struct graph *g, const struct graph_node *n);
int expand_vector_slice(struct graph *g, int x, int start, int64_t count);
int expand_vector_update(struct graph *g, int x, int update, int start);
/* x with one element, number `at`, combined with `update`; outside none is */
int expand_vector_element(struct graph *g, int x, int update, int at, enum graph_reduce kind);
/*
 * A gather or scatter by one index, as a dynamic slice or update, where kernels have so many rows
 * of vector memory, or, of vectors, as above. NODE_NONE: another node, or a scatter of narrow types
 * where there are few.
 */
int expand_single(struct graph *g, const struct graph_node *n, int64_t vmem_rows);
/* A gather or scatter by indices that count, as slices or updates. NODE_NONE: nobody can tell. */
int expand_counted(struct graph *g, const struct graph_node *n);
/* A gather that gives each row of a dimension several times, or a scatter that combines these. */
int expand_repeats(struct graph *g, const struct graph_node *n);
/*
 * A gather or scatter of which one number counts the rows, by comparison as expand_lookup does it.
 * NODE_NONE: none does, or it is nothing to compare.
 */
int expand_own_rows(struct graph *g, const struct graph_node *n);
/*
 * A gather of the places of a grid that lists name along several dimensions, as one along each.
 * NODE_NONE: it is none, or of few places.
 */
int expand_grid(struct graph *g, const struct graph_node *n);
/*
 * A gather or scatter of columns, which are whole along some dimensions but not along lanes, as one
 * of rows of the transposed array; a gather of windows of short rows as one of longer ones.
 * NODE_NONE: it is none, or is faster as it is.
 */
int expand_columns(struct graph *g, const struct graph_node *n);
/*
 * A gather of a window for each place of a batch, or a scatter of one into each array of a batch, by
 * steps that all places take or leave, to the same bits. NODE_NONE: it is none, or is faster as it is.
 */
int expand_windows(struct graph *g, const struct graph_node *n);
/*
 * A window along dimensions that lie in tiles, or a gradient of one, as the array combined with
 * itself shifted, where that takes less than the kernel, which has so many rows of vector memory.
 * NODE_NONE: another node, or one for the kernel.
 */
int expand_shifts(struct graph *g, const struct graph_node *n, int64_t vmem_rows);
/* An s32 that rises as the values do: zeros are one, all NaNs are and the largest. */
int expand_sort_keys(struct graph *g, int a);
/* Sorts of rows of which only some of the first are taken, as so many maxima, in all of g. */
void expand_tops(struct graph *g);
/* A gather or scatter without the numbers of its index vectors that are always zero. */
int expand_starts(struct graph *g, const struct graph_node *n);
/* `size` elements along a dimension from `begin` on, a stride apart; x itself if that is all of it */
int expand_part(struct graph *g, int x, int dim, int64_t begin, int64_t size, int64_t stride);
/* zeros before, behind and between the elements along a dimension */
int expand_widened(struct graph *g, int x, int dim, int64_t low, int64_t high, int64_t interior);
/* Whether a gather or scatter is by one index; and where its indices are put together of single
 * numbers, which node has number `part`, else NODE_NONE. */
bool expand_is_single(const struct graph *g, const struct graph_node *n);
int expand_single_part(const struct graph *g, const struct graph_node *n, int part);
#endif
