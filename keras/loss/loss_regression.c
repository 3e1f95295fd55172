/* Writes losses that compare numbers into a graph. */
#include "keras/loss/loss_impl.h"

#define LN_2 0.69314718055994531
#define NORM_LEAST 1e-7

static int subtract(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_SUBTRACT, a, b);
}

static int square(struct graph *g, int x)
{
    return nn_multiply(g, x, x);
}

static int absolute(struct graph *g, int x)
{
    return graph_unary(g, HLO_ABS, x);
}

static int huber(struct graph *g, int e, double delta)
{
    int size = absolute(g, e);
    int is_near = graph_compare(g, COMPARE_LE, size, graph_splat(g, size, delta));

    int far = nn_shift(g, nn_scale(g, size, delta), -0.5 * delta * delta);
    return graph_select(g, is_near, nn_scale(g, square(g, e), 0.5), far);
}

/* e + ln(1 + e^-2e) - ln 2 */
static int log_cosh(struct graph *g, int e)
{
    return nn_shift(g, nn_add(g, e, activation_softplus(g, nn_scale(g, e, -2.0))), -LN_2);
}

static int log_of_one_more(struct graph *g, int x)
{
    return graph_unary(g, HLO_LOG, nn_shift(g, loss_clip(g, x, LOSS_EPSILON, HUGE_BOUND), 1.0));
}

static int percentage(struct graph *g, int y, int p)
{
    int size = loss_clip(g, absolute(g, y), LOSS_EPSILON, HUGE_BOUND);

    return nn_scale(g, graph_binary(g, HLO_DIVIDE, absolute(g, subtract(g, y, p)), size), 100.0);
}

static int divergence(struct graph *g, int y, int p)
{
    y = loss_clip(g, y, LOSS_EPSILON, 1.0);
    p = loss_clip(g, p, LOSS_EPSILON, 1.0);
    return nn_multiply(g, y, graph_unary(g, HLO_LOG, graph_binary(g, HLO_DIVIDE, y, p)));
}

static int poisson(struct graph *g, int y, int p)
{
    return subtract(g, p, nn_multiply(g, y, graph_unary(g, HLO_LOG,
                                                        nn_shift(g, p, LOSS_EPSILON))));
}

/* labels of 0 are -1, as in Keras where all are 0 or 1 */
static int hinge(struct graph *g, int y, int p)
{
    int zero = graph_splat(g, y, 0.0), minus_one = graph_splat(g, y, -1.0), margin;

    y = graph_select(g, graph_compare(g, COMPARE_EQ, y, zero), minus_one, y);
    margin = nn_multiply(g, y, p);
    return nn_relu(g, subtract(g, graph_splat(g, p, 1.0), margin));
}

static int categorical_hinge(struct graph *g, int y, int p)
{
    int own = loss_sum_last(g, nn_multiply(g, y, p)), other;
    int others = nn_multiply(g, subtract(g, graph_splat(g, y, 1.0), y), p);

    other = graph_reduce(g, REDUCE_MAX, others, 1u << (g->node[others].shape.rank - 1));
    return nn_relu(g, nn_shift(g, subtract(g, other, own), 1.0));
}

/* x over its row's length */
static int unit_row(struct graph *g, int x)
{
    int squares = loss_clip(g, loss_sum_last(g, square(g, x)), NORM_LEAST * NORM_LEAST,
                            HUGE_BOUND);

    return nn_multiply(g, x, loss_spread_last(g, graph_unary(g, HLO_RSQRT, squares), x));
}

static int cosine(struct graph *g, int y, int p)
{
    int row = unit_row(g, p);
    return graph_unary(g, HLO_NEGATE,
                       loss_sum_last(g, nn_multiply(g, unit_row(g, y), row)));
}

/* what is averaged along the last dimension */
static int elements(struct graph *g, const struct loss *l, int y, int p)
{
    switch (l->kind) {
    case LOSS_MEAN_ABSOLUTE_ERROR: return absolute(g, subtract(g, y, p));
    case LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR: return percentage(g, y, p);
    case LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR:
        p = log_of_one_more(g, p);
        return square(g, subtract(g, log_of_one_more(g, y), p));
    case LOSS_HUBER: return huber(g, subtract(g, y, p), l->with.delta);
    case LOSS_LOG_COSH: return log_cosh(g, subtract(g, p, y));
    case LOSS_POISSON: return poisson(g, y, p);
    case LOSS_HINGE: return hinge(g, y, p);
    case LOSS_SQUARED_HINGE: return square(g, hinge(g, y, p));
    default: return square(g, subtract(g, y, p));
    }
}

int loss_regression(struct graph *g, const struct loss *l, int y, int p)
{
    switch (l->kind) {
    case LOSS_KL_DIVERGENCE: return loss_sum_last(g, divergence(g, y, p));
    case LOSS_CATEGORICAL_HINGE: return categorical_hinge(g, y, p);
    case LOSS_COSINE_SIMILARITY: return cosine(g, y, p);
    default: return loss_mean_last(g, elements(g, l, y, p));
    }
}
