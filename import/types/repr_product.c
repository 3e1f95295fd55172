/*
 * Products of types that the compiler has none of. Complex ones are four real ones, f64 sums are
 * the products of their first parts and of first by second, narrow floats go in as bf16 or f32,
 * narrow integers as s8 or s32. Integers of 64 bits are products of bytes, of which 2^16 can be
 * added in a word, and of words where only the low half of the product counts.
 */
#include "import/types/repr.h"

#include "import/types/complex.h"
#include "import/types/double.h"
#include "import/types/narrow.h"
#include "import/types/words.h"

/* the same product of two arrays with a result of element e */
static int product(struct expand_site *s, int x, int y, enum hlo_element e,
                   enum hlo_precision least)
{
    struct hlo_instruction i = *s->from;

    i.label = 0;
    i.type = HLO_TYPE(hlo_array_type(s->b->module->arena, e, i.type->rank, i.type->dim));
    for (int k = 0; k < 2; k++)
        if (i.precision[k] < least)
            i.precision[k] = least;
    return hlo_copy_instruction(s->b, &i, (int[]){x, y});
}

static int complex_product(struct expand_site *s)
{
    struct repr_value x = repr_operand(s, 0), y = repr_operand(s, 1);
    enum hlo_precision p = HLO_PRECISION_DEFAULT;
    int real, imaginary;

    if (x.count == 1)                   /* a real array by a complex one */
        x = complex_make(x.part[0], ar_num(s->b, x.part[0], 0));
    if (y.count == 1)
        y = complex_make(y.part[0], ar_num(s->b, y.part[0], 0));
    real = ar_sub(s->b, product(s, x.part[0], y.part[0], ELEMENT_F32, p),
                  product(s, x.part[1], y.part[1], ELEMENT_F32, p));
    imaginary = ar_add(s->b, product(s, x.part[0], y.part[1], ELEMENT_F32, p),
                       product(s, x.part[1], y.part[0], ELEMENT_F32, p));
    return repr_make(s->b, complex_make(real, imaginary));
}

static int sum_product(struct expand_site *s)
{
    struct repr_value x = repr_operand(s, 0), y = repr_operand(s, 1);
    enum hlo_precision p = HLO_PRECISION_HIGHEST;
    int head = product(s, x.part[0], y.part[0], ELEMENT_F32, p);
    int tail = ar_add(s->b, product(s, x.part[0], y.part[1], ELEMENT_F32, p),
                      product(s, x.part[1], y.part[0], ELEMENT_F32, p));
    struct repr_value first = {2, {head, ar_num(s->b, head, 0)}};
    struct repr_value second = {2, {tail, ar_num(s->b, tail, 0)}};

    return repr_make(s->b, double_add(s->b, first, second));
}

/* how many products go into one sum */
static int64_t added_count(const struct expand_site *s)
{
    const struct hlo_type *y = expand_operand_type(s, 1);
    int64_t count = 1;

    for (int k = 0; hlo_detail(s->from)->dot && k < hlo_detail(s->from)->dot->rhs_contract.count;
         k++)
        count *= y->dim[hlo_detail(s->from)->dot->rhs_contract.item[k]];
    return hlo_detail(s->from)->conv ? hlo_type_elements(y) : count;
}

static int byte_of(struct hlo_builder *b, int word, int k)
{
    return ar_andi(b, k ? ar_shri(b, word, 8 * k) : word, 0xff);
}

static int words_product(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    struct repr_value x = repr_operand(s, 0), y = repr_operand(s, 1), sum = {.count = 0};
    enum hlo_precision p = HLO_PRECISION_DEFAULT;

    if (added_count(s) > 65536)
        return expand_refuse(s, "adds more than 65536 products of integers of 64 bits");
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            int byte = byte_of(b, x.part[0], i);
            int part = product(s, byte, byte_of(b, y.part[0], j), ELEMENT_U32, p);
            struct repr_value own = words_make(part, ar_int(b, part, 0));

            own = words_shift_left(b, own, 8 * (i + j));
            sum = sum.count ? words_add(b, sum, own) : own;
        }
    }
    for (int k = 0; k < 2; k++)
        sum.part[1] = ar_add(b, sum.part[1],
                             product(s, x.part[k], y.part[1 - k], ELEMENT_U32, p));
    return repr_make(b, sum);
}

