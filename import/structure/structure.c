/* The passes over a program's structure, and what they share. */
#include "import/structure/structure.h"

#include "import/structure/structure_impl.h"

const struct hlo_instruction *structure_at(const struct hlo_builder *b, int index)
{
    return &b->module->computation[b->computation].instruction[index];
}

int structure_element(struct hlo_builder *b, int tuple, int index)
{
    const struct hlo_instruction *i = structure_at(b, tuple);

    return i->op == OPCODE_TUPLE ? i->operand[index] : hlo_tuple_element(b, tuple, index);
}

static bool is_whole(enum hlo_element e)
{
    return hlo_element_is_integer(e) || e == ELEMENT_PRED;
}

bool structure_constant(const struct hlo_computation *c, int instruction, int64_t *value)
{
    const struct hlo_instruction *i = &c->instruction[instruction];

    switch (i->op) {
    case OPCODE_CONSTANT:
        if (!is_whole(i->type->element) || hlo_type_elements(i->type) != 1 ||
            !i->literal || !i->literal->data)
            return false;
        *value = hlo_element_load_int(i->type->element, i->literal->data);
        return true;
    case OPCODE_COPY: case OPCODE_RESHAPE: case OPCODE_BITCAST: case OPCODE_CONVERT:
        return is_whole(i->type->element) &&
               i->type->element != ELEMENT_PRED &&       /* which tells 2 from 0, not from 1 */
               is_whole(c->instruction[i->operand[0]].type->element) &&
               structure_constant(c, i->operand[0], value);
    default:
        return false;
    }
}

int structure_visit(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    structure_visitor *visit, struct err *e)
{
    struct hlo_rewrite rewrite = {.visit = visit};

    if (hlo_rewrite_module(old, made, a, &rewrite, e) != 0)
        return -1;
    hlo_eliminate_dead(made);
    return 0;
}
