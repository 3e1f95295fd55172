/*
 * Windows in the forms that the compiler knows. One over all of an array is a reduction; a short one
 * by a known operation stays; any other is written in logarithmic steps: with all windows of k
 * elements known, those of 2 k are these combined with themselves, k places further on. So a
 * cumulative sum of n elements takes log n additions of arrays, and any body may combine.
 */
#include "import/structure/structure_impl.h"

#include <math.h>
#include <string.h>

#define ARRAYS_MAX 8
#define LONG_WINDOW 16                  /* elements of a dimension: longer ones go in steps */

struct windows {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int body, count, rank;
    int array[ARRAYS_MAX], init[ARRAYS_MAX];
};

static bool is_known(enum hlo_opcode op)
{
    return op == OPCODE_ADD || op == OPCODE_MULTIPLY || op == OPCODE_MAXIMUM ||
           op == OPCODE_MINIMUM || op == OPCODE_AND || op == OPCODE_OR;
}

static int64_t result_dim(const struct hlo_instruction *from, int d)
{
    return (hlo_type_is_tuple(from->type) ? &from->type->part[0] : from->type)->dim[d];
}

static bool is_plain(const struct hlo_window *w)
{
    return w->pad_low == 0 && w->pad_high == 0 && w->base_dilation == 1 &&
           w->window_dilation == 1;
}

/* every dimension is taken whole or not at all */
static bool is_reduction(const struct windows *w)
{
    struct hlo_type t = *hlo_type_of(w->b, w->array[0]);

    for (int d = 0; d < w->rank; d++) {
        const struct hlo_window *x = &hlo_detail(w->from)->window[d];

        if (!is_plain(x) || (x->size != 1 && x->size != t.dim[d]) ||
            (x->size == 1 && x->stride != 1))
            return false;
    }
    return true;
}

static int as_reduction(struct windows *w)
{
    struct hlo_instruction i = {
        .op = OPCODE_REDUCE,
        .operand_count = 2 * w->count,
        .place = w->b->place,
        .line = w->b->line,
        .col = hlo_column(w->b->col),
        .detail = &(struct hlo_detail){.computation_count = 1, .computation = &w->body}};
    int64_t reduced[STRUCTURE_RANK_MAX], kept[STRUCTURE_RANK_MAX];
    struct hlo_type first = *hlo_type_of(w->b, w->array[0]), part[ARRAYS_MAX];
    int operand[2 * ARRAYS_MAX], rank = 0, result[ARRAYS_MAX], made;

    for (int d = 0; d < w->rank; d++) {
        if (hlo_detail(w->from)->window[d].size != 1)
            reduced[i.detail->dims.count++] = d;
        else
            kept[rank++] = first.dim[d];
    }
    i.detail->dims.item = reduced;
    for (int k = 0; k < w->count; k++) {
        operand[k] = w->array[k];
        operand[w->count + k] = w->init[k];
        part[k] = hlo_array_type(w->b->module->arena, hlo_type_of(w->b, w->array[k])->element,
                                 rank, kept);
    }
    i.operand = operand;
    i.type = HLO_TYPE(hlo_type_is_tuple(w->from->type)
                 ? hlo_tuple_type(w->b->module->arena, w->count, part) : part[0]);
    made = structure_reduce(NULL, w->b, &i, operand);
    if (made < 0)
        made = hlo_add(w->b->module, w->b->computation, &i);
    if (!hlo_type_is_tuple(w->from->type))
        return hlo_reshape(w->b, made, w->rank, w->from->type->dim);
    for (int k = 0; k < w->count; k++)
        result[k] = hlo_reshape(w->b, structure_element(w->b, made, k), w->rank,
                                w->from->type->part[k].dim);
    return hlo_tuple(w->b, w->count, result);
}

