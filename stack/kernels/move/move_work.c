/* Finds and emits the elementwise work that a move does on an operand. */
#include "stack/kernels/move/move_work.h"

#include <assert.h>

#include "stack/hlo/graph_shape.h"

#define DEPTH_MAX 16                    /* operations one behind another */

static bool is_float(const struct graph_node *n) { return graph_dtype_is_float(n->shape.dtype); }

/* a number for all elements: a constant, spread or not */
static const struct graph_node *number_of(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];

    if (n->op == HLO_BROADCAST)
        n = &g->node[n->operand[0]];
    return n->op == HLO_CONSTANT && !n->literal && is_float(n) ? n : NULL;
}

static int parameter_of(const struct graph *g, int node, int depth)
{
    const struct graph_node *n = &g->node[node];
    int found = NODE_NONE;

    if (n->op == HLO_PARAMETER)
        return is_float(n) ? node : NODE_NONE;
    if (!graph_op_is_elementwise(n->op) || !is_float(n) || depth == DEPTH_MAX)
        return NODE_NONE;
    for (int k = 0; k < n->operand_count; k++) {
        int below;

        if (number_of(g, n->operand[k]))
            continue;
        below = parameter_of(g, n->operand[k], depth + 1);
        if (below == NODE_NONE || (found != NODE_NONE && found != below) ||
            !shape_same_dims(&g->node[below].shape, &n->shape))
            return NODE_NONE;
        found = below;
    }
    return found;
}

int move_work_parameter(const struct graph *body, int node)
{
    return body->node[node].op == HLO_PARAMETER ? NODE_NONE : parameter_of(body, node, 0);
}

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    const struct graph_node *number = number_of(f->body, node);

    (void)e;
    *out = *(const struct fused_value *)user;
    for (int i = 0; number && i < f->parts; i++)
        out->part[i] = fused_constant(number->shape.dtype, number->value);
    return 0;
}

void move_work_emit(struct vcode *c, const struct chip *chip, const struct graph *body, int node,
                    struct fused_value *value, int parts)
{
    struct fused f;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    fused_init(&f, c, chip, body, parts, &a);
    f.leaf = leaf;
    f.user = value;
    status = fused_emit(&f, node, &e);
    assert(status == 0);
    (void)status;
    *value = f.value[node];
    for (int i = 0; i < parts; i++)
        value->part[i] = R(vcode_in_register(c, value->part[i]));
    arena_fini(&a);
}

int move_work_ops(const struct graph *body, int node)
{
    const struct graph_node *n = &body->node[node];
    int ops = graph_op_is_elementwise(n->op);

    for (int k = 0; ops && k < n->operand_count; k++)
        ops += move_work_ops(body, n->operand[k]);
    return ops;
}
