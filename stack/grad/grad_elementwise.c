/* Writes the gradients of the elementwise operations. */
#include "stack/grad/grad_impl.h"

#define TWO_OVER_SQRT_PI 1.1283791670955126

/* (a op x), x a constant */
static int with(struct graph *g, enum graph_op op, int a, double x)
{
    return graph_binary(g, op, a, graph_splat(g, a, x));
}

static int square(struct graph *g, int a)
{
    return grad_multiply(g, a, a);
}

static int quotient(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_DIVIDE, a, b);
}

static int sign_times(struct graph *g, int a, int dy)
{
    int zero = grad_zeros(g, a);
    int third = grad_negate(g, dy);
    int below = graph_select(g, graph_compare(g, COMPARE_LT, a, zero), third, zero);

    return graph_select(g, graph_compare(g, COMPARE_GT, a, zero), dy, below);
}

static int one_minus(struct graph *g, int a)
{
    return graph_binary(g, HLO_SUBTRACT, graph_splat(g, a, 1.0), a);
}

/* a: operand, y: result, dy: its gradient */
static int smooth_gradient(struct graph *g, enum graph_op op, int a, int y, int dy)
{
    switch (op) {
    case HLO_EXP: return grad_multiply(g, dy, y);
    case HLO_EXPM1: return grad_multiply(g, dy, with(g, HLO_ADD, y, 1.0));
    case HLO_LOG: return quotient(g, dy, a);
    case HLO_LOG1P: return quotient(g, dy, with(g, HLO_ADD, a, 1.0));
    case HLO_SQRT: return quotient(g, grad_scale(g, dy, 0.5), y);
    case HLO_RSQRT: return quotient(g, grad_multiply(g, grad_scale(g, dy, -0.5), y), a);
    case HLO_CBRT: {
        int third_3 = square(g, y);

        return quotient(g, grad_scale(g, dy, 1.0 / 3.0), third_3);
    }
    case HLO_TANH: return grad_multiply(g, dy, one_minus(g, square(g, y)));
    case HLO_LOGISTIC: {
        int third_2 = one_minus(g, y);

        return grad_multiply(g, grad_multiply(g, dy, y), third_2);
    }
    case HLO_ERF:
        y = graph_unary(g, HLO_EXP, grad_negate(g, square(g, a)));
        return grad_multiply(g, grad_scale(g, dy, TWO_OVER_SQRT_PI), y);
    case HLO_SINE: return grad_multiply(g, dy, graph_unary(g, HLO_COSINE, a));
    case HLO_COSINE: {
        int third = graph_unary(g, HLO_SINE, a);

        return grad_multiply(g, grad_negate(g, dy), third);
    }
    case HLO_TAN: return grad_multiply(g, dy, with(g, HLO_ADD, square(g, y), 1.0));
    default: return NODE_NONE;
    }
}

bool grad_unary(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    struct graph *g = gr->g;
    int a = n->operand[0], da;

    if (graph_op_traits(n->op) & TRAIT_FLAT)
        return true;
    switch (n->op) {
    case HLO_CONVERT: da = grad_convert(g, dy, g->node[a].shape.dtype); break;
    case HLO_COPY: da = dy; break;
    case HLO_NEGATE: da = grad_negate(g, dy); break;
    case HLO_ABS: da = sign_times(g, a, dy); break;
    default: da = smooth_gradient(g, n->op, a, y, dy);
    }
    if (da == NODE_NONE)
        return false;
    grad_accumulate(gr, n, 0, da);
    return true;
}

static void give_product(struct grad *gr, const struct graph_node *n, int dy)
{
    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, grad_multiply(gr->g, dy, n->operand[1]));
    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, grad_multiply(gr->g, dy, n->operand[0]));
}

/* nobody asks for the gradient of the node itself, which may be left out on the way */
static bool is_on_the_way(const struct grad *gr, int node)
{
    for (int i = 0; i < gr->wrt_count; i++)
        if (gr->wrt[i] == node)
            return false;
    return node >= gr->first;
}

