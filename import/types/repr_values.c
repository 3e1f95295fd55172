/* Constants, iotas, conversions and operations of elements in the forms of their types. */
#include "import/types/repr.h"

#include "import/types/complex.h"
#include "import/types/double.h"
#include "import/types/narrow.h"
#include "import/types/words.h"

int repr_constant(struct expand_site *s)
{
    const struct hlo_literal *l = s->from->literal;
    struct arena *a = s->b->module->arena;
    struct repr_value v;
    enum hlo_element element;
    int64_t count;
    void *data[REPR_PARTS_MAX];
    struct hlo_type t;

    if (hlo_type_is_tuple(s->from->type))
        return expand_refuse(s, "a constant that is a tuple");
    if (!l || !l->data)
        return expand_refuse(s, HLO_ELIDED);
    expand_form_of(s->from->type->element, &element, &v.count);
    t = hlo_array_type(a, element, s->from->type->rank, s->from->type->dim);
    count = l->is_splat ? 1 : hlo_type_elements(&t);
    for (int p = 0; p < v.count; p++)
        data[p] = arena_alloc(a, ((size_t)count + 1) * hlo_element_bytes(element));
    expand_split(s->from->type->element, count, l->data, data);
    for (int p = 0; p < v.count; p++) {
        struct hlo_literal *part = arena_alloc(a, sizeof(*part));

        *part = (struct hlo_literal){.type = t, .data = data[p], .is_splat = l->is_splat};
        v.part[p] = hlo_constant_literal(s->b, part);
    }
    return repr_make(s->b, v);
}

int repr_iota(struct expand_site *s)
{
    const struct hlo_type *t = s->from->type;
    struct hlo_type plain = hlo_array_type(s->b->module->arena, ELEMENT_S32, t->rank, t->dim);
    struct repr_value v = {1, {hlo_iota(s->b, &plain, (int)s->from->index)}};

    return repr_make(s->b, repr_convert_value(s->b, v, ELEMENT_S32, t->element));
}

/* a value as one array that the compiler knows: integers that fit as s32 or u32, others as f32 */
static struct repr_value one(int x) { return (struct repr_value){1, {x}}; }

static int to_f32(struct hlo_builder *b, struct repr_value v, enum hlo_element from)
{
    switch (repr_form(from)) {
    case EXPAND_WORDS:
        return words_to_f32(b, v, from == ELEMENT_S64);
    case EXPAND_SAME: case EXPAND_WIDE:
        return hlo_convert(b, v.part[0], ELEMENT_F32);
    default:                            /* the nearest f32, the real part */
        return v.part[0];
    }
}

/* the ends of a narrow integer's range; f32 has both exactly or next to them */
static int clamp_to(struct hlo_builder *b, int x, enum hlo_element to)
{
    int bits = hlo_element_bits(to);
    bool is_signed = hlo_element_kind(to) == ELEMENT_KIND_SIGNED;
    double high = (double)(((int64_t)1 << (bits - is_signed)) - 1);
    double low = is_signed ? -high - 1 : 0;

    return ar_max(b, ar_min(b, x, ar_num(b, x, high)), ar_num(b, x, low));
}

/* a float in f32 as an integer of at most 32 bits; NaN is 0 */
static int float_to_integer(struct hlo_builder *b, int x, enum hlo_element to)
{
    enum hlo_element part;
    int parts;

    expand_form_of(to, &part, &parts);
    if (hlo_element_bits(to) < 32) {
        x = ar_sel(b, ar_is_nan(b, x), ar_num(b, x, 0), x);
        x = hlo_convert(b, clamp_to(b, x, to), ELEMENT_S32);
        return hlo_convert(b, x, part);
    }
    return hlo_convert(b, x, to);
}

/* f64 to an integer of at most 32 bits: by a word of 64, clamped to the type's range */
static int sum_to_integer(struct hlo_builder *b, struct repr_value v, enum hlo_element to)
{
    bool is_signed = hlo_element_kind(to) == ELEMENT_KIND_SIGNED;
    int64_t high = ((int64_t)1 << (hlo_element_bits(to) - is_signed)) - 1;
    struct repr_value x = double_to_words(b, v, true);
    struct repr_value most = words_constant(b, x.part[0], (uint64_t)high);
    struct repr_value least = words_constant(b, x.part[0], is_signed ? (uint64_t)(-high - 1) : 0);
    enum hlo_element part;
    int parts, word;

    expand_form_of(to, &part, &parts);
    x = words_select(b, words_compare(b, HLO_GT, x, most, true), most, x);
    x = words_select(b, words_compare(b, HLO_LT, x, least, true), least, x);
    word = is_signed ? hlo_bitcast_convert(b, x.part[0], ELEMENT_S32) : x.part[0];
    return hlo_convert(b, word, part);
}

static struct repr_value from_words(struct hlo_builder *b, struct repr_value v,
                                    enum hlo_element from, enum hlo_element to)
{
    enum hlo_element part;
    int parts, x;

    expand_form_of(to, &part, &parts);
    if (repr_form(to) == EXPAND_WORDS)
        return v;
    if (to == ELEMENT_PRED) {
        x = ar_or(b, v.part[0], v.part[1]);
        return one(ar_ne(b, x, ar_int(b, x, 0)));
    }
    if (hlo_element_is_integer(to)) {
        x = hlo_element_kind(part) == ELEMENT_KIND_SIGNED
                ? hlo_bitcast_convert(b, v.part[0], ELEMENT_S32) : v.part[0];
        x = hlo_convert(b, x, part);
        return one(repr_form(to) == EXPAND_WIDE ? narrow_keep(b, x, to) : x);
    }
    if (repr_form(to) == EXPAND_SUM)
        return double_from_words(b, v, from == ELEMENT_S64);
    return repr_convert_value(b, one(to_f32(b, v, from)), ELEMENT_F32, to);
}

