/* The pass over what has regions, and over indices and products: each opcode has its own file. */
#include "import/structure/structure_impl.h"

#include <string.h>

static const struct {
    enum hlo_opcode op;
    structure_visitor *visit;
} visitors[] = {
    {OPCODE_REDUCE, structure_reduce}, {OPCODE_REDUCE_WINDOW, structure_reduce_window},
    {OPCODE_SELECT_AND_SCATTER, structure_select_and_scatter},
    {OPCODE_SCATTER, structure_scatter}, {OPCODE_SORT, structure_sort},
    {OPCODE_WHILE, structure_while}, {OPCODE_MAP, structure_map},
    {OPCODE_COMPARE, structure_compare}, {OPCODE_TOPK, structure_topk},
    {OPCODE_DOT, structure_dot}, {OPCODE_CONVOLUTION, structure_convolution}, {OPCODE_REDUCE_PRECISION, structure_reduce_precision},
    {OPCODE_CUSTOM_CALL, structure_custom_call},
};

/*
 * Of a bounded size a form that leaves the operation behind would lose what lies beside the bound.
 * The pass runs again once sizes are numbers of their own.
 */
static bool has_bound(const struct hlo_builder *b, const struct hlo_instruction *from,
                      const int *operand)
{
    bool is_dynamic = hlo_type_is_dynamic(from->type);

    for (int k = 0; k < from->operand_count; k++)
        is_dynamic |= hlo_type_is_dynamic(hlo_type_of(b, operand[k]));
    return is_dynamic && from->op != OPCODE_WHILE && from->op != OPCODE_CUSTOM_CALL;
}

/* with indices of s32; -1: neither they nor the operation have changed */
static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct hlo_instruction at_origin = *from;
    const struct hlo_instruction *was = from;
    int count = from->operand_count, made = -1;
    bool is_scalar;
    int *own = mem_alloc(((size_t)count + 1) * sizeof(*own));

    memcpy(own, operand, (size_t)count * sizeof(*own));
    structure_indices(b, from, own);
    is_scalar = structure_of_scalar(b, &at_origin, own);
    if (is_scalar)
        from = &at_origin;
    if ((from->op == OPCODE_GATHER || from->op == OPCODE_SCATTER) &&
        structure_origin(b, &at_origin, own))
        from = &at_origin;
    for (size_t k = 0; k < sizeof(visitors) / sizeof(visitors[0]); k++)
        if (visitors[k].op == from->op && !has_bound(b, from, own))
            made = visitors[k].visit(r, b, from, own);
    if (made < 0 && memcmp(own, operand, (size_t)count * sizeof(*own)) != 0)
        made = hlo_copy_instruction(b, from, own);
    mem_free(own);
    return is_scalar ? structure_to_scalar(b, was, made) : made;
}

int structure_simplify(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                       struct err *e)
{
    return structure_visit(old, made, a, visit, e);
}
