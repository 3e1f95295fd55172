/* Writes activations into a graph, each by Keras's formula in a form that does not overflow. */
#include "keras/functions/activation.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "stack/nn/nn.h"

#define SELU_SCALE 1.0507009873554805

static const struct {
    const char *name, *other;
    double alpha;
} kinds[] = {
#define ACTIVATION(id, name, other, alpha, meaning) {name, other, alpha},
#include "keras/functions/activations.def"
};

struct activation activation_standard(enum activation_kind kind)
{
    return (struct activation){kind, kinds[kind].alpha};
}

const char *activation_title(enum activation_kind kind)
{
    return kinds[kind].name;
}

int activation_find(const char *name, enum activation_kind *kind, struct err *e)
{
    const char *names[COUNT_OF(kinds)];
    char list[400] = "";

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t used = strlen(list);

        names[i] = kinds[i].name;
        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
        if (strcmp(name, names[i]) == 0 || strcmp(name, kinds[i].other) == 0) {
            *kind = (enum activation_kind)i;
            return 0;
        }
    }
    return err_set(e, "unknown activation \"%s\"%s; there are %s", name,
                   text_did_you_mean(name, names, COUNT_OF(kinds)).text, list);
}

static int bounded(struct graph *g, int x, double low, double high)
{
    x = graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, low));
    return graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, high));
}

/* x above 0, else `below` */
static int above(struct graph *g, int x, int below)
{
    return graph_select(g, graph_compare(g, COMPARE_GT, x, graph_splat(g, x, 0.0)), x, below);
}

/* alpha (e^(x / width) - 1), which overflows nowhere that it is used */
static int elu_below(struct graph *g, int x, double alpha, double width)
{
    int low = graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, 0.0));

    return nn_scale(g, graph_unary(g, HLO_EXPM1, nn_scale(g, low, 1.0 / width)), alpha);
}

int activation_softplus(struct graph *g, int x)
{
    int zero = graph_splat(g, x, 0.0), is_positive = graph_compare(g, COMPARE_GE, x, zero);
    int large = graph_select(g, is_positive, x, zero);
    int small = graph_select(g, is_positive, graph_unary(g, HLO_NEGATE, x), x);

    return nn_add(g, large, graph_unary(g, HLO_LOG1P, graph_unary(g, HLO_EXP, small)));
}

/* in the type of x; which is read before the graph grows */
static int log_softmax(struct graph *g, int x)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;

    return graph_convert(g, nn_log_softmax(g, x), dtype);
}

static int hard_sigmoid(struct graph *g, int x)
{
    return nn_scale(g, bounded(g, nn_shift(g, x, 3.0), 0.0, 6.0), 1.0 / 6.0);
}

static int log_sigmoid(struct graph *g, int x)
{
    return graph_unary(g, HLO_NEGATE, activation_softplus(g, graph_unary(g, HLO_NEGATE, x)));
}

static int softsign(struct graph *g, int x)
{
    return graph_binary(g, HLO_DIVIDE, x, nn_shift(g, graph_unary(g, HLO_ABS, x), 1.0));
}

/* x less what is of it within the bounds */
static int soft_shrink(struct graph *g, int x, double bound)
{
    return graph_binary(g, HLO_SUBTRACT, x, bounded(g, x, -bound, bound));
}

static int hard_shrink(struct graph *g, int x, double bound)
{
    int size = graph_unary(g, HLO_ABS, x), zero = graph_splat(g, x, 0.0);

    return graph_select(g, graph_compare(g, COMPARE_GT, size, graph_splat(g, x, bound)), x, zero);
}

static int tanh_shrink(struct graph *g, int x)
{
    return graph_binary(g, HLO_SUBTRACT, x, graph_unary(g, HLO_TANH, x));
}

static int sparse_sigmoid(struct graph *g, int x)
{
    return bounded(g, nn_scale(g, nn_shift(g, x, 1.0), 0.5), 0.0, 1.0);
}

static int sparse_plus(struct graph *g, int x)
{
    int half = nn_scale(g, nn_shift(g, bounded(g, x, -1.0, 1.0), 1.0), 0.5);
    int square = nn_multiply(g, half, half);
    int is_high = graph_compare(g, COMPARE_GE, x, graph_splat(g, x, 1.0));

    return graph_select(g, is_high, x, square);
}

/* sums up to here along the last dimension */
static int running_sum(struct graph *g, int x)
{
    struct graph_window w[GRAPH_RANK_MAX];
    const struct shape *s = &g->node[x].shape;

    for (int d = 0; d < s->rank; d++)
        w[d] = (struct graph_window){.size = 1, .stride = 1, .base_dilation = 1,
                                     .window_dilation = 1};
    w[s->rank - 1].size = s->dim[s->rank - 1];
    w[s->rank - 1].pad_low = s->dim[s->rank - 1] - 1;
    return graph_reduce_window(g, REDUCE_ADD, x, w);
}