/* a constant that changes nothing of what the operation combines */
static bool is_identity(const struct hlo_builder *b, int init, enum hlo_opcode op)
{
    const struct hlo_instruction *i = structure_at(b, init);
    enum hlo_element e = i->type->element;
    double value, bits = hlo_element_bits(e);
    bool is_float = hlo_element_is_float(e), is_signed = hlo_element_kind(e) == ELEMENT_KIND_SIGNED;

    if (i->op != OPCODE_CONSTANT || !i->literal || !i->literal->data)
        return false;
    value = hlo_element_load(e, i->literal->data);
    switch (op) {
    case OPCODE_ADD: return value == 0.0;
    case OPCODE_MULTIPLY: return value == 1.0;
    case OPCODE_MAXIMUM:
        return is_float ? isinf(value) && value < 0.0 : value <= (is_signed ? -exp2(bits - 1) : 0.0);
    case OPCODE_MINIMUM:
        return is_float ? isinf(value) && value > 0.0
                        : value >= (is_signed ? exp2(bits - 1) : exp2(bits)) - 1.0;
    case OPCODE_AND: return e == ELEMENT_PRED ? value != 0.0 : is_signed && value == -1.0;
    case OPCODE_OR: return value == 0.0;
    default: return false;
    }
}

/* whether the kernel of windows is right for it: a known operation, short windows */
static bool stays(const struct windows *w)
{
    enum hlo_opcode op;

    if (w->count != 1)
        return false;
    op = structure_combines(w->b->module, w->body, 0);
    if (!is_known(op))
        return false;
    for (int d = 0; d < w->rank; d++)
        if (hlo_detail(w->from)->window[d].size >= LONG_WINDOW)
            return false;
    return is_identity(w->b, w->init[0], op) || op == OPCODE_MAXIMUM || op == OPCODE_MINIMUM ||
           op == OPCODE_AND || op == OPCODE_OR;
}

/* the start wherever the operand has no element: around it, and between its elements */
static void pad(struct windows *w)
{
    int64_t low[STRUCTURE_RANK_MAX], high[STRUCTURE_RANK_MAX], interior[STRUCTURE_RANK_MAX];
    bool is_padded = false;

    for (int d = 0; d < w->rank; d++) {
        const struct hlo_window *x = &hlo_detail(w->from)->window[d];

        low[d] = x->pad_low;
        high[d] = x->pad_high;
        interior[d] = x->base_dilation - 1;
        is_padded = is_padded || low[d] || high[d] || interior[d];
    }
    for (int k = 0; is_padded && k < w->count; k++)
        w->array[k] = hlo_pad(w->b, w->array[k], w->init[k], low, high, interior);
}

static void slice_all(struct windows *w, const int *from, int *to, int dim, int64_t start,
                      int64_t length)
{
    for (int k = 0; k < w->count; k++)
        to[k] = hlo_slice_dim(w->b, from[k], dim, start, start + length);
}

/* of windows x and y (starting `shift` further on) those over both; `length` places are left */
static void combine(struct windows *w, const int *x, const int *y, int *to, int dim,
                    int64_t shift, int64_t length)
{
    int argument[2 * ARRAYS_MAX];

    slice_all(w, x, argument, dim, 0, length);
    slice_all(w, y, argument + w->count, dim, shift, length);
    structure_lift(w->b, w->body, argument, to, w->count);
}

/* windows of `size` elements, `dilation` apart, along one dimension, at every place */
static void window_along(struct windows *w, int dim, int64_t size, int64_t dilation)
{
    int power[ARRAYS_MAX], sum[ARRAYS_MAX];     /* windows of `covered`; of `summed` elements */
    int64_t length = hlo_type_of(w->b, w->array[0])->dim[dim], covered = 1, summed = 0;

    memcpy(power, w->array, sizeof(power));
    for (;; covered *= 2) {
        if (size & covered) {
            int64_t left = length - (summed + covered - 1) * dilation;

            if (summed == 0)
                memcpy(sum, power, sizeof(sum));
            else
                combine(w, sum, power, sum, dim, summed * dilation, left);
            summed += covered;
        }
        if (summed == size)
            break;
        combine(w, power, power, power, dim, covered * dilation,
                length - (2 * covered - 1) * dilation);
    }
    memcpy(w->array, sum, sizeof(sum));
}

