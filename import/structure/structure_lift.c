/* A computation of scalars written again over arrays: each of its operations elementwise. */
#include "import/structure/structure_impl.h"

#include <string.h>

/* operations that mean the same of each element of an array */
static bool is_elementwise(enum hlo_opcode op)
{
    return (op >= OPCODE_ABS && op <= OPCODE_SELECT) ||
           (op >= OPCODE_BESSEL_I1E && op <= OPCODE_ZETA);
}

static bool stays_scalar(enum hlo_opcode op)
{
    return op == OPCODE_BROADCAST || op == OPCODE_RESHAPE || op == OPCODE_BITCAST ||
           op == OPCODE_TRANSPOSE;
}

bool structure_can_lift(const struct hlo_module *m, int computation)
{
    const struct hlo_computation *c = &m->computation[computation];

    for (int i = 0; i < c->count; i++) {
        const struct hlo_instruction *n = &c->instruction[i];
        bool is_tuple = n->op == OPCODE_TUPLE || n->op == OPCODE_GET_TUPLE_ELEMENT;

        if (!hlo_type_is_tuple(n->type) && n->type->rank != 0)
            return false;
        if (n->op != OPCODE_PARAMETER && n->op != OPCODE_CONSTANT && !is_tuple &&
            !stays_scalar(n->op) && !is_elementwise(n->op))
            return false;
    }
    return true;
}

static int constant(struct hlo_builder *b, const struct hlo_literal *l,
                    const struct hlo_type *like)
{
    struct hlo_literal *spread = arena_copy(b->module->arena, l, 1, sizeof(*l));

    spread->type = hlo_array_type(b->module->arena, l->type.element, like->rank, like->dim);
    spread->is_splat = true;
    return hlo_constant_literal(b, spread);
}

static int elementwise(struct hlo_builder *b, const struct hlo_instruction *from, const int *index,
                       const struct hlo_type *like)
{
    struct hlo_instruction i = *from;
    int operand[4];

    for (int k = 0; k < i.operand_count; k++)
        operand[k] = index[i.operand[k]];
    i.label = 0;
    i.place = b->place;
    i.line = b->line;
    i.col = hlo_column(b->col);
    i.operand = operand;
    hlo_own_detail(b->module->arena, &i)->control = (struct hlo_ints){0};
    i.type = HLO_TYPE(hlo_array_type(b->module->arena, from->type->element, like->rank, like->dim));
    return hlo_add(b->module, b->computation, &i);
}

static int tuple(struct hlo_builder *b, const struct hlo_instruction *from, const int *index)
{
    int *operand = mem_alloc(((size_t)from->operand_count + 1) * sizeof(*operand)), made;

    for (int k = 0; k < from->operand_count; k++)
        operand[k] = index[from->operand[k]];
    made = hlo_tuple(b, from->operand_count, operand);
    mem_free(operand);
    return made;
}

static int lift_one(struct hlo_builder *b, const struct hlo_instruction *n, const int *index,
                    const int *argument, const struct hlo_type *like)
{
    switch (n->op) {
    case OPCODE_PARAMETER: return argument[n->index];
    case OPCODE_CONSTANT: return constant(b, n->literal, like);
    case OPCODE_TUPLE: return tuple(b, n, index);
    case OPCODE_GET_TUPLE_ELEMENT: return structure_element(b, index[n->operand[0]], (int)n->index);
    default:
        return stays_scalar(n->op) ? index[n->operand[0]] : elementwise(b, n, index, like);
    }
}

void structure_lift(struct hlo_builder *b, int computation, const int *argument, int *result,
                    int count)
{
    int size = b->module->computation[computation].count, root, *index;
    struct hlo_type like = *hlo_type_of(b, argument[0]);

    index = mem_alloc(((size_t)size + 1) * sizeof(*index));
    for (int i = 0; i < size; i++) {
        struct hlo_instruction n = b->module->computation[computation].instruction[i];

        index[i] = lift_one(b, &n, index, argument, &like);
    }
    root = index[b->module->computation[computation].root];
    for (int k = 0; k < count; k++)
        result[k] = hlo_type_is_tuple(hlo_type_of(b, root)) ? structure_element(b, root, k) : root;
    mem_free(index);
}
