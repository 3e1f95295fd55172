/* Brings the dimensions along which an attention goes together, and puts them back. */
#include "keras/layers/attention_axes.h"

/* bit d: dimension d of a node of this rank, whose first is the batch, is one of positions; 0: an
   axis is none */
static uint32_t attended(const struct layer *l, int rank)
{
    uint32_t dims = 0;

    if (l->c.list.count == 0)
        return (1u << (rank - 1)) - 2;
    for (int64_t i = 0; i < l->c.list.count; i++) {
        double axis = l->c.list.value[i] < 0 ? l->c.list.value[i] + rank : l->c.list.value[i];

        if (!(axis >= 1 && axis < rank - 1) || axis != (double)(int)axis)
            return 0;
        dims |= 1u << (int)axis;
    }
    return dims;
}

int attention_check_axes(const struct layer *l, const struct shape *query, const struct shape *other,
                         struct err *e)
{
    uint32_t dims = attended(l, query->rank + 1);
    char a[160], b[160];

    if (dims == 0)
        return layer_fail(l, e, "\"attention_axes\" must be some of the dimensions 1..%d of its "
                          "query, of samples %s", query->rank - 1,
                          layer_shape_text(query, a, sizeof(a)));
    if (l->c.is_causal || l->c.reach > 0 || l->c.returns_scores)
        return layer_fail(l, e, "of samples %s with several dimensions of positions causal masks, "
                          "sliding windows and scores are not supported",
                          layer_shape_text(query, a, sizeof(a)));
    for (int d = 0; d < query->rank - 1 && other->rank == query->rank; d++)
        if (!(dims & (2u << d)) && query->dim[d] != other->dim[d])
            dims = 0;
    if (dims == 0 || other->rank != query->rank)
        return layer_fail(l, e, "its query has samples %s, another input %s; they may differ in "
                          "\"attention_axes\" and their width", layer_shape_text(query, a, sizeof(a)),
                          layer_shape_text(other, b, sizeof(b)));
    return 0;
}

/* dimensions in the order batch, apart, positions, width; how many come before the positions */
static int order_of(const struct layer *l, int rank, int *dims)
{
    uint32_t positions = attended(l, rank);
    int count = 0, before;

    for (int d = 0; d < rank - 1; d++)
        if (!(positions & (1u << d)))
            dims[count++] = d;
    before = count;
    for (int d = 0; d < rank - 1; d++)
        if (positions & (1u << d))
            dims[count++] = d;
    dims[count] = rank - 1;
    return before;
}

int attention_gather_axes(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    const struct shape s = g->node[x].shape;
    struct shape to = {.dtype = s.dtype, .rank = 3, .dim = {1, 1, s.dim[s.rank - 1]}};
    int dims[GRAPH_RANK_MAX], before;

    if (s.rank == 3)
        return x;
    before = order_of(c->layer, s.rank, dims);
    for (int i = 0; i < s.rank - 1; i++)
        to.dim[i < before ? 0 : 1] *= s.dim[dims[i]];
    layer_source(c, "Positions");
    return graph_reshape(g, graph_transpose(g, x, dims), to);
}

int attention_spread_axes(struct layer_call *c, int x, const struct shape *as)
{
    struct graph *g = &c->t->graph;
    struct shape apart = {.dtype = g->node[x].shape.dtype, .rank = as->rank};
    int dims[GRAPH_RANK_MAX], back[GRAPH_RANK_MAX];

    if (as->rank == 3)
        return x;
    order_of(c->layer, as->rank, dims);
    for (int i = 0; i < as->rank; i++) {
        apart.dim[i] = i < as->rank - 1 ? as->dim[dims[i]] : g->node[x].shape.dim[2];
        back[dims[i]] = i;
    }
    layer_source(c, "Positions");
    return graph_transpose(g, graph_reshape(g, x, apart), back);
}
