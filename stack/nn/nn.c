/* Writes elementwise functions, softmaxes and losses as nodes. */
#include "stack/nn/nn.h"

#include "stack/nn/nn_impl.h"

#include <math.h>

#define SQRT_HALF 0.70710678118654752
#define SQRT_2_OVER_PI 0.79788456080286536
#define GELU_CUBE 0.044715

int nn_add(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_ADD, a, b);
}

int nn_multiply(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_MULTIPLY, a, b);
}

int nn_subtract(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_SUBTRACT, a, b);
}

int nn_scale(struct graph *g, int a, double factor)
{
    return nn_multiply(g, a, graph_splat(g, a, factor));
}

int nn_shift(struct graph *g, int a, double term)
{
    return nn_add(g, a, graph_splat(g, a, term));
}

int nn_relu(struct graph *g, int x)
{
    return graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, 0.0));
}

int nn_silu(struct graph *g, int x)
{
    return nn_multiply(g, x, graph_unary(g, HLO_LOGISTIC, x));
}

/* x / 2 (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) for the erf */
int nn_gelu(struct graph *g, int x, bool is_approximate)
{
    int inner;

    if (is_approximate) {
        inner = nn_multiply(g, x, nn_multiply(g, x, x));
        inner = nn_scale(g, nn_add(g, x, nn_scale(g, inner, GELU_CUBE)), SQRT_2_OVER_PI);
        inner = graph_unary(g, HLO_TANH, inner);
    } else {
        inner = graph_unary(g, HLO_ERF, nn_scale(g, x, SQRT_HALF));
    }
    int third = nn_shift(g, inner, 1.0);
    return nn_multiply(g, nn_scale(g, x, 0.5), third);
}

int nn_spread(struct graph *g, int vector, int like)
{
    struct shape shape = g->node[like].shape;
    int dims[GRAPH_RANK_MAX], rank = g->node[vector].shape.rank;

    shape.dtype = g->node[vector].shape.dtype;
    for (int i = 0; i < rank; i++)
        dims[i] = shape.rank - rank + i;
    return rank == shape.rank ? vector : graph_broadcast(g, vector, shape, dims);
}

uint32_t nn_last_dim(const struct graph *g, int x)
{
    return 1u << (g->node[x].shape.rank - 1);
}

int nn_spread_kept(struct graph *g, int a, int like, uint32_t reduced)
{
    struct shape shape = g->node[like].shape;
    int dims[GRAPH_RANK_MAX], count = 0;

    shape.dtype = g->node[a].shape.dtype;
    for (int i = 0; i < shape.rank; i++)
        if (!(reduced & (1u << i)))
            dims[count++] = i;
    return graph_broadcast(g, a, shape, dims);
}

int nn_mean(struct graph *g, int x, uint32_t mask)
{
    const struct shape *shape = &g->node[x].shape;
    int64_t count = 1;

    for (int i = 0; i < shape->rank; i++)
        if (mask & (1u << i))
            count *= shape->dim[i];
    x = graph_reduce(g, REDUCE_ADD, graph_convert(g, x, DTYPE_F32), mask);
    return nn_scale(g, x, 1.0 / (double)count);
}

/*
 * x less its maximum along the last dimension, in f32. What is made of it does not depend on the
 * number taken away, so no gradient goes through the maximum, as in the libraries.
 */
static int less_largest(struct graph *g, int x)
{
    uint32_t last = nn_last_dim(g, x);
    int largest;

    x = graph_convert(g, x, DTYPE_F32);
    largest = graph_hold(g, graph_reduce(g, REDUCE_MAX, x, last));
    return nn_subtract(g, x, nn_spread_kept(g, largest, x, last));
}

int nn_softmax(struct graph *g, int x)
{
    uint32_t last = nn_last_dim(g, x);
    enum graph_dtype dtype = g->node[x].shape.dtype;
    int e = graph_unary(g, HLO_EXP, less_largest(g, x));
    int sum = graph_reduce(g, REDUCE_ADD, e, last);

    e = graph_binary(g, HLO_DIVIDE, e, nn_spread_kept(g, sum, e, last));
    return graph_convert(g, e, dtype);
}

/* logarithm of the sum of e^z over the last dimension */
static int log_sum(struct graph *g, int z)
{
    return graph_unary(g, HLO_LOG, graph_reduce(g, REDUCE_ADD, graph_unary(g, HLO_EXP, z),
                                                nn_last_dim(g, z)));
}

int nn_log_softmax(struct graph *g, int x)
{
    int z = less_largest(g, x);

    return nn_subtract(g, z, nn_spread_kept(g, log_sum(g, z), z, nn_last_dim(g, z)));
}

/* predicate [.., classes]: where the index of the last dimension is the label */
static int is_label(struct graph *g, int labels, int64_t classes)
{
    struct shape shape = g->node[labels].shape;
    uint32_t last = 1u << shape.rank;
    int index;

    shape.dim[shape.rank++] = classes;
    index = graph_iota(g, shape, shape.rank - 1);
    return graph_compare(g, COMPARE_EQ, nn_spread_kept(g, labels, index, last), index);
}

int nn_one_hot(struct graph *g, int labels, int64_t classes, enum graph_dtype dtype)
{
    return graph_convert(g, is_label(g, labels, classes), dtype);
}

int nn_cross_entropy(struct graph *g, int logits, int labels)
{
    const struct shape *shape = &g->node[logits].shape;
    int64_t classes = shape->dim[shape->rank - 1];
    int z = less_largest(g, logits), own, loss;

    int fourth = graph_splat(g, z, 0.0);
    own = graph_select(g, is_label(g, labels, classes), z, fourth);
    own = graph_reduce(g, REDUCE_ADD, own, nn_last_dim(g, z));
    loss = nn_subtract(g, log_sum(g, z), own);
    return nn_mean(g, loss, (1u << g->node[loss].shape.rank) - 1);
}

int nn_accuracy(struct graph *g, int logits, int labels)
{
    int best = graph_reduce(g, REDUCE_ARGMAX, logits, nn_last_dim(g, logits));
    int is_right = graph_convert(g, graph_compare(g, COMPARE_EQ, best, labels), DTYPE_F32);

    return nn_mean(g, is_right, (1u << g->node[is_right].shape.rank) - 1);
}

/* kept where 32 random bits, as a number, lie below the probability to keep times 2^32 */
int nn_dropout(struct graph *g, int x, double rate, int seed, int64_t stream)
{
    double limit = floor((1.0 - rate) * 0x1p32);
    int bits, is_kept;

    if (rate <= 0.0)
        return x;
    bits = graph_rng_bits(g, g->node[x].shape, seed, stream);
    is_kept = graph_compare(g, COMPARE_LT, bits, graph_splat(g, bits, limit));
    int fourth = graph_splat(g, x, 0.0);
    return graph_select(g, is_kept, nn_scale(g, x, 1.0 / (1.0 - rate)), fourth);
}
