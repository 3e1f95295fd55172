/* Integers of 2, 4 and 16 bits, for which vectors have no registers: in those of 8 and 32 bits. */
#include "stack/kernels/mosaic/expand/expand_impl.h"

enum mosaic_element expand_wider(enum mosaic_element e)
{
    switch (e) {
    case MOSAIC_I2: case MOSAIC_I4: return MOSAIC_I8;
    case MOSAIC_I16: return MOSAIC_I32;
    default: return e;
    }
}

static bool is_narrow(const struct mosaic_value *v)
{
    return expand_wider(v->type.element) != v->type.element;
}

struct mosaic_type *expand_wider_arrays(const struct mosaic_kernel *k, struct arena *a)
{
    struct mosaic_type *array = arena_copy(a, k->array, (size_t)k->array_count, sizeof(*array));

    for (int i = 0; i < k->array_count; i++)
        array[i].element = expand_wider(array[i].element);
    return array;
}

bool expand_is_narrow(const struct mosaic_block *b)
{
    for (int i = 0; i < b->argument_count; i++)
        if (is_narrow(b->argument[i]))
            return true;
    for (int i = 0; i < b->op_count; i++) {
        for (int r = 0; r < b->op[i]->result_count; r++)
            if (is_narrow(b->op[i]->result[r]))
                return true;
        for (int r = 0; r < b->op[i]->region_count; r++)
            if (expand_is_narrow(b->op[i]->region[r]))
                return true;
    }
    return false;
}

static bool reads_bits(enum mosaic_code c)
{
    switch (c) {
    case MOSAIC_EXTUI: case MOSAIC_UITOFP: case MOSAIC_TPU_UITOFP: case MOSAIC_DIVUI:
    case MOSAIC_REMUI: case MOSAIC_SHRUI:
        return true;
    default: return false;
    }
}

expanded expand_unsigned(struct expand *e, const struct mosaic_op *op, expanded x, int operand)
{
    const struct mosaic_value *from = op->operand[operand];
    uint32_t bits;

    if (!reads_bits(op->code) || !is_narrow(from))
        return x;
    bits = (1u << mosaic_element_bits(from->type.element)) - 1;
    return expand_op2(e, MOSAIC_ANDI, &x->type, x, expand_constant(e, &x->type, bits));
}

static bool can_leave(enum mosaic_code c)
{
    switch (c) {
    case MOSAIC_ADDI: case MOSAIC_SUBI: case MOSAIC_MULI: case MOSAIC_SHLI: case MOSAIC_SHRUI:
    case MOSAIC_DIVSI: case MOSAIC_DIVUI: case MOSAIC_REMUI: case MOSAIC_TRUNCI:
    case MOSAIC_FPTOSI: case MOSAIC_FPTOUI: case MOSAIC_TPU_FPTOSI: case MOSAIC_TPU_FPTOUI:
    case MOSAIC_EXTUI:
        return true;
    default: return false;
    }
}

int expand_wrap(struct expand *e, const struct mosaic_op *op)
{
    const struct mosaic_value *old = op->result_count ? op->result[0] : NULL;
    expanded x, by;
    int bits;

    if (!old || !is_narrow(old) || !can_leave(op->code))
        return 0;
    x = e->value[old->id];
    bits = mosaic_element_bits(x->type.element) - mosaic_element_bits(old->type.element);
    by = expand_constant(e, &x->type, (uint32_t)bits);
    x = expand_op2(e, MOSAIC_SHLI, &x->type, x, by);
    e->value[old->id] = expand_op2(e, MOSAIC_SHRSI, &x->type, x, by);
    return 0;
}
