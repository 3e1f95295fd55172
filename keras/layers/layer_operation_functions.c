/* Operations of keras.ops of one array, element by element. */
#include "keras/layers/layer_operation.h"

#include <float.h>
#include <math.h>

static int compare(struct layer_call *c, enum graph_compare direction, int x, double with)
{
    struct graph *g = &c->t->graph;

    return operation_truth(c, graph_compare(g, direction, x, graph_splat(g, x, with)));
}

/* the root of (1 - x)(1 + x), the sine of an angle with cosine x */
static int other_side(struct graph *g, int x)
{
    int low = nn_shift(g, x, 1.0), high = nn_shift(g, graph_unary(g, HLO_NEGATE, x), 1.0);

    return graph_unary(g, HLO_SQRT, graph_binary(g, HLO_MULTIPLY, low, high));
}

/* sign(x) ln(1 + |x| + x^2 / (1 + the root of 1 + x^2)): nothing cancels near 0 */
static int area_of_sine(struct graph *g, int x)
{
    int size = graph_unary(g, HLO_ABS, x), square = graph_binary(g, HLO_MULTIPLY, x, x);
    int root = graph_unary(g, HLO_SQRT, nn_shift(g, square, 1.0));
    int more = graph_binary(g, HLO_DIVIDE, square, nn_shift(g, root, 1.0));
    int log = graph_unary(g, HLO_LOG1P, nn_add(g, size, more));

    return graph_binary(g, HLO_MULTIPLY, graph_unary(g, HLO_SIGN, x), log);
}

/* ln(1 + t + the root of t (t + 2)), t = x - 1 */
static int area_of_cosine(struct graph *g, int x)
{
    int t = nn_shift(g, x, -1.0);
    int root = graph_unary(g, HLO_SQRT, graph_binary(g, HLO_MULTIPLY, t, nn_shift(g, t, 2.0)));

    return graph_unary(g, HLO_LOG1P, nn_add(g, t, root));
}

/* half of ln(1 + x) - ln(1 - x) */
static int area_of_tangent(struct graph *g, int x)
{
    int high = graph_unary(g, HLO_LOG1P, x);
    int low = graph_unary(g, HLO_LOG1P, graph_unary(g, HLO_NEGATE, x));

    return nn_scale(g, graph_binary(g, HLO_SUBTRACT, high, low), 0.5);
}

static int numbers_only(struct graph *g, int x, double instead)
{
    int is_number = graph_compare(g, COMPARE_EQ, x, x);
    double most = g->node[x].shape.dtype == DTYPE_BF16 ? 0x1.fep127 : FLT_MAX;

    x = graph_select(g, is_number, x, graph_splat(g, x, instead));
    x = graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, most));
    return graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, -most));
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
        return operation_truth(c, operation_is_not_zero(g, x));
    return c->layer->c.choice == 1 ? truncated(g, x) : x;
}

int operation_of_one(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;

    switch (c->layer->c.operation) {
    case OPERATION_LOGICAL_NOT: return compare(c, COMPARE_EQ, x, 0.0);
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
    case OPERATION_CAST:
    case OPERATION_SATURATE_CAST: return cast(c, x);
    case OPERATION_STOP_GRADIENT: return graph_hold(g, graph_unary(g, HLO_COPY, x));
    case OPERATION_ONES_LIKE: return graph_splat(g, x, 1.0);
    case OPERATION_ZEROS_LIKE: return graph_splat(g, x, 0.0);
    case OPERATION_ISNAN: return operation_truth(c, graph_compare(g, COMPARE_NE, x, x));
    case OPERATION_ISINF: return compare(c, COMPARE_EQ, graph_unary(g, HLO_ABS, x), INFINITY);
    case OPERATION_ISFINITE: return operation_truth(c, graph_unary(g, HLO_IS_FINITE, x));
    case OPERATION_NAN_TO_NUM: return numbers_only(g, x, c->layer->c.alpha);
    case OPERATION_ARCSIN: return graph_binary(g, HLO_ATAN2, x, other_side(g, x));
    case OPERATION_ARCCOS: return graph_binary(g, HLO_ATAN2, other_side(g, x), x);
    case OPERATION_ARCSINH: return area_of_sine(g, x);
    case OPERATION_ARCCOSH: return area_of_cosine(g, x);
    case OPERATION_ARCTANH: return area_of_tangent(g, x);
    case OPERATION_CBRT: return graph_unary(g, HLO_CBRT, x);
    case OPERATION_ERFC: return nn_shift(g, graph_unary(g, HLO_NEGATE, graph_unary(g, HLO_ERF, x)), 1.0);
    case OPERATION_DEG2RAD: return nn_scale(g, x, acos(-1.0) / 180.0);
    case OPERATION_RAD2DEG: return nn_scale(g, x, 180.0 / acos(-1.0));
    case OPERATION_THRESHOLD: return thresholded(g, &c->layer->c, x);
    default: return x;
    }
}
