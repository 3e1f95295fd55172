/* Writes cross-entropies into a graph. */
#include "keras/loss/loss_impl.h"

/* f32 logits, or NODE_NONE if there are only probabilities */
static int logits_of(struct graph *g, const struct loss *l, const struct model_result *prediction,
                     enum activation_kind last)
{
    if (l->from_logits)
        return graph_convert(g, prediction->value, DTYPE_F32);
    if (prediction->logits != NODE_NONE && prediction->last == last)
        return graph_convert(g, prediction->logits, DTYPE_F32);
    return NODE_NONE;
}

static int probabilities(struct graph *g, const struct model_result *prediction)
{
    return graph_convert(g, prediction->value, DTYPE_F32);
}

/*
 * Logits less the largest of their row. No slope flows through that: adding one number to a
 * whole row changes no cross-entropy.
 */
static int less_largest(struct graph *g, int logits)
{
    int largest = graph_reduce(g, REDUCE_MAX, logits, 1u << (g->node[logits].shape.rank - 1));

    return graph_binary(g, HLO_SUBTRACT, logits,
                        loss_spread_last(g, graph_hold(g, largest), logits));
}

static int log_sum(struct graph *g, int z)
{
    return graph_unary(g, HLO_LOG, loss_sum_last(g, graph_unary(g, HLO_EXP, z)));
}

/* ln(sum of e^z) - z[label] */
int loss_sparse(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction)
{
    int z = logits_of(g, l, prediction, ACTIVATION_SOFTMAX), own;
    struct shape index;

    if (z == NODE_NONE)
        z = graph_unary(g, HLO_LOG, loss_clip(g, probabilities(g, prediction), LOSS_EPSILON,
                                              1.0 - LOSS_EPSILON));
    else
        z = less_largest(g, z);
    index = g->node[z].shape;
    index.dtype = DTYPE_S32;
    int fourth = graph_iota(g, index, index.rank - 1);
    own = graph_compare(g, COMPARE_EQ, loss_spread_last(g, labels, z), fourth);
    own = loss_sum_last(g, graph_select(g, own, z, graph_splat(g, z, 0.0)));
    return graph_binary(g, HLO_SUBTRACT, log_sum(g, z), own);
}

/* labels moved towards `even` by the smoothing */
static int smooth(struct graph *g, const struct loss *l, int y, double even)
{
    y = graph_convert(g, y, DTYPE_F32);
    if (l->label_smoothing == 0.0)
        return y;
    return nn_shift(g, nn_scale(g, y, 1.0 - l->label_smoothing), l->label_smoothing * even);
}

/* p over its row's sum, clipped */
static int log_probabilities(struct graph *g, int p)
{
    p = graph_binary(g, HLO_DIVIDE, p, loss_spread_last(g, loss_sum_last(g, p), p));
    return graph_unary(g, HLO_LOG, loss_clip(g, p, LOSS_EPSILON, 1.0 - LOSS_EPSILON));
}

int loss_categorical(struct graph *g, const struct loss *l, int y,
                     const struct model_result *prediction)
{
    const struct shape *s = &g->node[prediction->value].shape;
    double classes = (double)s->dim[s->rank - 1];
    int z = logits_of(g, l, prediction, ACTIVATION_SOFTMAX);

    y = smooth(g, l, y, 1.0 / classes);
    if (z == NODE_NONE) {
        z = log_probabilities(g, probabilities(g, prediction));
    } else {
        z = less_largest(g, z);
        z = graph_binary(g, HLO_SUBTRACT, z, loss_spread_last(g, log_sum(g, z), z));
    }
    return graph_unary(g, HLO_NEGATE, loss_sum_last(g, nn_multiply(g, y, z)));
}

static int one_minus(struct graph *g, int x)
{
    return graph_binary(g, HLO_SUBTRACT, graph_splat(g, x, 1.0), x);
}

/* of logits ln(1 + e^x) - y x */
int loss_binary(struct graph *g, const struct loss *l, int y,
                const struct model_result *prediction)
{
    int x = logits_of(g, l, prediction, ACTIVATION_SIGMOID), p, hit, miss;

    y = smooth(g, l, y, 0.5);
    if (x != NODE_NONE) {
        int fourth = nn_multiply(g, y, x);

        return loss_mean_last(g, graph_binary(g, HLO_SUBTRACT, activation_softplus(g, x), fourth));
    }
    p = loss_clip(g, probabilities(g, prediction), LOSS_EPSILON, 1.0 - LOSS_EPSILON);
    hit = nn_multiply(g, y, graph_unary(g, HLO_LOG, p));
    int third = graph_unary(g, HLO_LOG, one_minus(g, p));
    miss = nn_multiply(g, one_minus(g, y), third);
    return graph_unary(g, HLO_NEGATE, loss_mean_last(g, nn_add(g, hit, miss)));
}
