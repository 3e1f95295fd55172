/*
 * Excess precision, as XLA allows it by default: inside a fusion a value that
 * is rounded to bf16 only to be widened again keeps its f32 bits, and a product
 * that is widened at once is summed to f32. Arrays in memory keep their types,
 * so traffic is what the program says. Who holds a program's values against other machines' may
 * have it keep its roundings.
 */
#include "stack/passes/pass.h"
#include "stack/hlo/rewrite.h"

static bool is_product(const struct graph_node *n)
{
    return n->op == HLO_DOT || n->op == HLO_CONVOLUTION;
}

/* whether all users of node `of` are conversions to f32; not if it is an output */
static bool is_only_widened(const struct graph *g, int of)
{
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == of)
            return false;
    for (int i = of + 1; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            if (g->node[i].operand[k] == of &&
                (g->node[i].op != HLO_CONVERT || g->node[i].shape.dtype != DTYPE_F32))
                return false;
    return true;
}

/* the f32 value behind a rounding, or NODE_NONE */
static int unrounded(const struct graph *g, const struct graph_node *n)
{
    const struct graph_node *a;

    if (n->op != HLO_CONVERT || n->shape.dtype != DTYPE_F32)
        return NODE_NONE;
    a = &g->node[n->operand[0]];
    if (a->shape.dtype == DTYPE_F32)
        return n->operand[0];           /* a product that has become f32, scores that stay it */
    if (a->op == HLO_CONVERT && a->shape.dtype == DTYPE_BF16 &&
        g->node[a->operand[0]].shape.dtype == DTYPE_F32)
        return a->operand[0];
    return NODE_NONE;
}

static int relax(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    (void)user;
    if (is_product(n) && n->shape.dtype == DTYPE_BF16 && is_only_widened(w->from, node))
        n->shape.dtype = DTYPE_F32;
    return unrounded(&w->to, n);
}

static int relax_body(struct graph *body, const void *user, struct err *e)
{
    (void)e;
    rewrite_each(body, relax, user);
    return 0;
}

int pass_excess(struct graph *g, const struct pass_context *c, struct err *e)
{
    if (c->keeps_roundings)
        return 0;
    return rewrite_fusions(g, relax_body, NULL, e);
}