/* of the last dimension, in its place */
static int sum_last(struct graph *g, int x)
{
    struct shape s = g->node[x].shape;
    int dims[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++)
        dims[d] = d;
    return graph_broadcast(g, graph_reduce(g, REDUCE_ADD, x, 1u << (s.rank - 1)), s, dims);
}

/*
 * The largest r numbers support it of which the r-th is above (their sum - 1) / r. The threshold is
 * the sum of their running sums, less 1, over r, as Keras 3.15.1 has it: Martins and Astudillo
 * (2016) have the last of these sums alone there.
 */
static int sparsemax(struct graph *g, int x)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    int z = graph_convert(g, x, DTYPE_F32), zero = graph_splat(g, z, 0.0);
    int sorted = graph_sort(g, &z, 1, g->node[z].shape.rank - 1, COMPARE_GT);
    int sums = running_sum(g, sorted), numbers, supports, count, threshold;

    numbers = nn_shift(g, graph_iota(g, g->node[z].shape, g->node[z].shape.rank - 1), 1.0);
    supports = graph_binary(g, HLO_DIVIDE, nn_shift(g, sums, -1.0), numbers);
    supports = graph_compare(g, COMPARE_GT, sorted, supports);
    count = sum_last(g, graph_select(g, supports, graph_splat(g, z, 1.0), zero));
    threshold = nn_shift(g, sum_last(g, graph_select(g, supports, sums, zero)), -1.0);
    threshold = graph_binary(g, HLO_DIVIDE, threshold, count);
    z = graph_binary(g, HLO_SUBTRACT, z, threshold);
    return graph_convert(g, graph_binary(g, HLO_MAXIMUM, z, zero), dtype);
}

static int squareplus(struct graph *g, int x, double b)
{
    int root = graph_unary(g, HLO_SQRT, nn_shift(g, nn_multiply(g, x, x), b));

    return nn_scale(g, nn_add(g, x, root), 0.5);
}

int activation_apply(struct graph *g, const struct activation *a, int x)
{
    switch (a->kind) {
    case ACTIVATION_RELU: return nn_relu(g, x);
    case ACTIVATION_RELU6: return bounded(g, x, 0.0, 6.0);
    case ACTIVATION_LEAKY_RELU: return above(g, x, nn_scale(g, x, a->alpha));
    case ACTIVATION_ELU: return above(g, x, elu_below(g, x, a->alpha, 1.0));
    case ACTIVATION_CELU: return above(g, x, elu_below(g, x, a->alpha, a->alpha));
    case ACTIVATION_SELU:
        return nn_scale(g, above(g, x, elu_below(g, x, a->alpha, 1.0)), SELU_SCALE);
    case ACTIVATION_GELU: return nn_gelu(g, x, false);
    case ACTIVATION_GELU_TANH: return nn_gelu(g, x, true);
    case ACTIVATION_SILU: return nn_silu(g, x);
    case ACTIVATION_TANH: return graph_unary(g, HLO_TANH, x);
    case ACTIVATION_SIGMOID: return graph_unary(g, HLO_LOGISTIC, x);
    case ACTIVATION_LOG_SIGMOID: return log_sigmoid(g, x);
    case ACTIVATION_SOFTPLUS: return activation_softplus(g, x);
    case ACTIVATION_SOFTSIGN: return softsign(g, x);
    case ACTIVATION_MISH:
        return nn_multiply(g, x, graph_unary(g, HLO_TANH, activation_softplus(g, x)));
    case ACTIVATION_HARD_SIGMOID: return hard_sigmoid(g, x);
    case ACTIVATION_HARD_SILU: return nn_multiply(g, x, hard_sigmoid(g, x));
    case ACTIVATION_HARD_TANH: return bounded(g, x, -1.0, 1.0);
    case ACTIVATION_EXPONENTIAL: return graph_unary(g, HLO_EXP, x);
    case ACTIVATION_SOFTMAX: return nn_softmax(g, x);
    case ACTIVATION_LOG_SOFTMAX: return log_softmax(g, x);
    case ACTIVATION_TANH_SHRINK: return tanh_shrink(g, x);
    case ACTIVATION_SOFT_SHRINK: return soft_shrink(g, x, a->alpha);
    case ACTIVATION_HARD_SHRINK: return hard_shrink(g, x, a->alpha);
    case ACTIVATION_SPARSE_PLUS: return sparse_plus(g, x);
    case ACTIVATION_SPARSE_SIGMOID: return sparse_sigmoid(g, x);
    case ACTIVATION_SPARSEMAX: return sparsemax(g, x);
    case ACTIVATION_SQUAREPLUS: return squareplus(g, x, a->alpha);
    case ACTIVATION_LINEAR:
    case ACTIVATION_COUNT: break;
    }
    return x;
}