/* whether it is a quotient of exponentials and their sum along some dimensions */
static bool is_softmax(const struct grad *gr, const struct graph_node *n)
{
    const struct graph *g = gr->g;
    const struct graph_node *e = &g->node[n->operand[0]], *spread = &g->node[n->operand[1]], *sum;
    int kept = 0;

    if (e->op != HLO_EXP || spread->op != HLO_BROADCAST || e->is_held || spread->is_held
        || !is_on_the_way(gr, n->operand[0]))
        return false;
    sum = &g->node[spread->operand[0]];
    if (sum->op != HLO_REDUCE || sum->reduce_kind != REDUCE_ADD || sum->is_held
        || sum->operand[0] != n->operand[0])
        return false;
    for (int d = 0; d < n->shape.rank; d++)
        if (!(sum->reduce_mask >> d & 1) && spread->dims[kept++] != d)
            return false;
    return is_on_the_way(gr, n->operand[1]) && is_on_the_way(gr, spread->operand[0]);
}

/*
 * y rounded, where what the softmax is of was widened from the same type: it is a softmax of narrow
 * values, whose result libraries keep, and not the f32 one behind it, which would be twice the bytes
 * from the forward pass to the backward one. Or y itself.
 */
static int kept_softmax(const struct grad *gr, const struct graph_node *e, int y)
{
    const struct graph *g = gr->g;
    const struct graph_node *less = &g->node[e->operand[0]], *wide;

    if (less->op != HLO_SUBTRACT)
        return y;
    wide = &g->node[less->operand[0]];
    if (wide->op != HLO_CONVERT || wide->is_held)
        return y;
    for (int i = y + 1; i < gr->end; i++)
        if (g->node[i].op == HLO_CONVERT && g->node[i].operand[0] == y
            && g->node[i].shape.dtype == g->node[wide->operand[0]].shape.dtype)
            return i;
    return y;
}

/* y = e^z / sum of e^z: dz = y (dy - sum of dy y), as libraries write it, from y alone */
static void give_softmax(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    struct graph *g = gr->g;
    struct graph_node e = g->node[n->operand[0]], spread = g->node[n->operand[1]];
    uint32_t along = g->node[spread.operand[0]].reduce_mask;
    int sum;

    y = graph_convert(g, kept_softmax(gr, &e, y), n->shape.dtype);
    sum = graph_reduce(g, REDUCE_ADD, grad_multiply(g, dy, y), along);
    sum = graph_broadcast(g, sum, n->shape, spread.dims);
    grad_accumulate(gr, &e, 0, grad_multiply(g, graph_binary(g, HLO_SUBTRACT, dy, sum), y));
}

/* y = a / b: da = dy / b, db = -da y */
static void give_quotient(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    int da;

    if (grad_wants(gr, n, 0) && is_softmax(gr, n)) {
        give_softmax(gr, n, y, dy);
        return;
    }
    da = quotient(gr->g, dy, n->operand[1]);
    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, da);
    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, grad_negate(gr->g, grad_multiply(gr->g, da, y)));
}

/* a - trunc(a / b) b */
static void give_remainder(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph *g = gr->g;
    int whole;

    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, dy);
    if (!grad_wants(gr, n, 1))
        return;
    whole = quotient(g, n->operand[0], n->operand[1]);
    int third = graph_unary(g, HLO_FLOOR, graph_unary(g, HLO_ABS, whole));
    whole = grad_multiply(g, graph_unary(g, HLO_SIGN, whole), third);
    grad_accumulate(gr, n, 1, grad_negate(g, grad_multiply(g, dy, whole)));
}

/* y = a^b: da = dy b a^(b-1), db = dy y log a, which is 0 where a is */
static void give_power(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    struct graph *g = gr->g;
    int a = n->operand[0], b = n->operand[1], x;

    if (grad_wants(gr, n, 0)) {
        x = graph_binary(g, HLO_POWER, a, with(g, HLO_SUBTRACT, b, 1.0));
        grad_accumulate(gr, n, 0, grad_multiply(g, dy, grad_multiply(g, b, x)));
    }
    if (grad_wants(gr, n, 1)) {
        x = graph_compare(g, COMPARE_EQ, a, grad_zeros(g, a));
        x = graph_unary(g, HLO_LOG, graph_select(g, x, graph_splat(g, a, 1.0), a));
        grad_accumulate(gr, n, 1, grad_multiply(g, dy, grad_multiply(g, y, x)));
    }
}

