/*
 * The parts of a body with a convolution. Around it stand elementwise nodes of
 * the result's dimensions, or of one dimension, the features, or scalars;
 * broadcasts join them. Behind sums over all dimensions but the features stand
 * such of one dimension alone. The input is a parameter, or elementwise work on such of its own
 * dimensions, on vectors along one of them and on scalars; it may be a result, too. So is the
 * kernel.
 */
#include "stack/kernels/conv/conv_body.h"

#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "stack/kernels/loop/fused.h"

/* The parameter behind a node, through conversions that lose nothing; -1: none. */
static int parameter_behind(const struct graph *g, int node)
{
    while (g->node[node].op == HLO_CONVERT && g->node[node].shape.dtype == DTYPE_F32 &&
           g->node[g->node[node].operand[0]].shape.dtype == DTYPE_BF16)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_PARAMETER ? g->node[node].parameter_index : -1;
}

/* ----- what input and kernel are made of */

static int add_maker(struct conv_body *b, enum conv_role role, int node, int dim, struct err *e)
{
    const struct graph_node *n = &b->graph->node[node];
    const struct shape *made = &b->graph->node[b->made[role]].shape;
    struct conv_maker x = {.role = role, .operand = n->parameter_index, .node = node, .dim = dim};

    if (n->shape.rank == 0)
        x.kind = EXTRA_SCALAR;
    else if (n->shape.rank == 1 && dim >= 0)
        x.kind = EXTRA_FEATURES;
    else if (shape_same_dims(&n->shape, made) &&
             array_element_bytes(n->shape.dtype) == array_element_bytes(made->dtype))
        x.kind = EXTRA_FULL;
    else
        return err_set(e, "%s: input and kernel are made of arrays like them, vectors and scalars",
                       n->name);
    if (x.kind != EXTRA_FULL && array_element_bytes(n->shape.dtype) != 4 &&
        n->shape.dtype != DTYPE_BF16)
        return err_set(e, "%s: vectors before a convolution are bf16 or have 32 bits", n->name);
    for (int i = 0; i < b->maker_count; i++)
        if (b->maker[i].role == role && b->maker[i].node == node)
            return b->maker[i].dim == dim ? 0 : err_set(e, "%s: along two dimensions", n->name);
    if (b->maker_count == CONV_MAKERS_MAX)
        return err_set(e, "input and kernel made of more than %d operands", CONV_MAKERS_MAX);
    b->maker[b->maker_count++] = x;
    return 0;
}

/*
 * Down to parameters. `dim`: of the input, along which a vector has been spread; else -1. seen[]:
 * by node the last one's plus two.
 */
static int visit_made(struct conv_body *b, enum conv_role role, int node, int dim, int *seen,
                      struct err *e)
{
    const struct graph_node *n = &b->graph->node[node], *from;

    if (seen[node] == dim + 2)
        return 0;
    seen[node] = dim + 2;
    if (n->op == HLO_PARAMETER)
        return add_maker(b, role, node, dim, e);
    if (n->op == HLO_CONSTANT && !n->literal)
        return 0;
    if (n->op == HLO_BROADCAST) {
        from = &b->graph->node[n->operand[0]];
        if (from->shape.rank > 1 || (dim >= 0 && from->shape.rank == 1 && n->shape.rank > 1))
            return err_set(e, "%s: a broadcast of more than a vector", n->name);
        return visit_made(b, role, n->operand[0],
                          from->shape.rank == 1 && n->shape.rank > 1 ? n->dims[0] : dim, seen,
                          e);
    }
    if (!fused_is_elementwise(n))
        return err_set(e, "%s: %s before a convolution", n->name, graph_op_name(n->op));
    for (int i = 0; i < n->operand_count; i++)
        if (visit_made(b, role, n->operand[i], dim, seen, e))
            return -1;
    return 0;
}

/* an operand of the convolution, through conversions that lose nothing */
static int find_made(struct conv_body *b, enum conv_role role, int *array, struct err *e)
{
    const struct graph *g = b->graph;
    int node = g->node[b->conv].operand[role], *seen, failed;

    while (g->node[node].op == HLO_CONVERT && g->node[node].shape.dtype == DTYPE_F32 &&
           g->node[g->node[node].operand[0]].shape.dtype == DTYPE_BF16)
        node = g->node[node].operand[0];
    if (!graph_dtype_is_float(g->node[node].shape.dtype) || !fused_is_elementwise(&g->node[node]))
        return err_set(e, "%s: its operands must be parameters or made elementwise",
                       g->node[b->conv].name);
    b->made[role] = node;
    seen = mem_alloc((size_t)g->node_count * sizeof(*seen));
    failed = visit_made(b, role, node, -1, seen, e);
    mem_free(seen);
    if (failed)
        return -1;
    for (int i = b->maker_count - 1; i >= 0; i--)
        if (b->maker[i].role == role && b->maker[i].kind == EXTRA_FULL &&
            g->node[b->maker[i].node].shape.dtype == g->node[node].shape.dtype)
            *array = b->maker[i].operand;
    return *array >= 0 ? 0 : err_set(e, "%s: an operand that is made of no array of its type",
                                     g->node[b->conv].name);
}

