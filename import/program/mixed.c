/*
 * Floats of different widths at one operation, as XLA leaves them in programs that it has optimized
 * for a TPU: bf16 out of f32, a select between both. It is done in the widest of them, and what
 * comes out is rounded to the type of the result.
 */
#include "import/program/mixed.h"

#include "import/program/build.h"

static bool is_one_by_one(enum hlo_opcode op)
{
    switch (op) {
    case OPCODE_BROADCAST: case OPCODE_RESHAPE: case OPCODE_TRANSPOSE: case OPCODE_REVERSE:
    case OPCODE_CONCATENATE: case OPCODE_SLICE: case OPCODE_PAD: case OPCODE_DYNAMIC_SLICE:
    case OPCODE_DYNAMIC_UPDATE_SLICE: case OPCODE_GATHER: return true;
    case OPCODE_CONVERT: case OPCODE_BITCAST_CONVERT: case OPCODE_REDUCE_PRECISION: return false;
    default: return op >= OPCODE_ABS && op <= OPCODE_SELECT;
    }
}

static bool is_float(const struct hlo_type *t)
{
    return !hlo_type_is_tuple(t) && hlo_element_is_float(t->element);
}

/* the widest of all floats; ELEMENT_COUNT where they are one, or no more than one */
static enum hlo_element widest(const struct hlo_computation *c, const struct hlo_instruction *i,
                               const int *operand)
{
    enum hlo_element most = is_float(i->type) ? i->type->element : ELEMENT_COUNT;
    bool is_mixed = false;

    for (int k = 0; k < i->operand_count; k++) {
        const struct hlo_type *t = c->instruction[operand[k]].type;

        if (!is_float(t))
            continue;
        is_mixed |= most != ELEMENT_COUNT && most != t->element;
        if (most == ELEMENT_COUNT || hlo_element_bits(t->element) > hlo_element_bits(most))
            most = t->element;
    }
    return is_mixed ? most : ELEMENT_COUNT;
}

bool hlo_is_mixed(const struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++)
        for (int k = 0; k < m->computation[c].count; k++) {
            const struct hlo_instruction *i = &m->computation[c].instruction[k];

            if (is_one_by_one(i->op) &&
                widest(&m->computation[c], i, i->operand) != ELEMENT_COUNT)
                return true;
        }
    return false;
}

static int widen(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const struct hlo_computation *now = &b->module->computation[b->computation];
    enum hlo_element wide = is_one_by_one(from->op) ? widest(now, from, operand) : ELEMENT_COUNT;
    struct hlo_instruction i = *from;
    struct hlo_type type = *from->type;
    int *own, made;

    (void)r;
    if (wide == ELEMENT_COUNT)
        return -1;
    own = arena_copy(b->module->arena, operand, (size_t)from->operand_count, sizeof(*own));
    for (int k = 0; k < from->operand_count; k++)
        if (is_float(hlo_type_of(b, own[k])))
            own[k] = hlo_convert(b, own[k], wide);
    if (is_float(from->type))
        type.element = wide;
    i.type = &type;
    made = hlo_copy_instruction(b, &i, own);
    return is_float(from->type) ? hlo_convert(b, made, from->type->element) : made;
}

int hlo_widen_mixed(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e)
{
    struct hlo_rewrite r = {.visit = widen};

    return hlo_rewrite_module(old, made, a, &r, e);
}
