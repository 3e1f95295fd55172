/* Sums, products, comparisons and shifts of pairs of words. */
#include "import/types/words.h"

struct repr_value words_constant(struct hlo_builder *b, int like, uint64_t value)
{
    int low = ar_int_of(b, like, ELEMENT_U32, (int64_t)(value & 0xffffffff));

    return words_make(low, ar_int_of(b, like, ELEMENT_U32, (int64_t)(value >> 32)));
}

struct repr_value words_select(struct hlo_builder *b, int pred, struct repr_value x,
                               struct repr_value y)
{
    int low = ar_sel(b, pred, x.part[0], y.part[0]);

    return words_make(low, ar_sel(b, pred, x.part[1], y.part[1]));
}

struct repr_value words_add(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    int low = ar_add(b, x.part[0], y.part[0]);
    int carry = hlo_convert(b, ar_lt(b, low, x.part[0]), ELEMENT_U32);

    return words_make(low, ar_add(b, ar_add(b, x.part[1], y.part[1]), carry));
}

struct repr_value words_subtract(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    int low = ar_sub(b, x.part[0], y.part[0]);
    int borrow = hlo_convert(b, ar_lt(b, x.part[0], y.part[0]), ELEMENT_U32);

    return words_make(low, ar_sub(b, ar_sub(b, x.part[1], y.part[1]), borrow));
}

struct repr_value words_negate(struct hlo_builder *b, struct repr_value x)
{
    return words_subtract(b, words_constant(b, x.part[0], 0), x);
}

struct repr_value words_multiply(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    int low, high = ar_mul_wide(b, x.part[0], y.part[0], &low);
    int cross = ar_add(b, ar_mul(b, x.part[0], y.part[1]), ar_mul(b, x.part[1], y.part[0]));

    return words_make(low, ar_add(b, high, cross));
}

static int signed_word(struct hlo_builder *b, int x)
{
    return hlo_bitcast_convert(b, x, ELEMENT_S32);
}

int words_is_negative(struct hlo_builder *b, struct repr_value x)
{
    int high = signed_word(b, x.part[1]);

    return ar_lt(b, high, ar_int(b, high, 0));
}

struct repr_value words_abs(struct hlo_builder *b, struct repr_value x)
{
    int is_negative = words_is_negative(b, x);

    return words_select(b, is_negative, words_negate(b, x), x);
}

/* by the high words; where they are equal by the low ones */
int words_compare(struct hlo_builder *b, enum hlo_direction d, struct repr_value x,
                  struct repr_value y, bool is_signed)
{
    int x_high = is_signed ? signed_word(b, x.part[1]) : x.part[1];
    int y_high = is_signed ? signed_word(b, y.part[1]) : y.part[1];
    int is_equal = ar_eq(b, x.part[1], y.part[1]);
    int low = hlo_compare(b, d, x.part[0], y.part[0]);

    if (d == HLO_EQ)
        return ar_and(b, is_equal, low);
    if (d == HLO_NE)
        return ar_or(b, ar_not(b, is_equal), low);
    return ar_sel(b, is_equal, low, hlo_compare(b, d, x_high, y_high));
}

struct repr_value words_shift_left(struct hlo_builder *b, struct repr_value x, int count)
{
    int low;

    if (count == 0)
        return x;
    low = count >= 32 ? ar_int(b, x.part[0], 0) : ar_shli(b, x.part[0], count);
    if (count >= 32)
        return words_make(low, count == 32 ? x.part[0] : ar_shli(b, x.part[0], count - 32));
    return words_make(low, ar_or(b, ar_shli(b, x.part[1], count),
                                 ar_shri(b, x.part[0], 32 - count)));
}

/*
 * The word that gets bits of its neighbour has them where the count is below 32, and is the
 * neighbour moved by the rest where it is not. Shifts of words by 32 or more give 0.
 */
struct repr_value words_shift(struct hlo_builder *b, enum hlo_opcode op, struct repr_value x,
                              struct repr_value count)
{
    int n = count.part[0], word = ar_int(b, n, 32), rest = ar_sub(b, word, n);
    int beyond = ar_sub(b, n, word), is_short = ar_lt(b, n, word);
    int zero = ar_int(b, n, 0), fill = zero, far, near, other;
    int is_out = ar_or(b, ar_ne(b, count.part[1], zero), ar_ge(b, n, ar_int(b, n, 64)));

    if (op == OPCODE_SHIFT_LEFT) {
        near = ar_shl(b, x.part[0], n);
        other = ar_or(b, ar_shl(b, x.part[1], n), ar_shr(b, x.part[0], rest));
        other = ar_sel(b, is_short, other, ar_shl(b, x.part[0], beyond));
        near = ar_sel(b, ar_or(b, is_out, ar_not(b, is_short)), zero, near);
        return words_make(near, ar_sel(b, is_out, zero, other));
    }
    if (op == OPCODE_SHIFT_RIGHT_ARITHMETIC) {
        int high = signed_word(b, x.part[1]);

        fill = hlo_bitcast_convert(b, ar_sari(b, high, 31), ELEMENT_U32);
        near = hlo_bitcast_convert(b, ar_sar(b, high, signed_word(b, n)), ELEMENT_U32);
        far = hlo_bitcast_convert(b, ar_sar(b, high, signed_word(b, beyond)), ELEMENT_U32);
    } else {
        near = ar_shr(b, x.part[1], n);
        far = ar_shr(b, x.part[1], beyond);
    }
    other = ar_or(b, ar_shr(b, x.part[0], n), ar_shl(b, x.part[1], rest));
    other = ar_sel(b, is_short, other, far);
    near = ar_sel(b, ar_or(b, is_out, ar_not(b, is_short)), fill, near);
    return words_make(ar_sel(b, is_out, fill, other), near);
}

int words_leading_zeros(struct hlo_builder *b, struct repr_value x)
{
    int high = hlo_unary(b, OPCODE_COUNT_LEADING_ZEROS, x.part[1]);
    int low = hlo_unary(b, OPCODE_COUNT_LEADING_ZEROS, x.part[0]);
    int zero = ar_int(b, high, 0);

    return ar_sel(b, ar_eq(b, x.part[1], zero), ar_addi(b, low, 32), high);
}
