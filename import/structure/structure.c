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

int structure_visit(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    structure_visitor *visit, struct err *e)
{
    struct hlo_rewrite rewrite = {.visit = visit};

    if (hlo_rewrite_module(old, made, a, &rewrite, e) != 0)
        return -1;
    hlo_eliminate_dead(made);
    return 0;
}