static struct repr_value to_words(struct hlo_builder *b, struct repr_value v,
                                  enum hlo_element from, enum hlo_element to)
{
    int x = v.part[0];

    if (repr_form(from) == EXPAND_SUM)
        return double_to_words(b, v, to == ELEMENT_S64);
    if (hlo_element_is_float(from) || hlo_element_is_complex(from))
        return words_from_f32(b, to_f32(b, v, from), to == ELEMENT_S64);
    if (hlo_element_kind(from) == ELEMENT_KIND_SIGNED)
        return words_from_32(b, hlo_convert(b, x, ELEMENT_S32));
    return words_from_32(b, hlo_convert(b, x, ELEMENT_U32));
}

static struct repr_value to_complex(struct hlo_builder *b, struct repr_value v,
                                    enum hlo_element from)
{
    struct repr_value real;

    if (from == ELEMENT_C128)
        return (struct repr_value){2, {v.part[0], v.part[2]}};
    real = repr_convert_value(b, v, from, ELEMENT_F32);
    return (struct repr_value){2, {real.part[0], ar_num(b, real.part[0], 0)}};
}

static struct repr_value to_sum(struct hlo_builder *b, struct repr_value v, enum hlo_element from)
{
    if (from == ELEMENT_C128)
        return (struct repr_value){2, {v.part[0], v.part[1]}};
    if (hlo_element_is_integer(from) && hlo_element_bits(from) == 32)
        return double_from_words(b, words_from_32(b, v.part[0]), from == ELEMENT_S32);
    v = one(to_f32(b, v, from));
    return (struct repr_value){2, {v.part[0], ar_num(b, v.part[0], 0)}};
}

struct repr_value repr_convert_value(struct hlo_builder *b, struct repr_value v,
                                     enum hlo_element from, enum hlo_element to)
{
    bool from_float = hlo_element_is_float(from) || hlo_element_is_complex(from);
    enum hlo_element part;
    int parts, x;

    if (from == to)
        return v;
    expand_form_of(to, &part, &parts);
    if (repr_form(from) == EXPAND_WORDS)
        return from_words(b, v, from, to);
    switch (repr_form(to)) {
    case EXPAND_WORDS:
        return to_words(b, v, from, to);
    case EXPAND_COMPLEX:
        return to_complex(b, v, from);
    case EXPAND_SUM:
        return to_sum(b, v, from);
    case EXPAND_COMPLEX_SUM: {
        struct repr_value real = to_sum(b, v, from == ELEMENT_C64 ? ELEMENT_F32 : from);
        int zero = ar_num(b, real.part[0], 0);

        return (struct repr_value){4, {real.part[0], real.part[1],
                                       from == ELEMENT_C64 ? v.part[1] : zero, zero}};
    }
    default:
        break;
    }
    if (to == ELEMENT_PRED) {
        x = v.part[0];
        return one(ar_ne(b, x, ar_int(b, x, 0)));
    }
    if (hlo_element_is_integer(to) && repr_form(from) == EXPAND_SUM)
        return one(sum_to_integer(b, v, to));
    if (hlo_element_is_integer(to) && from_float)
        return one(float_to_integer(b, to_f32(b, v, from), to));
    if (hlo_element_is_integer(to)) {
        x = hlo_convert(b, v.part[0], hlo_element_kind(part) == ELEMENT_KIND_SIGNED
                                          ? ELEMENT_S32 : ELEMENT_U32);
        if (repr_form(to) == EXPAND_WIDE)
            x = narrow_keep(b, x, to);
        return one(hlo_convert(b, x, part));
    }
    x = to_f32(b, v, from);
    return one(repr_form(to) == EXPAND_WIDE ? narrow_keep(b, x, to) : hlo_convert(b, x, to));
}

int repr_convert(struct expand_site *s)
{
    enum hlo_element from = expand_operand_type(s, 0)->element;

    if (repr_form(from) == EXPAND_WORDS && repr_form(s->from->type->element) != EXPAND_WORDS
        && repr_fits(s, 0)) {
        int word = hlo_bitcast_convert(s->b, repr_operand(s, 0).part[0], ELEMENT_S32);

        return repr_make(s->b, repr_convert_value(s->b, one(word), ELEMENT_S32,
                                                  s->from->type->element));
    }
    return repr_make(s->b, repr_convert_value(s->b, repr_operand(s, 0),
                                              expand_operand_type(s, 0)->element,
                                              s->from->type->element));
}

int repr_elementwise(struct expand_site *s)
{
    enum hlo_element e;

    if (s->from->operand_count == 0 || hlo_type_is_tuple(s->from->type))
        return expand_refuse(s, "nothing expands its type");
    if (s->from->op == OPCODE_REDUCE_PRECISION && expand_operand_type(s, 0)->element != ELEMENT_F64)
        return narrow_elementwise(s);
    e = expand_operand_type(s, 0)->element;
    if (s->from->op == OPCODE_COMPLEX || hlo_element_is_complex(e))
        return complex_elementwise(s);
    switch (repr_form(e)) {
    case EXPAND_WORDS:
        return words_elementwise(s);
    case EXPAND_SUM:
        return double_elementwise(s);
    case EXPAND_WIDE:
        return narrow_elementwise(s);
    default:
        return expand_refuse(s, "nothing expands its type");
    }
}
