/* Which functions of words.h an operation of HLO is, and the few that only it needs. */
#include "import/expand/loop.h"
#include "import/types/words.h"

static struct repr_value both(struct hlo_builder *b, enum hlo_opcode op, struct repr_value x,
                              struct repr_value y)
{
    int low = hlo_binary(b, op, x.part[0], y.part[0]);

    return words_make(low, hlo_binary(b, op, x.part[1], y.part[1]));
}

static struct repr_value extreme(struct hlo_builder *b, enum hlo_opcode op, struct repr_value x,
                                 struct repr_value y, bool is_signed)
{
    enum hlo_direction d = op == OPCODE_MAXIMUM ? HLO_GE : HLO_LE;

    return words_select(b, words_compare(b, d, x, y, is_signed), x, y);
}

/* a count of bits: u32 */
static struct repr_value from_count(struct hlo_builder *b, int count)
{
    return words_make(count, ar_int(b, count, 0));
}

static struct repr_value sign(struct hlo_builder *b, struct repr_value x, bool is_signed)
{
    struct repr_value zero = words_constant(b, x.part[0], 0);
    int is_some = words_compare(b, HLO_NE, x, zero, false), is_negative;
    struct repr_value y = words_select(b, is_some, words_constant(b, x.part[0], 1), zero);

    if (!is_signed)
        return y;
    is_negative = words_is_negative(b, x);
    return words_select(b, is_negative, words_constant(b, x.part[0], UINT64_MAX), y);
}

/* state: result, square, rest of the exponent, two words each */
static void power_round(struct hlo_builder *b, int *x, int round, const void *user)
{
    struct repr_value result = words_make(x[0], x[1]), square = words_make(x[2], x[3]);
    int is_odd = ar_ne(b, ar_andi(b, x[4], 1), ar_int(b, x[4], 0));

    (void)round;
    (void)user;
    result = words_select(b, is_odd, words_multiply(b, result, square), result);
    square = words_multiply(b, square, square);
    x[0] = result.part[0];
    x[1] = result.part[1];
    x[2] = square.part[0];
    x[3] = square.part[1];
    x[4] = ar_or(b, ar_shri(b, x[4], 1), ar_shli(b, x[5], 31));
    x[5] = ar_shri(b, x[5], 1);
}

/* x^y by squares, bit by bit of y. Negative exponents give 0, but of 1 and -1. */
static struct repr_value power(struct hlo_builder *b, struct repr_value x, struct repr_value y,
                               bool is_signed)
{
    struct repr_value one = words_constant(b, x.part[0], 1), none;
    struct expand_loop loop = {.count = 6, .rounds = 64, .body = power_round,
                               .state = {one.part[0], one.part[1], x.part[0], x.part[1],
                                         y.part[0], y.part[1]}};
    int is_odd, is_one, is_minus_one;

    expand_loop(b, &loop);
    if (!is_signed)
        return words_make(loop.state[0], loop.state[1]);
    none = words_constant(b, x.part[0], UINT64_MAX);
    is_odd = ar_ne(b, ar_andi(b, y.part[0], 1), ar_int(b, y.part[0], 0));
    is_minus_one = words_compare(b, HLO_EQ, x, none, false);
    none = words_select(b, is_odd, none, one);
    none = words_select(b, is_minus_one, none, words_constant(b, x.part[0], 0));
    is_one = words_compare(b, HLO_EQ, x, one, false);
    none = words_select(b, is_one, one, none);
    return words_select(b, words_is_negative(b, y), none,
                        words_make(loop.state[0], loop.state[1]));
}

static struct repr_value multiply_high(struct hlo_builder *b, struct repr_value x,
                                       struct repr_value y, bool is_signed)
{
    int low_cross, high_cross, low = ar_mul_wide(b, x.part[0], y.part[0], NULL);
    struct repr_value sum, other, top;

    high_cross = ar_mul_wide(b, x.part[1], y.part[0], &low_cross);
    sum = words_add(b, words_make(low_cross, high_cross), from_count(b, low));
    high_cross = ar_mul_wide(b, x.part[0], y.part[1], &low_cross);
    other = words_add(b, words_make(low_cross, high_cross), from_count(b, sum.part[0]));
    high_cross = ar_mul_wide(b, x.part[1], y.part[1], &low_cross);
    top = words_add(b, words_make(low_cross, high_cross), from_count(b, sum.part[1]));
    top = words_add(b, top, from_count(b, other.part[1]));
    if (!is_signed)
        return top;
    sum = words_constant(b, x.part[0], 0);
    top = words_subtract(b, top, words_select(b, words_is_negative(b, x), y, sum));
    return words_subtract(b, top, words_select(b, words_is_negative(b, y), x, sum));
}

