/* The rules of pass_simplify about values: constants, identities, conversions. */
#include "stack/passes/simplify/simplify.h"

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"

#include <math.h>
#include <string.h>

bool simplify_splat_value(const struct graph *g, int node, double *value)
{
    const struct graph_node *n = &g->node[node];

    if (n->op == HLO_BROADCAST)
        n = &g->node[n->operand[0]];
    if (n->op != HLO_CONSTANT || n->literal)
        return false;
    *value = n->value;
    return true;
}

static int splat(struct graph *g, const struct shape *shape, double value)
{
    int scalar = graph_constant(g, shape_scalar(shape->dtype), value);

    return shape->rank == 0 ? scalar : graph_broadcast(g, scalar, *shape, NULL);
}

static double element(enum graph_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case DTYPE_F32:
    case DTYPE_BF16:
        return (double)((const float *)data)[i];
    case DTYPE_U32:
    case DTYPE_U8:
        return (double)((const uint32_t *)data)[i];
    default:
        return (double)((const int32_t *)data)[i];
    }
}

int simplify_splat(struct graph *g, const struct graph_node *n)
{
    int64_t elems = shape_elems(&n->shape);
    const uint32_t *bits = n->literal;

    if (n->op != HLO_CONSTANT || (!n->literal && n->shape.rank == 0))
        return NODE_NONE;
    if (!n->literal)
        return splat(g, &n->shape, n->value);
    for (int64_t i = 1; i < elems; i++)
        if (bits[i] != bits[0])
            return NODE_NONE;
    return splat(g, &n->shape, element(n->shape.dtype, n->literal, 0));
}

/* One elementwise operation on scalars, by the interpreter. */
static int evaluate(const struct graph *g, const struct graph_node *n, double *result)
{
    struct interp_value out;
    struct graph scalar;
    struct arena a;
    struct err e;
    int operand[3], status;

    arena_init(&a);
    graph_init(&scalar, &a, "fold");
    for (int i = 0; i < n->operand_count; i++) {
        double value = 0;

        simplify_splat_value(g, n->operand[i], &value);
        operand[i] = graph_constant(&scalar, shape_scalar(g->node[n->operand[i]].shape.dtype),
                                    value);
    }
    graph_output(&scalar, graph_add(&scalar, n, operand, n->operand_count), "out", -1);
    status = interp_run(&scalar, INTERP_DOT_F32, NULL, &out, &a, &e);
    if (status == 0)
        *result = element(n->shape.dtype, out.data, 0);
    graph_fini(&scalar);
    arena_fini(&a);
    return status;
}

int simplify_fold(struct graph *g, const struct graph_node *n)
{
    double value;

    if (!graph_op_is_elementwise(n->op))
        return NODE_NONE;
    for (int i = 0; i < n->operand_count; i++)
        if (!simplify_splat_value(g, n->operand[i], &value))
            return NODE_NONE;
    return evaluate(g, n, &value) ? NODE_NONE : splat(g, &n->shape, value);
}

/* op with `value` on this side (0 left, 1 right, 2 either) is the other operand */
static const struct identity {
    enum graph_op op;
    int side;
    double value;
    unsigned types;                     /* bit per graph_dtype; 0: all */
} identities[] = {
    {HLO_ADD, 2, 0, 0},        {HLO_SUBTRACT, 1, 0, 0},   {HLO_MULTIPLY, 2, 1, 0},
    {HLO_DIVIDE, 1, 1, 0},     {HLO_POWER, 1, 1, 0},      {HLO_SHIFT_LEFT, 1, 0, 0},
    {HLO_SHIFT_RIGHT_LOGICAL, 1, 0, 0},                   {HLO_SHIFT_RIGHT_ARITHMETIC, 1, 0, 0},
    {HLO_AND, 2, 1, 1u << DTYPE_PRED},                    {HLO_OR, 2, 0, 0},
    {HLO_XOR, 2, 0, 0},        {HLO_MAXIMUM, 2, -INFINITY, 0}, {HLO_MINIMUM, 2, INFINITY, 0},
};

static int table_identity(const struct graph *g, const struct graph_node *n)
{
    for (size_t i = 0; i < sizeof(identities) / sizeof(identities[0]); i++) {
        const struct identity *row = &identities[i];

        if (row->op != n->op || (row->types && !(row->types & (1u << n->shape.dtype))))
            continue;
        for (int side = 0; side < 2; side++) {
            double value;

            if ((row->side == side || row->side == 2) &&
                simplify_splat_value(g, n->operand[side], &value) && value == row->value)
                return n->operand[1 - side];
        }
    }
    return NODE_NONE;
}

