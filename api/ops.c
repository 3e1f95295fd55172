/* The API's operations of one and two operands, and its reductions. */
#include "api/api.h"

#include <string.h>

#include "keras/functions/activation.h"
#include "stack/hlo/graph_shape.h"
#include "stack/nn/nn.h"

static const sy_tensor invalid = {NODE_NONE};

/* ----- NumPy's broadcasting */

static bool joined_shape(const struct shape *a, const struct shape *b, struct shape *out)
{
    *out = a->rank >= b->rank ? *a : *b;
    for (int i = 1; i <= out->rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;

        if (x != y && x != 1 && y != 1)
            return false;
        out->dim[out->rank - i] = x > y ? x : y;
    }
    return true;
}

sy_tensor api_spread(sy_context *c, sy_tensor t, const struct shape *shape)
{
    struct graph *g = api_graph(c);
    struct shape from = *api_shape_of(c, t), kept = from, to = *shape;
    int dims[GRAPH_RANK_MAX], offset = to.rank - from.rank;

    to.dtype = from.dtype;
    if (shape_equal(&from, &to))
        return t;
    kept.rank = 0;
    for (int d = 0; d < from.rank; d++)
        if (from.dim[d] == to.dim[d + offset]) {
            kept.dim[kept.rank] = from.dim[d];
            dims[kept.rank++] = d + offset;
        }
    if (kept.rank != from.rank)
        t.node = graph_reshape(g, t.node, kept);
    t.node = graph_broadcast(g, t.node, to, dims);
    return t;
}

static sy_tensor join(sy_context *c, const struct graph_node *n, sy_tensor a, sy_tensor b)
{
    char x[96], y[96];
    sy_tensor both[2] = {a, b};
    struct shape shape;
    struct err e;

    if (!api_are_valid(c, both, 2))
        return invalid;
    if (!joined_shape(api_shape_of(c, a), api_shape_of(c, b), &shape)) {
        err_set(&e, "%s of %s and %s: dimensions must be equal, or 1", graph_op_name(n->op),
                shape_print(api_shape_of(c, a), x, sizeof(x)),
                shape_print(api_shape_of(c, b), y, sizeof(y)));
        return api_invalid(c, &e);
    }
    both[0] = api_spread(c, a, &shape);
    both[1] = api_spread(c, b, &shape);
    return api_add_node(c, n, both, 2);
}

static sy_tensor binary(sy_context *c, enum graph_op op, sy_tensor a, sy_tensor b)
{
    return join(c, &(struct graph_node){.op = op}, a, b);
}

sy_tensor sy_add(sy_context *c, sy_tensor a, sy_tensor b) { return binary(c, HLO_ADD, a, b); }
sy_tensor sy_subtract(sy_context *c, sy_tensor a, sy_tensor b)
{
    return binary(c, HLO_SUBTRACT, a, b);
}
sy_tensor sy_multiply(sy_context *c, sy_tensor a, sy_tensor b)
{
    return binary(c, HLO_MULTIPLY, a, b);
}
sy_tensor sy_divide(sy_context *c, sy_tensor a, sy_tensor b)
{
    return binary(c, HLO_DIVIDE, a, b);
}
sy_tensor sy_power(sy_context *c, sy_tensor a, sy_tensor b) { return binary(c, HLO_POWER, a, b); }
sy_tensor sy_maximum(sy_context *c, sy_tensor a, sy_tensor b)
{
    return binary(c, HLO_MAXIMUM, a, b);
}
sy_tensor sy_minimum(sy_context *c, sy_tensor a, sy_tensor b)
{
    return binary(c, HLO_MINIMUM, a, b);
}

sy_tensor sy_compare(sy_context *c, const char *relation, sy_tensor a, sy_tensor b)
{
    static const char *const names[] = {"==", "!=", "<", "<=", ">", ">="};
    struct err e;

    if (api_lacks(c, API_GIVEN(relation)))
        return invalid;
    for (int i = 0; i < 6; i++)
        if (strcmp(relation, names[i]) == 0)
            return join(c, &(struct graph_node){.op = HLO_COMPARE,
                                                .direction = (enum graph_compare)i}, a, b);
    err_set(&e, "relation \"%s\" is none of ==, !=, <, <=, >, >=", relation);
    return api_invalid(c, &e);
}

sy_tensor sy_select(sy_context *c, sy_tensor predicate, sy_tensor a, sy_tensor b)
{
    sy_tensor all[3] = {predicate, a, b};
    struct shape shape;

    if (!api_are_valid(c, all, 3))
        return invalid;
    if (joined_shape(api_shape_of(c, a), api_shape_of(c, b), &shape) &&
        joined_shape(&shape, api_shape_of(c, predicate), &shape))
        for (int i = 0; i < 3; i++)
            all[i] = api_spread(c, all[i], &shape);
    return api_add_node(c, &(struct graph_node){.op = HLO_SELECT}, all, 3);
}

static sy_tensor with_number(sy_context *c, enum graph_op op, sy_tensor x, double number)
{
    if (!api_are_valid(c, &x, 1))
        return invalid;
    return binary(c, op, x, (sy_tensor){graph_splat(api_graph(c), x.node, number)});
}

sy_tensor sy_scale(sy_context *c, sy_tensor x, double factor)
{
    return with_number(c, HLO_MULTIPLY, x, factor);
}
sy_tensor sy_shift(sy_context *c, sy_tensor x, double term)
{
    return with_number(c, HLO_ADD, x, term);
}

/* ----- one operand */