static void mark(const struct graph *g, int node, bool *is_maker)
{
    if (is_maker[node] || g->node[node].op == HLO_PARAMETER)
        return;
    is_maker[node] = true;
    for (int i = 0; i < g->node[node].operand_count; i++)
        mark(g, g->node[node].operand[i], is_maker);
}

void conv_body_makers(const struct conv_body *b, enum conv_role role, bool *is_maker)
{
    if (b->made[role] != NODE_NONE)
        mark(b->graph, b->made[role], is_maker);
}

/* ----- */

static int find_conv(const struct graph *g, struct conv_body *b, struct err *e)
{
    b->conv = -1;
    for (int i = 0; i < g->node_count; i++) {
        if (g->node[i].op != HLO_CONVOLUTION)
            continue;
        if (b->conv >= 0)
            return err_set(e, "%s: a second convolution in one kernel", g->node[i].name);
        b->conv = i;
    }
    if (b->conv < 0)
        return err_set(e, "no convolution");
    b->lhs = parameter_behind(g, g->node[b->conv].operand[0]);
    b->rhs = parameter_behind(g, g->node[b->conv].operand[1]);
    if (b->lhs < 0 && find_made(b, CONV_LHS, &b->lhs, e))
        return -1;
    return b->rhs < 0 ? find_made(b, CONV_RHS, &b->rhs, e) : 0;
}

static int add_extra(struct conv_body *b, int node, struct err *e)
{
    const struct graph_node *n = &b->graph->node[node], *conv = &b->graph->node[b->conv];
    struct conv_extra x = {.operand = n->parameter_index, .node = node};

    if (n->shape.rank == 0)
        x.kind = EXTRA_SCALAR;
    else if (n->shape.rank == 1 && n->shape.dim[0] == conv->shape.dim[conv->conv->out_feature])
        x.kind = EXTRA_FEATURES;
    else if (shape_same_dims(&n->shape, &conv->shape))
        x.kind = EXTRA_FULL;
    else
        return err_set(e, "%s: neither of the result's shape nor one value per feature", n->name);
    if (x.kind != EXTRA_FULL && array_element_bytes(n->shape.dtype) != 4 &&
        !(x.kind == EXTRA_FEATURES && n->shape.dtype == DTYPE_BF16))
        return err_set(e, "%s: values per feature must be bf16 or have 32 bits", n->name);
    for (int i = 0; i < b->extra_count; i++)
        if (b->extra[i].node == node)
            return 0;
    if (b->extra_count == CONV_EXTRA_MAX)
        return err_set(e, "more than %d operands besides input and kernel", CONV_EXTRA_MAX);
    b->extra[b->extra_count++] = x;
    return 0;
}

static int check_broadcast(const struct conv_body *b, const struct graph_node *n, struct err *e)
{
    const struct graph_node *from = &b->graph->node[n->operand[0]];

    if (from->shape.rank == 0 || (from->shape.rank == 1 && n->shape.rank == 1))
        return 0;
    if (from->shape.rank == 1 && n->dims[0] == b->graph->node[b->conv].conv->out_feature)
        return 0;
    return err_set(e, "%s: a broadcast of anything but scalars and features", n->name);
}

/* what results read, from them down to parameters and the convolution */
static int visit(struct conv_body *b, int node, bool *is_seen, struct err *e)
{
    const struct graph_node *n = &b->graph->node[node];

    if (is_seen[node] || node == b->conv)
        return 0;
    is_seen[node] = true;
    if (n->op == HLO_PARAMETER)
        return add_extra(b, node, e);
    if (n->op == HLO_BROADCAST) {
        if (check_broadcast(b, n, e))
            return -1;
    } else if (n->op != HLO_CONSTANT && !fused_is_elementwise(n)) {
        return err_set(e, "%s: %s beside a convolution", n->name, graph_op_name(n->op));
    }
    for (int i = 0; i < n->operand_count; i++)
        if (visit(b, n->operand[i], is_seen, e))
            return -1;
    return 0;
}