static int unary(struct expand_site *s, struct repr_value x, bool is_signed)
{
    struct hlo_builder *b = s->b;
    int low;

    switch (s->from->op) {
    case OPCODE_NEGATE:
        return repr_make(b, words_negate(b, x));
    case OPCODE_ABS:
        return repr_make(b, is_signed ? words_abs(b, x) : x);
    case OPCODE_SIGN:
        return repr_make(b, sign(b, x, is_signed));
    case OPCODE_NOT:
        low = ar_not(b, x.part[0]);
        return repr_make(b, words_make(low, ar_not(b, x.part[1])));
    case OPCODE_POPCNT:
        return repr_make(b, from_count(b, ar_add(b, hlo_unary(b, OPCODE_POPCNT, x.part[0]),
                                                 hlo_unary(b, OPCODE_POPCNT, x.part[1]))));
    case OPCODE_COUNT_LEADING_ZEROS:
        return repr_make(b, from_count(b, words_leading_zeros(b, x)));
    default:
        return expand_refuse(s, "nothing expands it for integers of 64 bits");
    }
}

static int binary(struct expand_site *s, struct repr_value x, struct repr_value y, bool is_signed)
{
    struct hlo_builder *b = s->b;
    struct repr_value quotient, remainder;

    switch (s->from->op) {
    case OPCODE_ADD:
        return repr_make(b, words_add(b, x, y));
    case OPCODE_SUBTRACT:
        return repr_make(b, words_subtract(b, x, y));
    case OPCODE_MULTIPLY:
        return repr_make(b, words_multiply(b, x, y));
    case OPCODE_DIVIDE: case OPCODE_REMAINDER:
        words_divide(b, x, y, is_signed, &quotient, &remainder);
        return repr_make(b, s->from->op == OPCODE_DIVIDE ? quotient : remainder);
    case OPCODE_MAXIMUM: case OPCODE_MINIMUM:
        return repr_make(b, extreme(b, s->from->op, x, y, is_signed));
    case OPCODE_AND: case OPCODE_OR: case OPCODE_XOR:
        return repr_make(b, both(b, s->from->op, x, y));
    case OPCODE_SHIFT_LEFT: case OPCODE_SHIFT_RIGHT_LOGICAL: case OPCODE_SHIFT_RIGHT_ARITHMETIC:
        return repr_make(b, words_shift(b, s->from->op, x, y));
    case OPCODE_COMPARE:
        return words_compare(b, s->from->direction, x, y, is_signed);
    case OPCODE_POWER:
        return repr_make(b, power(b, x, y, is_signed));
    case OPCODE_MULHI:
        return repr_make(b, multiply_high(b, x, y, is_signed));
    default:
        return expand_refuse(s, "nothing expands it for integers of 64 bits");
    }
}

static struct repr_value spread(struct hlo_builder *b, struct repr_value scalar, int like)
{
    int low;

    if (hlo_type_of(b, scalar.part[0])->rank == hlo_type_of(b, like)->rank)
        return scalar;
    low = ar_spread(b, scalar.part[0], like);
    return words_make(low, ar_spread(b, scalar.part[1], like));
}

/* operations that give the same of numbers of 32 bits, if those and the result fit */
static bool is_short(const struct expand_site *s)
{
    switch (s->from->op) {
    case OPCODE_ADD: case OPCODE_SUBTRACT: case OPCODE_MULTIPLY: case OPCODE_DIVIDE:
    case OPCODE_REMAINDER: case OPCODE_MAXIMUM: case OPCODE_MINIMUM: case OPCODE_NEGATE:
    case OPCODE_ABS: case OPCODE_SIGN: case OPCODE_CLAMP: case OPCODE_AND:
        if (!repr_result_fits(s))
            return false;
        break;
    case OPCODE_COMPARE:
        break;
    default:
        return false;
    }
    for (int k = 0; k < s->from->operand_count; k++)
        if (!repr_fits(s, k))
            return false;
    return true;
}

static int short_operation(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    struct hlo_type t = hlo_array_type(s->b->module->arena, ELEMENT_S32, i.type->rank, i.type->dim);
    int operand[3], x;

    for (int k = 0; k < s->from->operand_count; k++)
        operand[k] = hlo_bitcast_convert(s->b, repr_operand(s, k).part[0], ELEMENT_S32);
    if (i.op == OPCODE_COMPARE) {
        i.comparison = HLO_COMPARE_DEFAULT;
        return hlo_copy_instruction(s->b, &i, operand);
    }
    i.type = HLO_TYPE(t);
    x = hlo_copy_instruction(s->b, &i, operand);
    return repr_make(s->b, words_from_32(s->b, x));
}

int words_elementwise(struct expand_site *s)
{
    bool is_signed = expand_operand_type(s, 0)->element == ELEMENT_S64;
    struct repr_value x = repr_operand(s, 0), y, z;

    if (is_short(s))
        return short_operation(s);

    if (s->from->operand_count == 1)
        return unary(s, x, is_signed);
    y = repr_operand(s, 1);
    if (s->from->operand_count == 2)
        return binary(s, x, y, is_signed);
    if (s->from->op != OPCODE_CLAMP)
        return expand_refuse(s, "nothing expands it for integers of 64 bits");
    z = spread(s->b, repr_operand(s, 2), y.part[0]);
    x = spread(s->b, x, y.part[0]);
    y = extreme(s->b, OPCODE_MAXIMUM, y, x, is_signed);
    return repr_make(s->b, extreme(s->b, OPCODE_MINIMUM, y, z, is_signed));
}