/* the places at which windows begin */
static void stride(struct windows *w)
{
    int64_t low[STRUCTURE_RANK_MAX] = {0}, high[STRUCTURE_RANK_MAX], step[STRUCTURE_RANK_MAX];
    struct hlo_type t = *hlo_type_of(w->b, w->array[0]);
    bool is_needed = false;

    for (int d = 0; d < w->rank; d++) {
        step[d] = hlo_detail(w->from)->window[d].stride;
        high[d] = (result_dim(w->from, d) - 1) * step[d] + 1;
        is_needed = is_needed || high[d] != t.dim[d] || step[d] != 1;
    }
    for (int k = 0; is_needed && k < w->count; k++)
        w->array[k] = hlo_slice(w->b, w->array[k], low, high, step);
}

/*
 * The last dimension comes first, so that what is combined stays in the order of the window's
 * places: a body that keeps the first of equals keeps the one that it names.
 */
static int in_steps(struct windows *w)
{
    int argument[2 * ARRAYS_MAX];

    pad(w);
    for (int d = w->rank - 1; d >= 0; d--)
        if (hlo_detail(w->from)->window[d].size > 1)
            window_along(w, d, hlo_detail(w->from)->window[d].size,
                         hlo_detail(w->from)->window[d].window_dilation);
    stride(w);
    for (int k = 0; k < w->count; k++) {
        struct hlo_type t = *hlo_type_of(w->b, w->array[k]);

        argument[k] = hlo_splat(w->b, w->init[k], &t);
        argument[w->count + k] = w->array[k];
    }
    if (w->count > 1 ||
        !is_identity(w->b, w->init[0], structure_combines(w->b->module, w->body, 0)))
        structure_lift(w->b, w->body, argument, w->array, w->count);
    return hlo_type_is_tuple(w->from->type) ? hlo_tuple(w->b, w->count, w->array) : w->array[0];
}

/* sums and products of narrow floats are rounded once, at their end: their steps are of f32 */
static bool widens(const struct windows *w, enum hlo_opcode *op)
{
    enum hlo_element e = hlo_type_of(w->b, w->array[0])->element;

    *op = w->count == 1 ? structure_combines(w->b->module, w->body, 0) : OPCODE_COUNT;
    return (*op == OPCODE_ADD || *op == OPCODE_MULTIPLY) && hlo_element_is_float(e) &&
           hlo_element_bits(e) < 32;
}

static int in_wide_steps(struct windows *w, enum hlo_opcode op)
{
    enum hlo_element e = hlo_type_of(w->b, w->array[0])->element;

    w->array[0] = hlo_convert(w->b, w->array[0], ELEMENT_F32);
    w->init[0] = hlo_convert(w->b, w->init[0], ELEMENT_F32);
    w->body = hlo_scalar_computation(w->b->module, op, ELEMENT_F32);
    return hlo_convert(w->b, in_steps(w), e);
}

int structure_reduce_window(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                            const struct hlo_instruction *from, const int *operand)
{
    struct windows w = {.b = b, .from = from, .body = hlo_detail(from)->computation[0],
                        .count = from->operand_count / 2, .rank = hlo_detail(from)->window_count};
    enum hlo_opcode op;

    (void)rewrite;
    if (w.count > ARRAYS_MAX || w.rank > STRUCTURE_RANK_MAX)
        return -1;
    for (int k = 0; k < w.count; k++) {
        w.array[k] = operand[k];
        w.init[k] = operand[w.count + k];
    }
    for (int d = 0; d < w.rank; d++)
        if (hlo_type_of(b, operand[0])->dim[d] == 0 || result_dim(from, d) == 0)
            return -1;
    if (is_reduction(&w))
        return as_reduction(&w);
    if (stays(&w) || !structure_can_lift(b->module, w.body))
        return -1;
    return widens(&w, &op) ? in_wide_steps(&w, op) : in_steps(&w);
}
