/*
 * An operation in pieces: the same over parts of its dimensions, put together again. What no
 * kernel makes as a whole is made so (stack/module/module_legalize.c, docs/compiler.md).
 *
 * Operations that move data alone are left whole. A sort along a dimension that does not fit
 * vector memory is no work on parts: pieces_sort.c merges blocks.
 */
#ifndef STACK_PIECES_H
#define STACK_PIECES_H
#include "stack/hlo/graph.h"

#define PIECE_DIMS_MAX 12

/* A dimension that may be cut: parts of the result along one of its own, or parts to be combined. */
struct piece_dim {
    int64_t extent;                     /* 1: it cannot be cut */
    int64_t unit;                       /* a smaller piece takes as much: tiles, groups */
    int result_dim;                     /* -1: combined */
};

struct pieces {
    int count;
    enum graph_op combine;
    struct piece_dim dim[PIECE_DIMS_MAX];       /* those that are combined come last */
};

/* how `n`, whose operands are of `g`, may be cut; false: not at all */
bool pieces_of(const struct graph *g, const struct graph_node *n, struct pieces *out);

/* the result from `from` on, `count` of each dimension; f32 where parts of bf16 are combined */
int pieces_make(struct graph *g, const struct graph_node *n, const struct pieces *p,
                const int64_t *from, const int64_t *count);

/* all of the result, of pieces of `size` */
int pieces_join(struct graph *g, const struct graph_node *n, const struct pieces *p,
                const int64_t *size);

/*
 * The operation in a form that more kernels make: groups of columns padded to whole tiles or
 * shares of one, f32 products of high precision as products of bf16, large holes of the input
 * filled with zeros; where there is no other way (`is_last`) all holes, and narrow elements that
 * are fetched by index as words. NODE_NONE: it is in that form.
 */
int pieces_plain_form(struct graph *g, const struct graph_node *n, bool is_last);

#define PIECES_SORTED_MAX 6             /* arrays that one kernel sorts beside keys and places */

/*
 * A sort or top-k as sorts of blocks of so many elements, a power of two, and exchanges between
 * them: the nodes of its results, whose number it returns. Exact, stable sorts like the one they
 * stand for.
 */
int pieces_sort(struct graph *g, const struct graph_node *n, int64_t block, int *result);
/* the sort of eight such blocks, of parameters: what a kernel must make */
int pieces_sort_block(struct graph *g, int arrays, int64_t block);

/* a piece: of each dimension the elements from `from` on, `count` of them */
struct piece_part { const struct pieces *pieces; const int64_t *from, *count; };
/* a dimension that cannot be cut counts as one, and is whole */
static inline bool pieces_is_cut(const struct piece_part *p, int d)
{
    return p->count[d] < p->pieces->dim[d].extent;
}

/* what reads or writes by index or by choice (pieces_index.c) */
bool pieces_can_cut_index(const struct graph *g, const struct graph_node *n, int dim);
int pieces_make_gather(struct graph *g, const struct graph_node *n, const struct piece_part *p);
/* a gather or dynamic slice of narrow elements as one of words; NODE_NONE: they are words */
int pieces_wide_index(struct graph *g, const struct graph_node *n);
int pieces_make_scatter(struct graph *g, const struct graph_node *n, const struct piece_part *p);
int pieces_make_selection(struct graph *g, const struct graph_node *n, const struct piece_part *p);
/* the sum of the products of bf16 parts that an f32 dot or convolution stands for, in the order of
 * its passes, over all of the contraction each; NODE_NONE: there is one pass (pieces_precise.c) */
int pieces_precise_product(struct graph *g, const struct graph_node *n);
/* of a convolution (pieces_conv.c) */
bool pieces_of_convolution(const struct graph *g, const struct graph_node *n, struct pieces *out);
int pieces_make_convolution(struct graph *g, const struct graph_node *n, enum graph_dtype dtype,
                            const int64_t *from, const int64_t *count);
/* elements `start` to `limit` along `dim`; the array itself if that is all */
int pieces_slice(struct graph *g, int a, int dim, int64_t start, int64_t limit);
/* a window's part: outputs and taps from `from` on; the elements of the input that it meets */
void pieces_window(struct graph_window *w, int64_t in, int64_t from_out, int64_t out,
                   int64_t from_tap, int64_t taps, int64_t *start, int64_t *limit);
#endif
