/* Operations on narrow types, in the wider ones that they are kept in. */
#include "import/types/narrow.h"

/* results that the narrow type has whenever it has the operands */
static bool is_closed(enum hlo_opcode op, enum hlo_element e)
{
    switch (op) {
    case OPCODE_MAXIMUM: case OPCODE_MINIMUM: case OPCODE_AND: case OPCODE_OR: case OPCODE_CLAMP:
    case OPCODE_REMAINDER: case OPCODE_SHIFT_RIGHT_ARITHMETIC:
        return !hlo_element_is_float(e);
    case OPCODE_FLOOR: case OPCODE_CEIL: case OPCODE_ABS: case OPCODE_NEGATE:
        return e == ELEMENT_F16;
    default:
        return false;
    }
}

/* operations that look at bits above those of the type, which are the sign's */
static bool reads_bits(enum hlo_opcode op)
{
    return op == OPCODE_SHIFT_RIGHT_LOGICAL || op == OPCODE_POPCNT
           || op == OPCODE_COUNT_LEADING_ZEROS;
}

/* u32 without the sign's copies */
static int bit_operation(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element e = s->from->type->element;
    int x = narrow_to_bits(b, s->operand[0], e), y;

    if (s->from->op == OPCODE_SHIFT_RIGHT_LOGICAL) {
        y = narrow_to_bits(b, s->operand[1], e);
        return narrow_from_bits(b, ar_shr(b, x, y), e);
    }
    y = hlo_unary(b, s->from->op, x);
    if (s->from->op == OPCODE_COUNT_LEADING_ZEROS)
        y = ar_addi(b, y, hlo_element_bits(e) - 32);
    return narrow_from_bits(b, y, e);
}

/* an amount as unsigned as the wider operation takes it: of a sign every bit is set, and all go out */
static int narrow_operation(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;

    i.type = HLO_TYPE(repr_type(s->b->module->arena, i.type));
    return hlo_copy_instruction(s->b, &i, s->operand);
}

static int reduce_precision(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element e = s->from->type->element;
    int x = hlo_convert(b, s->operand[0], ELEMENT_F32);

    x = narrow_reduce_precision(b, x, hlo_detail(s->from)->exponent_bits,
                                hlo_detail(s->from)->mantissa_bits);
    return repr_form(e) == EXPAND_WIDE ? narrow_keep(b, x, e) : hlo_convert(b, x, e);
}

int narrow_elementwise(struct expand_site *s)
{
    enum hlo_element e = s->from->type->element;
    int x;

    if (s->from->op == OPCODE_REDUCE_PRECISION)
        return reduce_precision(s);
    if (e != ELEMENT_PRED && reads_bits(s->from->op))
        return bit_operation(s);
    x = narrow_operation(s);
    if (repr_form(e) != EXPAND_WIDE || is_closed(s->from->op, e))
        return x;
    return narrow_keep(s->b, x, e);
}
