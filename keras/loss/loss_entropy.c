/* Writes cross-entropies into a graph. */
#include "keras/loss/loss_impl.h"

/* f32 logits, or NODE_NONE if there are only probabilities */
static int logits_of(struct graph *g, const struct loss *l, const struct model_result *prediction,
                     enum activation_kind last)
{
    if (l->with.from_logits != 0)
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
    int classes = graph_iota(g, index, index.rank - 1);
    own = graph_compare(g, COMPARE_EQ, loss_spread_last(g, labels, z), classes);
    own = loss_sum_last(g, graph_select(g, own, z, graph_splat(g, z, 0.0)));
    return graph_binary(g, HLO_SUBTRACT, log_sum(g, z), own);
}

int loss_smooth(struct graph *g, const struct loss *l, int y, double even)
{
    double smoothing = l->with.label_smoothing;

    y = graph_convert(g, y, DTYPE_F32);
    if (smoothing == 0.0)
        return y;
    return nn_shift(g, nn_scale(g, y, 1.0 - smoothing), smoothing * even);
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
    int z = logits_of(g, l, prediction, ACTIVATION_SOFTMAX);

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

/* of probabilities -y ln p - (1 - y) ln(1 - p) */
static int binary_elements(struct graph *g, int y, int p)
{
    int hit, miss;

    p = loss_clip(g, p, LOSS_EPSILON, 1.0 - LOSS_EPSILON);
    hit = nn_multiply(g, y, graph_unary(g, HLO_LOG, p));
    miss = graph_unary(g, HLO_LOG, one_minus(g, p));
    miss = nn_multiply(g, one_minus(g, y), miss);
    return graph_unary(g, HLO_NEGATE, nn_add(g, hit, miss));
}

/* of logits ln(1 + e^x) - y x */
int loss_binary(struct graph *g, const struct loss *l, int y,
                const struct model_result *prediction)
{
    int x = logits_of(g, l, prediction, ACTIVATION_SIGMOID), hit;

    if (x != NODE_NONE) {
        hit = nn_multiply(g, y, x);
        return loss_mean_last(g, graph_binary(g, HLO_SUBTRACT, activation_softplus(g, x), hit));
    }
    return loss_mean_last(g, binary_elements(g, y, probabilities(g, prediction)));
}

/* ----- focal ones, of probabilities */

int loss_power(struct graph *g, int x, double power)
{
    if (power == 0 || power == 1)
        return power == 1 ? x : graph_splat(g, x, 1.0);
    return power == 2 ? nn_multiply(g, x, x)
                      : graph_binary(g, HLO_POWER, x, graph_splat(g, x, power));
}

int loss_focal_binary(struct graph *g, const struct loss *l, int y, int p)
{
    double alpha = l->with.alpha.value[0];
    int hit, miss, entropy, share, x;

    if (l->with.from_logits != 0)
        p = graph_unary(g, HLO_LOGISTIC, p);
    hit = nn_multiply(g, y, p);
    miss = one_minus(g, p);
    miss = nn_multiply(g, one_minus(g, y), miss);
    entropy = binary_elements(g, y, p);
    x = loss_power(g, one_minus(g, nn_add(g, hit, miss)), l->with.gamma);
    x = nn_multiply(g, x, entropy);
    if (l->with.apply_class_balancing != 0) {
        share = nn_scale(g, one_minus(g, y), 1.0 - alpha);
        x = nn_multiply(g, x, nn_add(g, nn_scale(g, y, alpha), share));
    }
    return loss_mean_last(g, x);
}

int loss_focal_categorical(struct graph *g, const struct loss *l, int y, int p)
{
    const struct number_list *alpha = &l->with.alpha;
    float *each = arena_array(g->arena, (size_t)alpha->count, sizeof(*each));
    int x, entropy;

    if (l->with.from_logits != 0)
        p = nn_softmax(g, p);
    p = graph_binary(g, HLO_DIVIDE, p, loss_spread_last(g, loss_sum_last(g, p), p));
    p = loss_clip(g, p, LOSS_EPSILON, 1.0 - LOSS_EPSILON);
    entropy = nn_multiply(g, y, graph_unary(g, HLO_LOG, p));
    x = nn_multiply(g, loss_power(g, one_minus(g, p), l->with.gamma), entropy);
    for (int i = 0; i < alpha->count; i++)
        each[i] = (float)-alpha->value[i];
    if (alpha->count == 1)
        return nn_scale(g, loss_sum_last(g, x), -alpha->value[0]);
    x = nn_multiply(g, x, nn_spread(g, graph_literal(g, shape_make(DTYPE_F32, 1, (int64_t[]){
                                                                       alpha->count}), each), x));
    return loss_sum_last(g, x);
}

int loss_generalized(struct graph *g, const struct loss *l, int labels, int p)
{
    int own = loss_sum_last(g, nn_multiply(g, loss_one_hot(g, labels, p), p));

    return nn_scale(g, one_minus(g, loss_power(g, own, l->with.q)), 1.0 / l->with.q);
}
