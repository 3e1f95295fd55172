/* Writes the gradients of reductions and windows. */
#include "stack/grad/grad_impl.h"

static int of_extreme(struct graph *g, const struct graph_node *n, int y, int dy,
                      const int *kept)
{
    int a = n->operand[0], equal, share;
    struct shape shape = g->node[a].shape;

    equal = graph_compare(g, COMPARE_EQ, a, graph_broadcast(g, y, shape, kept));
    int fourth_2 = grad_zeros(g, a);
    share = graph_select(g, equal, graph_splat(g, a, 1.0), fourth_2);
    share = graph_reduce(g, REDUCE_ADD, share, n->reduce_mask);
    share = graph_binary(g, HLO_DIVIDE, dy, share);
    int fourth = grad_zeros(g, a);
    return graph_select(g, equal, graph_broadcast(g, share, shape, kept), fourth);
}

bool grad_reduce(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    struct shape shape = gr->g->node[n->operand[0]].shape;
    int kept[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < shape.rank; i++)
        if (!(n->reduce_mask & (1u << i)))
            kept[count++] = i;
    if (n->reduce_kind == REDUCE_ADD)
        grad_accumulate(gr, n, 0, grad_spread(gr->g, dy, &shape, kept));
    else if (n->reduce_kind == REDUCE_MAX || n->reduce_kind == REDUCE_MIN)
        grad_accumulate(gr, n, 0, of_extreme(gr->g, n, y, dy, kept));
    else
        return false;
    return true;
}

/* every place gives its gradient to all it saw: a window over dy with holes for the strides */
static int of_sum(struct graph *g, const struct graph_node *n, int dy)
{
    struct graph_window w[GRAPH_RANK_MAX];
    const struct shape *in = &g->node[n->operand[0]].shape;

    for (int i = 0; i < in->rank; i++) {
        const struct graph_window *f = &n->window[i];
        int64_t reach = (f->size - 1) * f->window_dilation;

        w[i] = *f;
        w[i].stride = f->base_dilation;
        w[i].base_dilation = f->stride;
        w[i].pad_low = reach - f->pad_low;
        w[i].pad_high = (in->dim[i] - 1) * f->base_dilation + reach -
                        (n->shape.dim[i] - 1) * f->stride - w[i].pad_low;
    }
    return graph_reduce_window(g, REDUCE_ADD, dy, w);
}

static bool is_dense(const struct graph_node *n)
{
    for (int i = 0; i < n->shape.rank; i++)
        if (n->window[i].base_dilation != 1 || n->window[i].window_dilation != 1)
            return false;
    return true;
}

bool grad_window(struct grad *gr, const struct graph_node *n, int dy)
{
    enum graph_compare first = n->reduce_kind == REDUCE_MAX ? COMPARE_GE : COMPARE_LE;

    if (n->op != HLO_REDUCE_WINDOW)
        return false;
    if (n->reduce_kind == REDUCE_ADD)
        grad_accumulate(gr, n, 0, of_sum(gr->g, n, dy));
    else if ((n->reduce_kind == REDUCE_MAX || n->reduce_kind == REDUCE_MIN) && is_dense(n))
        grad_accumulate(gr, n, 0,
                        graph_select_and_scatter(gr->g, first, n->operand[0], dy, n->window));
    else
        return false;
    return true;
}
