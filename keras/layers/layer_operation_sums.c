/* Operations of keras.ops along axes: sums, means, extremes, lengths. */
#include "keras/layers/layer_operation.h"

static bool is_argument(const struct layer *l)
{
    return l->c.operation == OPERATION_ARGMAX || l->c.operation == OPERATION_ARGMIN;
}

static bool is_running(const struct layer *l)
{
    return l->c.operation == OPERATION_CUMSUM || l->c.operation == OPERATION_CUMPROD;
}

static int check_sums(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    uint32_t mask;

    (void)count;
    if (operation_axes(l, in->rank, &mask, e) != 0)
        return -1;
    if ((is_argument(l) || is_running(l)) && l->c.shape_count != 1)
        return layer_fail(l, e, "\"axis\" must be one");
    if (l->c.operation == OPERATION_NORMALIZE && l->c.alpha != 2.0)
        return layer_fail(l, e, "\"order\" must be 2");
    return 0;
}

/* what operation_reduce gives as the array that it is of */
static int back(struct graph *g, int x, int like)
{
    struct shape sample = g->node[like].shape;

    sample.rank--;
    for (int d = 0; d < sample.rank; d++)
        sample.dim[d] = sample.dim[d + 1];
    return layer_spread(g, x, &sample);
}

static int mean(struct graph *g, int x, uint32_t mask)
{
    int64_t count = 1;

    for (int d = 0; d < g->node[x].shape.rank; d++)
        count *= mask & (1u << d) ? g->node[x].shape.dim[d] : 1;
    return nn_scale(g, operation_reduce(g, REDUCE_ADD, x, mask), 1.0 / (double)count);
}

static int square(struct graph *g, int x)
{
    return graph_binary(g, HLO_MULTIPLY, x, x);
}

static int variance(struct graph *g, int x, uint32_t mask)
{
    int off = graph_binary(g, HLO_SUBTRACT, x, back(g, mean(g, x, mask), x));

    return mean(g, square(g, off), mask);
}

/* by way of the largest, which changes no gradient */
static int log_sum(struct graph *g, int x, uint32_t mask)
{
    int largest = graph_hold(g, operation_reduce(g, REDUCE_MAX, x, mask));
    int off = graph_binary(g, HLO_SUBTRACT, x, back(g, largest, x));
    int sum = operation_reduce(g, REDUCE_ADD, graph_unary(g, HLO_EXP, off), mask);

    return nn_add(g, graph_unary(g, HLO_LOG, sum), largest);
}

/* Keras: x times 1 / length, at most 1 / epsilon */
static int normalize(struct graph *g, int x, uint32_t mask, double epsilon)
{
    int by = graph_unary(g, HLO_RSQRT, operation_reduce(g, REDUCE_ADD, square(g, x), mask));

    by = graph_binary(g, HLO_MINIMUM, by, graph_splat(g, by, 1.0 / epsilon));
    return graph_binary(g, HLO_MULTIPLY, x, back(g, by, x));
}

static int running_sum(struct graph *g, int x, uint32_t mask)
{
    struct graph_window w[GRAPH_RANK_MAX];
    const struct shape *s = &g->node[x].shape;

    for (int d = 0; d < s->rank; d++) {
        bool is_along = mask & (1u << d);

        w[d] = (struct graph_window){.size = is_along ? s->dim[d] : 1, .stride = 1,
                                     .pad_low = is_along ? s->dim[d] - 1 : 0, .base_dilation = 1,
                                     .window_dilation = 1};
    }
    return graph_reduce_window(g, REDUCE_ADD, x, w);
}

/* one half times the other until one is left: so a gradient is a product of others, and right where
   factors are 0 */
static int product(struct graph *g, int x, uint32_t mask)
{
    for (int d = 0; d < g->node[x].shape.rank; d++)
        while (mask & (1u << d) && g->node[x].shape.dim[d] > 1) {
            int64_t size = g->node[x].shape.dim[d], half = size / 2;
            int odd = size % 2 ? operation_part(g, x, d, size - 1, size) : NODE_NONE;
            int low = operation_part(g, x, d, 0, half), high = operation_part(g, x, d, half, 2 * half);

            x = graph_binary(g, HLO_MULTIPLY, low, high);
            if (odd != NODE_NONE)
                x = graph_concatenate(g, (int[]){x, odd}, 2, d);
        }
    return x;
}