/* one value per feature */
static bool is_of_features(const struct conv_body *b, const struct graph_node *n)
{
    const struct graph_node *conv = &b->graph->node[b->conv];

    return n->shape.rank == 1 && n->shape.dim[0] == conv->shape.dim[conv->conv->out_feature] &&
           conv->shape.rank > 1;
}

/* a sum over all dimensions but the features; what is summed is `visit`'s */
static int add_total(struct conv_body *b, int node, bool *is_seen, struct err *e)
{
    const struct graph_node *n = &b->graph->node[node], *conv = &b->graph->node[b->conv];
    const struct graph_node *from = &b->graph->node[n->operand[0]];
    uint32_t all = (1u << conv->shape.rank) - 1;

    if (n->reduce_kind != REDUCE_ADD || n->shape.dtype != DTYPE_F32 ||
        from->shape.dtype != DTYPE_F32 || !shape_same_dims(&from->shape, &conv->shape) ||
        n->reduce_mask != (all & ~(1u << conv->conv->out_feature)))
        return err_set(e, "%s: a reduction beside a convolution that is no sum of f32 per feature",
                       n->name);
    if (b->total_count == CONV_TOTALS_MAX)
        return err_set(e, "more than %d sums per feature", CONV_TOTALS_MAX);
    b->total[b->total_count++] = node;
    return visit(b, n->operand[0], is_seen, e);
}

/* of a result with one value per feature, down to parameters and totals; is_late is its own */
static int visit_late(struct conv_body *b, int node, bool *is_late, bool *is_seen, struct err *e)
{
    const struct graph_node *n = &b->graph->node[node];

    if (is_late[node])
        return 0;
    is_late[node] = true;
    if (n->op == HLO_PARAMETER)
        return n->shape.rank > 1 ? err_set(e, "%s: more than one value per feature", n->name)
                                 : add_extra(b, node, e);
    if (n->op == HLO_REDUCE)
        return add_total(b, node, is_seen, e);
    if (n->op == HLO_BROADCAST) {
        if (check_broadcast(b, n, e))
            return -1;
    } else if (n->op != HLO_CONSTANT && !fused_is_elementwise(n)) {
        return err_set(e, "%s: %s behind sums per feature", n->name, graph_op_name(n->op));
    }
    for (int i = 0; i < n->operand_count; i++)
        if (visit_late(b, n->operand[i], is_late, is_seen, e))
            return -1;
    return 0;
}

static int visit_result(struct conv_body *b, int i, bool *is_late, bool *is_seen, struct err *e)
{
    int node = b->graph->output[i].node;
    const struct graph_node *n = &b->graph->node[node];

    if (node == b->made[CONV_LHS] && b->made_out < 0) {
        b->made_out = i;
        return 0;
    }
    b->is_of_features[i] = is_of_features(b, n);
    if (!b->is_of_features[i])
        return shape_same_dims(&n->shape, &b->graph->node[b->conv].shape)
                   ? visit(b, node, is_seen, e)
                   : err_set(e, "%s: a result of other dimensions than the convolution", n->name);
    if (n->shape.dtype != DTYPE_F32)
        return err_set(e, "%s: values per feature that are no f32", n->name);
    return visit_late(b, node, is_late, is_seen, e);
}

int conv_body_of(const struct graph *g, struct conv_body *b, struct err *e)
{
    bool *is_seen, *is_late;
    int failed = 0, full = 0;

    memset(b, 0, sizeof(*b));
    b->graph = g;
    b->made[CONV_LHS] = b->made[CONV_RHS] = NODE_NONE;
    b->made_out = -1;
    if (find_conv(g, b, e))
        return -1;
    b->out_count = g->output_count;
    if (b->out_count < 1 || b->out_count > CONV_OUT_MAX)
        return err_set(e, "%d results (1..%d)", b->out_count, CONV_OUT_MAX);
    is_seen = mem_alloc((size_t)g->node_count);
    is_late = mem_alloc((size_t)g->node_count);
    for (int i = 0; i < b->out_count && !failed; i++) {
        failed = visit_result(b, i, is_late, is_seen, e);
        full += !b->is_of_features[i] && i != b->made_out;
    }
    mem_free(is_seen);
    mem_free(is_late);
    if (!failed && full == 0)
        return err_set(e, "sums per feature alone, without a result of the convolution's shape");
    return failed;
}
