/* Operations of keras.ops by the size of elements, and of elements at places that are computed. */
#include "keras/layers/layer_operation.h"

#include <inttypes.h>

/* the one axis, or the last where the file says none; 0: there is none */
static int axis_of(const struct layer *l, int rank)
{
    int axis = l->c.shape_count == 0 ? rank : operation_axis(l->c.shape[0], rank);

    return l->c.shape_count > 1 || axis < 0 ? 0 : axis;
}

static int check_order(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    int axis = axis_of(l, in->rank), operation = l->c.operation;
    bool says_none = l->c.shape_count == 0 && operation != OPERATION_TOP_K;

    if (!axis || says_none)
        return layer_fail(l, e, "\"axis\" must be one of its samples'; over the batch it is not "
                          "supported");
    if (operation == OPERATION_TOP_K && (l->c.alpha < 1.0 || l->c.alpha > (double)in->dim[axis - 1]))
        return layer_fail(l, e, "\"k\" must be 1..%" PRId64, in->dim[axis - 1]);
    if (operation != OPERATION_TAKE_ALONG_AXIS)
        return 0;
    if (l->c.constant[0].value || l->c.constant[1].value || count != 2 || in[0].rank != in[1].rank)
        return layer_fail(l, e, "its places must be an array with as many dimensions as its "
                          "elements");
    for (int d = 0; d < in->rank; d++)
        if (d != axis - 1 && in[0].dim[d] != in[1].dim[d])
            return layer_fail(l, e, "its places and elements differ in another dimension than "
                              "its axis");
    return 0;
}

/* `dim` stands last, or comes back from there */
static int exchange(struct graph *g, int x, int dim, bool is_back)
{
    int rank = g->node[x].shape.rank, dims[GRAPH_RANK_MAX], at = 0;

    for (int d = 0; d < rank; d++)
        if (is_back)
            dims[d] = d < dim ? d : d == dim ? rank - 1 : d - 1;
        else if (d != dim)
            dims[at++] = d;
    if (!is_back)
        dims[rank - 1] = dim;
    return dim == rank - 1 ? x : graph_transpose(g, x, dims);
}

/* places of what is sorted; of equals the first comes first */
static int sorted_places(struct graph *g, int x, int axis)
{
    struct shape s = g->node[x].shape;
    int operand[2] = {x}, sorted;

    s.dtype = DTYPE_S32;
    operand[1] = graph_iota(g, s, axis);
    sorted = graph_sort(g, operand, 2, axis, COMPARE_LT);
    return graph_tuple_element(g, sorted, 1);
}

static int median(struct graph *g, int x, int axis)
{
    int64_t size = g->node[x].shape.dim[axis];
    int sorted = graph_sort(g, &x, 1, axis, COMPARE_LT);
    int high = operation_part(g, sorted, axis, size / 2, size / 2 + 1);

    if (size % 2)
        return high;
    return nn_scale(g, nn_add(g, operation_part(g, sorted, axis, size / 2 - 1, size / 2), high), 0.5);
}

/* along the last dimension, places from the end if negative; those outside as the nearest */
static int take_along(struct graph *g, int x, int places)
{
    struct graph_gather d = {.collapsed_count = 1, .map_count = 1};
    struct shape s = g->node[places].shape;
    int last = s.rank - 1, size = (int)g->node[x].shape.dim[last], at, is_below;

    at = graph_convert(g, places, DTYPE_S32);
    is_below = graph_compare(g, COMPARE_LT, at, graph_splat(g, at, 0.0));
    at = graph_select(g, is_below, graph_binary(g, HLO_ADD, at, graph_splat(g, at, size)), at);
    s.dtype = DTYPE_S32;
    s.dim[s.rank++] = 1;
    d.collapsed_dims[0] = d.start_index_map[0] = last;
    d.index_vector_dim = last + 1;
    d.batching_count = last;
    for (int i = 0; i <= last; i++) {
        if (i < last)
            d.operand_batching[i] = d.indices_batching[i] = i;
        d.slice_sizes[i] = 1;
    }
    return graph_gather(g, x, graph_reshape(g, at, s), &d);
}

/* whole numbers as the layers around have them; no gradient goes through */
static int as_numbers(struct layer_call *c, int places)
{
    struct graph *g = &c->t->graph;

    (void)c;
    return graph_hold(g, graph_convert(g, places, DTYPE_F32));
}

static int top_k(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    int both = graph_top_k(g, x, (int64_t)c->layer->c.alpha);

    c->more[1] = as_numbers(c, graph_tuple_element(g, both, 1));
    return graph_tuple_element(g, both, 0);
}

static int call_order(struct layer_call *c, const int *operand, int count)
{
    struct graph *g = &c->t->graph;
    int x = operand[0], axis = axis_of(c->layer, g->node[x].shape.rank - 1);
    struct shape s = g->node[x].shape;
    int places;

    (void)count;
    switch (c->layer->c.operation) {
    case OPERATION_SORT: return graph_sort(g, &x, 1, axis, COMPARE_LT);
    case OPERATION_ARGSORT: return as_numbers(c, sorted_places(g, x, axis));
    case OPERATION_TOP_K: return top_k(c, x);
    case OPERATION_TAKE_ALONG_AXIS:
        places = exchange(g, operand[1], axis, false);
        x = take_along(g, exchange(g, x, axis, false), places);
        return exchange(g, x, axis, true);
    default: break;
    }
    x = median(g, x, axis);
    if (c->layer->c.keeps_dims)
        return x;
    for (int d = axis; d < s.rank - 1; d++)
        s.dim[d] = s.dim[d + 1];
    return operation_reshape(g, x, s.rank - 1, s.dim);
}

const struct operation_form operation_order = {check_order, call_order};