/* each times the one 1, 2, 4, .. places before it */
static int running_product(struct graph *g, int x, uint32_t mask)
{
    int64_t low[GRAPH_RANK_MAX] = {0}, none[GRAPH_RANK_MAX] = {0}, size;
    int dim = 0, one = graph_constant(g, shape_scalar(DTYPE_F32), 1.0);

    while (!(mask & (1u << dim)))
        dim++;
    size = g->node[x].shape.dim[dim];
    for (int64_t apart = 1; apart < size; apart *= 2) {
        int before = operation_part(g, x, dim, 0, size - apart);

        low[dim] = apart;
        x = graph_binary(g, HLO_MULTIPLY, x, graph_pad(g, before, one, low, none, none));
    }
    return x;
}

/* the place of the first extreme; no gradient goes through */
static int argument(struct graph *g, enum graph_reduce kind, int x, uint32_t mask)
{
    return graph_hold(g, graph_convert(g, operation_reduce(g, kind, x, mask), DTYPE_F32));
}

/* ones where there is a truth, of which the least is for all and the largest for any */
static int truths(struct graph *g, enum graph_reduce kind, int x, uint32_t mask)
{
    int is_true = graph_convert(g, operation_is_not_zero(g, x), DTYPE_F32);

    return graph_hold(g, operation_reduce(g, kind, is_true, mask));
}

static int range(struct graph *g, int x, uint32_t mask)
{
    int most = operation_reduce(g, REDUCE_MAX, x, mask);

    return graph_binary(g, HLO_SUBTRACT, most, operation_reduce(g, REDUCE_MIN, x, mask));
}

/* x, or what it is off its mean, by the root of the mean square of that */
static int norm(struct graph *g, int x, uint32_t mask, bool is_centred, double epsilon)
{
    int by;

    if (is_centred)
        x = graph_binary(g, HLO_SUBTRACT, x, back(g, mean(g, x, mask), x));
    by = graph_unary(g, HLO_RSQRT, nn_shift(g, mean(g, square(g, x), mask), epsilon));
    return graph_binary(g, HLO_MULTIPLY, x, back(g, by, x));
}

static int make(struct graph *g, const struct layer_config *l, int x, uint32_t mask)
{
    switch (l->operation) {
    case OPERATION_SUM: return operation_reduce(g, REDUCE_ADD, x, mask);
    case OPERATION_MAX:
    case OPERATION_AMAX: return operation_reduce(g, REDUCE_MAX, x, mask);
    case OPERATION_MIN:
    case OPERATION_AMIN: return operation_reduce(g, REDUCE_MIN, x, mask);
    case OPERATION_VAR: return variance(g, x, mask);
    case OPERATION_STD: return graph_unary(g, HLO_SQRT, variance(g, x, mask));
    case OPERATION_LOGSUMEXP: return log_sum(g, x, mask);
    case OPERATION_NORM:
        return graph_unary(g, HLO_SQRT, operation_reduce(g, REDUCE_ADD, square(g, x), mask));
    case OPERATION_NORMALIZE: return normalize(g, x, mask, l->threshold);
    case OPERATION_ARGMAX: return argument(g, REDUCE_ARGMAX, x, mask);
    case OPERATION_ARGMIN: return argument(g, REDUCE_ARGMIN, x, mask);
    case OPERATION_CUMSUM: return running_sum(g, x, mask);
    case OPERATION_PROD: return product(g, x, mask);
    case OPERATION_CUMPROD: return running_product(g, x, mask);
    case OPERATION_ALL: return truths(g, REDUCE_MIN, x, mask);
    case OPERATION_ANY: return truths(g, REDUCE_MAX, x, mask);
    case OPERATION_COUNT_NONZERO: return truths(g, REDUCE_ADD, x, mask);
    case OPERATION_PTP: return range(g, x, mask);
    case OPERATION_LAYER_NORM: return norm(g, x, mask, true, l->threshold);
    case OPERATION_RMS_NORM: return norm(g, x, mask, false, l->threshold);
    default: return mean(g, x, mask);
    }
}

static bool keeps_shape(const struct layer *l)
{
    return is_running(l) || l->c.operation == OPERATION_NORMALIZE ||
           l->c.operation == OPERATION_LAYER_NORM || l->c.operation == OPERATION_RMS_NORM;
}

/* sums are f32 whatever the operand is */
static int call_sums(struct layer_call *c, const int *operand, int count)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    int x = graph_convert(g, operand[0], DTYPE_F32), rank = 0;
    struct shape s = g->node[x].shape;
    uint32_t mask;
    struct err e;

    (void)count;
    operation_axes(c->layer, s.rank - 1, &mask, &e);        /* checked before */
    x = graph_convert(g, make(g, l, x, mask), c->dtype);
    if (l->keeps_dims || keeps_shape(c->layer))
        return x;
    for (int d = 0; d < s.rank; d++)
        if (!(mask & (1u << d)))
            s.dim[rank++] = s.dim[d];
    return operation_reshape(g, x, rank, s.dim);
}

const struct operation_form operation_sums = {check_sums, call_sums};
