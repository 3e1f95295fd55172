/* Custom calls that are operations by another name: greatest elements, words of integers. */
#include "import/structure/structure_impl.h"

#include <string.h>

/* TopK(x) -> (values, s32 places): how many, says the result */
static int top_k(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand)
{
    struct hlo_instruction i = {.op = OPCODE_TOPK,
                                .type = from->type,
                                .operand_count = 1,
                                .place = from->place,
                                .line = from->line,
                                .col = from->col,
                                .detail =
                                    &(struct hlo_detail){.is_largest = true, .is_stable = true}};
    const struct hlo_type *values = &from->type->part[0];

    i.index = values->dim[values->rank - 1];
    return hlo_copy_instruction(b, &i, operand);
}

/* ApproxTopK(arrays, starts), a comparison: a sort of which the first are taken */
static int approximate(struct hlo_rewrite *r, struct hlo_builder *b,
                       const struct hlo_instruction *from, const int *operand)
{
    struct hlo_instruction i = {
        .op = OPCODE_SORT,
        .operand_count = from->operand_count / 2,
        .place = from->place,
        .line = from->line,
        .col = from->col,
        .detail = &(struct hlo_detail){.computation_count = 1,
                                       .computation = hlo_detail(from)->computation}};
    struct hlo_type t = *hlo_type_of(b, operand[0]), part[8];
    const struct hlo_type *first = hlo_type_is_tuple(from->type) ? &from->type->part[0]
                                                                  : from->type;
    int64_t dim = hlo_partial_dimension(from, &t);
    int sorted, result[8];

    if (dim < 0 || i.operand_count < 1 || i.operand_count > 8 || first->rank != t.rank)
        return -1;
    for (int k = 0; k < i.operand_count; k++)
        part[k] = *hlo_type_of(b, operand[k]);
    i.detail->dims = (struct hlo_ints){1, &dim};
    i.type = HLO_TYPE(i.operand_count > 1 ? hlo_tuple_type(b->module->arena, i.operand_count, part)
                                 : part[0]);
    sorted = structure_sort(r, b, &i, operand);
    if (sorted < 0)
        sorted = hlo_copy_instruction(b, &i, operand);
    for (int k = 0; k < i.operand_count; k++)
        result[k] = hlo_slice_dim(b, i.operand_count > 1 ? structure_element(b, sorted, k) : sorted,
                                  (int)dim, 0, first->dim[dim]);
    return hlo_type_is_tuple(from->type) ? hlo_tuple(b, i.operand_count, result) : result[0];
}

/* X64SplitLow, X64SplitHigh, X64Combine: XLA's own words of 64-bit integers */
static int word_of(struct hlo_builder *b, int x, int shift)
{
    struct hlo_type t = *hlo_type_of(b, x);

    if (shift)
        x = hlo_binary(b, OPCODE_SHIFT_RIGHT_LOGICAL, x, hlo_constant_int(b, &t, shift));
    return hlo_convert(b, x, ELEMENT_U32);
}

static int of_words(struct hlo_builder *b, int low, int high, enum hlo_element e)
{
    int x = hlo_convert(b, high, ELEMENT_U64);
    struct hlo_type t = *hlo_type_of(b, x);

    x = hlo_binary(b, OPCODE_SHIFT_LEFT, x, hlo_constant_int(b, &t, 32));
    return hlo_convert(b, hlo_binary(b, OPCODE_OR, x, hlo_convert(b, low, ELEMENT_U64)), e);
}

static int split(struct hlo_builder *b, const struct hlo_instruction *from, const char *target,
                 const int *operand)
{
    enum hlo_element e = hlo_type_of(b, operand[0])->element;
    bool is_long = e == ELEMENT_S64 || e == ELEMENT_U64;

    if (strcmp(target, "X64SplitLow") == 0 && is_long)
        return word_of(b, operand[0], 0);
    if (strcmp(target, "X64SplitHigh") == 0 && is_long)
        return word_of(b, operand[0], 32);
    if (strcmp(target, "X64Combine") == 0 && from->operand_count == 2 && e == ELEMENT_U32 &&
        (from->type->element == ELEMENT_S64 || from->type->element == ELEMENT_U64))
        return of_words(b, operand[0], operand[1], from->type->element);
    return -1;
}

int structure_custom_call(struct hlo_rewrite *r, struct hlo_builder *b,
                          const struct hlo_instruction *from, const int *operand)
{
    const char *target = hlo_detail(from)->target ? hlo_detail(from)->target : "";
    bool is_pair = hlo_type_is_tuple(from->type) && from->type->part_count == 2 &&
                   from->type->part[0].rank > 0;

    if ((strcmp(target, "TopK") == 0 || strcmp(target, "mhlo.topk") == 0) && is_pair &&
        from->operand_count == 1)
        return top_k(b, from, operand);
    if ((strcmp(target, "ApproxTopK") == 0 || strcmp(target, "PartialReduce") == 0) &&
        hlo_detail(from)->computation_count == 1 && from->operand_count >= 2)
        return approximate(r, b, from, operand);
    return strncmp(target, "X64", 3) == 0 && from->operand_count > 0
               ? split(b, from, target, operand) : -1;
}
