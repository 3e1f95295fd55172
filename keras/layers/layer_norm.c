/* Normalisations: over the batch, along the last dimension, by groups, by given numbers. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

enum { MOVING_MEAN, MOVING_VARIANCE };

static int shape_norm(const struct layer *l, const struct shape *in, int count,
                      struct shape *out, struct err *e)
{
    (void)count;
    if (in->rank < 1)
        return layer_expect_rank(l, in, 1, "at least one dimension", e);
    *out = *in;
    out->dtype = DTYPE_F32;
    return layer_expect_last_axis(l, in, e);
}

static int64_t features_of(const struct layer *l)
{
    return l->input[0].dim[l->input[0].rank - 1];
}

static void build_scale(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;

    if (c->is_scaled)
        layer_add_weight(b, "gamma", SIZES(features_of(b->layer)), &c->kernel_initializer,
                         &c->kernel_regularizer);
    if (c->is_centered)
        layer_add_weight(b, "beta", SIZES(features_of(b->layer)), &c->bias_initializer,
                         &c->bias_regularizer);
}

/* the moving averages come behind gamma and beta */
static int moving(const struct layer *l, int which)
{
    return l->variable_count - 2 + which;
}

static void build_batch_norm(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;

    build_scale(b);
    layer_add_mean(b, "moving_mean", SIZES(features_of(b->layer)), &c->mean_initializer);
    layer_add_mean(b, "moving_variance", SIZES(features_of(b->layer)), &c->variance_initializer);
}

/* a vector of features, `place` being where it is if the layer has it */
static int vector_of(struct layer_call *c, bool has_it, int place, double otherwise)
{
    const struct shape *s = &c->t->graph.node[c->input[0]].shape;

    if (has_it)
        return layer_read(c, place);
    return graph_constant(&c->t->graph, shape_make(DTYPE_F32, 1, &s->dim[s->rank - 1]), otherwise);
}

static void follow(struct layer_call *c, int which, int now)
{
    int variable = c->layer->variable[moving(c->layer, which)];

    trace_assign(c->t, variable, nn_moving_average(&c->t->graph, trace_read(c->t, variable), now,
                                                   c->layer->c.momentum));
}

static int call_batch_norm(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    int gamma = vector_of(c, l->is_scaled, 0, 1.0);
    int beta = vector_of(c, l->is_centered, l->is_scaled ? 1 : 0, 0.0);
    bool is_synchronized = l->is_synchronized && c->t->replica_count > 1;
    struct nn_batch_norm n;

    layer_source(c, "FusedBatchNorm");
    if (!layer_learns(c)) {
        int sixth = layer_read(c, moving(c->layer, MOVING_VARIANCE));

        return nn_batch_norm_inference(g, c->input[0], gamma, beta,
                                       layer_read(c, moving(c->layer, MOVING_MEAN)), sixth,
                                       l->epsilon);
    }
    n = nn_batch_norm_training(g, c->input[0], gamma, beta, l->epsilon, is_synchronized,
                               c->t->replica_count);
    layer_source(c, "AssignMovingAvg");
    follow(c, MOVING_MEAN, n.mean);
    follow(c, MOVING_VARIANCE, n.variance);
    return n.y;
}

const struct layer_functions layer_batch_norm = {shape_norm, build_batch_norm, call_batch_norm};

/* ---- along the last dimension, or several ---- */

/* how many it normalises together */
static int joined(const struct layer *l)
{
    return l->c.shape_count > 1 ? (int)l->c.shape_count : 1;
}

static int shape_layer_norm(const struct layer *l, const struct shape *in, int count,
                            struct shape *out, struct err *e)
{
    uint32_t given = 0, last = 0;

    for (int i = 0; i < l->c.shape_count && l->c.shape_count <= in->rank; i++) {
        int64_t at = l->c.shape[i] < 0 ? l->c.shape[i] + in->rank : l->c.shape[i] - 1;

        given |= at >= 0 && at < in->rank ? 1u << at : 0;
        last |= 1u << (in->rank - 1 - i);
    }
    if (given != last || l->c.shape_count > in->rank)
        return layer_fail(l, e, "\"axis\" must be the last dimensions of its samples");
    return shape_norm(l, in, count, out, e);
}

static void build_layer_norm(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    const struct shape *in = &b->layer->input[0];
    int count = joined(b->layer);
    const int64_t *dim = &in->dim[in->rank - count];

    if (c->is_scaled)
        layer_add_weight(b, "gamma", count, dim, &c->kernel_initializer, &c->kernel_regularizer);
    if (c->is_centered)
        layer_add_weight(b, "beta", count, dim, &c->bias_initializer, &c->bias_regularizer);
}

