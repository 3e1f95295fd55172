/* Writes normalisations, with mean and mean of squares in one pass, as flax has them. */
#include "stack/nn/nn_impl.h"

/* variance from the mean of squares; rounding must not make it negative */
static int variance_of(struct graph *g, int squares, int mean)
{
    int variance = nn_subtract(g, squares, nn_multiply(g, mean, mean));

    return graph_binary(g, HLO_MAXIMUM, variance, graph_splat(g, variance, 0.0));
}

static int inverse_root(struct graph *g, int variance, double epsilon)
{
    return graph_unary(g, HLO_RSQRT, nn_shift(g, variance, epsilon));
}

int nn_layer_norm(struct graph *g, int x, int scale, int offset, double epsilon)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    uint32_t last = nn_last_dim(g, x);
    int wide = graph_convert(g, x, DTYPE_F32);
    int mean = nn_mean(g, wide, last);
    int variance = variance_of(g, nn_mean(g, nn_multiply(g, wide, wide), last), mean);
    int factor = nn_spread_kept(g, inverse_root(g, variance, epsilon), wide, last), y;

    y = nn_subtract(g, wide, nn_spread_kept(g, mean, wide, last));
    y = nn_multiply(g, y, nn_multiply(g, factor, nn_spread(g, scale, wide)));
    return graph_convert(g, nn_add(g, y, nn_spread(g, offset, wide)), dtype);
}

int nn_rms_norm(struct graph *g, int x, int scale, double epsilon)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    uint32_t last = nn_last_dim(g, x);
    int wide = graph_convert(g, x, DTYPE_F32);
    int squares = nn_mean(g, nn_multiply(g, wide, wide), last);
    int factor = nn_spread_kept(g, inverse_root(g, squares, epsilon), wide, last);

    int third = nn_spread(g, scale, wide);
    return graph_convert(g, nn_multiply(g, nn_multiply(g, wide, factor), third), dtype);
}

int nn_unit_norm(struct graph *g, int x)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    uint32_t last = nn_last_dim(g, x);
    int wide = graph_convert(g, x, DTYPE_F32);
    int squares = graph_reduce(g, REDUCE_ADD, nn_multiply(g, wide, wide), last);
    int factor = graph_unary(g, HLO_RSQRT, squares);

    factor = graph_binary(g, HLO_MINIMUM, factor, graph_splat(g, factor, 1e12));
    return graph_convert(g, nn_multiply(g, wide, nn_spread_kept(g, factor, wide, last)), dtype);
}

int nn_group_norm(struct graph *g, int x, int scale, int offset, int64_t groups, double epsilon)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    struct shape s = g->node[x].shape;
    int64_t channels = s.dim[s.rank - 1], places = shape_elems(&s) / s.dim[0] / channels;
    int64_t dims[4] = {s.dim[0], places, groups, channels / groups};
    uint32_t others = 1u << 1 | 1u << 3;
    int wide = graph_reshape(g, graph_convert(g, x, DTYPE_F32), shape_make(DTYPE_F32, 4, dims));
    int mean = nn_mean(g, wide, others);
    int variance = variance_of(g, nn_mean(g, nn_multiply(g, wide, wide), others), mean);
    int y = nn_subtract(g, wide, nn_spread_kept(g, mean, wide, others));

    y = nn_multiply(g, y, nn_spread_kept(g, inverse_root(g, variance, epsilon), wide, others));
    s.dtype = DTYPE_F32;
    y = graph_reshape(g, y, s);
    int third = nn_spread(g, offset, y);
    y = nn_add(g, nn_multiply(g, y, nn_spread(g, scale, y)), third);
    return graph_convert(g, y, dtype);
}

/* (x - mean) (scale / root) + offset */
static int normalise(struct graph *g, int x, int scale, int offset, int mean, int variance,
                     double epsilon)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    int wide = graph_convert(g, x, DTYPE_F32);
    int factor = nn_multiply(g, inverse_root(g, variance, epsilon), scale), y;

    y = nn_subtract(g, wide, nn_spread(g, mean, wide));
    y = nn_multiply(g, y, nn_spread(g, factor, wide));
    return graph_convert(g, nn_add(g, y, nn_spread(g, offset, wide)), dtype);
}

struct nn_batch_norm nn_batch_norm_training(struct graph *g, int x, int scale, int offset,
                                            double epsilon, bool is_synchronised,
                                            int replica_count)
{
    uint32_t others = nn_last_dim(g, x) - 1;
    int wide = graph_convert(g, x, DTYPE_F32);
    int mean = nn_mean(g, wide, others);
    int squares = nn_mean(g, nn_multiply(g, wide, wide), others);
    struct nn_batch_norm n;

    if (is_synchronised) {
        mean = nn_scale(g, graph_all_reduce(g, mean), 1.0 / replica_count);
        squares = nn_scale(g, graph_all_reduce(g, squares), 1.0 / replica_count);
    }
    n.mean = mean;
    n.variance = variance_of(g, squares, mean);
    n.y = normalise(g, x, scale, offset, n.mean, n.variance, epsilon);
    return n;
}

int nn_batch_norm_inference(struct graph *g, int x, int scale, int offset, int mean,
                            int variance, double epsilon)
{
    return normalise(g, x, scale, offset, mean, variance, epsilon);
}

int nn_moving_average(struct graph *g, int average, int now, double momentum)
{
    int third = nn_scale(g, now, 1.0 - momentum);
    return nn_add(g, nn_scale(g, average, momentum), third);
}
