/* Counts of bits by arithmetic, and rotations by a computed amount and a stride as two. */
#include "stack/kernels/mosaic/expand/expand_impl.h"

static expanded shift_right(struct expand *e, expanded x, uint32_t by)
{
    return expand_op2(e, MOSAIC_SHRUI, &x->type, x, expand_constant(e, &x->type, by));
}

static expanded bits_of(struct expand *e, expanded x, uint32_t mask)
{
    return expand_op2(e, MOSAIC_ANDI, &x->type, x, expand_constant(e, &x->type, mask));
}

/* pairs of bits, then fours, then bytes, whose sum a product has in its highest byte */
static expanded ones_in(struct expand *e, expanded x)
{
    const struct mosaic_type t = x->type;
    expanded y;

    x = expand_op2(e, MOSAIC_SUBI, &t, x, bits_of(e, shift_right(e, x, 1), 0x55555555u));
    y = bits_of(e, shift_right(e, x, 2), 0x33333333u);
    x = expand_op2(e, MOSAIC_ADDI, &t, bits_of(e, x, 0x33333333u), y);
    x = bits_of(e, expand_op2(e, MOSAIC_ADDI, &t, x, shift_right(e, x, 4)), 0x0f0f0f0fu);
    x = expand_op2(e, MOSAIC_MULI, &t, x, expand_constant(e, &t, 0x01010101u));
    return shift_right(e, x, 24);
}

/* of narrow integers those of a word whose others are zeros */
bool expand_bits(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    expanded x = expand_operand(e, op, 0);
    const struct mosaic_type own = x->type, word = expand_type(&own, MOSAIC_I32);
    int bits = mosaic_element_bits(op->operand[0]->type.element);

    if (mosaic_element_bits(own.element) < 32)
        x = expand_op1(e, MOSAIC_EXTSI, &word, x);
    if (bits < 32)
        x = bits_of(e, x, (1u << bits) - 1);
    if (op->code == MOSAIC_CTLZ)
        for (uint32_t by = 1; by < 32; by *= 2)     /* ones from the first one on: the others lead */
            x = expand_op2(e, MOSAIC_ORI, &word, x, shift_right(e, x, by));
    x = ones_in(e, x);
    if (op->code == MOSAIC_CTLZ)
        x = expand_op2(e, MOSAIC_SUBI, &word, expand_constant(e, &word, (uint32_t)bits), x);
    *result = mosaic_element_bits(own.element) < 32 ? expand_op1(e, MOSAIC_TRUNCI, &own, x) : x;
    return true;
}

/* by the stride, which is known, then by the amount */
bool expand_rotation(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    int64_t dim = mosaic_int(op, "dimension", 0), stride = mosaic_int(op, "stride", 0);
    int64_t along = mosaic_int(op, "stride_dimension", dim);
    struct mosaic_attr attr[] = {
        {.name = "dimension", .kind = MOSAIC_ATTR_INT, .integer = dim},
        {.name = "amount", .kind = MOSAIC_ATTR_INT},
        {.name = "stride", .kind = MOSAIC_ATTR_INT, .integer = stride},
        {.name = "stride_dimension", .kind = MOSAIC_ATTR_INT, .integer = along}};
    expanded x = expand_operand(e, op, 0), operand[2];

    if (!stride || along == dim)
        return false;
    operand[0] = expand_op(e, MOSAIC_ROTATE, &x->type, &x, 1, attr, 4);
    operand[1] = expand_operand(e, op, 1);
    *result = expand_op(e, MOSAIC_DYNAMIC_ROTATE, &x->type, operand, 2, attr, 1);
    return true;
}