static sy_tensor unary(sy_context *c, enum graph_op op, sy_tensor x)
{
    return api_add_node(c, &(struct graph_node){.op = op}, &x, 1);
}

sy_tensor sy_negate(sy_context *c, sy_tensor x) { return unary(c, HLO_NEGATE, x); }
sy_tensor sy_abs(sy_context *c, sy_tensor x) { return unary(c, HLO_ABS, x); }
sy_tensor sy_exp(sy_context *c, sy_tensor x) { return unary(c, HLO_EXP, x); }
sy_tensor sy_log(sy_context *c, sy_tensor x) { return unary(c, HLO_LOG, x); }
sy_tensor sy_sqrt(sy_context *c, sy_tensor x) { return unary(c, HLO_SQRT, x); }
sy_tensor sy_rsqrt(sy_context *c, sy_tensor x) { return unary(c, HLO_RSQRT, x); }
sy_tensor sy_tanh(sy_context *c, sy_tensor x) { return unary(c, HLO_TANH, x); }
sy_tensor sy_sin(sy_context *c, sy_tensor x) { return unary(c, HLO_SINE, x); }
sy_tensor sy_cos(sy_context *c, sy_tensor x) { return unary(c, HLO_COSINE, x); }
sy_tensor sy_square(sy_context *c, sy_tensor x) { return binary(c, HLO_MULTIPLY, x, x); }

sy_tensor sy_cast(sy_context *c, sy_tensor x, sy_dtype dtype)
{
    enum graph_dtype type;
    struct err e;

    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (api_graph_dtype(dtype, &type, &e))
        return api_invalid(c, &e);
    return (sy_tensor){graph_convert(api_graph(c), x.node, type)};
}

sy_tensor sy_activation(sy_context *c, const char *name, sy_tensor x)
{
    enum activation_kind kind;
    struct activation a;
    char text[96];
    struct err e;

    if (api_lacks(c, API_GIVEN(name)))
        return invalid;
    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (activation_find(name, &kind, &e))
        return api_invalid(c, &e);
    if (!graph_dtype_is_float(api_shape_of(c, x)->dtype)) {
        err_set(&e, "%s of %s is not possible: it takes f32 and bf16", name,
                shape_print(api_shape_of(c, x), text, sizeof(text)));
        return api_invalid(c, &e);
    }
    a = activation_standard(kind);
    return (sy_tensor){activation_apply(api_graph(c), &a, x.node)};
}

/* ----- reductions */

static sy_tensor reduce(sy_context *c, enum graph_reduce kind, sy_tensor x, int axis)
{
    struct graph_node n = {.op = HLO_REDUCE, .reduce_kind = kind};

    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (axis == SY_NO_AXIS) {
        n.reduce_mask = (1u << api_shape_of(c, x)->rank) - 1;
    } else {
        axis = api_axis(c, x, axis);
        if (axis < 0)
            return invalid;
        n.reduce_mask = 1u << axis;
    }
    return n.reduce_mask ? api_add_node(c, &n, &x, 1) : x;
}

sy_tensor sy_reduce_sum(sy_context *c, sy_tensor x, int axis)
{
    return reduce(c, REDUCE_ADD, x, axis);
}
sy_tensor sy_reduce_max(sy_context *c, sy_tensor x, int axis)
{
    return reduce(c, REDUCE_MAX, x, axis);
}

sy_tensor sy_reduce_mean(sy_context *c, sy_tensor x, int axis)
{
    sy_tensor sum = reduce(c, REDUCE_ADD, x, axis);

    if (sum.node == NODE_NONE)
        return invalid;
    return sy_scale(c, sum, (double)shape_elems(api_shape_of(c, sum)) /
                                (double)shape_elems(api_shape_of(c, x)));
}

sy_tensor sy_argmax(sy_context *c, sy_tensor x, int axis)
{
    struct err e;

    if (axis != SY_NO_AXIS)
        return reduce(c, REDUCE_ARGMAX, x, axis);
    err_set(&e, "argmax goes along one axis");
    return api_invalid(c, &e);
}

/* ----- derivatives */

static sy_status check_loss(sy_context *c, sy_tensor loss, const sy_tensor *of, int count)
{
    char text[96];
    struct err e;

    if (!api_are_valid(c, &loss, 1) || !api_are_valid(c, of, count))
        return SY_ERROR;
    if (api_shape_of(c, loss)->rank == 0 && api_shape_of(c, loss)->dtype == DTYPE_F32)
        return SY_OK;
    err_set(&e, "gradients are of an f32 scalar, not of %s",
            shape_print(api_shape_of(c, loss), text, sizeof(text)));
    api_invalid(c, &e);
    return SY_ERROR;
}

sy_status sy_gradients(sy_context *c, sy_tensor loss, const sy_tensor *of, int count,
                       sy_tensor *out)
{
    int *node, *gradient;
    struct err e;

    if (!api_is_context(c) || api_lacks(c, API_GIVEN(of, out)))
        return SY_ERROR;
    node = arena_array(c->trace->arena, (size_t)count + 1, sizeof(*node));
    gradient = arena_array(c->trace->arena, (size_t)count + 1, sizeof(*gradient));
    for (int i = 0; i < count; i++)
        out[i] = invalid;
    if (check_loss(c, loss, of, count) == SY_OK) {
        for (int i = 0; i < count; i++)
            node[i] = of[i].node;
        if (graph_grad(api_graph(c), loss.node, node, count, gradient, &e) == 0)
            for (int i = 0; i < count; i++)
                out[i].node = gradient[i];
        else
            api_invalid(c, &e);
    }
    return sy_context_status(c);
}
