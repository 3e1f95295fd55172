/* Sizes of results whose types have bounds only: found from the operands as they are. */
#include "import/eval/handlers.h"

#include <string.h>

/* element by element: the smallest that an operand of the same rank has */
static void same_as_operands(const struct call *c, const struct hlo_type *t, int64_t *dim)
{
    for (int o = 0; o < c->i->operand_count; o++)
        for (int d = 0; d < t->rank && c->operand[o]->rank == t->rank; d++)
            if (dim[d] == HLO_UNBOUNDED || c->operand[o]->dim[d] < dim[d])
                dim[d] = c->operand[o]->dim[d];
}

static void of_broadcast(const struct call *c, int64_t *dim)
{
    for (int d = 0; d < c->operand[0]->rank && d < hlo_detail(c->i)->dims.count; d++)
        dim[hlo_detail(c->i)->dims.item[d]] = c->operand[0]->dim[d];
}

/* the first bounded dimension of those takes what the others leave of so many elements */
static void open_takes(const struct hlo_type *t, int first, int end, int64_t count, int64_t *dim)
{
    int64_t others = 1;
    int open = -1;

    for (int d = first; d < end; d++)
        if (t->is_bounded && t->is_bounded[d] && open < 0)
            open = d;
        else
            others *= dim[d];
    if (open >= 0 && others)
        dim[open] = count / others;
}

/*
 * Dimensions of both sides in groups that have as many elements on their bounds: several bounded
 * ones would else be taken for each other.
 */
static void of_reshape(const struct call *c, const struct hlo_type *t, int64_t *dim)
{
    const struct hlo_type *from = c->f->c->instruction[c->i->operand[0]].type;
    int i = 0, j = 0;

    if (hlo_type_elements(from) != hlo_type_elements(t)) {
        open_takes(t, 0, t->rank, value_count(c->operand[0]), dim);
        return;
    }
    while (j < t->rank) {
        int64_t left = 1, right = t->dim[j], count = 1;
        int first = j++;

        while (i < from->rank && (left != right || from->dim[i] == 1)) {
            if (left > right && j < t->rank)
                right *= t->dim[j++];
            else {
                left *= from->dim[i];
                count *= c->operand[0]->dim[i++];
            }
        }
        while (j < t->rank && (left != right || i == from->rank))
            right *= t->dim[j++];
        open_takes(t, first, j, count, dim);
    }
}

static void of_transpose(const struct call *c, int64_t *dim)
{
    for (int d = 0; d < hlo_detail(c->i)->dims.count; d++)
        dim[d] = c->operand[0]->dim[hlo_detail(c->i)->dims.item[d]];
}

static void of_concatenate(const struct call *c, int64_t *dim)
{
    int along = (int)hlo_detail(c->i)->dims.item[0];

    for (int d = 0; d < c->operand[0]->rank; d++)
        dim[d] = c->operand[0]->dim[d];
    for (int o = 1; o < c->i->operand_count; o++)
        dim[along] += c->operand[o]->dim[along];
}

static void of_pad(const struct call *c, int64_t *dim)
{
    const struct hlo_instruction *i = c->i;

    for (int d = 0; d < c->operand[0]->rank; d++) {
        int64_t n = c->operand[0]->dim[d];

        dim[d] = n + (n > 0 ? n - 1 : 0) * hlo_detail(i)->interior.item[d] +
                 hlo_detail(i)->low.item[d] + hlo_detail(i)->high.item[d];
        dim[d] = dim[d] < 0 ? 0 : dim[d];
    }
}

static void of_slice(const struct call *c, int64_t *dim)
{
    const struct hlo_instruction *i = c->i;

    for (int d = 0; d < c->operand[0]->rank; d++) {
        int64_t n = c->operand[0]->dim[d];
        int64_t limit = hlo_detail(i)->limit.item[d] < n ? hlo_detail(i)->limit.item[d] : n;
        int64_t stride = hlo_detail(i)->stride.item ? hlo_detail(i)->stride.item[d] : 1,
                rest = limit - hlo_detail(i)->start.item[d];

        dim[d] = rest < 0 ? 0 : (rest + stride - 1) / stride;
    }
}

static void of_reduce(const struct call *c, int64_t *dim)
{
    int to = 0;

    for (int d = 0; d < c->operand[0]->rank; d++) {
        bool is_reduced = false;

        for (int k = 0; k < hlo_detail(c->i)->dims.count; k++)
            is_reduced |= hlo_detail(c->i)->dims.item[k] == d;
        if (!is_reduced)
            dim[to++] = c->operand[0]->dim[d];
    }
}

static void of_window(const struct call *c, int64_t *dim)
{
    for (int d = 0; d < hlo_detail(c->i)->window_count; d++) {
        const struct hlo_window *w = &hlo_detail(c->i)->window[d];
        int64_t n = c->operand[0]->dim[d];
        int64_t padded = (n ? (n - 1) * w->base_dilation + 1 : 0) + w->pad_low + w->pad_high;
        int64_t span = (w->size - 1) * w->window_dilation + 1;

        dim[d] = padded < span ? 0 : (padded - span) / w->stride + 1;
    }
}

static bool is_listed(const struct hlo_ints *l, int64_t d)
{
    for (int k = 0; k < l->count; k++)
        if (l->item[k] == d)
            return true;
    return false;
}

