/* Operations that a few elementwise ones stand for, and indices as the compiler takes them. */
#include "import/structure/structure_impl.h"

#include <stdlib.h>
#include <string.h>

/* s32 of any float of at most 32 bits, in whose order its total order is */
int structure_total_order(struct hlo_builder *b, int x)
{
    int bits, sign;
    struct hlo_type t;

    x = hlo_bitcast_convert(b, hlo_convert(b, x, ELEMENT_F32), ELEMENT_S32);
    t = *hlo_type_of(b, x);
    sign = hlo_binary(b, OPCODE_SHIFT_RIGHT_ARITHMETIC, x, hlo_constant_int(b, &t, 31));
    bits = hlo_binary(b, OPCODE_AND, sign, hlo_constant_int(b, &t, INT32_MAX));
    return hlo_binary(b, OPCODE_XOR, x, bits);
}

int structure_compare(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                      const struct hlo_instruction *from, const int *operand)
{
    enum hlo_element e = hlo_type_of(b, operand[0])->element;
    int x;

    (void)rewrite;
    if (from->comparison != HLO_COMPARE_TOTAL || !hlo_element_is_float(e) || e == ELEMENT_F64)
        return -1;
    x = structure_total_order(b, operand[0]);
    return hlo_compare(b, from->direction, x, structure_total_order(b, operand[1]));
}

int structure_map(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                  const struct hlo_instruction *from, const int *operand)
{
    int result;

    (void)rewrite;
    if (from->operand_count < 1 || !structure_can_lift(b->module, hlo_detail(from)->computation[0]))
        return -1;
    structure_lift(b, hlo_detail(from)->computation[0], operand, &result, 1);
    return result;
}

/* s32, numbers that are none of it being its least or greatest: they lie outside of any array */
static int as_index(struct hlo_builder *b, int x)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int low, high;

    if (t.element == ELEMENT_S32 || !hlo_element_is_integer(t.element))
        return x;
    if (hlo_element_bits(t.element) >= 32) {
        t = hlo_scalar_type(t.element);
        low = hlo_constant_int(b, &t, hlo_element_kind(t.element) == ELEMENT_KIND_SIGNED
                                          ? INT32_MIN : 0);
        high = hlo_constant_int(b, &t, INT32_MAX);
        x = hlo_clamp(b, low, x, high);
    }
    return hlo_convert(b, x, ELEMENT_S32);
}

void structure_indices(struct hlo_builder *b, const struct hlo_instruction *from, int *operand)
{
    int first = from->op == OPCODE_GATHER || from->op == OPCODE_DYNAMIC_SLICE ? 1 :
                from->op == OPCODE_DYNAMIC_UPDATE_SLICE ? 2 :
                from->op == OPCODE_SCATTER ? from->operand_count / 2 : from->operand_count;
    int end = from->op == OPCODE_SCATTER ? first + 1 : from->operand_count;

    for (int k = first; k < end; k++)
        operand[k] = as_index(b, operand[k]);
}

/* the last dimension's least: the greatest of all bits turned, or of the negated */
int structure_topk(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                   const struct hlo_instruction *from, const int *operand)
{
    struct hlo_type t = *hlo_type_of(b, operand[0]);
    struct hlo_instruction turned = *from;
    enum hlo_opcode turn = hlo_element_is_float(t.element) ? OPCODE_NEGATE : OPCODE_NOT;
    int x, made, values;

    (void)rewrite;
    if (hlo_detail(from)->is_largest || t.element == ELEMENT_PRED)
        return -1;
    x = hlo_unary(b, turn, operand[0]);
    turned.detail = HLO_COPIED_DETAIL(from);
    turned.detail->is_largest = true;
    made = hlo_copy_instruction(b, &turned, &x);
    values = hlo_unary(b, turn, hlo_tuple_element(b, made, 0));
    return hlo_tuple(b, 2, (int[]){values, hlo_tuple_element(b, made, 1)});
}

static int words(struct hlo_builder *b, int like, uint32_t value)
{
    struct hlo_type t = *hlo_type_of(b, like);

    return hlo_constant_int(b, &t, value);
}

/* to the nearest number of so many bits of mantissa, ties to even */
static int round_mantissa(struct hlo_builder *b, int bits, int mantissa)
{
    int dropped = 23 - mantissa, odd;

    if (dropped <= 0)
        return bits;
    odd = hlo_binary(b, OPCODE_SHIFT_RIGHT_LOGICAL, bits, words(b, bits, (uint32_t)dropped));
    odd = hlo_binary(b, OPCODE_AND, odd, words(b, bits, 1));
    bits = hlo_binary(b, OPCODE_ADD, bits, words(b, bits, (1u << (dropped - 1)) - 1));
    bits = hlo_binary(b, OPCODE_ADD, bits, odd);
    return hlo_binary(b, OPCODE_AND, bits, words(b, bits, ~((1u << dropped) - 1)));
}

/* what a smaller exponent cannot say is infinite, or zero */
static int limit_exponent(struct hlo_builder *b, int bits, int exponent)
{
    uint32_t bias = (1u << (exponent - 1)) - 1;
    int own, sign, infinite;

    if (exponent >= 8)
        return bits;
    own = hlo_binary(b, OPCODE_AND, bits, words(b, bits, 0x7f800000));
    sign = hlo_binary(b, OPCODE_AND, bits, words(b, bits, 0x80000000));
    infinite = hlo_binary(b, OPCODE_OR, sign, words(b, bits, 0x7f800000));
    bits = hlo_select(b, hlo_compare(b, HLO_GT, own, words(b, own, (127 + bias) << 23)),
                      infinite, bits);
    return hlo_select(b, hlo_compare(b, HLO_LE, own, words(b, own, (127 - bias) << 23)), sign,
                      bits);
}

int structure_reduce_precision(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                               const struct hlo_instruction *from, const int *operand)
{
    enum hlo_element e = from->type->element;
    int x, bits, is_nan;

    (void)rewrite;
    if (!hlo_element_is_float(e) || e == ELEMENT_F64)
        return -1;
    if (hlo_detail(from)->exponent_bits >= 8 && hlo_detail(from)->mantissa_bits >= 23)
        return operand[0];
    x = hlo_convert(b, operand[0], ELEMENT_F32);
    bits =
        round_mantissa(b, hlo_bitcast_convert(b, x, ELEMENT_U32), hlo_detail(from)->mantissa_bits);
    bits = limit_exponent(b, bits, hlo_detail(from)->exponent_bits);
    is_nan = hlo_compare(b, HLO_NE, x, x);
    bits = hlo_select(b, is_nan, x, hlo_bitcast_convert(b, bits, ELEMENT_F32));
    return hlo_convert(b, bits, e);
}
