/* Products: dense layers, convolutions, pooling, embeddings, positions. */
#include "stack/nn/nn_impl.h"

#include <assert.h>
#include <math.h>

int nn_dense(struct graph *g, int x, int kernel, int count)
{
    const struct shape *s = &g->node[x].shape;
    struct graph_dot dot = {.contract_count = count};

    for (int i = 0; i < count; i++) {
        dot.lhs_contract[i] = s->rank - count + i;
        dot.rhs_contract[i] = i;
    }
    return graph_dot_general(g, x, kernel, &dot, s->dtype, PRECISION_DEFAULT);
}

int nn_bias(struct graph *g, int x, int bias)
{
    return nn_add(g, x, nn_spread(g, bias, x));
}

int nn_embedding(struct graph *g, int table, int ids)
{
    struct shape s = g->node[ids].shape;
    int64_t width = g->node[table].shape.dim[1];
    struct graph_gather d = {.offset_count = 1, .offset_dims = {s.rank}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = s.rank,
                             .slice_sizes = {1, width}};

    s.dim[s.rank++] = 1;
    return graph_gather(g, table, graph_reshape(g, ids, s), &d);
}

/* ---- windows over height and width ---- */

static struct graph_window window_of(const struct nn_window *w, int axis, int64_t length,
                                     int64_t size)
{
    struct graph_window out = {.size = size, .stride = w->stride[axis], .base_dilation = 1,
                               .window_dilation = 1};
    int64_t places = (length + out.stride - 1) / out.stride;
    int64_t missing = (places - 1) * out.stride + size - length;

    if (w->padding == NN_EXPLICIT)
        out.pad_low = out.pad_high = w->pad[axis];
    if (w->padding == NN_SAME && missing > 0) {
        out.pad_low = missing / 2;
        out.pad_high = missing - out.pad_low;
    }
    return out;
}

int nn_conv2d(struct graph *g, int x, int kernel, const struct nn_window *w)
{
    const struct shape *a = &g->node[x].shape, *k = &g->node[kernel].shape;
    struct graph_conv c = {
        .spatial_count = 2, .in_batch = 0, .in_feature = 3, .in_spatial = {1, 2},
        .kernel_in = 2, .kernel_out = 3, .kernel_spatial = {0, 1}, .out_batch = 0,
        .out_feature = 3, .out_spatial = {1, 2}, .feature_groups = w->groups ? w->groups : 1,
        .batch_groups = 1};
    struct graph_window windows[2];

    for (int i = 0; i < 2; i++)
        windows[i] = window_of(w, i, a->dim[1 + i], k->dim[i]);
    return graph_convolution(g, x, kernel, windows, &c, a->dtype, PRECISION_DEFAULT);
}

static void pool_windows(const struct graph *g, int x, const struct nn_window *w,
                         struct graph_window *windows)
{
    int rank = g->node[x].shape.rank;

    for (int i = 0; i < rank; i++)
        windows[i] = (struct graph_window){.size = 1, .stride = 1, .base_dilation = 1,
                                           .window_dilation = 1};
    for (int i = 0; i < rank - 2; i++)
        windows[1 + i] = window_of(w, i, g->node[x].shape.dim[1 + i], w->size[i]);
}

int nn_max_pool(struct graph *g, int x, const struct nn_window *w)
{
    struct graph_window windows[5];

    pool_windows(g, x, w, windows);
    return graph_reduce_window(g, REDUCE_MAX, x, windows);
}

/* each sum by the number of elements that it saw */
int nn_average_pool(struct graph *g, int x, const struct nn_window *w)
{
    struct graph_window windows[5];
    double elems = 1.0;
    int sum, count;

    pool_windows(g, x, w, windows);
    for (int i = 0; i < g->node[x].shape.rank; i++)
        elems *= (double)windows[i].size;
    sum = graph_reduce_window(g, REDUCE_ADD, x, windows);
    if (w->padding == NN_VALID)
        return nn_scale(g, sum, 1.0 / elems);
    count = graph_reduce_window(g, REDUCE_ADD, graph_splat(g, x, 1.0), windows);
    return graph_binary(g, HLO_DIVIDE, sum, count);
}
