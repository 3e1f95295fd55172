/* Operations of keras.ops element by element. */
#include <math.h>

#include "keras/layers/layer_operation.h"

static int check_elements(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    struct shape all = {.rank = 0};
    char first[160], other[160];
    int most = 0;

    for (int i = 0; i < count; i++) {
        if (layer_widen(&all, &in[i]) != 0)
            return layer_fail(l, e, "its arrays have shapes %s and %s; sizes must be equal, or 1 "
                              "where one of them is to be repeated",
                              layer_shape_text(&in[0], first, sizeof(first)),
                              layer_shape_text(&in[i], other, sizeof(other)));
        if (i >= LAYER_CONSTANTS_MAX || !l->c.constant[i].value)
            most = in[i].rank > most ? in[i].rank : most;
    }
    if (all.rank == most)
        return 0;
    return layer_fail(l, e, "its constant has %d dimensions, more than the samples, %d", all.rank,
                      most);
}

/* a constant, which has no batch, repeated to the shape of all */
static int spread_constant(struct graph *g, int x, struct shape to)
{
    struct shape s = g->node[x].shape, kept = s;
    int dims[GRAPH_RANK_MAX], missing = to.rank - s.rank;

    to.dtype = s.dtype;
    kept.rank = 0;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] == to.dim[i + missing]) {
            dims[kept.rank] = i + missing;
            kept.dim[kept.rank++] = s.dim[i];
        }
    return graph_broadcast(g, graph_reshape(g, x, kept), to, dims);
}

/* all in the shape that they have together */
static void spread_all(struct layer_call *c, const int *operand, int count, int *x)
{
    struct graph *g = &c->t->graph;
    struct shape all = {.rank = 0}, sample, to = {.dtype = c->dtype};

    for (int i = 0; i < count; i++) {
        bool has_batch = i >= LAYER_CONSTANTS_MAX || !c->layer->c.constant[i].value;
        const struct shape *s = &g->node[operand[i]].shape;

        sample = shape_make(s->dtype, s->rank - has_batch, s->dim + has_batch);
        if (has_batch)
            to.dim[0] = s->dim[0];
        layer_widen(&all, &sample);     /* check_elements has refused what does not spread */
    }
    to.rank = all.rank + 1;
    for (int d = 0; d < all.rank; d++)
        to.dim[d + 1] = all.dim[d];
    for (int i = 0; i < count; i++)
        x[i] = i < LAYER_CONSTANTS_MAX && c->layer->c.constant[i].value
                   ? spread_constant(g, operand[i], to) : layer_spread(g, operand[i], &all);
}

/* 1 where it is so, else 0; no gradient goes through */
static int truth(struct layer_call *c, int predicate)
{
    struct graph *g = &c->t->graph;

    return graph_hold(g, graph_convert(g, predicate, c->dtype));
}

static int compare(struct layer_call *c, enum graph_compare direction, int a, int b)
{
    return truth(c, graph_compare(&c->t->graph, direction, a, b));
}

static int is_not_zero(struct graph *g, int x)
{
    return graph_compare(g, COMPARE_NE, x, graph_splat(g, x, 0.0));
}

static int floor_divide(struct graph *g, int a, int b)
{
    return graph_unary(g, HLO_FLOOR, graph_binary(g, HLO_DIVIDE, a, b));
}

static int divide_no_nan(struct graph *g, int a, int b)
{
    int is_there = is_not_zero(g, b), one = graph_splat(g, b, 1.0), zero = graph_splat(g, b, 0.0);
    int by = graph_select(g, is_there, b, one);

    return graph_select(g, is_there, graph_binary(g, HLO_DIVIDE, a, by), zero);
}

/* x^2 and x^3 as products: a power by a number has no other slope at 0 */
static int power(struct layer_call *c, const int *x)
{
    const struct layer_array *by = &c->layer->c.constant[1];
    struct graph *g = &c->t->graph;
    int square;

    if (!by->value || by->shape.rank > 0 || (*by->value != 2.0 && *by->value != 3.0))
        return graph_binary(g, HLO_POWER, x[0], x[1]);
    square = graph_binary(g, HLO_MULTIPLY, x[0], x[0]);
    return *by->value == 2.0 ? square : graph_binary(g, HLO_MULTIPLY, square, x[0]);
}

static int select_by(struct graph *g, const int *x)
{
    return graph_select(g, is_not_zero(g, x[0]), x[1], x[2]);
}

static int several(struct layer_call *c, const int *x)
{
    struct graph *g = &c->t->graph;
    int second;

    switch (c->layer->c.operation) {
    case OPERATION_ADD: return graph_binary(g, HLO_ADD, x[0], x[1]);
    case OPERATION_SUBTRACT: return graph_binary(g, HLO_SUBTRACT, x[0], x[1]);
    case OPERATION_MULTIPLY: return graph_binary(g, HLO_MULTIPLY, x[0], x[1]);
    case OPERATION_DIVIDE_NO_NAN: return divide_no_nan(g, x[0], x[1]);
    case OPERATION_FLOOR_DIVIDE: return floor_divide(g, x[0], x[1]);
    case OPERATION_MOD:
        second = graph_binary(g, HLO_MULTIPLY, x[1], floor_divide(g, x[0], x[1]));
        return graph_binary(g, HLO_SUBTRACT, x[0], second);
    case OPERATION_POWER: return power(c, x);
    case OPERATION_MAXIMUM: return graph_binary(g, HLO_MAXIMUM, x[0], x[1]);
    case OPERATION_MINIMUM: return graph_binary(g, HLO_MINIMUM, x[0], x[1]);
    case OPERATION_ARCTAN2: return graph_binary(g, HLO_ATAN2, x[0], x[1]);
    case OPERATION_EQUAL: return compare(c, COMPARE_EQ, x[0], x[1]);
    case OPERATION_NOT_EQUAL: return compare(c, COMPARE_NE, x[0], x[1]);
    case OPERATION_GREATER: return compare(c, COMPARE_GT, x[0], x[1]);
    case OPERATION_GREATER_EQUAL: return compare(c, COMPARE_GE, x[0], x[1]);
    case OPERATION_LESS: return compare(c, COMPARE_LT, x[0], x[1]);
    case OPERATION_LESS_EQUAL: return compare(c, COMPARE_LE, x[0], x[1]);
    case OPERATION_LOGICAL_AND:
        second = is_not_zero(g, x[1]);
        return truth(c, graph_binary(g, HLO_AND, is_not_zero(g, x[0]), second));
    case OPERATION_LOGICAL_OR:
        second = is_not_zero(g, x[1]);
        return truth(c, graph_binary(g, HLO_OR, is_not_zero(g, x[0]), second));
    case OPERATION_WHERE: return select_by(g, x);
    default: return graph_binary(g, HLO_DIVIDE, x[0], x[1]);
    }
}

