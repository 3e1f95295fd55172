/*
 * Data that only moves: the operation once for each part. Operands that are data have the result's
 * element; others are predicates or indices, which become s32 where they are of 64 bits.
 */
#include "import/types/repr.h"

#include "import/mosaic/mosaic.h"
#include "import/types/words.h"

int repr_index(struct expand_site *s, int operand)
{
    enum hlo_element e = expand_operand_type(s, operand)->element;

    if (repr_form(e) != EXPAND_WORDS)
        return s->operand[operand];
    if (repr_fits(s, operand))
        return hlo_bitcast_convert(s->b, repr_operand(s, operand).part[0], ELEMENT_S32);
    return words_index(s->b, repr_operand(s, operand), e == ELEMENT_S64);
}

/* operands first .. first + count - 1 are data; all others go in as they are or as an index */
static bool is_data(const struct hlo_instruction *i, int operand)
{
    switch (i->op) {
    case OPCODE_DYNAMIC_SLICE: case OPCODE_GATHER:
        return operand == 0;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
        return operand < 2;
    case OPCODE_SELECT:
        return operand > 0;
    default:
        return true;
    }
}

static struct hlo_type part_type(struct arena *a, const struct hlo_type *t)
{
    enum hlo_element element;
    int parts;

    if (expand_form_of(t->element, &element, &parts) == EXPAND_SAME)
        return *t;
    return hlo_array_type(a, element, t->rank, t->dim);
}

/* one array as the result */
static int move_array(struct expand_site *s)
{
    struct arena *a = s->b->module->arena;
    int count = s->from->operand_count, *operand = arena_array(a, (size_t)count + 1, sizeof(int));
    struct repr_value *value = arena_array(a, (size_t)count + 1, sizeof(*value)), result;
    struct hlo_instruction i = *s->from;
    enum hlo_element element;

    expand_form_of(i.type->element, &element, &result.count);
    i.type = HLO_TYPE(part_type(a, i.type));
    for (int k = 0; k < count; k++) {
        if (is_data(s->from, k))
            value[k] = repr_operand(s, k);
        else
            value[k].part[0] = repr_index(s, k);
    }
    for (int p = 0; p < result.count; p++) {
        for (int k = 0; k < count; k++)
            operand[k] = value[k].part[is_data(s->from, k) ? p : 0];
        if (p > 0)
            i.label = 0;
        result.part[p] = hlo_copy_instruction(s->b, &i, operand);
    }
    return repr_make(s->b, result);
}

/* several arrays, each operand's result: all parts go into one operation */
static int move_arrays(struct expand_site *s)
{
    struct arena *a = s->b->module->arena;
    int count = s->from->operand_count, total = 0, next = 0, all;
    int *operand = arena_array(a, (size_t)count * REPR_PARTS_MAX + 1, sizeof(int));
    int *result = arena_array(a, (size_t)count + 1, sizeof(int));
    struct hlo_type *type = arena_array(a, (size_t)count * REPR_PARTS_MAX + 1, sizeof(*type));
    struct hlo_instruction i = *s->from;

    for (int k = 0; k < count; k++) {
        struct repr_value v = repr_operand(s, k);

        for (int p = 0; p < v.count; p++) {
            type[total] = part_type(a, &s->from->type->part[k]);
            operand[total++] = v.part[p];
        }
    }
    i.type = HLO_TYPE(hlo_tuple_type(a, total, type));
    i.operand_count = total;
    all = hlo_copy_instruction(s->b, &i, operand);
    for (int k = 0; k < count; k++) {
        struct repr_value v;
        enum hlo_element element;

        expand_form_of(s->from->type->part[k].element, &element, &v.count);
        for (int p = 0; p < v.count; p++)
            v.part[p] = hlo_tuple_element(s->b, all, next++);
        result[k] = repr_make(s->b, v);
    }
    return hlo_tuple(s->b, count, result);
}

/* each operand goes to another device: an exchange for each part, as all operands are alike */
static int exchange_arrays(struct expand_site *s)
{
    struct arena *a = s->b->module->arena;
    int count = s->from->operand_count, *operand = arena_array(a, (size_t)count + 1, sizeof(int));
    struct repr_value *value = arena_array(a, (size_t)count + 1, sizeof(*value));
    struct hlo_type *type = arena_array(a, (size_t)count + 1, sizeof(*type));
    struct hlo_instruction i = *s->from;

    for (int k = 0; k < count; k++) {
        value[k] = repr_operand(s, k);
        type[k] = part_type(a, &s->from->type->part[k]);
    }
    i.type = HLO_TYPE(hlo_tuple_type(a, count, type));
    i.label = 0;
    for (int p = 0; p < value[0].count; p++) {
        int all;

        for (int k = 0; k < count; k++)
            operand[k] = value[k].part[p];
        all = hlo_copy_instruction(s->b, &i, operand);
        for (int k = 0; k < count; k++)
            value[k].part[p] = hlo_tuple_element(s->b, all, k);
    }
    for (int k = 0; k < count; k++)
        operand[k] = repr_make(s->b, value[k]);
    return hlo_tuple(s->b, count, operand);
}

/* a custom call of one array that gives elements as they are, in their place or their device's */
static bool is_marker(struct expand_site *s)
{
    return s->from->operand_count == 1 && !hlo_type_is_tuple(s->from->type)
           && s->from->type->element == expand_operand_type(s, 0)->element;
}

int repr_move(struct expand_site *s)
{
    if (s->from->op == OPCODE_COPY && hlo_type_is_tuple(s->from->type))
        return repr_copy(s);
    if (s->from->op == OPCODE_SELECT && hlo_type_is_tuple(s->from->type))
        return expand_refuse(s, "selects between tuples");
    if (s->from->op == OPCODE_CUSTOM_CALL && mosaic_is_call(s->from))
        return repr_kernel(s);
    if (s->from->op == OPCODE_CUSTOM_CALL && !is_marker(s))
        return repr_copy(s);            /* who knows it takes parts; others refuse it by its name */
    if (!hlo_type_is_tuple(s->from->type))
        return move_array(s);
    return s->from->op == OPCODE_ALL_TO_ALL ? exchange_arrays(s) : move_arrays(s);
}
