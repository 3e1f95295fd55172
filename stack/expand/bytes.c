/*
 * Convolutions of bytes, and dots where the matrix units take none: of bf16, which holds a byte exactly, with sums in f32, exact below 2^24.
 * Where a sum may be larger, bytes are cut into multiples of 16 and what is left, so that each of
 * four sums is a multiple of what leaves it 24 bits; they are added as s32.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#define EXACT (1ll << 24)               /* f32 holds all whole numbers up to here */
#define PRODUCTS_MAX 32768              /* of a sum: u8 by u8 stays below 2^31 */

static bool is_byte(enum graph_dtype dtype) { return dtype == DTYPE_S8 || dtype == DTYPE_U8; }

static int64_t largest(enum graph_dtype dtype) { return dtype == DTYPE_S8 ? 128 : 255; }

static int64_t products_of(const struct graph *g, const struct graph_node *n)
{
    const struct shape *kernel = &g->node[n->operand[1]].shape;
    int64_t outputs = 1;

    if (n->op == HLO_DOT) {
        for (int i = 0; i < n->dot.contract_count; i++)
            outputs *= kernel->dim[n->dot.rhs_contract[i]];
        return outputs;
    }
    outputs = kernel->dim[n->conv->kernel_out];
    return outputs ? shape_elems(kernel) / outputs : 0;
}

/* part[0] + part[1] is x, part[0] a multiple of 16 */
static void cut(struct graph *g, int x, int *part)
{
    int whole = graph_convert(g, x, DTYPE_S32);
    int low = graph_binary(g, HLO_AND, whole, graph_splat(g, whole, 15));

    part[0] = graph_convert(g, graph_binary(g, HLO_SUBTRACT, whole, low), DTYPE_BF16);
    part[1] = graph_convert(g, low, DTYPE_BF16);
}

static int product_of(struct graph *g, const struct graph_node *n, int lhs, int rhs)
{
    int sum = n->op == HLO_DOT
                  ? graph_dot_general(g, lhs, rhs, &n->dot, DTYPE_F32, PRECISION_DEFAULT)
                  : graph_convolution(g, lhs, rhs, n->window, n->conv, DTYPE_F32,
                                      PRECISION_DEFAULT);

    return graph_convert(g, sum, DTYPE_S32);
}

int expand_bytes(struct graph *g, const struct graph_node *n, bool has_dots)
{
    enum graph_dtype dtype[2];
    int lhs[2], rhs[2], sum = NODE_NONE;
    int64_t products;

    if (n->op != HLO_CONVOLUTION && (n->op != HLO_DOT || has_dots))
        return NODE_NONE;
    for (int i = 0; i < 2; i++)
        dtype[i] = g->node[n->operand[i]].shape.dtype;
    if (!is_byte(dtype[0]) || !is_byte(dtype[1]))
        return NODE_NONE;
    products = products_of(g, n);
    if (products > PRODUCTS_MAX)
        return NODE_NONE;
    if (products * largest(dtype[0]) * largest(dtype[1]) <= EXACT) {
        rhs[0] = graph_convert(g, n->operand[1], DTYPE_BF16);
        lhs[0] = graph_convert(g, n->operand[0], DTYPE_BF16);
        return graph_convert(g, product_of(g, n, lhs[0], rhs[0]), n->shape.dtype);
    }
    cut(g, n->operand[0], lhs);
    cut(g, n->operand[1], rhs);
    for (int i = 0; i < 4; i++) {
        int product = product_of(g, n, lhs[i / 2], rhs[i % 2]);

        sum = sum == NODE_NONE ? product : graph_binary(g, HLO_ADD, sum, product);
    }
    return graph_convert(g, sum, n->shape.dtype);
}