static int truncated(struct graph *g, int x)
{
    int up = graph_unary(g, HLO_CEIL, x), down = graph_unary(g, HLO_FLOOR, x);
    int is_low = graph_compare(g, COMPARE_LT, x, graph_splat(g, x, 0.0));

    return graph_select(g, is_low, up, down);
}

/* e^x, and e^-x times `sign`, in the mean */
static int hyperbolic(struct graph *g, int x, double sign)
{
    int up = graph_unary(g, HLO_EXP, x);
    int down = graph_unary(g, HLO_EXP, graph_unary(g, HLO_NEGATE, x));

    return nn_scale(g, nn_add(g, up, nn_scale(g, down, sign)), 0.5);
}

static int clipped(struct graph *g, const struct layer_config *l, int x)
{
    x = isnan(l->alpha) ? x : graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, l->alpha));
    return isnan(l->threshold) ? x
                               : graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, l->threshold));
}

static int thresholded(struct graph *g, const struct layer_config *l, int x)
{
    int is_above = graph_compare(g, COMPARE_GT, x, graph_splat(g, x, l->alpha));

    return graph_select(g, is_above, x, graph_splat(g, x, l->threshold));
}

/* c.choice: 0 floating, 1 whole numbers, 2 truths */
static int cast(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;

    if (c->layer->c.choice == 2)
        return truth(c, is_not_zero(g, x));
    return c->layer->c.choice == 1 ? truncated(g, x) : x;
}

static int alone(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;

    switch (c->layer->c.operation) {
    case OPERATION_LOGICAL_NOT: return compare(c, COMPARE_EQ, x, graph_splat(g, x, 0.0));
    case OPERATION_CLIP: return clipped(g, &c->layer->c, x);
    case OPERATION_SQUARE: return graph_binary(g, HLO_MULTIPLY, x, x);
    case OPERATION_SQRT: return graph_unary(g, HLO_SQRT, x);
    case OPERATION_RSQRT: return graph_unary(g, HLO_RSQRT, x);
    case OPERATION_ABSOLUTE:
    case OPERATION_ABS: return graph_unary(g, HLO_ABS, x);
    case OPERATION_SIGN: return graph_unary(g, HLO_SIGN, x);
    case OPERATION_RECIPROCAL: return graph_binary(g, HLO_DIVIDE, graph_splat(g, x, 1.0), x);
    case OPERATION_LOG: return graph_unary(g, HLO_LOG, x);
    case OPERATION_LOG2: return nn_scale(g, graph_unary(g, HLO_LOG, x), 1.0 / log(2.0));
    case OPERATION_LOG10: return nn_scale(g, graph_unary(g, HLO_LOG, x), 1.0 / log(10.0));
    case OPERATION_LOG1P: return graph_unary(g, HLO_LOG1P, x);
    case OPERATION_EXPM1: return graph_unary(g, HLO_EXPM1, x);
    case OPERATION_EXP2: return graph_unary(g, HLO_EXP, nn_scale(g, x, log(2.0)));
    case OPERATION_SIN: return graph_unary(g, HLO_SINE, x);
    case OPERATION_COS: return graph_unary(g, HLO_COSINE, x);
    case OPERATION_TAN: return graph_unary(g, HLO_TAN, x);
    case OPERATION_SINH: return hyperbolic(g, x, -1.0);
    case OPERATION_COSH: return hyperbolic(g, x, 1.0);
    case OPERATION_ARCTAN: return graph_binary(g, HLO_ATAN2, x, graph_splat(g, x, 1.0));
    case OPERATION_ERF: return graph_unary(g, HLO_ERF, x);
    case OPERATION_FLOOR: return graph_unary(g, HLO_FLOOR, x);
    case OPERATION_CEIL: return graph_unary(g, HLO_CEIL, x);
    case OPERATION_ROUND: return graph_unary(g, HLO_ROUND_EVEN, x);
    case OPERATION_TRUNC: return truncated(g, x);
    case OPERATION_CAST: return cast(c, x);
    case OPERATION_STOP_GRADIENT: return graph_hold(g, graph_unary(g, HLO_COPY, x));
    case OPERATION_THRESHOLD: return thresholded(g, &c->layer->c, x);
    default: return x;
    }
}

static int call_elements(struct layer_call *c, const int *operand, int count)
{
    int x[LAYER_INPUTS_MAX + LAYER_CONSTANTS_MAX];

    spread_all(c, operand, count, x);
    return count == 1 ? alone(c, x[0]) : several(c, x);
}

const struct operation_form operation_elements = {check_elements, call_elements};
