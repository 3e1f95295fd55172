/* Selects by masks of bits, b ^ ((a ^ b) & bits), instead of a select. */
#include "keras/trace/choose.h"

#include "stack/nn/nn.h"

int choose_bits(struct graph *g, int pred)
{
    int one = graph_convert(g, pred, DTYPE_U32);

    return graph_binary(g, HLO_SUBTRACT, graph_splat(g, one, 0), one);
}

static int as_bits(struct graph *g, int a)
{
    return graph_bitcast_convert(g, a, DTYPE_U32);
}

/* b ^ ((a ^ b) & bits) */
int choose_value(struct graph *g, int bits, int a, int b)
{
    int other = as_bits(g, b), differ = graph_binary(g, HLO_XOR, as_bits(g, a), other);
    enum graph_dtype dtype = g->node[b].shape.dtype;

    differ = graph_binary(g, HLO_AND, differ, nn_spread(g, bits, differ));
    return graph_bitcast_convert(g, graph_binary(g, HLO_XOR, as_bits(g, b), differ), dtype);
}