/* the last dimensions of a node as one */
static int join_last(struct graph *g, int x, int count)
{
    struct shape s = g->node[x].shape;

    for (; count > 1; count--, s.rank--)
        s.dim[s.rank - 2] *= s.dim[s.rank - 1];
    return graph_reshape(g, x, s);
}

static int call_layer_norm(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape, joint;
    int count = joined(c->layer), x = join_last(g, c->input[0], count);
    int gamma = l->is_scaled ? join_last(g, layer_read(c, 0), count) : NODE_NONE;
    int beta = l->is_centered ? join_last(g, layer_read(c, l->is_scaled), count) : NODE_NONE;

    joint = shape_make(DTYPE_F32, 1, &g->node[x].shape.dim[g->node[x].shape.rank - 1]);
    layer_source(c, "LayerNorm");
    gamma = l->is_scaled ? gamma : graph_constant(g, joint, 1.0);
    beta = l->is_centered ? beta : graph_constant(g, joint, 0.0);
    return graph_reshape(g, nn_layer_norm(g, x, gamma, beta, l->epsilon), s);
}

const struct layer_functions layer_layer_norm = {shape_layer_norm, build_layer_norm,
                                                 call_layer_norm};

/* ---- by groups of channels ---- */

/* Keras: -1 is a group for each channel */
static int64_t group_count(const struct layer *l, const struct shape *in)
{
    return l->c.groups == -1 ? in->dim[in->rank - 1] : l->c.groups;
}

static int shape_group_norm(const struct layer *l, const struct shape *in, int count,
                            struct shape *out, struct err *e)
{
    if (shape_norm(l, in, count, out, e) != 0)
        return -1;
    if (group_count(l, in) < 1 || in->dim[in->rank - 1] % group_count(l, in) != 0)
        return layer_fail(l, e, "\"groups\" is %" PRId64 ", which must divide the input's "
                          "channels, %" PRId64 " (-1: a group for each)", l->c.groups,
                          in->dim[in->rank - 1]);
    return 0;
}

static int call_group_norm(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    int gamma = vector_of(c, l->is_scaled, 0, 1.0);
    int beta = vector_of(c, l->is_centered, l->is_scaled ? 1 : 0, 0.0);

    layer_source(c, "GroupNorm");
    return nn_group_norm(&c->t->graph, c->input[0], gamma, beta,
                         group_count(c->layer, &c->layer->input[0]), l->epsilon);
}

const struct layer_functions layer_group_norm = {shape_group_norm, build_scale, call_group_norm};

/* ---- by the root of the mean of squares; by the length ---- */

static void build_rms(struct layer_build *b)
{
    static const struct initializer ones = {.kind = INITIALIZER_ONES};

    layer_add_weight(b, "scale", SIZES(features_of(b->layer)), &ones, NULL);
}

static int call_rms_norm(struct layer_call *c)
{
    int scale = layer_read(c, 0);

    layer_source(c, "RMSNorm");
    return nn_rms_norm(&c->t->graph, c->input[0], scale, c->layer->c.epsilon);
}

const struct layer_functions layer_rms_norm = {shape_norm, build_rms, call_rms_norm};

static int call_unit_norm(struct layer_call *c)
{
    layer_source(c, "UnitNorm");
    return nn_unit_norm(&c->t->graph, c->input[0]);
}

const struct layer_functions layer_unit_norm = {shape_norm, NULL, call_unit_norm};

/* ---- ConvNeXt's factor of each feature ---- */

static int shape_layer_scale(const struct layer *l, const struct shape *in, int count,
                             struct shape *out, struct err *e)
{
    (void)count;
    if (in->rank < 1 || in->dim[in->rank - 1] != l->c.units)
        return layer_fail(l, e, "\"projection_dim\" is %" PRId64 ", its input has %" PRId64
                          " features", l->c.units, in->rank ? in->dim[in->rank - 1] : 1);
    *out = *in;
    out->dtype = DTYPE_F32;
    return 0;
}

static void build_layer_scale(struct layer_build *b)
{
    const struct initializer start = {.kind = INITIALIZER_CONSTANT, .a = b->layer->c.alpha};

    layer_add_weight(b, "gamma", SIZES(b->layer->c.units), &start, NULL);
}

static int call_layer_scale(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x = c->input[0], gamma = layer_read_cast(c, 0), last = g->node[x].shape.rank - 1;

    layer_source(c, "Scale");
    gamma = graph_broadcast(g, gamma, g->node[x].shape, &last);
    return graph_binary(g, HLO_MULTIPLY, x, gamma);
}

const struct layer_functions layer_layer_scale = {shape_layer_scale, build_layer_scale,
                                                  call_layer_scale};

