/* Writes the sum of a regulariser into a graph. */
#include "keras/functions/regularizer.h"

#include <assert.h>

#include "stack/nn/nn.h"

bool regularizer_is_none(const struct regularizer *r)
{
    return r->l1 == 0.0 && r->l2 == 0.0;
}

static int sum_of(struct graph *g, int x, double factor)
{
    return nn_scale(g, graph_reduce(g, REDUCE_ADD, x, (1u << g->node[x].shape.rank) - 1), factor);
}

int regularizer_sum(struct graph *g, const struct regularizer *r, int x)
{
    int sum = NODE_NONE, squares;

    assert(!regularizer_is_none(r));
    x = graph_convert(g, x, DTYPE_F32);
    if (r->l1 != 0.0)
        sum = sum_of(g, graph_unary(g, HLO_ABS, x), r->l1);
    if (r->l2 == 0.0)
        return sum;
    squares = sum_of(g, nn_multiply(g, x, x), r->l2);
    return sum == NODE_NONE ? squares : nn_add(g, sum, squares);
}
