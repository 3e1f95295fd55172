/* Counts the operations that an evaluation of a graph costs. */
#include "stack/mosaic/mosaic.h"
#include "stack/hlo/graph.h"

/*
 * Positions where taps of this window meet an element of the operand, over all
 * places of the window: neither padding nor a hole between dilated elements.
 */
static int64_t valid_taps(const struct graph_window *w, int64_t length, int64_t places)
{
    int64_t count = 0;

    for (int64_t tap = 0; tap < w->size; tap++)
        for (int64_t place = 0; place < places; place++) {
            int64_t at = place * w->stride + tap * w->window_dilation - w->pad_low;

            count += at >= 0 && at % w->base_dilation == 0 && at / w->base_dilation < length;
        }
    return count;
}

static int64_t dot_flops(const struct graph *g, const struct graph_node *n)
{
    const struct shape *a = &g->node[n->operand[0]].shape;
    int64_t flops = 2 * shape_elems(&n->shape);

    for (int i = 0; i < n->dot.contract_count; i++)
        flops *= a->dim[n->dot.lhs_contract[i]];
    return flops;
}

static int64_t convolution_flops(const struct graph *g, const struct graph_node *n)
{
    const struct shape *a = &g->node[n->operand[0]].shape, *b = &g->node[n->operand[1]].shape;
    const struct graph_conv *c = n->conv;
    int64_t flops = 2 * n->shape.dim[c->out_batch] * n->shape.dim[c->out_feature] *
                    b->dim[c->kernel_in];

    for (int i = 0; i < c->spatial_count; i++)
        flops *= valid_taps(&n->window[i], a->dim[c->in_spatial[i]],
                            n->shape.dim[c->out_spatial[i]]);
    return flops;
}

static int64_t window_flops(const struct graph *g, const struct graph_node *n)
{
    const struct shape *a = &g->node[n->operand[0]].shape;
    const struct shape *places = &g->node[n->operand[n->op == HLO_SELECT_AND_SCATTER]].shape;
    int64_t flops = 1;

    if (n->op == HLO_REDUCE_WINDOW)
        places = &n->shape;
    for (int i = 0; i < a->rank; i++)
        flops *= valid_taps(&n->window[i], a->dim[i], places->dim[i]);
    return flops;
}

static int64_t call_flops(const struct graph_node *n)
{
    int64_t first, second;

    if (n->op == HLO_MOSAIC)
        return n->mosaic->cost.flops;   /* what its author says */
    first = graph_flops(n->called[0]);
    second = n->called[1] ? graph_flops(n->called[1]) : 0;
    if (n->op == HLO_CONDITIONAL)
        return first > second ? first : second;
    if (n->op == HLO_WHILE)
        return n->count == GRAPH_TRIPS_UNKNOWN ? first + second : first * n->count;
    return first;
}

int64_t graph_node_flops(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];

    switch (graph_op_kind(n->op)) {
    case KIND_UNARY:
        return graph_op_traits(n->op) & TRAIT_SAME_BITS ? 0 : shape_elems(&n->shape);
    case KIND_BINARY:
    case KIND_OTHER:
        return shape_elems(&n->shape);
    case KIND_DOT:
        return dot_flops(g, n);
    case KIND_CONV:
        return convolution_flops(g, n);
    case KIND_REDUCE:
        return shape_elems(&g->node[n->operand[0]].shape);
    case KIND_WINDOW:
        return window_flops(g, n);
    case KIND_INDEX:
        return n->op == HLO_SCATTER && n->reduce_kind != REDUCE_REPLACE
                   ? shape_elems(&g->node[n->operand[2]].shape) : 0;
    case KIND_CALL:
        return call_flops(n);
    case KIND_SOURCE:
    case KIND_SHAPE:
    case KIND_SORT:
    case KIND_TUPLE:
    case KIND_COLLECTIVE:
    case KIND_MESSAGE:
        break;
    }
    return 0;
}

int64_t graph_flops(const struct graph *g)
{
    int64_t flops = 0;

    for (int i = 0; i < g->node_count; i++)
        flops += graph_node_flops(g, i);
    return flops;
}