/* ---- by a mean and a variance that are given, or kept as variables that do not change ---- */

#define DEVIATION_MIN 1e-7              /* Keras's epsilon, below which it does not divide */

/* the dimensions of samples, from 1, whose places each have numbers of their own; -1: no such ones */
static int find_kept(const struct layer *l, int rank, uint32_t *mask)
{
    *mask = l->c.choice ? 0 : 1u << rank;
    for (int64_t i = 0; l->c.choice && i < l->c.shape_count; i++) {
        int64_t d = l->c.shape[i] < 0 ? l->c.shape[i] + rank + 1 : l->c.shape[i];

        if (d < 1 || d > rank)
            return -1;
        *mask |= 1u << d;
    }
    return 0;
}

/* the shape of these numbers */
static struct shape kept_shape(const struct layer *l, const struct shape *in)
{
    struct shape s = {.dtype = DTYPE_F32};
    uint32_t mask;

    find_kept(l, in->rank, &mask);
    for (int d = 1; d <= in->rank; d++)
        if (mask & (1u << d))
            s.dim[s.rank++] = in->dim[d - 1];
    return s;
}

static int shape_feature_norm(const struct layer *l, const struct shape *in, int count,
                              struct shape *out, struct err *e)
{
    int64_t numbers = 1;
    struct shape kept;
    uint32_t mask;

    if (shape_norm(l, in, count, out, e) != 0)
        return -1;
    if (find_kept(l, in->rank, &mask) != 0)
        return layer_fail(l, e, "\"axis\" names what samples of %d dimensions have not; the batch "
                          "is 0, which is not supported", in->rank);
    kept = kept_shape(l, in);
    for (int d = 0; d < kept.rank; d++)
        numbers *= kept.dim[d];
    if (layer_check_reals(l, "mean", &l->c.mean, numbers, e) != 0 ||
        layer_check_reals(l, "variance", &l->c.variance, numbers, e) != 0)
        return -1;
    if ((l->c.mean.count == 0) != (l->c.variance.count == 0))
        return layer_fail(l, e, "\"mean\" and \"variance\" must both be given, or neither");
    return 0;
}

static void build_feature_norm(struct layer_build *b)
{
    static const struct initializer zeros = {.kind = INITIALIZER_ZEROS};
    static const struct initializer ones = {.kind = INITIALIZER_ONES};
    struct shape kept = kept_shape(b->layer, &b->layer->input[0]);

    if (b->layer->c.mean.count > 0)
        return;
    layer_add_mean(b, "mean", kept.rank, kept.dim, &zeros);
    layer_add_mean(b, "variance", kept.rank, kept.dim, &ones);
}

/* numbers of the file, or of a variable, as an array like x */
static int spread_kept(struct layer_call *c, const struct layer_reals *given, int place, int x)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape, sample = s, kept;
    int dims[GRAPH_RANK_MAX], count = 0, node;
    int64_t numbers = 1;
    uint32_t mask;
    float *v;

    sample.rank--;
    for (int d = 0; d < sample.rank; d++)
        sample.dim[d] = s.dim[d + 1];
    find_kept(c->layer, sample.rank, &mask);
    for (int d = 1; d < s.rank; d++)
        if (mask & (1u << d))
            dims[count++] = d;
    kept = kept_shape(c->layer, &sample);
    for (int d = 0; d < kept.rank; d++)
        numbers *= kept.dim[d];
    if (given->count == 0)
        return graph_broadcast(g, layer_read(c, place), s, dims);
    v = arena_array(g->arena, (size_t)numbers, sizeof(*v));
    for (int64_t i = 0; i < numbers; i++)
        v[i] = (float)given->value[given->count == 1 ? 0 : i];
    node = graph_literal(g, kept, v);
    return graph_broadcast(g, node, s, dims);
}

/* (x - mean) / deviation; inverse: x deviation + mean */
static int call_feature_norm(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    int x = graph_convert(g, c->input[0], DTYPE_F32), mean, deviation;

    layer_source(c, "Normalization");
    mean = spread_kept(c, &l->mean, 0, x);
    deviation = graph_unary(g, HLO_SQRT, spread_kept(c, &l->variance, 1, x));
    deviation = graph_binary(g, HLO_MAXIMUM, deviation, graph_splat(g, deviation, DEVIATION_MIN));
    if (l->is_inverse)
        x = nn_add(g, nn_multiply(g, x, deviation), mean);
    else
        x = graph_binary(g, HLO_DIVIDE, graph_binary(g, HLO_SUBTRACT, x, mean), deviation);
    return graph_convert(g, x, c->dtype);
}

const struct layer_functions layer_feature_norm = {shape_feature_norm, build_feature_norm,
                                                   call_feature_norm};