/* floats of 8 bits and fewer are bf16 exactly */
static int factor(struct expand_site *s, int operand, enum hlo_element *e)
{
    enum hlo_element from = expand_operand_type(s, operand)->element;
    int x = s->operand[operand];

    if (hlo_element_is_float(from) && hlo_element_bits(from) <= 8)
        x = hlo_convert(s->b, x, ELEMENT_BF16);
    *e = ar_element(s->b, x);
    return x;
}

/* an f32; of a bf16 no more than that, though the compiler may still have the f32 it came from, which
 * three passes would not round (stack/passes/pass_excess.c) */
static int wide_factor(struct hlo_builder *b, int x)
{
    bool is_bf16 = ar_element(b, x) == ELEMENT_BF16;

    x = hlo_convert(b, x, ELEMENT_F32);
    return is_bf16 ? narrow_reduce_precision(b, x, 8, 7) : x;
}

static bool is_float_product(const struct expand_site *s)
{
    return hlo_element_is_float(s->from->type->element)
           || hlo_element_is_float(expand_operand_type(s, 0)->element)
           || hlo_element_is_float(expand_operand_type(s, 1)->element);
}

static int narrow_product(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element to = s->from->type->element, x_element, y_element, sum;
    int x = factor(s, 0, &x_element), y = factor(s, 1, &y_element), z;
    bool has_f16 = expand_operand_type(s, 0)->element == ELEMENT_F16
                   || expand_operand_type(s, 1)->element == ELEMENT_F16;

    if (is_float_product(s)) {
        if (has_f16) {
            x = wide_factor(b, x);
            y = wide_factor(b, y);
        } else if (x_element != y_element) {
            x = hlo_convert(b, x, ELEMENT_F32);
            y = hlo_convert(b, y, ELEMENT_F32);
        }
        /* two bf16 hold an f16, three passes its products */
        z = product(s, x, y, ELEMENT_F32, has_f16 ? HLO_PRECISION_HIGH : HLO_PRECISION_DEFAULT);
        return repr_make(b, repr_convert_value(b, (struct repr_value){1, {z}}, ELEMENT_F32, to));
    }
    sum = hlo_element_kind(to) == ELEMENT_KIND_UNSIGNED ? ELEMENT_U32 : ELEMENT_S32;
    if (x_element != y_element) {
        x = hlo_convert(b, x, sum);
        y = hlo_convert(b, y, sum);
    }
    z = product(s, x, y, sum, HLO_PRECISION_DEFAULT);
    return repr_make(b, repr_convert_value(b, (struct repr_value){1, {z}}, sum, to));
}

int repr_product(struct expand_site *s)
{
    enum expand_form x = repr_form(expand_operand_type(s, 0)->element);
    enum expand_form y = repr_form(expand_operand_type(s, 1)->element);

    if (x == EXPAND_COMPLEX || y == EXPAND_COMPLEX)
        return complex_product(s);
    if (x == EXPAND_SUM && y == EXPAND_SUM)
        return sum_product(s);
    if (x == EXPAND_WORDS && y == EXPAND_WORDS && repr_form(s->from->type->element) == EXPAND_WORDS)
        return words_product(s);
    if (x >= EXPAND_WORDS || y >= EXPAND_WORDS)
        return expand_refuse(s, "nothing expands products of %s by %s",
                             hlo_element_name(expand_operand_type(s, 0)->element),
                             hlo_element_name(expand_operand_type(s, 1)->element));
    return narrow_product(s);
}
