/* Pairs of words from and to other numbers. */
#include "import/types/words.h"

struct repr_value words_from_32(struct hlo_builder *b, int x)
{
    int low;

    if (ar_element(b, x) == ELEMENT_U32)
        return words_make(x, ar_int(b, x, 0));
    low = hlo_bitcast_convert(b, x, ELEMENT_U32);
    return words_make(low, hlo_bitcast_convert(b, ar_sari(b, x, 31), ELEMENT_U32));
}

int words_index(struct hlo_builder *b, struct repr_value x, bool is_signed)
{
    int low = hlo_bitcast_convert(b, x.part[0], ELEMENT_S32);
    int limit = ar_int(b, x.part[0], 1 << 30), zero = ar_int(b, x.part[0], 0);
    int is_large = ar_or(b, ar_ne(b, x.part[1], zero), ar_gt(b, x.part[0], limit));

    low = ar_sel(b, is_large, ar_int(b, low, 1 << 30), low);
    return is_signed ? ar_sel(b, words_is_negative(b, x), ar_int(b, low, -1), low) : low;
}

/* 2^n, n from -126 to 127, as s32 */
static int power_of_two(struct hlo_builder *b, int n)
{
    return hlo_bitcast_convert(b, ar_shli(b, ar_addi(b, n, 127), 23), ELEMENT_F32);
}

/* the top 32 bits of the size, of which the last says whether there are ones below, round once */
int words_to_f32(struct hlo_builder *b, struct repr_value x, bool is_signed)
{
    struct repr_value size = is_signed ? words_abs(b, x) : x;
    int zeros = words_leading_zeros(b, size), zero = ar_int(b, zeros, 0), top, rest, scale, y;
    struct repr_value moved = words_shift(b, OPCODE_SHIFT_LEFT, size, words_make(zeros, zero));

    rest = hlo_convert(b, ar_ne(b, moved.part[1 - 1], zero), ELEMENT_U32);
    top = ar_or(b, moved.part[1], rest);
    /* halves, as s32 has no place for the top bit */
    top = ar_or(b, ar_shri(b, top, 1), ar_andi(b, top, 1));
    y = hlo_convert(b, hlo_bitcast_convert(b, top, ELEMENT_S32), ELEMENT_F32);
    scale = hlo_bitcast_convert(b, zeros, ELEMENT_S32);
    y = ar_mul(b, y, power_of_two(b, ar_sub(b, ar_int(b, scale, 33), scale)));
    return is_signed ? ar_sel(b, words_is_negative(b, x), ar_neg(b, y), y) : y;
}

/* a float from 0 to 2^32 - 2^8 */
static int word_of_float(struct hlo_builder *b, int x)
{
    int half = ar_num(b, x, 0x1p31), is_large = ar_ge(b, x, half);
    int low = hlo_convert(b, ar_sel(b, is_large, ar_sub(b, x, half), x), ELEMENT_S32);
    int word = hlo_bitcast_convert(b, low, ELEMENT_U32);

    return ar_sel(b, is_large, ar_or(b, word, ar_int(b, word, (int64_t)1 << 31)), word);
}

struct repr_value words_from_f32(struct hlo_builder *b, int x, bool is_signed)
{
    int zero = ar_num(b, x, 0), is_negative = ar_lt(b, x, zero);
    int size = is_signed ? ar_abs(b, x) : ar_max(b, x, zero), high, low, is_out;
    struct repr_value y, most;

    size = ar_sel(b, ar_is_nan(b, x), zero, size);
    is_out = ar_ge(b, size, ar_num(b, size, is_signed ? 0x1p63 : 0x1p64));
    size = ar_sel(b, is_out, zero, ar_floor(b, size));
    high = ar_floor(b, ar_muln(b, size, 0x1p-32));
    low = ar_sub(b, size, ar_muln(b, high, 0x1p32));
    low = word_of_float(b, low);
    y = words_make(low, word_of_float(b, high));
    most = words_constant(b, x, is_signed ? INT64_MAX : UINT64_MAX);
    y = words_select(b, is_out, most, y);
    if (!is_signed)
        return y;
    most = words_constant(b, x, (uint64_t)1 << 63);
    return words_select(b, is_negative, words_select(b, is_out, most, words_negate(b, y)), y);
}
