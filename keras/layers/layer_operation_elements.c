/* Operations of keras.ops element by element. */
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

static int compare(struct layer_call *c, enum graph_compare direction, int a, int b)
{
    return operation_truth(c, graph_compare(&c->t->graph, direction, a, b));
}

static int floor_divide(struct graph *g, int a, int b)
{
    return graph_unary(g, HLO_FLOOR, graph_binary(g, HLO_DIVIDE, a, b));
}

static int divide_no_nan(struct graph *g, int a, int b)
{
    int is_there = operation_is_not_zero(g, b), one = graph_splat(g, b, 1.0), zero = graph_splat(g, b, 0.0);
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

/* the larger times the root of 1 + the square of their quotient, which does not overflow */
static int hypotenuse(struct graph *g, int a, int b)
{
    int one = graph_unary(g, HLO_ABS, a), other = graph_unary(g, HLO_ABS, b);
    int large = graph_binary(g, HLO_MAXIMUM, one, other), by, root;

    by = divide_no_nan(g, graph_binary(g, HLO_MINIMUM, one, other), large);
    root = graph_unary(g, HLO_SQRT, nn_shift(g, graph_binary(g, HLO_MULTIPLY, by, by), 1.0));
    return graph_binary(g, HLO_MULTIPLY, large, root);
}

/* the larger + ln(1 + e^-distance) */
static int log_of_sum(struct graph *g, int a, int b)
{
    int large = graph_binary(g, HLO_MAXIMUM, a, b);
    int apart = graph_unary(g, HLO_ABS, graph_binary(g, HLO_SUBTRACT, a, b));
    int rest = graph_unary(g, HLO_EXP, graph_unary(g, HLO_NEGATE, apart));

    return nn_add(g, large, graph_unary(g, HLO_LOG1P, rest));
}

static int select_by(struct graph *g, const int *x)
{
    return graph_select(g, operation_is_not_zero(g, x[0]), x[1], x[2]);
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
        second = operation_is_not_zero(g, x[1]);
        return operation_truth(c, graph_binary(g, HLO_AND, operation_is_not_zero(g, x[0]), second));
    case OPERATION_LOGICAL_OR:
        second = operation_is_not_zero(g, x[1]);
        return operation_truth(c, graph_binary(g, HLO_OR, operation_is_not_zero(g, x[0]), second));
    case OPERATION_LOGICAL_XOR:
        second = operation_is_not_zero(g, x[1]);
        return operation_truth(c, graph_binary(g, HLO_XOR, operation_is_not_zero(g, x[0]), second));
    case OPERATION_HYPOT: return hypotenuse(g, x[0], x[1]);
    case OPERATION_LOGADDEXP: return log_of_sum(g, x[0], x[1]);
    case OPERATION_FULL_LIKE: return x[1];
    case OPERATION_WHERE: return select_by(g, x);
    default: return graph_binary(g, HLO_DIVIDE, x[0], x[1]);
    }
}

static int call_elements(struct layer_call *c, const int *operand, int count)
{
    int x[LAYER_INPUTS_MAX + LAYER_CONSTANTS_MAX];

    spread_all(c, operand, count, x);
    return count == 1 ? operation_of_one(c, x[0]) : several(c, x);
}

const struct operation_form operation_elements = {check_elements, call_elements};
