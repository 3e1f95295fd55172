/* Pooling of sequences, images and volumes, by windows and of all places at once. */
#include "keras/layers/layer_window.h"

/* Keras: as large as the window unless given */
static struct nn_window pool_window(const struct layer *l)
{
    struct nn_window w = {.padding = l->c.padding};

    for (int i = 0; i < layer_image_dims(l->kind); i++) {
        w.size[i] = l->c.size[i];
        w.stride[i] = l->c.strides[i] ? l->c.strides[i] : l->c.size[i];
    }
    return w;
}

static int shape_pool(const struct layer *l, const struct shape *in, int count,
                      struct shape *out, struct err *e)
{
    struct nn_window w = pool_window(l);
    struct shape image;

    (void)count;
    if (layer_image_shape(l, in, &image, e) != 0 ||
        layer_window_shape(l, &image, w.stride, out, e) != 0)
        return -1;
    layer_sample_shape(l, out);
    return 0;
}

static int call_pool(struct layer_call *c)
{
    struct nn_window w = pool_window(c->layer);
    enum layer_kind kind = c->layer->kind;
    bool is_max = kind == LAYER_MAX_POOLING1D || kind == LAYER_MAX_POOLING2D ||
                  kind == LAYER_MAX_POOLING3D;
    int x = layer_to_image(c, c->input[0]);

    layer_source(c, is_max ? "MaxPool" : "AvgPool");
    x = is_max ? nn_max_pool(&c->t->graph, x, &w) : nn_average_pool(&c->t->graph, x, &w);
    return layer_from_image(c, x);
}

const struct layer_functions layer_pool = {shape_pool, NULL, call_pool};

static int shape_global_pool(const struct layer *l, const struct shape *in, int count,
                             struct shape *out, struct err *e)
{
    int dims = layer_spatial_dims(l->kind);
    struct shape image;

    (void)count;
    if (layer_image_shape(l, in, &image, e) != 0)
        return -1;
    *out = shape_make(in->dtype, 1, &in->dim[dims]);
    if (l->c.keeps_dims) {
        *out = *in;
        for (int d = 0; d < dims; d++)
            out->dim[d] = 1;
    }
    return 0;
}

/* the mean of the steps that the mask does not leave out; of none it is no number, as in Keras */
static int masked_mean(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    int counts;

    x = graph_convert(g, x, DTYPE_F32);
    counts = graph_broadcast(g, c->mask[0], g->node[x].shape, (int[]){0, 1});
    x = graph_reduce(g, REDUCE_ADD, layer_where(g, c->mask[0], x, NODE_NONE), 1u << 1);
    counts = graph_reduce(g, REDUCE_ADD, counts, 1u << 1);
    return graph_convert(g, graph_binary(g, HLO_DIVIDE, x, counts), c->dtype);
}

static int call_global_pool(struct layer_call *c)
{
    enum layer_kind kind = c->layer->kind;
    bool is_max = kind == LAYER_GLOBAL_MAX_POOLING1D || kind == LAYER_GLOBAL_MAX_POOLING2D ||
                  kind == LAYER_GLOBAL_MAX_POOLING3D;
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape;
    uint32_t mask = 0;
    int x;

    for (int d = 1; d <= layer_spatial_dims(kind); d++) {
        mask |= 1u << d;
        s.dim[d] = 1;
    }
    layer_source(c, is_max ? "Max" : "Mean");
    if (is_max)
        x = graph_reduce(g, REDUCE_MAX, c->input[0], mask);
    else if (kind == LAYER_GLOBAL_AVERAGE_POOLING1D && c->mask[0] != NODE_NONE)
        x = masked_mean(c, c->input[0]);
    else
        x = graph_convert(g, nn_mean(g, c->input[0], mask), c->dtype);
    return c->layer->c.keeps_dims ? graph_reshape(g, x, s) : x;
}

const struct layer_functions layer_global_pool = {shape_global_pool, NULL, call_global_pool};
