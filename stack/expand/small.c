/*
 * Dots that vectors do, as a product element by element and a sum.
 *
 * Of s32 and u32, for which there is no unit, small ones; others by dots of bytes. A word is four
 * bytes, so modulo 2^32 a product of two is the sum of ten products of bytes, each shifted by what
 * its bytes stand for.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#define SMALL (1ll << 18)               /* products, up to which vectors do */
#define TERMS_MAX 32768                 /* of u8 by u8, whose sum stays below 2^31 */
#define WORD_BYTES 4

static bool is_word(enum graph_dtype dtype) { return dtype == DTYPE_S32 || dtype == DTYPE_U32; }

/* one operand as [batch, free, contracted] */
static int as_matrices(struct graph *g, int x, const struct graph_dot *d, const int *batch,
                       const int *contract)
{
    struct shape s = g->node[x].shape;
    int64_t size[3] = {1, 1, 1};
    int order[GRAPH_RANK_MAX], at = 0;

    for (int i = 0; i < d->batch_count; i++)
        order[at++] = batch[i];
    for (int i = 0; i < s.rank; i++)
        if (!graph_dims_have(batch, d->batch_count, i) &&
            !graph_dims_have(contract, d->contract_count, i))
            order[at++] = i;
    for (int i = 0; i < d->contract_count; i++)
        order[at++] = contract[i];
    for (int i = 0; i < s.rank; i++)
        size[i < d->batch_count ? 0 : i < s.rank - d->contract_count ? 1 : 2] *= s.dim[order[i]];
    return graph_reshape(g, graph_transpose(g, x, order), shape_make(s.dtype, 3, size));
}

/* the sum over k of x[b, m, k] * y[b, n, k] */
static int by_vectors(struct graph *g, int x, int y)
{
    struct shape s = g->node[x].shape, all = s;

    all.rank = 4;
    all.dim[2] = g->node[y].shape.dim[1];
    all.dim[3] = s.dim[2];
    x = graph_broadcast(g, x, all, (int[]){0, 1, 3});
    y = graph_broadcast(g, y, all, (int[]){0, 2, 3});
    return graph_reduce(g, REDUCE_ADD, graph_binary(g, HLO_MULTIPLY, x, y), 1u << 3);
}

static void cut(struct graph *g, int x, int *part)
{
    int word = graph_bitcast_convert(g, x, DTYPE_U32);

    for (int i = 0; i < WORD_BYTES; i++) {
        int low = graph_binary(g, HLO_SHIFT_RIGHT_LOGICAL, word, graph_splat(g, word, 8 * i));

        part[i] = graph_convert(g, graph_binary(g, HLO_AND, low, graph_splat(g, low, 255)),
                                DTYPE_U8);
    }
}

static int dot_of_bytes(struct graph *g, int x, int y, bool has_dots)
{
    struct graph_node n = {.op = HLO_DOT, .operand = (int[]){x, y}, .operand_count = 2,
                           .shape = shape_scalar(DTYPE_S32),
                           .dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                                   .rhs_contract = {2}}};
    int product = expand_bytes(g, &n, has_dots);

    return product == NODE_NONE ? graph_add(g, &n, n.operand, 2) : product;
}

static int by_bytes(struct graph *g, int x, int y, bool has_dots)
{
    int lhs[WORD_BYTES], rhs[WORD_BYTES], sum = NODE_NONE;

    cut(g, x, lhs);
    cut(g, y, rhs);
    for (int i = 0; i < WORD_BYTES; i++)
        for (int k = 0; i + k < WORD_BYTES; k++) {
            int product = graph_bitcast_convert(g, dot_of_bytes(g, lhs[i], rhs[k], has_dots),
                                                DTYPE_U32);

            product = graph_binary(g, HLO_SHIFT_LEFT, product,
                                   graph_splat(g, product, 8 * (i + k)));
            sum = sum == NODE_NONE ? product : graph_binary(g, HLO_ADD, sum, product);
        }
    return graph_bitcast_convert(g, sum, g->node[x].shape.dtype);
}

static int64_t products_of(const struct graph *g, const struct graph_node *n)
{
    int64_t products = shape_elems(&n->shape);

    for (int i = 0; i < n->dot.contract_count; i++)
        products *= g->node[n->operand[0]].shape.dim[n->dot.lhs_contract[i]];
    return products;
}

static bool is_for_vectors(const struct graph *g, const struct graph_node *n)
{
    return is_word(g->node[n->operand[0]].shape.dtype) && products_of(g, n) <= SMALL;
}

int expand_dot_by_vectors(struct graph *g, const struct graph_node *n, const int *operand)
{
    const struct graph_dot *d = &n->dot;
    int x = as_matrices(g, operand[0], d, d->lhs_batch, d->lhs_contract);
    int y = as_matrices(g, operand[1], d, d->rhs_batch, d->rhs_contract);

    return by_vectors(g, x, y);
}

int expand_small(struct graph *g, const struct graph_node *n, bool has_dots)
{
    const struct graph_dot *d = &n->dot;
    int x, y, product;

    if (n->op != HLO_DOT || d->has_order || !is_word(g->node[n->operand[0]].shape.dtype))
        return NODE_NONE;
    x = as_matrices(g, n->operand[0], d, d->lhs_batch, d->lhs_contract);
    y = as_matrices(g, n->operand[1], d, d->rhs_batch, d->rhs_contract);
    if (is_for_vectors(g, n) || g->node[x].shape.dim[2] > TERMS_MAX)
        product = by_vectors(g, x, y);
    else
        product = by_bytes(g, x, y, has_dots);
    return graph_reshape(g, product, n->shape);
}
