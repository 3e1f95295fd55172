/*
 * Finds the product in a fusion's body, and checks that its operands and results are such as the
 * kernel can take.
 */
#include "stack/kernels/dot/kernel_dot_body.h"

#include <string.h>

#include "sim/chip/limits.h"
#include "stack/kernels/loop/fused.h"

/* ----- the graph */

int dot_body_find(const struct graph *body)
{
    int found = NODE_NONE;

    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op == HLO_DOT)
            found = found == NODE_NONE ? i : -2;
    return found;
}

/* the parameter that an operand is, behind conversions that the unit makes itself; else -1 */
int dot_body_parameter(const struct graph *body, int node)
{
    const struct graph_node *n = &body->node[node];

    while (n->op == HLO_CONVERT && (n->shape.dtype == DTYPE_F32 || n->shape.dtype == DTYPE_BF16)) {
        const struct graph_node *from = &body->node[n->operand[0]];

        if (from->shape.dtype != DTYPE_BF16 && from->shape.dtype != DTYPE_F32)
            break;
        n = from;
    }
    return n->op == HLO_PARAMETER ? n->parameter_index : -1;
}

int dot_body_type(enum graph_dtype dtype, enum matrix_type *type)
{
    switch (dtype) {
    case DTYPE_F32: *type = MATRIX_F32; return 0;
    case DTYPE_BF16: *type = MATRIX_BF16; return 0;
    case DTYPE_S8: *type = MATRIX_S8; return 0;
    case DTYPE_U8: *type = MATRIX_U8; return 0;
    default: return -1;
    }
}

static enum graph_dtype operand_type(const struct graph *body, int node)
{
    return body->node[body->parameter[dot_body_parameter(body, node)]].shape.dtype;
}

static int check_operand(const struct graph *body, int node, const struct chip *chip,
                         struct err *e)
{
    int parameter = dot_body_parameter(body, node);
    enum matrix_type type;

    if (parameter < 0)
        return err_set(e, "an operand of a product must be a parameter, not computed");
    if (dot_body_type(body->node[body->parameter[parameter]].shape.dtype, &type))
        return err_set(e, "a product takes f32, bf16, s8 and u8");
    if (matrix_is_integer(type)
        && (!chip_matmul_cycles(chip, type) || !chip_push_cycles(chip, type)))
        return err_set(e, "the matrix units of this chip do not take %s",
                       matrix_type_name(type));
    return 0;
}

int dot_body_vector(const struct graph *body, const struct graph_node *n)
{
    int node = n->operand[0];
    const struct graph_node *from = &body->node[node];

    if (from->op == HLO_CONVERT && from->shape.dtype == DTYPE_F32
        && body->node[from->operand[0]].shape.dtype == DTYPE_BF16) {
        node = from->operand[0];
        from = &body->node[node];
    }
    return from->op == HLO_PARAMETER && from->shape.rank == 1
                   && (from->shape.dtype == DTYPE_F32 || from->shape.dtype == DTYPE_S32
                       || from->shape.dtype == DTYPE_BF16)
               ? node : NODE_NONE;
}

/* what a round can compute of its results */
static int check_result(const struct graph *body, int dot, int node, struct err *e)
{
    const struct graph_node *n = &body->node[node];

    if (node == dot || (n->op == HLO_CONSTANT && !n->literal)
        || (n->op == HLO_PARAMETER && shape_same_dims(&n->shape, &body->node[dot].shape)))
        return 0;
    if (n->op == HLO_BROADCAST && dot_body_vector(body, n) != NODE_NONE)
        return 0;
    if (n->op == HLO_BROADCAST && body->node[n->operand[0]].op != HLO_CONSTANT)
        return err_set(e, "%s: with a product go arrays of its shape, vectors of f32, bf16 or s32 along "
                       "its columns and constants", n->name);
    if (n->op != HLO_BROADCAST && !fused_is_elementwise(n))
        return err_set(e, "%s (%s) cannot be computed with a product", n->name,
                       graph_op_name(n->op));
    for (int i = 0; i < n->operand_count; i++)
        if (check_result(body, dot, n->operand[i], e))
            return -1;
    return 0;
}

void dot_body_epilogue_cost(const struct graph *body, int dot, const struct chip *chip,
                            struct fused_cost *out)
{
    bool *is_behind = mem_alloc((size_t)body->node_count);

    memset(is_behind, 0, (size_t)body->node_count);
    for (int i = dot + 1; i < body->node_count; i++)
        for (int k = 0; k < body->node[i].operand_count; k++)
            is_behind[i] |= body->node[i].operand[k] == dot || is_behind[body->node[i].operand[k]];
    fused_cost_of(body, chip, is_behind, true, out);
    mem_free(is_behind);
}

int dot_body_check(const struct graph *body, const struct chip *chip, struct err *e)
{
    int at = dot_body_find(body);
    const struct graph_node *n;

    if (at < 0)
        return err_set(e, at == NODE_NONE ? "no product" : "more than one product in a kernel");
    n = &body->node[at];
    if (check_operand(body, n->operand[0], chip, e) || check_operand(body, n->operand[1], chip, e))
        return -1;
    if (n->precision != PRECISION_DEFAULT
        && operand_type(body, n->operand[0]) != operand_type(body, n->operand[1]))
        return err_set(e, "at a precision above the default both operands must be of one type");
    for (int i = 0; i < body->output_count; i++)
        if (!shape_same_dims(&body->node[body->output[i].node].shape, &n->shape))
            return err_set(e, "a result of another shape than the product's");
    for (int i = 0; i < body->output_count; i++)
        if (check_result(body, at, body->output[i].node, e))
            return -1;
    return 0;
}
