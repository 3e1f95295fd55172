/*
 * A shape of a shape is one of the first vector, and none where it comes back: indices of
 * jnp.take_along_axis go through [16, 128, 1] and back, an element of 128 lanes each.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

#include <string.h>

static bool is_reshape(const struct mosaic_op *op)
{
    return op && (op->code == MOSAIC_SHAPE_CAST || op->code == MOSAIC_TPU_RESHAPE);
}

bool expand_reshape(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    expanded x = expand_operand(e, op, 0);
    const struct mosaic_type *t = &op->result[0]->type;

    if (!is_reshape(x->op) || t->kind != MOSAIC_VECTOR ||
        x->op->operand[0]->type.kind != MOSAIC_VECTOR)
        return false;
    while (is_reshape(x->op) && x->op->operand[0]->type.kind == MOSAIC_VECTOR)
        x = x->op->operand[0];
    if (x->type.rank == t->rank && !memcmp(x->type.dim, t->dim, (size_t)t->rank * sizeof(*t->dim)))
        *result = x;
    else
        *result = expand_op1(e, MOSAIC_SHAPE_CAST, t, x);
    return true;
}
