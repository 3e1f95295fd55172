/* Builds the layers of several inputs. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

/* the larger of two sizes, or -1 if neither is 1 and they differ */
static int64_t common_size(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}

int layer_widen(struct shape *all, const struct shape *in)
{
    int more = in->rank - all->rank;

    for (int i = all->rank - 1; i >= 0 && more > 0; i--)
        all->dim[i + more] = all->dim[i];
    for (int i = 0; i < more; i++)
        all->dim[i] = 1;
    all->rank += more > 0 ? more : 0;
    for (int i = 0; i < in->rank; i++) {
        int64_t *size = &all->dim[all->rank - in->rank + i];

        *size = common_size(*size, in->dim[i]);
        if (*size < 0)
            return -1;
    }
    return 0;
}

static int shape_merge(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    char first[160], other[160];

    *out = in[0];
    for (int i = 1; i < count; i++)
        if (layer_widen(out, &in[i]) != 0)
            return layer_fail(l, e, "its inputs' samples have shapes %s and %s; sizes must be "
                              "equal, or 1 where one of them is to be repeated",
                              layer_shape_text(&in[0], first, sizeof(first)),
                              layer_shape_text(&in[i], other, sizeof(other)));
    return 0;
}

int layer_spread(struct graph *g, int x, const struct shape *sample)
{
    struct shape s = g->node[x].shape, to = s, kept = s;
    int dims[GRAPH_RANK_MAX] = {0}, missing = sample->rank - (s.rank - 1);

    to.rank = sample->rank + 1;
    for (int i = 0; i < sample->rank; i++)
        to.dim[1 + i] = sample->dim[i];
    kept.rank = 1;
    for (int i = 1; i < s.rank; i++)
        if (s.dim[i] == to.dim[i + missing]) {
            dims[kept.rank] = i + missing;
            kept.dim[kept.rank++] = s.dim[i];
        }
    if (kept.rank == to.rank)
        return x;
    return graph_broadcast(g, graph_reshape(g, x, kept), to, dims);
}

static enum graph_op operation(enum layer_kind kind)
{
    switch (kind) {
    case LAYER_SUBTRACT: return HLO_SUBTRACT;
    case LAYER_MULTIPLY: return HLO_MULTIPLY;
    case LAYER_MAXIMUM: return HLO_MAXIMUM;
    case LAYER_MINIMUM: return HLO_MINIMUM;
    default: return HLO_ADD;
    }
}

static int call_merge(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape all = {.rank = 0};
    int x;

    for (int i = 0; i < c->input_count; i++) {
        struct shape sample = g->node[c->input[i]].shape;

        sample.rank--;
        for (int d = 0; d < sample.rank; d++)
            sample.dim[d] = sample.dim[d + 1];
        layer_widen(&all, &sample);           /* shape_merge has refused what does not spread */
    }
    layer_source(c, layer_class(c->layer->kind));
    x = layer_spread(g, c->input[0], &all);
    if (c->layer->kind == LAYER_CUSTOM_SCALE)
        return nn_add(g, x, nn_scale(g, layer_spread(g, c->input[1], &all), c->layer->c.alpha));
    for (int i = 1; i < c->input_count; i++)
        x = graph_binary(g, operation(c->layer->kind), x, layer_spread(g, c->input[i], &all));
    return c->layer->kind == LAYER_AVERAGE ? nn_scale(g, x, 1.0 / c->input_count) : x;
}

const struct layer_functions layer_merge = {shape_merge, NULL, call_merge};

/* of samples; Keras counts the batch as dimension 0. -1: there is none */
static int joined_dim(const struct layer *l, int rank)
{
    int64_t dim = l->c.axis < 0 ? rank + l->c.axis : l->c.axis - 1;

    return l->c.axis == 0 || dim < 0 || dim >= rank ? -1 : (int)dim;
}

static int shape_concatenate(const struct layer *l, const struct shape *in, int count,
                             struct shape *out, struct err *e)
{
    int dim = joined_dim(l, in[0].rank);
    char first[160], other[160];

    if (dim < 0)
        return layer_fail(l, e, "\"axis\" is %" PRId64 ", which samples of shape %s have not; the "
                          "batch is 0", l->c.axis, layer_shape_text(&in[0], first, sizeof(first)));
    *out = in[0];
    for (int i = 1; i < count; i++) {
        struct shape same = in[i];

        same.dim[dim] = in[0].dim[dim];
        if (!shape_same_dims(&in[0], &same))
            return layer_fail(l, e, "its inputs' samples have shapes %s and %s; they may differ "
                              "in dimension %d only",
                              layer_shape_text(&in[0], first, sizeof(first)),
                              layer_shape_text(&in[i], other, sizeof(other)), dim + 1);
        out->dim[dim] += in[i].dim[dim];
    }
    return 0;
}

static int call_concatenate(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int rank = g->node[c->input[0]].shape.rank - 1;

    layer_source(c, "Concatenate");
    return graph_concatenate(g, c->input, c->input_count, 1 + joined_dim(c->layer, rank));
}

const struct layer_functions layer_concatenate = {shape_concatenate, NULL, call_concatenate};
