/* Pooling of sequences, images and volumes, by windows and of all places at once. */
#include "keras/layers/blend.h"
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

/* ---- as many windows as are wanted ---- */

static int shape_adaptive_pool(const struct layer *l, const struct shape *in, int count,
                               struct shape *out, struct err *e)
{
    (void)count;
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        if (blend_check(l, l->c.size[i], out->dim[i], e) != 0)
            return -1;
        out->dim[i] = l->c.size[i];
    }
    layer_sample_shape(l, out);
    return 0;
}

/* the largest of x along one dimension, between start and end */
static int largest_part(struct graph *g, int x, int axis, int64_t start, int64_t end)
{
    struct nn_window w = {.size = {1, 1, 1}, .stride = {1, 1, 1}, .padding = NN_VALID};
    const struct shape *s = &g->node[x].shape;
    int64_t low[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int d = 0; d < s->rank; d++)
        limit[d] = s->dim[d];
    low[1 + axis] = start;
    limit[1 + axis] = end;
    w.size[axis] = w.stride[axis] = end - start;
    return nn_max_pool(g, graph_slice(g, x, low, limit, NULL), &w);
}

static int adapt_largest(struct layer_call *c, int x, int axis, int64_t to, int64_t from)
{
    struct graph *g = &c->t->graph;
    int *part = arena_array(g->arena, (size_t)to, sizeof(*part));

    for (int64_t i = 0; i < to; i++)
        part[i] = largest_part(g, x, axis, adaptive_start(i, to, from), adaptive_end(i, to, from));
    return to == 1 ? part[0] : graph_concatenate(g, part, (int)to, 1 + axis);
}

/* windows that are all alike, none of which meets another */
static bool is_even(struct layer_call *c, int x, struct nn_window *w)
{
    bool is = true;

    for (int i = 0; i < layer_image_dims(c->layer->kind); i++) {
        int64_t to = c->layer->c.size[i], from = c->t->graph.node[x].shape.dim[1 + i];

        is = is && from % to == 0;
        w->size[i] = w->stride[i] = from / to;
    }
    return is;
}

static int call_adaptive_pool(struct layer_call *c)
{
    const struct layer *l = c->layer;
    struct graph *g = &c->t->graph;
    int x = layer_to_image(c, c->input[0]);
    struct nn_window even = {.padding = NN_VALID};
    bool is_max = l->kind == LAYER_ADAPTIVE_MAX_POOLING1D ||
                  l->kind == LAYER_ADAPTIVE_MAX_POOLING2D ||
                  l->kind == LAYER_ADAPTIVE_MAX_POOLING3D;

    layer_source(c, is_max ? "MaxPool" : "AvgPool");
    if (is_even(c, x, &even)) {
        x = is_max ? nn_max_pool(g, x, &even) : nn_average_pool(g, x, &even);
        return layer_from_image(c, x);
    }
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        int64_t from = g->node[x].shape.dim[1 + i], to = l->c.size[i];

        if (is_max)
            x = adapt_largest(c, x, i, to, from);
        else
            x = layer_blend(g, x, 1 + i, blend_means(g, to, from));
    }
    return graph_convert(g, layer_from_image(c, x), c->dtype);
}

const struct layer_functions layer_adaptive_pool = {shape_adaptive_pool, NULL, call_adaptive_pool};
