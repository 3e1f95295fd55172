#include "stack/graph.h"

#include <assert.h>

/*
 * Walks back from the root; adjoint[i] is the gradient of node i so far. Only
 * active nodes, those that depend on a node asked for, receive one. Integers
 * and predicates are constants: no gradient flows through them.
 *
 * Ties: maximum and minimum give the gradient to the second operand, so that
 * relu, maximum(x, 0), has slope 0 at 0; reduce max and min share it equally
 * among the equal elements; abs has slope 0 at 0.
 */
struct grad {
    struct graph *g;
    int root;
    int *adjoint;
    bool *is_active;
};

static bool is_float(const struct graph *g, int node)
{
    return g->node[node].shape.dtype == DTYPE_F32 || g->node[node].shape.dtype == DTYPE_BF16;
}

/* Gradients are full of ones and constants: fold them here instead of in a pass. */
static bool splat_value(const struct graph *g, int node, double *value)
{
    while (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    *value = g->node[node].value;
    return g->node[node].op == HLO_CONSTANT;
}

static int fill(struct graph *g, const struct shape *shape, double value)
{
    int scalar = graph_constant(g, shape_scalar(shape->dtype), value);

    return shape->rank == 0 ? scalar : graph_broadcast(g, scalar, *shape, NULL);
}

static int multiply(struct graph *g, int a, int b)
{
    struct shape shape = g->node[a].shape;
    double x, y;
    bool a_is_splat = splat_value(g, a, &x), b_is_splat = splat_value(g, b, &y);

    if (a_is_splat && b_is_splat)
        return fill(g, &shape, x * y);
    if (a_is_splat && x == 1.0)
        return b;
    if (b_is_splat && y == 1.0)
        return a;
    return graph_binary(g, HLO_MULTIPLY, a, b);
}

static int scale(struct graph *g, int a, double factor)
{
    return multiply(g, a, graph_splat(g, a, factor));
}

static int negate(struct graph *g, int a)
{
    struct shape shape = g->node[a].shape;
    double x;

    return splat_value(g, a, &x) ? fill(g, &shape, -x) : graph_unary(g, HLO_NEGATE, a);
}

static int spread(struct graph *g, int a, const struct shape *shape, const int *dims)
{
    double x;

    return splat_value(g, a, &x) ? fill(g, shape, x) : graph_broadcast(g, a, *shape, dims);
}

/* bf16 -> f32 -> bf16 is nothing */
static int convert(struct graph *g, int a, enum graph_dtype dtype)
{
    struct shape shape = g->node[a].shape;
    double x;

    if (shape.dtype == dtype)
        return a;
    if (splat_value(g, a, &x)) {
        shape.dtype = dtype;
        return fill(g, &shape, x);
    }
    if (g->node[a].op == HLO_CONVERT && dtype == DTYPE_BF16 &&
        g->node[g->node[a].operand[0]].shape.dtype == dtype)
        return g->node[a].operand[0];
    return graph_convert(g, a, dtype);
}

static bool wants(const struct grad *gr, const struct graph_node *n, int operand)
{
    return gr->is_active[n->operand[operand]];
}

static void give(struct grad *gr, const struct graph_node *n, int operand, int gradient)
{
    int *sum = &gr->adjoint[n->operand[operand]];

    *sum = *sum == NODE_NONE ? gradient : graph_binary(gr->g, HLO_ADD, *sum, gradient);
}

static int sign_times(struct graph *g, int a, int dy)
{
    int zero = graph_splat(g, a, 0.0);
    int below = graph_select(g, graph_compare(g, COMPARE_LT, a, zero), negate(g, dy), zero);

    return graph_select(g, graph_compare(g, COMPARE_GT, a, zero), dy, below);
}

/* a: operand, y: result, dy: its gradient */
static int unary_gradient(struct graph *g, const struct graph_node *n, int a, int y, int dy)
{
    int one;

    switch (n->op) {
    case HLO_CONVERT:
        return convert(g, dy, g->node[a].shape.dtype);
    case HLO_NEGATE:
        return negate(g, dy);
    case HLO_ABS:
        return sign_times(g, a, dy);
    case HLO_EXP:
        return multiply(g, dy, y);
    case HLO_LOG:
        return graph_binary(g, HLO_DIVIDE, dy, a);
    case HLO_SQRT:
        return graph_binary(g, HLO_DIVIDE, scale(g, dy, 0.5), y);
    case HLO_RSQRT:
        return graph_binary(g, HLO_DIVIDE, multiply(g, scale(g, dy, -0.5), y), a);
    case HLO_TANH:
        one = graph_splat(g, y, 1.0);
        return multiply(g, dy, graph_binary(g, HLO_SUBTRACT, one, multiply(g, y, y)));
    case HLO_LOGISTIC:
        one = graph_splat(g, y, 1.0);
        return multiply(g, multiply(g, dy, y), graph_binary(g, HLO_SUBTRACT, one, y));
    default:
        return NODE_NONE;
    }
}

static void give_product(struct grad *gr, const struct graph_node *n, int dy)
{
    if (wants(gr, n, 0))
        give(gr, n, 0, multiply(gr->g, dy, n->operand[1]));
    if (wants(gr, n, 1))
        give(gr, n, 1, multiply(gr->g, dy, n->operand[0]));
}

/* y = a / b: da = dy / b, db = -da y */
static void give_quotient(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    int da = graph_binary(gr->g, HLO_DIVIDE, dy, n->operand[1]);

    if (wants(gr, n, 0))
        give(gr, n, 0, da);
    if (wants(gr, n, 1))
        give(gr, n, 1, negate(gr->g, multiply(gr->g, da, y)));
}

/*
 * The first operand won where the result differs from the second. Asking the
 * result instead of the first operand lets relu's input be forgotten.
 */
static void give_larger(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    struct graph *g = gr->g;
    enum graph_compare beyond = n->op == HLO_MAXIMUM ? COMPARE_GT : COMPARE_LT;
    int first = graph_compare(g, beyond, y, n->operand[1]);
    int zero = graph_splat(g, dy, 0.0);

    if (wants(gr, n, 0))
        give(gr, n, 0, graph_select(g, first, dy, zero));
    if (wants(gr, n, 1))
        give(gr, n, 1, graph_select(g, first, zero, dy));
}

static bool give_binary(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    switch (n->op) {
    case HLO_ADD:
    case HLO_SUBTRACT:
        if (wants(gr, n, 0))
            give(gr, n, 0, dy);
        if (wants(gr, n, 1))
            give(gr, n, 1, n->op == HLO_ADD ? dy : negate(gr->g, dy));
        return true;
    case HLO_MULTIPLY:
        give_product(gr, n, dy);
        return true;
    case HLO_DIVIDE:
        give_quotient(gr, n, y, dy);
        return true;
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
        give_larger(gr, n, y, dy);
        return true;
    default:
        return false;
    }
}

static void give_select(struct grad *gr, const struct graph_node *n, int dy)
{
    int zero = graph_splat(gr->g, dy, 0.0);

    if (wants(gr, n, 1))
        give(gr, n, 1, graph_select(gr->g, n->operand[0], dy, zero));
    if (wants(gr, n, 2))
        give(gr, n, 2, graph_select(gr->g, n->operand[0], zero, dy));
}

static int shape_op_gradient(struct graph *g, const struct graph_node *n, int dy)
{
    struct shape shape = g->node[n->operand[0]].shape;
    int back[GRAPH_RANK_MAX];
    uint32_t new_dims = (1u << n->shape.rank) - 1;

    if (n->op == HLO_RESHAPE)
        return graph_reshape(g, dy, shape);
    if (n->op == HLO_TRANSPOSE) {
        for (int i = 0; i < shape.rank; i++)
            back[n->dims[i]] = i;
        return graph_transpose(g, dy, back);
    }
    if (n->op != HLO_BROADCAST)
        return NODE_NONE;
    for (int i = 0; i < shape.rank; i++)
        new_dims &= ~(1u << n->dims[i]);
    return new_dims ? graph_reduce(g, REDUCE_ADD, dy, new_dims) : dy;
}

/*
 * Both gradients of a product are products again, with the roles of the
 * dimensions chosen so that nothing is transposed.
 */
static void give_dot(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph *g = gr->g;
    int a = n->operand[0], b = n->operand[1];
    int a_contract = n->dot.lhs_contract[0], b_contract = n->dot.rhs_contract[0];
    int a_free = 1 - a_contract, b_free = 1 - b_contract;
    enum graph_dtype dtype = g->node[a].shape.dtype;
    int d = convert(g, dy, dtype), da, db;

    if (wants(gr, n, 0)) {
        da = a_contract == 1 ? graph_dot(g, d, b, 1, b_free, n->precision)
                                  : graph_dot(g, b, d, b_free, 1, n->precision);
        give(gr, n, 0, convert(g, da, dtype));
    }
    if (wants(gr, n, 1)) {
        db = b_contract == 0 ? graph_dot(g, a, d, a_free, 0, n->precision)
                                  : graph_dot(g, d, a, 0, a_free, n->precision);
        give(gr, n, 1, convert(g, db, dtype));
    }
}

static int reduce_gradient(struct graph *g, const struct graph_node *n, int y, int dy)
{
    int a = n->operand[0], kept[GRAPH_RANK_MAX], count = 0, equal, share;
    struct shape shape = g->node[a].shape;

    for (int i = 0; i < shape.rank; i++)
        if (!(n->reduce_mask & (1u << i)))
            kept[count++] = i;
    if (n->reduce_kind == REDUCE_ADD)
        return spread(g, dy, &shape, kept);
    if (n->reduce_kind != REDUCE_MAX && n->reduce_kind != REDUCE_MIN)
        return NODE_NONE;
    equal = graph_compare(g, COMPARE_EQ, a, graph_broadcast(g, y, shape, kept));
    share = graph_select(g, equal, graph_splat(g, a, 1.0), graph_splat(g, a, 0.0));
    share = graph_reduce(g, REDUCE_ADD, share, n->reduce_mask);
    share = graph_binary(g, HLO_DIVIDE, dy, share);
    return graph_select(g, equal, graph_broadcast(g, share, shape, kept),
                        graph_splat(g, a, 0.0));
}

/* false: no derivative */
static bool give_operands(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    int gradient = NODE_NONE;

    switch (graph_op_kind(n->op)) {
    case KIND_SOURCE:
        return true;
    case KIND_BINARY:
        return give_binary(gr, n, y, dy);
    case KIND_OTHER:
        if (n->op != HLO_SELECT || gr->g->node[n->operand[0]].shape.rank != n->shape.rank)
            return false;
        give_select(gr, n, dy);
        return true;
    case KIND_DOT:
        if (n->dot.batch_count > 0 || n->dot.contract_count != 1)
            return false;
        give_dot(gr, n, dy);
        return true;
    case KIND_UNARY:
        gradient = unary_gradient(gr->g, n, n->operand[0], y, dy);
        break;
    case KIND_SHAPE:
        gradient = shape_op_gradient(gr->g, n, dy);
        break;
    case KIND_REDUCE:
        gradient = reduce_gradient(gr->g, n, y, dy);
        break;
    default:
        break;
    }
    if (gradient == NODE_NONE)
        return false;
    give(gr, n, 0, gradient);
    return true;
}

static void mark_active(struct grad *gr, const int *wrt, int count)
{
    for (int i = 0; i < count; i++)
        if (wrt[i] <= gr->root)
            gr->is_active[wrt[i]] = true;
    for (int i = 0; i <= gr->root; i++) {
        const struct graph_node *n = &gr->g->node[i];

        for (int k = 0; k < n->operand_count && is_float(gr->g, i); k++)
            if (gr->is_active[n->operand[k]])
                gr->is_active[i] = true;
    }
}

static bool has_active_operand(const struct grad *gr, const struct graph_node *n)
{
    for (int k = 0; k < n->operand_count; k++)
        if (gr->is_active[n->operand[k]])
            return true;
    return false;
}

static int walk_back(struct grad *gr, struct err *e)
{
    struct graph *g = gr->g;

    for (int i = gr->root; i >= 0; i--) {
        struct graph_node n = g->node[i];   /* a copy: the array moves as it grows */

        if (gr->adjoint[i] == NODE_NONE || !has_active_operand(gr, &n))
            continue;
        g->source = n.source[0] ? arena_printf(g->arena, "gradients/%s", n.source) : "gradients";
        if (!give_operands(gr, &n, i, gr->adjoint[i]))
            return err_set(e, "%s: %s has no derivative", n.name, graph_op_name(n.op));
    }
    return 0;
}

int graph_backward(struct graph *g, int root, int seed, const int *wrt, int count, int *gradient,
                   struct err *e)
{
    size_t node_count = (size_t)root + 1;
    struct grad gr = {.g = g, .root = root};
    const char *source = g->source;
    int result;

    assert(shape_equal(&g->node[root].shape, &g->node[seed].shape) && is_float(g, root));
    gr.adjoint = mem_alloc(node_count * sizeof(*gr.adjoint));
    gr.is_active = mem_alloc(node_count * sizeof(*gr.is_active));
    for (size_t i = 0; i < node_count; i++)
        gr.adjoint[i] = NODE_NONE;
    mark_active(&gr, wrt, count);
    gr.adjoint[root] = seed;
    result = walk_back(&gr, e);
    g->source = source;
    for (int i = 0; i < count && result == 0; i++) {
        gradient[i] = wrt[i] <= root ? gr.adjoint[wrt[i]] : NODE_NONE;
        if (gradient[i] == NODE_NONE)
            gradient[i] = graph_splat(g, wrt[i], 0.0);
    }
    mem_free(gr.adjoint);
    mem_free(gr.is_active);
    return result;
}

int graph_grad(struct graph *g, int loss, const int *wrt, int count, int *gradient,
               struct err *e)
{
    const struct shape *shape = &g->node[loss].shape;
    char text[128];

    if (shape->rank != 0 || !is_float(g, loss))
        return err_set(e, "%s: the loss must be a scalar f32 or bf16, not %s",
                       g->node[loss].name, shape_print(shape, text, sizeof(text)));
    return graph_backward(g, loss, graph_constant(g, *shape, 1.0), wrt, count, gradient, e);
}
