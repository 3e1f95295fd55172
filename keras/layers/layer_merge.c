/* Builds the layers of several inputs. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

static int shape_merge(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    char first[160], other[160];

    for (int i = 1; i < count; i++)
        if (!shape_same_dims(&in[0], &in[i]))
            return layer_fail(l, e, "its inputs' samples have shapes %s and %s; they must be equal",
                              layer_shape_text(&in[0], first, sizeof(first)),
                              layer_shape_text(&in[i], other, sizeof(other)));
    *out = in[0];
    return 0;
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
    int x = c->input[0];

    layer_source(c, layer_class(c->layer->kind));
    for (int i = 1; i < c->input_count; i++)
        x = graph_binary(g, operation(c->layer->kind), x, c->input[i]);
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