static void of_dot(const struct call *c, int64_t *dim)
{
    const struct hlo_dot *dot = hlo_detail(c->i)->dot;
    int to = 0;

    for (int k = 0; k < dot->lhs_batch.count; k++)
        dim[to++] = c->operand[0]->dim[dot->lhs_batch.item[k]];
    for (int d = 0; d < c->operand[0]->rank; d++)
        if (!is_listed(&dot->lhs_batch, d) && !is_listed(&dot->lhs_contract, d))
            dim[to++] = c->operand[0]->dim[d];
    for (int d = 0; d < c->operand[1]->rank; d++)
        if (!is_listed(&dot->rhs_batch, d) && !is_listed(&dot->rhs_contract, d))
            dim[to++] = c->operand[1]->dim[d];
}

static void of_gather(const struct call *c, const struct hlo_type *t, int64_t *dim)
{
    const struct hlo_gather *g = hlo_detail(c->i)->gather;
    int next = 0;

    for (int d = 0; d < t->rank; d++) {
        if (is_listed(&g->offset_dims, d))
            continue;
        if (next == g->index_vector_dim)
            next++;
        dim[d] = c->operand[1]->dim[next++];
    }
}

static void of_convolution(const struct call *c, int64_t *dim)
{
    dim[hlo_detail(c->i)->conv->out_batch] =
        c->operand[0]->dim[hlo_detail(c->i)->conv->in_batch] / hlo_detail(c->i)->conv->batch_groups;
}

static void of_set_size(const struct call *c, int64_t *dim)
{
    int along = (int)hlo_detail(c->i)->dims.item[0];

    for (int d = 0; d < c->operand[0]->rank; d++)
        dim[d] = c->operand[0]->dim[d];
    dim[along] = clamp_int(value_int(c->operand[1], 0), 0, c->i->type->dim[along]);
}

static void of_dynamic_reshape(const struct call *c, int64_t *dim)
{
    for (int o = 1; o < c->i->operand_count; o++)
        dim[o - 1] = clamp_int(value_int(c->operand[o], 0), 0, dim[o - 1]);
}

static void bounded_dims(const struct call *c, const struct hlo_type *t, int64_t *dim)
{
    switch (c->i->op) {
    case OPCODE_BROADCAST: of_broadcast(c, dim); break;
    case OPCODE_RESHAPE: of_reshape(c, t, dim); break;
    case OPCODE_DYNAMIC_RESHAPE: of_dynamic_reshape(c, dim); break;
    case OPCODE_TRANSPOSE: of_transpose(c, dim); break;
    case OPCODE_CONCATENATE: of_concatenate(c, dim); break;
    case OPCODE_PAD: of_pad(c, dim); break;
    case OPCODE_SLICE: of_slice(c, dim); break;
    case OPCODE_REDUCE: of_reduce(c, dim); break;
    case OPCODE_REDUCE_WINDOW: of_window(c, dim); break;
    case OPCODE_DOT: of_dot(c, dim); break;
    case OPCODE_GATHER: of_gather(c, t, dim); break;
    case OPCODE_CONVOLUTION: of_convolution(c, dim); break;
    case OPCODE_SET_DIMENSION_SIZE: of_set_size(c, dim); break;
    case OPCODE_DYNAMIC_UPDATE_SLICE: case OPCODE_SCATTER:
        for (int d = 0; d < t->rank; d++)
            dim[d] = c->operand[0]->dim[d];
        break;
    case OPCODE_IOTA: case OPCODE_CONSTANT: case OPCODE_DYNAMIC_SLICE: case OPCODE_INFEED:
        break;
    default: same_as_operands(c, t, dim); break;
    }
}

void call_dims(const struct call *c, const struct hlo_type *t, int64_t *dim)
{
    for (int d = 0; d < t->rank; d++)
        dim[d] = t->dim[d];
    if (t->element != ELEMENT_TUPLE && hlo_type_is_dynamic(t))
        bounded_dims(c, t, dim);
}

int eval_get_dimension_size(struct call *c)
{
    if (call_result(c))
        return -1;
    hlo_element_store_int(c->result->element, c->operand[0]->dim[hlo_detail(c->i)->dims.item[0]],
                          c->result->data);
    return 0;
}

/* elements beyond the new size are left away; what a larger size brings in is zero */
int eval_set_dimension_size(struct call *c)
{
    struct stride_copy s = { .rank = c->operand[0]->rank };
    struct value *from = c->operand[0];
    int along = (int)hlo_detail(c->i)->dims.item[0];
    int64_t dim[EVAL_RANK_MAX];

    for (int d = 0; d < from->rank; d++)
        dim[d] = from->dim[d];
    dim[along] = clamp_int(value_int(c->operand[1], 0), 0, c->i->type->dim[along]);
    c->result = call_array(c, from->element, from->rank, dim);
    if (!c->result)
        return -1;
    memset(c->result->data, 0, (size_t)value_count(c->result) * value_element_bytes(from));
    value_strides(from, s.from_step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = dim[d] < from->dim[d] ? dim[d] : from->dim[d];
    stride_copy(s, value_element_bytes(from), c->result->data, from->data);
    return 0;
}
