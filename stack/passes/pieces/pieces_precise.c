/*
 * Products of high precision, and convolutions likewise, as products of their operands' parts: a
 * kernel that makes the parts by itself keeps up to six of each tile in vector memory.
 */
#include "stack/passes/pieces/pieces.h"

#include "stack/hlo/precision.h"

static int product(struct graph *g, const struct graph_node *n, int lhs, int rhs)
{
    return n->op == HLO_DOT ? graph_dot_general(g, lhs, rhs, &n->dot, DTYPE_F32, PRECISION_DEFAULT)
                            : graph_convolution(g, lhs, rhs, n->window, n->conv, DTYPE_F32,
                                                PRECISION_DEFAULT);
}

static int with_number(struct graph *g, enum graph_op op, int word, double number)
{
    return graph_binary(g, op, word, graph_splat(g, word, number));
}

/* f32 rounded to bf16 and still f32, by its bits: of two conversions a fusion would keep neither */
static int rounded(struct graph *g, int x)
{
    int word = graph_bitcast_convert(g, x, DTYPE_U32);
    int is_odd = with_number(g, HLO_AND, with_number(g, HLO_SHIFT_RIGHT_LOGICAL, word, 16), 1);

    word = graph_binary(g, HLO_ADD, with_number(g, HLO_ADD, word, 0x7fff), is_odd);
    return graph_bitcast_convert(g, with_number(g, HLO_AND, word, 0xffff0000), DTYPE_F32);
}

/* an operand as its bf16 parts, by the rules of stack/hlo/precision.h */
static void take_parts(struct graph *g, int rest, int count, int *part)
{
    for (int i = 0; i < count; i++) {
        part[i] = graph_convert(g, rest, DTYPE_BF16);
        if (i + 1 < count)
            rest = graph_binary(g, HLO_SUBTRACT, rest, rounded(g, rest));
    }
}

int pieces_precise_product(struct graph *g, const struct graph_node *n)
{
    const struct precision_passes *passes = precision_passes(n->precision);
    int lhs[PART_COUNT], rhs[PART_COUNT], sum = NODE_NONE;

    if (passes->pass_count == 1 || n->shape.dtype != DTYPE_F32
        || g->node[n->operand[0]].shape.dtype != DTYPE_F32
        || g->node[n->operand[1]].shape.dtype != DTYPE_F32
        || (n->op == HLO_DOT && n->dot.has_order))
        return NODE_NONE;
    take_parts(g, n->operand[0], passes->part_count, lhs);
    take_parts(g, n->operand[1], passes->part_count, rhs);
    for (int i = 0; i < passes->pass_count; i++) {
        const struct precision_pass *pass = &passes->pass[i];
        int one = product(g, n, lhs[pass->lhs], rhs[pass->rhs]);

        sum = sum == NODE_NONE ? one : graph_binary(g, HLO_ADD, sum, one);
    }
    return sum;
}
