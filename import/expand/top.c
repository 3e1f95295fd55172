/*
 * The largest or smallest elements where the compiler has no operation for them: a stable sort, of
 * which the first ones are taken. ApproxTopK and PartialReduce are exact here.
 */
#include "import/expand/site.h"

#include <stdlib.h>
#include <string.h>

/* operands sorted along `dim` by a computation; their first elements as the instruction's results */
static int sorted_heads(struct expand_site *s, int count, const int *operand, int dim, int body)
{
    struct hlo_builder *b = s->b;
    struct arena *a = b->module->arena;
    const struct hlo_type *to = s->from->type;
    struct hlo_type *type = arena_array(a, (size_t)count + 1, sizeof(*type));
    int64_t along = dim;
    struct hlo_instruction i = {
        .op = OPCODE_SORT,
        .operand_count = count,
        .detail = &(struct hlo_detail){
            .is_stable = true, .computation_count = 1, .computation = &body, .dims = {1, &along}}};
    int *part = arena_array(a, (size_t)count + 1, sizeof(*part)), all;

    for (int k = 0; k < count; k++)
        type[k] = *hlo_type_of(b, operand[k]);
    i.type = HLO_TYPE(count == 1 ? type[0] : hlo_tuple_type(a, count, type));
    all = hlo_copy_instruction(b, &i, operand);
    for (int k = 0; k < count; k++) {
        const struct hlo_type *own = hlo_type_is_tuple(to) ? &to->part[k] : to;

        part[k] = count == 1 ? all : hlo_tuple_element(b, all, k);
        if (own->dim[dim] != type[k].dim[dim])
            part[k] = hlo_slice_dim(b, part[k], dim, 0, own->dim[dim]);
        if (!hlo_type_is_tuple(to))
            return part[k];
    }
    return hlo_tuple(b, count, part);
}

/* keys by their total order, so that -0 stands below 0 and NaN above all */
static int comparison(struct expand_site *s, enum hlo_element key, enum hlo_element payload,
                      bool is_largest)
{
    struct hlo_builder b = *s->b;
    struct hlo_type t = hlo_scalar_type(key), index = hlo_scalar_type(payload);
    struct hlo_instruction i = {.op = OPCODE_COMPARE,
                                .direction = is_largest ? HLO_GT : HLO_LT,
                                .type = HLO_TYPE(hlo_scalar_type(ELEMENT_PRED)),
                                .operand_count = 2};
    int x, y;

    if (hlo_element_is_float(key))
        i.comparison = HLO_COMPARE_TOTAL;
    b.computation = hlo_add_computation(b.module, "order");
    x = hlo_parameter(&b, 0, &t);
    y = hlo_parameter(&b, 1, &t);
    hlo_parameter(&b, 2, &index);
    hlo_parameter(&b, 3, &index);
    hlo_copy_instruction(&b, &i, (int[]){x, y});
    return b.computation;
}

static int top(struct expand_site *s, bool is_largest)
{
    const struct hlo_type *t = expand_operand_type(s, 0);
    struct hlo_type numbers;
    enum hlo_element e = ELEMENT_S32;
    int index;

    if (hlo_type_is_tuple(s->from->type))
        e = s->from->type->part[1].element;
    numbers = hlo_array_type(s->b->module->arena, e, t->rank, t->dim);
    index = hlo_iota(s->b, &numbers, t->rank - 1);
    return sorted_heads(s, 2, (int[]){s->operand[0], index}, t->rank - 1,
                        comparison(s, t->element, e, is_largest));
}

/* the compiler has the largest f32, bf16 and words of 32 bits */
int expand_topk(struct expand_site *s)
{
    enum hlo_element e = expand_operand_type(s, 0)->element;
    bool is_known = e == ELEMENT_F32 || e == ELEMENT_BF16 || e == ELEMENT_S32 || e == ELEMENT_U32;

    return is_known && hlo_detail(s->from)->is_largest ? EXPAND_KEEP
                                                       : top(s, hlo_detail(s->from)->is_largest);
}

int expand_topk_call(struct expand_site *s) { return top(s, true); }

/* arrays, then their start values; a comparison of theirs in pairs */
int expand_approx_topk(struct expand_site *s)
{
    int rank = expand_operand_type(s, 0)->rank;
    int dim = hlo_partial_dimension(s->from, expand_operand_type(s, 0));

    if (hlo_detail(s->from)->computation_count != 1 || dim < 0 || s->from->operand_count % 2)
        return expand_refuse(s, "it needs a comparison and a reduction_dim below %d", rank);
    return sorted_heads(s, s->from->operand_count / 2, s->operand, dim,
                        hlo_detail(s->from)->computation[0]);
}