static int unary_identity(const struct graph *g, const struct graph_node *n)
{
    const struct graph_node *a = &g->node[n->operand[0]];

    if ((n->op == HLO_NEGATE || n->op == HLO_NOT) && a->op == n->op)
        return a->operand[0];
    if (n->op == HLO_ABS && a->op == HLO_ABS)
        return n->operand[0];
    if (n->op == HLO_COPY && !n->unit)
        return n->operand[0];
    return NODE_NONE;
}

/* x / 2^k is x * 2^-k, exactly */
static int divide_by_power(struct graph *g, const struct graph_node *n)
{
    double value, fraction;
    int exponent;

    if (n->op != HLO_DIVIDE || !graph_dtype_is_float(n->shape.dtype) ||
        !simplify_splat_value(g, n->operand[1], &value))
        return NODE_NONE;
    fraction = frexp(value, &exponent);
    if (fabs(fraction) != 0.5 || exponent < -100 || exponent > 100)
        return NODE_NONE;
    return graph_binary(g, HLO_MULTIPLY, n->operand[0], splat(g, &n->shape, 1 / value));
}

static int pick_select(struct graph *g, const struct graph_node *n)
{
    double value;

    if (n->operand[1] == n->operand[2])
        return n->operand[1];
    if (simplify_splat_value(g, n->operand[0], &value))
        return n->operand[value != 0 ? 1 : 2];
    if (g->node[n->operand[0]].op == HLO_NOT)
        return graph_select(g, g->node[n->operand[0]].operand[0], n->operand[2], n->operand[1]);
    return NODE_NONE;
}

int simplify_identity(struct graph *g, const struct graph_node *n)
{
    int result = NODE_NONE;

    if (n->op == HLO_SELECT)
        return pick_select(g, n);
    if (graph_op_kind(n->op) == KIND_UNARY)
        return unary_identity(g, n);
    if (graph_op_kind(n->op) != KIND_BINARY || n->op == HLO_COMPARE)
        return NODE_NONE;
    if (n->operand[0] == n->operand[1] && (n->op == HLO_MAXIMUM || n->op == HLO_MINIMUM ||
                                           n->op == HLO_AND || n->op == HLO_OR))
        return n->operand[0];
    result = table_identity(g, n);
    return result != NODE_NONE ? result : divide_by_power(g, n);
}

/* every value of type `from` is one of type `to` */
static bool is_exact(enum graph_dtype from, enum graph_dtype to)
{
    if (from == to || from == DTYPE_PRED)
        return true;
    if (to == DTYPE_F32)
        return from == DTYPE_BF16 || from == DTYPE_S8 || from == DTYPE_U8;
    if (to == DTYPE_BF16)
        return from == DTYPE_S8 || from == DTYPE_U8;
    return (to == DTYPE_S32 && (from == DTYPE_S8 || from == DTYPE_U8)) ||
           (to == DTYPE_U32 && from == DTYPE_U8);
}

/*
 * Whether the type in the middle makes no difference. Integers wrap where they become integers,
 * but go to the nearest end where they come from floats: -1 is 255 as u8, -1.0 is 0.
 */
static bool may_skip(enum graph_dtype from, enum graph_dtype middle, enum graph_dtype to)
{
    bool saturates = graph_dtype_is_float(middle) && !graph_dtype_is_float(from)
                     && !graph_dtype_is_float(to);

    return to != DTYPE_PRED && is_exact(from, middle) && (!saturates || is_exact(from, to));
}

int simplify_convert(struct graph *g, const struct graph_node *n)
{
    struct graph_node a;
    struct shape shape;

    if (n->op != HLO_CONVERT)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    if (a.shape.dtype == n->shape.dtype)
        return n->operand[0];
    if (a.op == HLO_CONVERT &&
        may_skip(g->node[a.operand[0]].shape.dtype, a.shape.dtype, n->shape.dtype))
        return graph_convert(g, a.operand[0], n->shape.dtype);
    if (a.op == HLO_TRANSPOSE &&        /* the narrow array is turned: half of the bytes */
        array_element_bytes(n->shape.dtype) < array_element_bytes(a.shape.dtype))
        return graph_transpose(g, graph_convert(g, a.operand[0], n->shape.dtype), a.dims);
    if (a.op != HLO_BROADCAST)
        return NODE_NONE;
    shape = n->shape;
    return graph_broadcast(g, graph_convert(g, a.operand[0], n->shape.dtype), shape, a.dims);
}
