/*
 * Convolutions that are products: XLA:TPU writes every product as a convolution. One without
 * windows is a matrix product. A batch of B is a spatial dimension of both sides with window size
 * B, stride B - 1 and the input B - 1 holes apart: place o of the result meets element o alone,
 * under element o of the kernel.
 */
#include "import/structure/structure_impl.h"

/* of a dimension of one element there is nothing to go along */
static bool is_batch(const struct hlo_window *w, int64_t in, int64_t out)
{
    if (w->pad_low || w->pad_high || w->is_reversed || w->size != in || out != in)
        return false;
    return in == 1 || (w->stride == in - 1 && w->base_dilation == in && w->window_dilation == 1);
}

static bool is_product(const struct hlo_builder *b, const struct hlo_instruction *from,
                       const int *operand)
{
    const struct hlo_conv *c = hlo_detail(from)->conv;
    const struct hlo_type *in = hlo_type_of(b, operand[0]);

    if (!c || c->feature_groups > 1 || c->batch_groups > 1 || hlo_type_is_dynamic(from->type) ||
        hlo_type_is_dynamic(in) || c->in_spatial.count != hlo_detail(from)->window_count)
        return false;
    for (int k = 0; k < hlo_detail(from)->window_count; k++)
        if (!is_batch(&hlo_detail(from)->window[k], in->dim[c->in_spatial.item[k]],
                      from->type->dim[c->out_spatial.item[k]]))
            return false;
    return true;
}

int structure_convolution(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                          const struct hlo_instruction *from, const int *operand)
{
    const struct hlo_conv *c = hlo_detail(from)->conv;
    struct arena *a = b->module->arena;
    struct hlo_instruction i = *from;
    struct hlo_dot dot = {0};
    int64_t order[STRUCTURE_RANK_MAX], dim[STRUCTURE_RANK_MAX];
    int batches = hlo_detail(from)->window_count, made;

    (void)rewrite;
    if (from->type->rank > STRUCTURE_RANK_MAX || !is_product(b, from, operand))
        return -1;
    dot.lhs_batch = c->in_spatial;
    dot.rhs_batch = c->kernel_spatial;
    dot.lhs_contract = hlo_ints_copy(a, &c->in_feature, 1);
    dot.rhs_contract = hlo_ints_copy(a, &c->kernel_in, 1);
    for (int k = 0; k < batches; k++)   /* the product's dimensions are batches, rows, columns */
        order[c->out_spatial.item[k]] = k;
    order[c->out_batch] = batches;
    order[c->out_feature] = batches + 1;
    for (int d = 0; d < from->type->rank; d++)
        dim[order[d]] = from->type->dim[d];
    i.op = OPCODE_DOT;
    i.label = 0;
    hlo_own_detail(a, &i)->dot = arena_copy(a, &dot, 1, sizeof(dot));
    i.detail->conv = NULL;
    i.detail->window = NULL;
    i.detail->window_count = 0;
    i.type = HLO_TYPE(hlo_array_type(a, from->type->element, from->type->rank, dim));
    made = hlo_copy_instruction(b, &i, operand);
    return hlo_transpose(b, made, order);
}
