/* Compares instructions by what they do. */
#include "import/program/same.h"

#include <string.h>

static bool same_ints(struct hlo_ints a, struct hlo_ints b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.item, b.item, (size_t)a.count * sizeof(*a.item)) == 0);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_literal(const struct hlo_literal *a, const struct hlo_literal *b)
{
    size_t bytes;

    if (!a || !b || !hlo_type_equal(&a->type, &b->type) || !a->data != !b->data)
        return a == b;
    for (int p = 0; p < a->type.part_count; p++) {
        if (!same_literal(&a->part[p], &b->part[p]))
            return false;
    }
    bytes = hlo_element_bytes(a->type.element);
    if (!a->data || hlo_type_elements(&a->type) == 0)
        return true;
    if (a->is_splat == b->is_splat)
        return memcmp(a->data, b->data, a->is_splat ? bytes : hlo_type_bytes(&a->type)) == 0;
    for (int64_t i = 0; i < hlo_type_elements(&a->type); i++) {
        if (memcmp(hlo_literal_at(a, i), hlo_literal_at(b, i), bytes) != 0)
            return false;
    }
    return true;
}

static bool same_gather(const struct hlo_gather *a, const struct hlo_gather *b)
{
    if (!a || !b)
        return a == b;
    return same_ints(a->offset_dims, b->offset_dims) &&
           same_ints(a->collapsed_dims, b->collapsed_dims) &&
           same_ints(a->start_index_map, b->start_index_map) &&
           same_ints(a->operand_batching, b->operand_batching) &&
           same_ints(a->indices_batching, b->indices_batching) &&
           a->index_vector_dim == b->index_vector_dim;
}

static bool same_dot(const struct hlo_dot *a, const struct hlo_dot *b)
{
    if (!a || !b)
        return a == b;
    return same_ints(a->lhs_batch, b->lhs_batch) && same_ints(a->rhs_batch, b->rhs_batch) &&
           same_ints(a->lhs_contract, b->lhs_contract) &&
           same_ints(a->rhs_contract, b->rhs_contract) &&
           same_ints(a->lhs_ragged, b->lhs_ragged) && same_ints(a->rhs_group, b->rhs_group) &&
           same_text(a->algorithm, b->algorithm);
}

static bool same_conv(const struct hlo_conv *a, const struct hlo_conv *b)
{
    if (!a || !b)
        return a == b;
    return a->in_batch == b->in_batch && a->in_feature == b->in_feature &&
           a->kernel_in == b->kernel_in && a->kernel_out == b->kernel_out &&
           a->out_batch == b->out_batch && a->out_feature == b->out_feature &&
           same_ints(a->in_spatial, b->in_spatial) &&
           same_ints(a->kernel_spatial, b->kernel_spatial) &&
           same_ints(a->out_spatial, b->out_spatial) && a->feature_groups == b->feature_groups &&
           a->batch_groups == b->batch_groups;
}

static bool same_window(const struct hlo_instruction *a, const struct hlo_instruction *b)
{
    if (hlo_detail(a)->window_count != hlo_detail(b)->window_count)
        return false;
    for (int d = 0; d < hlo_detail(a)->window_count; d++) {
        const struct hlo_window *x = &hlo_detail(a)->window[d], *y = &hlo_detail(b)->window[d];

        if (x->size != y->size || x->stride != y->stride || x->pad_low != y->pad_low ||
            x->pad_high != y->pad_high || x->base_dilation != y->base_dilation ||
            x->window_dilation != y->window_dilation || x->is_reversed != y->is_reversed)
            return false;
    }
    return true;
}

static bool same_groups(const struct hlo_groups *a, const struct hlo_groups *b)
{
    if (!a || !b)
        return a == b;
    return same_ints(a->size, b->size) && same_ints(a->id, b->id) && same_ints(a->pair, b->pair) &&
           !a->channel_id == !b->channel_id && a->use_global_ids == b->use_global_ids;
}

const char *hlo_instruction_differs(const struct hlo_instruction *a,
                                    const struct hlo_instruction *b)
{
    bool is_value = a->op == OPCODE_CONSTANT && b->op == a->op;
    const struct { const char *what; bool is_same;
    } parts[] = {
        {"operation", a->op == b->op},
        {"type", hlo_type_equal(a->type, b->type)},
        {"number of operands", a->operand_count == b->operand_count},
        {"number of computations",
         hlo_detail(a)->computation_count == hlo_detail(b)->computation_count},
        {"index", is_value || a->index == b->index},
        {"value", !is_value || same_literal(a->literal, b->literal)},
        {"dimensions", same_ints(hlo_detail(a)->dims, hlo_detail(b)->dims)},
        {"slice", same_ints(hlo_detail(a)->start, hlo_detail(b)->start) &&
                      same_ints(hlo_detail(a)->limit, hlo_detail(b)->limit) &&
                      same_ints(hlo_detail(a)->stride, hlo_detail(b)->stride)},
        {"padding", same_ints(hlo_detail(a)->low, hlo_detail(b)->low) &&
                        same_ints(hlo_detail(a)->high, hlo_detail(b)->high) &&
                        same_ints(hlo_detail(a)->interior, hlo_detail(b)->interior)},
        {"sizes", same_ints(hlo_detail(a)->sizes, hlo_detail(b)->sizes)},
        {"dimension numbers", same_gather(hlo_detail(a)->gather, hlo_detail(b)->gather) &&
                                  same_dot(hlo_detail(a)->dot, hlo_detail(b)->dot) &&
                                  same_conv(hlo_detail(a)->conv, hlo_detail(b)->conv)},
        {"precision", a->precision[0] == b->precision[0] && a->precision[1] == b->precision[1]},
        {"window", same_window(a, b)},
        {"direction", a->direction == b->direction && a->comparison == b->comparison},
        {"bits", hlo_detail(a)->exponent_bits == hlo_detail(b)->exponent_bits &&
                     hlo_detail(a)->mantissa_bits == hlo_detail(b)->mantissa_bits},
        {"epsilon", hlo_detail(a)->epsilon == hlo_detail(b)->epsilon},
        {"triangle", hlo_detail(a)->is_lower == hlo_detail(b)->is_lower &&
                         hlo_detail(a)->is_left == hlo_detail(b)->is_left &&
                         hlo_detail(a)->is_unit_diagonal == hlo_detail(b)->is_unit_diagonal &&
                         hlo_detail(a)->transpose == hlo_detail(b)->transpose},
        {"transform", hlo_detail(a)->fft == hlo_detail(b)->fft},
        {"generator", hlo_detail(a)->random == hlo_detail(b)->random},
        {"order", hlo_detail(a)->is_stable == hlo_detail(b)->is_stable &&
                      hlo_detail(a)->is_largest == hlo_detail(b)->is_largest &&
                      hlo_detail(a)->is_reverse == hlo_detail(b)->is_reverse},
        {"groups", same_groups(hlo_detail(a)->groups, hlo_detail(b)->groups)},
        {"target", hlo_detail(a)->target_bytes == hlo_detail(b)->target_bytes &&
                       same_text(hlo_detail(a)->target, hlo_detail(b)->target)},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!parts[i].is_same)
            return parts[i].what;
    }
    return NULL;
}
