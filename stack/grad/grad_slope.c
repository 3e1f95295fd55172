/*
 * Functions of one array, elementwise, whose result depends on it in several ways: a gelu, x times
 * a sigmoid of x. Walked back node by node, each way multiplies the gradient by a part of the
 * slope and wants arrays of its own. The slope itself is one array and does not need the gradient:
 * the kernel that computes the function has most of its terms at hand, and what goes back is one
 * product.
 */
#include "stack/grad/grad_impl.h"

#include <string.h>

#define NODES_MAX 32                    /* of a function; the largest in use have a dozen */

struct function {
    int node[NODES_MAX];                /* without the argument; falling, so result first */
    int count, argument;
    bool has_function;                  /* else its terms cost nothing again */
};

static bool has_trait(const struct graph_node *n, unsigned traits)
{
    return (graph_op_traits(n->op) & traits) != 0;
}

static bool is_constant(const struct graph *g, int node)
{
    while (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONSTANT && !g->node[node].literal;
}

/* of the array that its gradient goes to and of constants, and every array is like the result */
static bool may_belong(const struct grad *gr, int node, const struct shape *result)
{
    const struct graph_node *n = &gr->g->node[node];

    if (!has_trait(n, TRAIT_RATIONAL | TRAIT_SLOPE) || n->is_held || n->tuple_count > 0 ||
        node < gr->first || !shape_equal(&n->shape, result))
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (!grad_wants(gr, n, k) && !is_constant(gr->g, n->operand[k]))
            return false;
    return true;
}

/* those that the walk still comes to, highest first */
static void put_off(int *list, int *count, int node)
{
    int at = *count;

    for (int i = 0; i < *count; i++)
        if (list[i] == node)
            return;
    for (; at > 0 && list[at - 1] < node; at--)
        list[at] = list[at - 1];
    list[at] = node;
    ++*count;
}

/* how often members read the node */
static int reads_of(const struct grad *gr, const struct function *f, int node)
{
    int count = 0;

    for (int i = 0; i < f->count; i++) {
        const struct graph_node *n = &gr->g->node[f->node[i]];

        for (int k = 0; k < n->operand_count; k++)
            count += n->operand[k] == node;
    }
    return count;
}

/* nobody but members reads it, nobody asks for its gradient: it need not be known */
static bool is_inside(const struct grad *gr, const struct function *f, int node)
{
    for (int i = 0; i < gr->wrt_count; i++)
        if (gr->wrt[i] == node)
            return false;
    return gr->adjoint[node] == NODE_NONE && reads_of(gr, f, node) == gr->read_count[node];
}

/* all ways from the result down to the first node where they meet again */
static bool find_function(const struct grad *gr, int result, struct function *f)
{
    const struct graph *g = gr->g;
    int open[2 * NODES_MAX] = {result}, count = 1;
    bool parts = false;                 /* into several ways */

    *f = (struct function){.argument = NODE_NONE};
    while (count > 1 || !parts) {
        int node = open[0];
        const struct graph_node *n = &g->node[node];

        if (f->count == NODES_MAX || count > NODES_MAX ||
            !may_belong(gr, node, &g->node[result].shape) ||
            (node != result && !is_inside(gr, f, node)))
            return false;
        memmove(open, open + 1, (size_t)--count * sizeof(*open));
        f->node[f->count++] = node;
        f->has_function |= has_trait(n, TRAIT_SLOPE);
        for (int k = 0; k < n->operand_count; k++)
            if (grad_wants(gr, n, k))
                put_off(open, &count, n->operand[k]);
        parts |= count > 1;
        if (count == 0 || (count == 1 && !parts))
            return false;               /* of nothing; one way: nothing is spared */
    }
    f->argument = open[0];
    return f->has_function && shape_equal(&g->node[f->argument].shape,
                                                &g->node[result].shape);
}

/* the walk again, from the result with a gradient of 1 everywhere; NODE_NONE: no derivative */
static int slope_of(const struct grad *gr, const struct function *f)
{
    struct graph *g = gr->g;
    struct shape shape = g->node[f->node[0]].shape;
    struct grad inner = *gr;
    bool is_known = true;
    int slope;

    inner.adjoint = mem_alloc((size_t)gr->end * sizeof(*inner.adjoint));
    for (int i = 0; i < gr->end; i++)
        inner.adjoint[i] = NODE_NONE;
    inner.adjoint[f->node[0]] = grad_fill(g, &shape, 1.0);
    for (int i = 0; i < f->count && is_known; i++) {
        struct graph_node n = g->node[f->node[i]];  /* a copy: the array moves as it grows */

        is_known = graph_op_kind(n.op) == KIND_UNARY
                       ? grad_unary(&inner, &n, f->node[i], inner.adjoint[f->node[i]])
                       : grad_binary(&inner, &n, f->node[i], inner.adjoint[f->node[i]]);
    }
    slope = is_known ? inner.adjoint[f->argument] : NODE_NONE;
    mem_free(inner.adjoint);
    return slope;
}

bool grad_slope(struct grad *gr, int result)
{
    struct function f;
    int slope, da;

    if (!find_function(gr, result, &f))
        return false;
    slope = slope_of(gr, &f);
    if (slope == NODE_NONE)
        return false;
    da = grad_multiply(gr->g, gr->adjoint[result], slope);
    gr->adjoint[f.argument] = gr->adjoint[f.argument] == NODE_NONE
                                  ? da : graph_binary(gr->g, HLO_ADD, gr->adjoint[f.argument], da);
    return true;
}
