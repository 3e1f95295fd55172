/*
 * bitcast-convert between types of any widths, by words of 32 bits: of equal widths element by
 * element, of others the last dimension counts the narrow elements of a wide one, low bits first.
 */
#include "import/types/repr.h"

#include "import/types/double.h"
#include "import/types/narrow.h"

/*
 * A bf16 may still have the bits of the f32 behind it (stack/passes/pass_excess.c), so it is
 * rounded here: to even, which changes none that is rounded. A NaN keeps its high bits.
 */
static int bf16_bits(struct hlo_builder *b, int x)
{
    int wide = hlo_convert(b, x, ELEMENT_F32), bits = hlo_bitcast_convert(b, wide, ELEMENT_U32);
    int odd = ar_andi(b, ar_shri(b, bits, 16), 1);
    int rounded = hlo_binary(b, OPCODE_ADD, bits, ar_addi(b, odd, 0x7fff));

    return ar_shri(b, hlo_select(b, hlo_compare(b, HLO_EQ, wide, wide), rounded, bits), 16);
}

/* one u32 with the bits of an element, or two */
static struct repr_value to_bits(struct hlo_builder *b, struct repr_value v, enum hlo_element e)
{
    int x = v.part[0];

    if (repr_form(e) == EXPAND_WORDS)
        return v;
    v.count = 1;
    if (e == ELEMENT_BF16)
        v.part[0] = bf16_bits(b, x);
    else
        v.part[0] = hlo_element_bits(e) == 32 ? hlo_bitcast_convert(b, x, ELEMENT_U32)
                                              : narrow_to_bits(b, x, e);
    return v;
}

static struct repr_value from_bits(struct hlo_builder *b, struct repr_value v, enum hlo_element e)
{
    int x = v.part[0];

    if (repr_form(e) == EXPAND_WORDS)
        return v;
    if (e == ELEMENT_BF16)
        v.part[0] = hlo_convert(b, hlo_bitcast_convert(b, ar_shli(b, x, 16), ELEMENT_F32),
                                ELEMENT_BF16);
    else
        v.part[0] = hlo_element_bits(e) == 32 ? hlo_bitcast_convert(b, x, e)
                                              : narrow_from_bits(b, x, e);
    return v;
}

/* narrow elements along the last dimension to wide ones */
static struct repr_value gather_bits(struct expand_site *s, int x, int from_bits, int to_bits)
{
    struct hlo_builder *b = s->b;
    struct hlo_type t = *hlo_type_of(b, x);
    struct repr_value words = {.count = to_bits > 32 ? 2 : 1, .part = {-1, -1}};

    for (int j = 0; j < to_bits / from_bits; j++) {
        int word = j * from_bits / 32, at = j * from_bits % 32;
        int piece = hlo_reshape(b, hlo_slice_dim(b, x, t.rank - 1, j, j + 1), t.rank - 1, t.dim);

        piece = at ? ar_shli(b, piece, at) : piece;
        words.part[word] = words.part[word] < 0 ? piece : ar_or(b, words.part[word], piece);
    }
    return words;
}

static int spread_bits(struct expand_site *s, struct repr_value v, int to_bits)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *t = s->from->type;
    struct arena *a = b->module->arena;
    int64_t *dim = arena_copy(a, t->dim, (size_t)t->rank, sizeof(*dim));
    int count = (int)t->dim[t->rank - 1], *piece = arena_array(a, (size_t)count + 1, sizeof(int));

    dim[t->rank - 1] = 1;
    for (int j = 0; j < count; j++) {
        int x = v.part[j * to_bits / 32], at = j * to_bits % 32;

        x = at ? ar_shri(b, x, at) : x;
        if (to_bits < 32)
            x = ar_andi(b, x, ((int64_t)1 << to_bits) - 1);
        piece[j] = hlo_reshape(b, x, t->rank, dim);
    }
    return hlo_concatenate(b, count, piece, t->rank - 1);
}

int repr_bitcast(struct expand_site *s)
{
    enum hlo_element from = expand_operand_type(s, 0)->element, to = s->from->type->element;
    int from_width = hlo_element_bits(from), to_width = hlo_element_bits(to);
    struct repr_value v = repr_operand(s, 0);

    if (from == to)
        return s->operand[0];
    if (repr_form(from) == EXPAND_SAME && repr_form(to) == EXPAND_SAME && from_width == 32
        && to_width == 32)
        return EXPAND_KEEP;
    if (repr_form(from) == EXPAND_WORDS && to == ELEMENT_F64)
        return repr_make(s->b, double_from_bits(s->b, v));
    if (repr_form(from) > EXPAND_WORDS || repr_form(to) > EXPAND_WORDS)
        return expand_refuse(s, "the bits of %s are not known where the compiler has sums",
                             hlo_element_name(repr_form(from) > EXPAND_WORDS ? from : to));
    v = to_bits(s->b, v, from);
    if (from_width < to_width) {
        v = gather_bits(s, v.part[0], from_width, to_width);
    } else if (from_width > to_width) {
        v.part[0] = spread_bits(s, v, to_width);
        v.count = 1;
    }
    return repr_make(s->b, from_bits(s->b, v, to));
}
