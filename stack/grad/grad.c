/*
 * Walks back from the roots; adjoint[i] is the gradient of node i so far. Only
 * active nodes, those that depend on a node asked for, receive one. Integers
 * and predicates are constants: no gradient flows through them.
 *
 * Ties: maximum and minimum give the gradient to the second operand, so that
 * relu, maximum(x, 0), has slope 0 at 0; reduce max and min share it equally
 * among the equal elements, a window gives it to the first of them; abs has slope 0 at 0.
 */
#include "stack/grad/grad_impl.h"

#include <assert.h>

static bool is_float(const struct graph *g, int node)
{
    return graph_dtype_is_float(g->node[node].shape.dtype);
}

/* Fold constants here instead of in a pass. */
static bool splat_value(const struct graph *g, int node, double *value)
{
    while (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    *value = g->node[node].value;
    return g->node[node].op == HLO_CONSTANT && !g->node[node].literal;
}

int grad_fill(struct graph *g, const struct shape *shape, double value)
{
    struct shape copy = *shape;         /* the node it may be part of moves */
    int scalar = graph_constant(g, shape_scalar(copy.dtype), value);

    return copy.rank == 0 ? scalar : graph_broadcast(g, scalar, copy, NULL);
}

int grad_zeros(struct graph *g, int like)
{
    return graph_splat(g, like, 0.0);
}

int grad_multiply(struct graph *g, int a, int b)
{
    struct shape shape = g->node[a].shape;
    double x, y;
    bool a_is_splat = splat_value(g, a, &x), b_is_splat = splat_value(g, b, &y);

    if (a_is_splat && b_is_splat)
        return grad_fill(g, &shape, x * y);
    if (a_is_splat && x == 1.0)
        return b;
    if (b_is_splat && y == 1.0)
        return a;
    return graph_binary(g, HLO_MULTIPLY, a, b);
}

int grad_scale(struct graph *g, int a, double factor)
{
    return grad_multiply(g, a, graph_splat(g, a, factor));
}

int grad_negate(struct graph *g, int a)
{
    struct shape shape = g->node[a].shape;
    double x;

    return splat_value(g, a, &x) ? grad_fill(g, &shape, -x) : graph_unary(g, HLO_NEGATE, a);
}

int grad_spread(struct graph *g, int a, const struct shape *shape, const int *dims)
{
    double x;

    return splat_value(g, a, &x) ? grad_fill(g, shape, x) : graph_broadcast(g, a, *shape, dims);
}

/* bf16 -> f32 -> bf16 is nothing */
int grad_convert(struct graph *g, int a, enum graph_dtype dtype)
{
    struct shape shape = g->node[a].shape;
    double x;

    if (shape.dtype == dtype)
        return a;
    if (splat_value(g, a, &x)) {
        shape.dtype = dtype;
        return grad_fill(g, &shape, x);
    }
    if (g->node[a].op == HLO_CONVERT && dtype == DTYPE_BF16 &&
        g->node[g->node[a].operand[0]].shape.dtype == dtype)
        return g->node[a].operand[0];
    return graph_convert(g, a, dtype);
}

static void add_to(struct graph *g, int *sum, int gradient)
{
    *sum = *sum == NODE_NONE ? gradient : graph_binary(g, HLO_ADD, *sum, gradient);
}

void grad_accumulate(struct grad *gr, const struct graph_node *n, int operand, int gradient)
{
    add_to(gr->g, &gr->adjoint[n->operand[operand]], gradient);
}

static void give_part(struct grad *gr, const struct graph_node *n, int dy)
{
    int tuple = n->operand[0], count = gr->g->node[tuple].tuple_count;

    if (!gr->part[tuple]) {
        gr->part[tuple] = mem_alloc((size_t)count * sizeof(int));
        for (int i = 0; i < count; i++)
            gr->part[tuple][i] = NODE_NONE;
    }
    add_to(gr->g, &gr->part[tuple][n->dim], dy);
}

static bool give_tuple(struct grad *gr, const struct graph_node *n, const int *part)
{
    for (int i = 0; i < n->operand_count; i++)
        if (part[i] != NODE_NONE && grad_wants(gr, n, i))
            grad_accumulate(gr, n, i, part[i]);
    return true;
}


/* false: no derivative */
static bool give_operands(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    switch (graph_op_kind(n->op)) {
    case KIND_SOURCE: return true;
    case KIND_UNARY: return grad_unary(gr, n, y, dy);
    case KIND_BINARY: return grad_binary(gr, n, y, dy);
    case KIND_OTHER: return grad_choice(gr, n, dy);
    case KIND_SHAPE: return grad_move(gr, n, dy);
    case KIND_DOT: return grad_dot(gr, n, dy);
    case KIND_CONV: return grad_convolution(gr, n, dy);
    case KIND_REDUCE: return grad_reduce(gr, n, y, dy);
    case KIND_WINDOW: return grad_window(gr, n, dy);
    case KIND_INDEX: return grad_index(gr, n, dy);
    case KIND_SORT: return grad_sort(gr, n, y, &dy);
    case KIND_TUPLE: give_part(gr, n, dy); return true;
    case KIND_CALL: return false;       /* handled with the tuples */
    case KIND_COLLECTIVE:
        return grad_collective(gr, n, &dy);
    case KIND_MESSAGE: return false;
    }
    return false;
}

static bool may_be_active(const struct graph *g, int node)
{
    return is_float(g, node) || g->node[node].tuple_count > 0;
}

static void mark_active(struct grad *gr, const int *wrt, int count)
{
    for (int i = 0; i < count; i++)
        if (wrt[i] < gr->end)
            gr->is_active[wrt[i]] = is_float(gr->g, wrt[i]);
    for (int i = 0; i < gr->end; i++) {
        const struct graph_node *n = &gr->g->node[i];

        for (int k = 0; k < n->operand_count && may_be_active(gr->g, i) && !n->is_held; k++)
            if (gr->is_active[n->operand[k]])
                gr->is_active[i] = true;
    }
}

static void count_reads(struct grad *gr)
{
    for (int i = 0; i < gr->end; i++)
        for (int k = 0; k < gr->g->node[i].operand_count; k++)
            gr->read_count[gr->g->node[i].operand[k]]++;
}

static bool has_active_operand(const struct grad *gr, const struct graph_node *n)
{
    for (int k = 0; k < n->operand_count; k++)
        if (gr->is_active[n->operand[k]])
            return true;
    return false;
}

/* nodes with several results, and calls; -1 when something in a call has no derivative */
static int give_several(struct grad *gr, const struct graph_node *n, int y, const int *part,
                        bool *is_known, struct err *e)
{
    *is_known = true;
    if (graph_op_kind(n->op) == KIND_CALL)
        return grad_call(gr, n, part, e);
    if (graph_op_kind(n->op) == KIND_COLLECTIVE)
        *is_known = grad_collective(gr, n, part);
    else
        *is_known = n->op == HLO_TUPLE ? give_tuple(gr, n, part) : grad_sort(gr, n, y, part);
    return 0;
}

static int walk_node(struct grad *gr, int i, struct err *e)
{
    struct graph *g = gr->g;
    struct graph_node n = g->node[i];   /* a copy: the array moves as it grows */
    const int *part = gr->part[i] ? gr->part[i] : &gr->adjoint[i];
    bool is_known = true;

    if ((gr->adjoint[i] == NODE_NONE && !gr->part[i]) || !has_active_operand(gr, &n))
        return 0;
    g->gradient_of = i;
    g->source = n.source[0] ? arena_printf(g->arena, "gradients/%s", n.source) : "gradients";
    if (n.tuple_count > 0 || graph_op_kind(n.op) == KIND_CALL) {
        if (give_several(gr, &n, i, part, &is_known, e) != 0)
            return -1;
    } else {
        is_known = grad_slope(gr, i) || give_operands(gr, &n, i, gr->adjoint[i]);
    }
    if (!is_known)
        return err_set(e, "%s: %s has no derivative", n.name, graph_op_name(n.op));
    return 0;
}

int grad_walk(struct graph *g, int first, const int *root, const int *seed, int root_count,
              const int *wrt, int count, int *gradient, struct err *e)
{
    struct grad gr = {.g = g, .first = first, .wrt = wrt, .wrt_count = count};
    const char *source = g->source;
    int result = 0, gradient_of = g->gradient_of;

    for (int i = 0; i < root_count; i++)
        gr.end = root[i] >= gr.end ? root[i] + 1 : gr.end;
    gr.adjoint = mem_alloc((size_t)gr.end * sizeof(*gr.adjoint));
    gr.part = mem_alloc((size_t)gr.end * sizeof(*gr.part));
    gr.is_active = mem_alloc((size_t)gr.end * sizeof(*gr.is_active));
    gr.read_count = mem_alloc((size_t)gr.end * sizeof(*gr.read_count));
    for (int i = 0; i < gr.end; i++)
        gr.adjoint[i] = NODE_NONE;
    mark_active(&gr, wrt, count);
    count_reads(&gr);
    for (int i = 0; i < root_count; i++)
        add_to(g, &gr.adjoint[root[i]], seed[i]);
    for (int i = gr.end - 1; i >= first && result == 0; i--)
        result = walk_node(&gr, i, e);
    g->source = source;
    g->gradient_of = gradient_of;
    for (int i = 0; i < count && result == 0; i++)
        gradient[i] = wrt[i] < gr.end ? gr.adjoint[wrt[i]] : NODE_NONE;
    for (int i = 0; i < gr.end; i++)
        mem_free(gr.part[i]);
    mem_free(gr.part);
    mem_free(gr.adjoint);
    mem_free(gr.is_active);
    mem_free(gr.read_count);
    return result;
}

int graph_backward(struct graph *g, int root, int seed, const int *wrt, int count, int *gradient,
                   struct err *e)
{
    assert(shape_equal(&g->node[root].shape, &g->node[seed].shape) && is_float(g, root));
    if (grad_walk(g, 0, &root, &seed, 1, wrt, count, gradient, e) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (gradient[i] == NODE_NONE)
            gradient[i] = grad_zeros(g, wrt[i]);
    return 0;
}

int graph_hold(struct graph *g, int node)
{
    g->node[node].is_held = true;
    return node;
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
