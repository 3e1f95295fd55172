/* Writes products as nodes: dense layers, convolutions, pooling, embeddings, attention. */
#include "stack/nn/nn_impl.h"

#include <assert.h>
#include <math.h>

#define MASKED -2.3819763e38            /* finite, so that no NaN comes of it; fits bf16 */

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
                         struct graph_window windows[4])
{
    for (int i = 0; i < 4; i++)
        windows[i] = (struct graph_window){.size = 1, .stride = 1, .base_dilation = 1,
                                           .window_dilation = 1};
    for (int i = 0; i < 2; i++)
        windows[1 + i] = window_of(w, i, g->node[x].shape.dim[1 + i], w->size[i]);
}

int nn_max_pool(struct graph *g, int x, const struct nn_window *w)
{
    struct graph_window windows[4];

    pool_windows(g, x, w, windows);
    return graph_reduce_window(g, REDUCE_MAX, x, windows);
}

/* each sum by the number of elements that it saw */
int nn_average_pool(struct graph *g, int x, const struct nn_window *w)
{
    struct graph_window windows[4];
    int sum, count;

    pool_windows(g, x, w, windows);
    sum = graph_reduce_window(g, REDUCE_ADD, x, windows);
    if (w->padding == NN_VALID)
        return nn_scale(g, sum, 1.0 / (double)(w->size[0] * w->size[1]));
    count = graph_reduce_window(g, REDUCE_ADD, graph_splat(g, x, 1.0), windows);
    return graph_binary(g, HLO_DIVIDE, sum, count);
}

/* ---- attention ---- */

/* scores [.., query, key]: a position sees itself and those before it */
static int mask_future(struct graph *g, int scores)
{
    struct shape s = g->node[scores].shape;
    int rows, columns, is_seen;

    s.dtype = DTYPE_S32;
    rows = graph_iota(g, s, s.rank - 2);
    columns = graph_iota(g, s, s.rank - 1);
    is_seen = graph_compare(g, COMPARE_GE, rows, columns);
    return graph_select(g, is_seen, scores, graph_splat(g, scores, MASKED));
}

int nn_attention(struct graph *g, int q, int k, int v, bool is_causal)
{
    enum graph_dtype dtype = g->node[q].shape.dtype;
    double width = (double)g->node[q].shape.dim[3];
    struct graph_dot score = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                              .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot mix = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {1}};
    int s = graph_dot_general(g, q, k, &score, DTYPE_F32, PRECISION_DEFAULT);

    s = nn_scale(g, s, 1.0 / sqrt(width));
    if (is_causal)
        s = mask_future(g, s);
    s = graph_convert(g, nn_softmax(g, s), dtype);
    s = graph_dot_general(g, s, v, &mix, dtype, PRECISION_DEFAULT);
    return graph_transpose(g, s, (int[]){0, 2, 1, 3});
}

/* cosine or sine of position times frequency, [positions, width / 2] spread over x's half */
static int angles(struct graph *g, enum graph_op op, struct shape half, double base)
{
    int64_t count = half.dim[3];
    struct shape table = shape_make(DTYPE_F32, 2, (int64_t[]){half.dim[1], count});
    struct shape row = shape_make(DTYPE_F32, 1, &count);
    float *frequency = arena_array(g->arena, (size_t)count, sizeof(*frequency));
    int angle;

    for (int64_t i = 0; i < count; i++)
        frequency[i] = (float)pow(base, -(double)i / (double)count);
    angle = graph_broadcast(g, graph_literal(g, row, frequency), table, (int[]){1});
    angle = graph_unary(g, op, nn_multiply(g, graph_iota(g, table, 0), angle));
    half.dtype = DTYPE_F32;
    return graph_broadcast(g, angle, half, (int[]){1, 3});
}

int nn_rope(struct graph *g, int x, double base)
{
    struct shape s = g->node[x].shape, half = s;
    int64_t start[4] = {0}, middle[4] = {0};
    int a, b, cosine, sine, wide = graph_convert(g, x, DTYPE_F32);

    assert(s.rank == 4 && s.dim[3] % 2 == 0);
    half.dim[3] = middle[3] = s.dim[3] / 2;
    a = graph_slice(g, wide, start, half.dim, NULL);
    b = graph_slice(g, wide, middle, s.dim, NULL);
    cosine = angles(g, HLO_COSINE, half, base);
    sine = angles(g, HLO_SINE, half, base);
    x = graph_concatenate(g, (int[]){
        nn_subtract(g, nn_multiply(g, a, cosine), nn_multiply(g, b, sine)),
        nn_add(g, nn_multiply(g, b, cosine), nn_multiply(g, a, sine))}, 2, 3);
    return graph_convert(g, x, s.dtype);
}
