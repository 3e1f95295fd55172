/* Writes the gradients of operations that move data by a fixed rule. */
#include "stack/grad/grad_impl.h"

static int of_transpose(struct graph *g, const struct graph_node *n, int dy)
{
    int back[GRAPH_RANK_MAX];

    for (int i = 0; i < n->shape.rank; i++)
        back[n->dims[i]] = i;
    return graph_transpose(g, dy, back);
}

static int of_broadcast(struct graph *g, const struct graph_node *n, int dy)
{
    uint32_t new_dims = (1u << n->shape.rank) - 1;

    for (int i = 0; i < g->node[n->operand[0]].shape.rank; i++)
        new_dims &= ~(1u << n->dims[i]);
    return new_dims ? graph_reduce(g, REDUCE_ADD, dy, new_dims) : dy;
}

static int zero_like(struct graph *g, int node)
{
    return graph_constant(g, shape_scalar(g->node[node].shape.dtype), 0.0);
}

/* back to where the elements came from, with zeros around and between */
static int of_slice(struct graph *g, const struct graph_node *n, int dy)
{
    int64_t high[GRAPH_RANK_MAX], between[GRAPH_RANK_MAX];
    const struct shape *a = &g->node[n->operand[0]].shape;

    for (int i = 0; i < a->rank; i++) {
        high[i] = a->dim[i] - (n->start[i] + (n->shape.dim[i] - 1) * n->stride[i] + 1);
        between[i] = n->stride[i] - 1;
    }
    return graph_pad(g, dy, zero_like(g, dy), n->start, high, between);
}

/* the padding cut off again, and where it was negative zeros put back */
static int of_padded(struct graph *g, const struct graph_node *n, int dy)
{
    int64_t low[GRAPH_RANK_MAX], high[GRAPH_RANK_MAX];
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];
    bool has_gaps = false;
    int da;

    for (int i = 0; i < n->shape.rank; i++) {
        low[i] = -n->low[i];
        high[i] = -n->high[i];
        stride[i] = n->interior[i] + 1;
        has_gaps = has_gaps || n->interior[i] > 0;
    }
    da = graph_pad(g, dy, zero_like(g, dy), low, high, NULL);
    for (int i = 0; i < n->shape.rank; i++)
        limit[i] = g->node[da].shape.dim[i];
    return has_gaps ? graph_slice(g, da, start, limit, stride) : da;
}

/* the padding value gets what the operand does not */
static void give_pad(struct grad *gr, const struct graph_node *n, int dy)
{
    uint32_t all = (1u << n->shape.rank) - 1;
    int da = of_padded(gr->g, n, dy), rest;

    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, da);
    if (!grad_wants(gr, n, 1))
        return;
    int fourth = graph_reduce(gr->g, REDUCE_ADD, da, all);
    rest = graph_binary(gr->g, HLO_SUBTRACT, graph_reduce(gr->g, REDUCE_ADD, dy, all), fourth);
    grad_accumulate(gr, n, 1, rest);
}

static void give_concatenate(struct grad *gr, const struct graph_node *n, int dy)
{
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int i = 0; i < n->shape.rank; i++)
        limit[i] = n->shape.dim[i];
    for (int k = 0; k < n->operand_count; k++) {
        limit[n->dim] = start[n->dim] + gr->g->node[n->operand[k]].shape.dim[n->dim];
        if (grad_wants(gr, n, k))
            grad_accumulate(gr, n, k, graph_slice(gr->g, dy, start, limit, NULL));
        start[n->dim] = limit[n->dim];
    }
}

bool grad_move(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph *g = gr->g;

    switch (n->op) {
    case HLO_RESHAPE:
        grad_accumulate(gr, n, 0, graph_reshape(g, dy, g->node[n->operand[0]].shape));
        break;
    case HLO_TRANSPOSE: grad_accumulate(gr, n, 0, of_transpose(g, n, dy)); break;
    case HLO_BROADCAST: grad_accumulate(gr, n, 0, of_broadcast(g, n, dy)); break;
    case HLO_SLICE: grad_accumulate(gr, n, 0, of_slice(g, n, dy)); break;
    case HLO_REVERSE: grad_accumulate(gr, n, 0, graph_reverse(g, dy, n->dims, n->dim)); break;
    case HLO_PAD: give_pad(gr, n, dy); break;
    case HLO_CONCATENATE: give_concatenate(gr, n, dy); break;
    default: return false;
    }
    return true;
}
