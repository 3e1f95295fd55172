/* Makes a kernel's largest singular value 1, nearly. */
#include "keras/layers/spectral.h"

bool spectral_takes(enum layer_kind kind)
{
    const struct layer_functions *f = layer_functions(kind);

    return f == &layer_dense || f == &layer_einsum || f == &layer_conv || f == &layer_conv_transpose;
}

void spectral_build(struct layer_build *b)
{
    static const struct initializer start = {.kind = INITIALIZER_TRUNCATED_NORMAL, .b = 0.02};
    const struct shape *s = &b->set->variable[b->layer->variable[0]].shape;

    layer_add_mean(b, SPECTRAL_VECTOR, SIZES(1, s->dim[s->rank - 1]), &start);
}

/* a [1, n] by a matrix, along the dimension of it that has n */
static int product(struct graph *g, int a, int matrix, int dim)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {dim}};

    return graph_dot_general(g, a, matrix, &dot, DTYPE_F32, PRECISION_HIGHEST);
}

/* by its length, Keras's epsilon */
static int unit(struct graph *g, int v)
{
    struct shape s = g->node[v].shape;
    int square = graph_reduce(g, REDUCE_ADD, nn_multiply(g, v, v), 3);
    int by = graph_unary(g, HLO_RSQRT, square);

    by = graph_binary(g, HLO_MINIMUM, by, graph_splat(g, by, 1e12));
    return nn_multiply(g, v, graph_broadcast(g, by, s, NULL));
}

/* value where the kernel has an element that is not 0, else other */
static int where_any(struct graph *g, int kernel, int value, int other)
{
    struct shape s = g->node[value].shape;
    int size = graph_unary(g, HLO_ABS, kernel);

    size = graph_reduce(g, REDUCE_MAX, size, (1u << g->node[kernel].shape.rank) - 1);
    size = graph_broadcast(g, size, s, NULL);
    return graph_select(g, graph_compare(g, COMPARE_GT, size, graph_splat(g, size, 0.0)), value,
                        other);
}

int spectral_kernel(struct layer_call *c, int kernel)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[kernel].shape, matrix = {.dtype = DTYPE_F32, .rank = 2, .dim = {1}};
    int variable = c->layer->variable[c->layer->variable_count - 1];
    int flat, held, u, v = NODE_NONE, started, sigma;

    for (int d = 0; d < s.rank - 1; d++)
        matrix.dim[0] *= s.dim[d];
    matrix.dim[1] = s.dim[s.rank - 1];
    layer_source(c, "SpectralNorm");
    flat = graph_reshape(g, kernel, matrix);
    held = graph_hold(g, graph_reshape(g, kernel, matrix));
    started = u = trace_read(c->t, variable);
    for (int64_t i = 0; i < c->layer->c.power_iterations; i++) {
        v = unit(g, product(g, u, held, 1));
        u = unit(g, product(g, v, held, 0));
    }
    u = graph_hold(g, u);
    sigma = product(g, product(g, graph_hold(g, v), flat, 0), u, 1);
    trace_assign(c->t, variable, where_any(g, kernel, u, started));
    sigma = graph_reshape(g, sigma, shape_scalar(DTYPE_F32));
    sigma = where_any(g, kernel, sigma, graph_splat(g, sigma, 1.0));
    return graph_binary(g, HLO_DIVIDE, kernel, graph_broadcast(g, sigma, s, NULL));
}
