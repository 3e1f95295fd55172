/*
 * Kernels of Pallas with narrow operands and results: 8-bit floats are their codes, of other narrow
 * types they take the wider ones, of whose results only the narrow type's bits count.
 */
#include "import/types/narrow.h"
#include "import/types/repr.h"

static bool has_codes(enum hlo_element e)
{
    return e == ELEMENT_F8E5M2 || e == ELEMENT_F8E4M3FN || e == ELEMENT_F8E4M3B11FNUZ;
}

static struct hlo_type kernel_type(struct expand_site *s, const struct hlo_type *t)
{
    struct arena *a = s->b->module->arena;

    return has_codes(t->element) ? hlo_array_type(a, ELEMENT_U8, t->rank, t->dim) : repr_type(a, t);
}

static int from_kernel(struct hlo_builder *b, int x, enum hlo_element e)
{
    if (has_codes(e))
        return narrow_from_bits(b, hlo_convert(b, x, ELEMENT_U32), e);
    return repr_form(e) == EXPAND_WIDE && !hlo_element_is_float(e) ? narrow_keep(b, x, e) : x;
}

int repr_kernel(struct expand_site *s)
{
    int *operand = arena_array(s->b->module->arena, (size_t)s->from->operand_count + 1,
                               sizeof(*operand));
    const struct hlo_type *t = s->from->type;
    struct hlo_instruction i = *s->from;
    int count = hlo_type_is_tuple(t) ? t->part_count : 1, made;
    struct hlo_type *part = arena_array(s->b->module->arena, (size_t)count + 1, sizeof(*part));
    int *result = arena_array(s->b->module->arena, (size_t)count + 1, sizeof(*result));

    for (int k = 0; k < s->from->operand_count; k++) {
        enum hlo_element e = expand_operand_type(s, k)->element;

        operand[k] = s->operand[k];
        if (has_codes(e))
            operand[k] = hlo_convert(s->b, narrow_to_bits(s->b, operand[k], e), ELEMENT_U8);
    }
    for (int k = 0; k < count; k++)
        part[k] = kernel_type(s, hlo_type_is_tuple(t) ? &t->part[k] : t);
    i.type =
        HLO_TYPE(hlo_type_is_tuple(t) ? hlo_tuple_type(s->b->module->arena, count, part) : part[0]);
    made = hlo_copy_instruction(s->b, &i, operand);
    if (!hlo_type_is_tuple(t))
        return from_kernel(s->b, made, t->element);
    for (int k = 0; k < count; k++)
        result[k] = from_kernel(s->b, hlo_tuple_element(s->b, made, k), t->part[k].element);
    return hlo_tuple(s->b, count, result);
}
