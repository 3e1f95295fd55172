/*
 * Operations without a kernel become others.
 *
 *   convolution of f32 with precision high or highest: f32 operands are cut
 *   into parts of 8 bits, which bf16 holds exactly, and the products of the
 *   parts are added, smallest first: 3 of two parts, or 6 of three.
 *
 *   convolution of bytes, and dots where units take none: of bf16 (stack/expand/bytes.c).
 *   first layers of many images: space to depth (stack/expand/first.c).
 *   filters of one feature along one dimension: of segments side by side (stack/expand/filter.c).
 *   few channels in windows side by side: products of patches (stack/expand/patches.c).
 *   gradients by kernels of one pixel: operands change places (stack/expand/turned.c).
 *   dots of words, and small ones in several passes: by vectors, or of bytes (stack/expand/small.c).
 *   products of narrower types in several passes: one is exact.
 *   gathers of single elements from short tables: by comparison (stack/expand/lookup.c).
 *   gathers and scatters of columns: of rows of the transposed array (stack/expand/columns.c).
 *   gathers and scatters by one index: dynamic slices and updates (stack/expand/single.c).
 *   sorts of which a few are taken: maxima (stack/expand/top.c).
 *   collectives of one device, and those whose blocks are no whole tiles (stack/expand/collective.c).
 *
 *   clamp and select with a scalar beside arrays: the scalar is spread, so that operands of what
 *   kernels compute element by element all have its shape.
 *
 * Parts are cut by their bits, not by rounding to bf16 and back, which
 * pass_excess would remove.
 */
#include "stack/passes/pass.h"

#include "sim/chip/limits.h"
#include "stack/kernels/conv/conv.h"
#include "stack/expand/expand.h"
#include "stack/hlo/rewrite.h"

#define PARTS_MAX 3
#define HIGH_HALF 4294901760.0          /* 0xffff0000: sign, exponent, 7 bits */

/* the part of x that bf16 holds, as f32 */
static int leading(struct graph *g, int x)
{
    int bits = graph_bitcast_convert(g, x, DTYPE_U32);

    bits = graph_binary(g, HLO_AND, bits, graph_splat(g, bits, HIGH_HALF));
    return graph_bitcast_convert(g, bits, DTYPE_F32);
}

static void cut(struct graph *g, int x, int count, int *part)
{
    for (int i = 0; i < count; i++) {
        int lead = leading(g, x);

        part[i] = graph_convert(g, lead, DTYPE_BF16);
        if (i + 1 < count)
            x = graph_binary(g, HLO_SUBTRACT, x, lead);
    }
}

static int in_passes(struct graph *g, const struct graph_node *n)
{
    int count = n->precision == PRECISION_HIGH ? 2 : 3, sum = NODE_NONE;
    int lhs[PARTS_MAX], rhs[PARTS_MAX];

    cut(g, n->operand[0], count, lhs);
    cut(g, n->operand[1], count, rhs);
    for (int order = count - 1; order >= 0; order--)
        for (int i = 0; i <= order; i++) {
            int product = graph_convolution(g, lhs[i], rhs[order - i], n->window, n->conv,
                                            DTYPE_F32, PRECISION_DEFAULT);

            sum = sum == NODE_NONE ? product : graph_binary(g, HLO_ADD, sum, product);
        }
    return graph_convert(g, sum, n->shape.dtype);
}

static bool has_scalar_operand(const struct graph *g, const struct graph_node *n)
{
    bool found = false;

    if (graph_op_kind(n->op) != KIND_OTHER || n->shape.rank == 0)
        return false;
    for (int i = 0; i < n->operand_count; i++)
        found |= g->node[n->operand[i]].shape.rank == 0;
    return found;
}

static void spread_scalars(struct graph *g, struct graph_node *n)
{
    for (int i = 0; i < n->operand_count; i++) {
        struct shape s = n->shape;

        s.dtype = g->node[n->operand[i]].shape.dtype;
        if (g->node[n->operand[i]].shape.rank == 0)
            n->operand[i] = graph_broadcast(g, n->operand[i], s, NULL);
    }
}

static int expand(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    const struct pass_context *c = user;
    bool has_dots = chip_matmul_cycles(c->chip, MATRIX_S8) && chip_push_cycles(c->chip, MATRIX_S8);
    bool is_f32 = n->operand_count && w->to.node[n->operand[0]].shape.dtype == DTYPE_F32;
    int first;

    (void)node;
    if ((n->op == HLO_CONVOLUTION || n->op == HLO_DOT) && !is_f32)
        n->precision = PRECISION_DEFAULT;
    if (graph_op_kind(n->op) == KIND_COLLECTIVE)
        return expand_collective(&w->to, n, c->replica_count);
    first = expand_bytes(&w->to, n, has_dots);
    if (first == NODE_NONE)
        first = expand_small(&w->to, n, has_dots);
    if (first == NODE_NONE)
        first = expand_single(&w->to, n, c->vmem_rows);
    if (first == NODE_NONE)
        first = expand_lookup(&w->to, n);
    if (first == NODE_NONE)
        first = expand_columns(&w->to, n);
    if (first == NODE_NONE)
        first = expand_filter(&w->to, n);
    if (first == NODE_NONE)
        first = expand_planes(&w->to, n);
    if (first == NODE_NONE)
        first = expand_shifts(&w->to, n, c->vmem_rows);
    if (first == NODE_NONE)
        first = expand_patches(&w->to, n);
    if (first == NODE_NONE && n->op == HLO_CONVOLUTION && n->precision == PRECISION_DEFAULT)
        first = expand_first_layer(&w->to, n, conv_has_gradients_by_kernel(w->from));
    if (first == NODE_NONE && n->op == HLO_CONVOLUTION && n->precision == PRECISION_DEFAULT)
        first = expand_turned(&w->to, n);
    if (first != NODE_NONE)
        return first;
    if (n->op == HLO_CONVOLUTION && n->precision != PRECISION_DEFAULT)
        return in_passes(&w->to, n);
    if (has_scalar_operand(&w->to, n))
        spread_scalars(&w->to, n);
    return NODE_NONE;
}

int pass_expand(struct graph *g, const struct pass_context *c, struct err *e)
{
    (void)e;
    expand_tops(g);
    rewrite_each(g, expand, c);
    return 0;
}