/* the angle of (b, a) */
static void give_angle(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph *g = gr->g;
    int a = n->operand[0], b = n->operand[1];
    int fourth = square(g, b);
    int scaled = quotient(g, dy, graph_binary(g, HLO_ADD, square(g, a), fourth));

    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, grad_multiply(g, scaled, b));
    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, grad_negate(g, grad_multiply(g, scaled, a)));
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
    int zero = grad_zeros(g, dy);

    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, graph_select(g, first, dy, zero));
    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, graph_select(g, first, zero, dy));
}

bool grad_binary(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    switch (n->op) {
    case HLO_ADD:
    case HLO_SUBTRACT:
        if (grad_wants(gr, n, 0))
            grad_accumulate(gr, n, 0, dy);
        if (grad_wants(gr, n, 1))
            grad_accumulate(gr, n, 1, n->op == HLO_ADD ? dy : grad_negate(gr->g, dy));
        break;
    case HLO_MULTIPLY: give_product(gr, n, dy); break;
    case HLO_DIVIDE: give_quotient(gr, n, y, dy); break;
    case HLO_REMAINDER: give_remainder(gr, n, dy); break;
    case HLO_POWER: give_power(gr, n, y, dy); break;
    case HLO_ATAN2: give_angle(gr, n, dy); break;
    case HLO_MAXIMUM:
    case HLO_MINIMUM: give_larger(gr, n, y, dy); break;
    default: return false;
    }
    return true;
}

static void give_select(struct grad *gr, const struct graph_node *n, int dy)
{
    int zero = grad_zeros(gr->g, dy);

    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, graph_select(gr->g, n->operand[0], dy, zero));
    if (grad_wants(gr, n, 2))
        grad_accumulate(gr, n, 2, graph_select(gr->g, n->operand[0], zero, dy));
}

static int as_values(struct graph *g, int bound, int x)
{
    struct shape shape = g->node[x].shape;

    return g->node[bound].shape.rank == shape.rank ? bound
                                                   : graph_broadcast(g, bound, shape, NULL);
}

static void give_bound(struct grad *gr, const struct graph_node *n, int operand, int hit, int dy)
{
    struct graph *g = gr->g;
    int d = graph_select(g, hit, dy, grad_zeros(g, dy));

    if (g->node[n->operand[operand]].shape.rank < n->shape.rank)
        d = graph_reduce(g, REDUCE_ADD, d, (1u << n->shape.rank) - 1);
    grad_accumulate(gr, n, operand, d);
}

/* a bound gets the gradient where it is the result; the value where it lies between */
static void give_clamp(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph *g = gr->g;
    int x = n->operand[1];
    int low = as_values(g, n->operand[0], x), high = as_values(g, n->operand[2], x);
    int fourth_2 = graph_compare(g, COMPARE_LT, x, high);
    int inside = graph_binary(g, HLO_AND, graph_compare(g, COMPARE_GT, x, low), fourth_2);

    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, graph_select(g, inside, dy, grad_zeros(g, dy)));
    if (grad_wants(gr, n, 0)) {
        int fourth = graph_compare(g, COMPARE_LT, low, high);

        give_bound(gr, n, 0, graph_binary(g, HLO_AND, graph_compare(g, COMPARE_LT, x, low), fourth),
                   dy);
    }
    if (grad_wants(gr, n, 2))
        give_bound(gr, n, 2, graph_compare(g, COMPARE_GT, graph_binary(g, HLO_MAXIMUM, x, low),
                                           high), dy);
}

bool grad_choice(struct grad *gr, const struct graph_node *n, int dy)
{
    if (n->op == HLO_SELECT)
        give_select(gr, n, dy);
    else
        give_clamp(gr, n, dy);
    return true;
}
