/*
 * Remainders of division by a known number are what the quotient leaves: JAX's // and % ask for both,
 * to round towards minus infinity, and the quotient, which is long, is then made once.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

/* the number that all elements are; 0: not known */
static int32_t known_divisor(const struct mosaic_value *v)
{
    const struct mosaic_attr *a;

    if (v->op && v->op->code == MOSAIC_BROADCAST)
        v = v->op->operand[0];
    a = v->op && v->op->code == MOSAIC_CONSTANT ? mosaic_attr(v->op, "value") : NULL;
    if (a && a->kind == MOSAIC_ATTR_INT)
        return (int32_t)a->integer;
    return a && a->kind == MOSAIC_ATTR_ELEMENTS && a->is_splat ? (int32_t)a->element[0] : 0;
}

bool expand_remainder(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    const struct mosaic_type *t = &op->result[0]->type;
    expanded x, by, whole;

    if (t->kind != MOSAIC_VECTOR || t->element != MOSAIC_I32 || known_divisor(op->operand[1]) <= 0)
        return false;
    x = expand_operand(e, op, 0);
    by = expand_operand(e, op, 1);
    whole = expand_op2(e, op->code == MOSAIC_REMSI ? MOSAIC_DIVSI : MOSAIC_DIVUI, t, x, by);
    *result = expand_op2(e, MOSAIC_SUBI, t, x, expand_op2(e, MOSAIC_MULI, t, whole, by));
    return true;
}
