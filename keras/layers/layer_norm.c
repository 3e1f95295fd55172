/* Builds normalisations over the batch and along the last dimension. */
#include "keras/layers/layer_impl.h"

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
    if (!layer_learns(c))
        return nn_batch_norm_inference(g, c->input[0], gamma, beta,
                                       layer_read(c, moving(c->layer, MOVING_MEAN)),
                                       layer_read(c, moving(c->layer, MOVING_VARIANCE)),
                                       l->epsilon);
    n = nn_batch_norm_training(g, c->input[0], gamma, beta, l->epsilon, is_synchronized,
                               c->t->replica_count);
    layer_source(c, "AssignMovingAvg");
    follow(c, MOVING_MEAN, n.mean);
    follow(c, MOVING_VARIANCE, n.variance);
    return n.y;
}

const struct layer_functions layer_batch_norm = {shape_norm, build_batch_norm, call_batch_norm};

static int call_layer_norm(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    int gamma = vector_of(c, l->is_scaled, 0, 1.0);
    int beta = vector_of(c, l->is_centered, l->is_scaled ? 1 : 0, 0.0);

    layer_source(c, "LayerNorm");
    return nn_layer_norm(&c->t->graph, c->input[0], gamma, beta, l->epsilon);
}

const struct layer_functions layer_layer_norm = {shape_norm, build_scale, call_layer_norm};
