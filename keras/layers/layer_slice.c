/* Parts of samples, as x[:, 1:-1, 0] takes them. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

/* where the part begins and ends along a dimension of this size; false: nothing is left of it */
static bool range_of(const struct layer_config *c, int dim, int64_t size, int64_t *from, int64_t *to)
{
    bool is_given = dim < c->shape_count;
    int64_t low = is_given ? c->low[dim] : LAYER_OPEN, high = is_given ? c->high[dim] : LAYER_OPEN;

    *from = low == LAYER_OPEN ? 0 : low < 0 ? low + size : low;
    *to = high == LAYER_OPEN ? size : high < 0 ? high + size : high;
    if (is_given && (c->taken & (1u << dim)))
        return *to = *from + 1, *from >= 0 && *from < size;
    *from = *from < 0 ? 0 : *from;
    *to = *to > size ? size : *to;
    return *from < *to;
}

static int shape_slice(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    char text[160];

    (void)count;
    *out = (struct shape){.dtype = in->dtype};
    for (int d = 0; d < in->rank; d++) {
        int64_t from, to;

        if (!range_of(&l->c, d, in->dim[d], &from, &to))
            return layer_fail(l, e, "dimension %d of samples %s has no such part", d + 1,
                              layer_shape_text(in, text, sizeof(text)));
        if (d >= l->c.shape_count || !(l->c.taken & (1u << d)))
            out->dim[out->rank++] = to - from;
    }
    if (l->c.shape_count <= in->rank)
        return 0;
    return layer_fail(l, e, "it takes a part of %" PRId64 " dimensions of samples %s",
                      l->c.shape_count, layer_shape_text(in, text, sizeof(text)));
}

static int call_slice(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape, to = {.dtype = s.dtype, .rank = 1};
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX] = {s.dim[0]};
    int x;

    to.dim[0] = s.dim[0];
    for (int d = 1; d < s.rank; d++) {
        range_of(&c->layer->c, d - 1, s.dim[d], &start[d], &limit[d]);
        if (d > c->layer->c.shape_count || !(c->layer->c.taken & (1u << (d - 1))))
            to.dim[to.rank++] = limit[d] - start[d];
    }
    layer_source(c, "Slice");
    x = graph_slice(g, c->input[0], start, limit, NULL);
    return graph_reshape(g, x, to);
}

const struct layer_functions layer_slice = {shape_slice, NULL, call_slice};
