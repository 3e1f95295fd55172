/*
 * Operations that read across a bounded dimension: what is beyond its size is first made what
 * changes nothing, the start value of a reduction, zero factors, an update that goes nowhere, keys
 * behind all others of a sort.
 */
#include "import/types/sized.h"

#include <string.h>

static void no_sizes(struct sized *v)
{
    for (int d = 0; d < SIZED_RANK_MAX; d++)
        v->size[d] = -1;
}

static bool is_listed(struct hlo_ints l, int64_t d)
{
    for (int i = 0; i < l.count; i++)
        if (l.item[i] == d)
            return true;
    return false;
}

static int result_part(struct expand_site *s, int all, int k)
{
    return hlo_type_is_tuple(s->from->type) ? hlo_tuple_element(s->b, all, k) : all;
}

/* results of an operation of several arrays, each with the same sizes */
static int with_sizes(struct expand_site *s, int all, const struct sized *sizes)
{
    const struct hlo_type *t = s->from->type;
    int *part = arena_array(s->b->module->arena, (size_t)t->part_count + 1, sizeof(int));
    struct sized v = *sizes;

    if (!hlo_type_is_tuple(t)) {
        v.x = all;
        return sized_make(s->b, t, v);
    }
    for (int k = 0; k < t->part_count; k++) {
        v.x = result_part(s, all, k);
        part[k] = sized_make(s->b, &t->part[k], v);
    }
    return hlo_tuple(s->b, t->part_count, part);
}

/* `from` on these operands, all of its results on their bounds */
static int apply_flat(struct expand_site *s, int count, const int *operand,
                      const struct hlo_instruction *like)
{
    struct hlo_instruction i = *like;
    struct arena *a = s->b->module->arena;
    struct hlo_type type;

    i.operand_count = count;
    if (hlo_type_is_tuple(i.type)) {
        struct hlo_type *part = arena_array(a, (size_t)i.type->part_count, sizeof(*part));

        for (int k = 0; k < i.type->part_count; k++)
            part[k] = sized_bound(a, &i.type->part[k]);
        type = hlo_tuple_type(a, i.type->part_count, part);
    } else {
        type = sized_bound(a, i.type);
    }
    i.type = &type;
    return hlo_copy_instruction(s->b, &i, operand);
}

static int reduce(struct expand_site *s)
{
    int count = s->from->operand_count, half = count / 2, rank = expand_operand_type(s, 0)->rank;
    int *operand = arena_array(s->b->module->arena, (size_t)count, sizeof(int)), to = 0;
    bool mask[SIZED_RANK_MAX] = {false};
    struct sized result;

    no_sizes(&result);
    for (int d = 0; d < rank; d++)
        mask[d] = is_listed(hlo_detail(s->from)->dims, d);
    for (int k = 0; k < half; k++) {
        struct sized v = sized_operand(s, k);

        operand[half + k] = s->operand[half + k];
        operand[k] = sized_fill(s->b, &v, operand[half + k], mask);
        to = 0;
        for (int d = 0; d < rank; d++)
            if (!mask[d])
                result.size[to++] = v.size[d];
    }
    return with_sizes(s, apply_flat(s, count, operand, s->from), &result);
}

static int window_size(struct hlo_builder *b, int size, const struct hlo_window *w)
{
    int64_t span = (w->size - 1) * w->window_dilation + 1;
    int zero = ar_scalar(b, ELEMENT_S32, 0), wide;

    wide = ar_mul(b, ar_addi(b, size, -1), ar_scalar(b, ELEMENT_S32, w->base_dilation));
    wide = ar_max(b, ar_addi(b, wide, 1), zero);
    wide = ar_addi(b, wide, w->pad_low + w->pad_high - span);
    size = ar_addi(b, ar_div(b, wide, ar_scalar(b, ELEMENT_S32, w->stride)), 1);
    return ar_sel(b, ar_lt(b, wide, zero), zero, size);
}

static int reduce_window(struct expand_site *s)
{
    int count = s->from->operand_count, half = count / 2, rank = expand_operand_type(s, 0)->rank;
    int *operand = arena_array(s->b->module->arena, (size_t)count, sizeof(int));
    struct sized result;

    no_sizes(&result);
    for (int k = 0; k < half; k++) {
        struct sized v = sized_operand(s, k);

        operand[half + k] = s->operand[half + k];
        operand[k] = sized_fill(s->b, &v, operand[half + k], NULL);
        for (int d = 0; d < rank && k == 0; d++)
            if (v.size[d] >= 0)
                result.size[d] = window_size(s->b, v.size[d], &hlo_detail(s->from)->window[d]);
    }
    return with_sizes(s, apply_flat(s, count, operand, s->from), &result);
}

/* compares by "is beyond" first, of the last operand, then as the program does */
static int comparison_with_end(struct expand_site *s)
{
    struct hlo_module *m = s->b->module;
    const struct hlo_computation *old = &s->old->computation[hlo_detail(s->from)->computation[0]];
    struct hlo_builder b = *s->b;
    int count = old->parameter_count, *x = arena_array(m->arena, (size_t)count + 2, sizeof(int)), own;
    struct hlo_type t;

    b.computation = hlo_add_computation(m, "behind_the_end");
    for (int k = 0; k < count; k++) {
        t = *old->instruction[old->parameter[k]].type;
        x[k] = hlo_parameter(&b, k, &t);
    }
    t = hlo_scalar_type(ELEMENT_S32);
    x[count] = hlo_parameter(&b, count, &t);
    x[count + 1] = hlo_parameter(&b, count + 1, &t);
    own = hlo_inline(&b, hlo_detail(s->from)->computation[0], x);
    own = ar_sel(&b, ar_eq(&b, x[count], x[count + 1]), own, ar_lt(&b, x[count], x[count + 1]));
    m->computation[b.computation].root = own;
    return b.computation;
}

static int sort(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    struct arena *a = b->module->arena;
    int count = s->from->operand_count, dim = (int)hlo_detail(s->from)->dims.item[0], body, all, at;
    int *operand = arena_array(a, (size_t)count + 1, sizeof(int));
    struct hlo_type *type = arena_array(a, (size_t)count + 1, sizeof(*type)), numbers;
    struct hlo_instruction i = *s->from;
    struct sized first = sized_operand(s, 0);
    struct expand_site own = *s;

    for (int k = 0; k < count; k++) {
        operand[k] = sized_operand(s, k).x;
        type[k] = *hlo_type_of(b, operand[k]);
    }
    if (first.size[dim] < 0) {
        all = apply_flat(s, count, operand, s->from);
        return with_sizes(s, all, &first);
    }
    numbers = ar_type(b, first.x, ELEMENT_S32);
    at = hlo_iota(b, &numbers, dim);
    operand[count] = hlo_convert(b, ar_ge(b, at, ar_spread(b, first.size[dim], at)), ELEMENT_S32);
    type[count] = numbers;
    body = comparison_with_end(s);
    i.type = HLO_TYPE(hlo_tuple_type(a, count + 1, type));
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->computation = &body;
    i.operand_count = count + 1;
    all = hlo_copy_instruction(b, &i, operand);
    if (hlo_type_is_tuple(s->from->type))
        return with_sizes(&own, all, &first);
    first.x = hlo_tuple_element(b, all, 0);
    return sized_make(b, s->from->type, first);
}

static int dot(struct expand_site *s)
{
    const struct hlo_dot *d = hlo_detail(s->from)->dot;
    struct sized v[2], result;
    int operand[2], to = 0;

    no_sizes(&result);
    for (int k = 0; k < 2; k++) {
        struct hlo_type scalar = hlo_scalar_type(expand_operand_type(s, k)->element);
        bool mask[SIZED_RANK_MAX] = {false};

        v[k] = sized_operand(s, k);
        for (int n = 0; n < expand_operand_type(s, k)->rank; n++)
            mask[n] = is_listed(k ? d->rhs_contract : d->lhs_contract, n);
        operand[k] = sized_fill(s->b, &v[k], hlo_constant(s->b, &scalar, 0), mask);
    }
    for (int k = 0; k < d->lhs_batch.count; k++, to++)
        result.size[to] = v[0].size[d->lhs_batch.item[k]] >= 0 ? v[0].size[d->lhs_batch.item[k]]
                                                              : v[1].size[d->rhs_batch.item[k]];
    for (int k = 0; k < 2; k++)
        for (int n = 0; n < expand_operand_type(s, k)->rank; n++)
            if (!is_listed(k ? d->rhs_contract : d->lhs_contract, n)
                && !is_listed(k ? d->rhs_batch : d->lhs_batch, n))
                result.size[to++] = v[k].size[n];
    result.x = sized_apply(s, operand);
    return sized_make(s->b, s->from->type, result);
}

/* samples beyond the size give results beyond it; pictures have to be whole */
static int convolution(struct expand_site *s)
{
    const struct hlo_conv *c = hlo_detail(s->from)->conv;
    struct sized x = sized_operand(s, 0), kernel = sized_operand(s, 1), result;

    no_sizes(&result);
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < expand_operand_type(s, k)->rank; d++)
            if ((k ? kernel.size[d] : x.size[d]) >= 0 && (k || d != c->in_batch))
                return expand_refuse(s, "only the dimension of samples may be of a bounded size");
    result.size[c->out_batch] = x.size[c->in_batch];
    result.x = sized_apply(s, (int[]){x.x, kernel.x});
    return sized_make(s->b, s->from->type, result);
}

/* dimensions of the result that are no offsets are those of the indices, in their order */
static int gather(struct expand_site *s)
{
    const struct hlo_gather *g = hlo_detail(s->from)->gather;
    struct sized x = sized_operand(s, 0), indices = sized_operand(s, 1), result;
    int from = 0, slice = 0;

    no_sizes(&result);
    for (int d = 0; d < s->from->type->rank; d++) {
        if (is_listed(g->offset_dims, d)) {
            while (is_listed(g->collapsed_dims, slice) || is_listed(g->operand_batching, slice))
                slice++;
            result.size[d] = x.size[slice++];
            continue;
        }
        from += from == g->index_vector_dim;
        result.size[d] = indices.size[from++];
    }
    result.x = sized_apply(s, (int[]){x.x, indices.x});
    return sized_make(s->b, s->from->type, result);
}

/* indices beyond the size become ones that lie nowhere, so that their updates are dropped */
static int scatter(struct expand_site *s)
{
    int count = s->from->operand_count, half = count / 2;
    int *operand = arena_array(s->b->module->arena, (size_t)count, sizeof(int));
    struct sized result = sized_operand(s, 0), indices = sized_operand(s, half);
    enum hlo_element e = expand_operand_type(s, half)->element;
    int64_t update_dim = 0;
    bool is_signed = hlo_element_kind(e) == ELEMENT_KIND_SIGNED;
    int nowhere = ar_scalar(s->b, e, is_signed ? -1 : INT32_MAX);

    for (int k = 0; k < count; k++)
        operand[k] = sized_operand(s, k).x;
    /* sizes of the updates are those of the indices, if those do not say them */
    for (int d = 0; d < expand_operand_type(s, half + 1)->rank; d++) {
        struct sized update;

        if (is_listed(hlo_detail(s->from)->gather->offset_dims, d))
            continue;
        update_dim += update_dim == hlo_detail(s->from)->gather->index_vector_dim;
        update = sized_operand(s, half + 1);
        if (indices.size[update_dim] < 0)
            indices.size[update_dim] = update.size[d];
        update_dim++;
    }
    operand[half] = sized_fill(s->b, &indices, nowhere, NULL);
    return with_sizes(s, apply_flat(s, count, operand, s->from), &result);
}

/* PadToStatic and SliceToDynamic: between a bounded array and one with its sizes beside it */
static int custom_call(struct expand_site *s)
{
    int rank = expand_operand_type(s, 0)->rank, part[SIZED_RANK_MAX + 1];
    struct sized v = sized_operand(s, 0);

    if (hlo_detail(s->from)->target && !strcmp(hlo_detail(s->from)->target, "PadToStatic")) {
        part[0] = v.x;
        for (int d = 0; d < rank; d++)
            part[d + 1] = sized_size(s->b, &v, d);
        return hlo_tuple(s->b, rank + 1, part);
    }
    if (hlo_detail(s->from)->target && !strcmp(hlo_detail(s->from)->target, "SliceToDynamic")) {
        for (int d = 0; d < rank && d + 1 < s->from->operand_count; d++)
            v.size[d] = hlo_convert(s->b, s->operand[d + 1], ELEMENT_S32);
        return sized_make(s->b, s->from->type, v);
    }
    return expand_refuse(s, "the custom call %s cannot take arrays of a bounded size",
                         hlo_detail(s->from)->target ? hlo_detail(s->from)->target : "");
}

int sized_across(struct expand_site *s)
{
    switch (s->from->op) {
    case OPCODE_REDUCE:
        return reduce(s);
    case OPCODE_REDUCE_WINDOW:
        return reduce_window(s);
    case OPCODE_SORT:
        return sort(s);
    case OPCODE_DOT:
        return dot(s);
    case OPCODE_CONVOLUTION:
        return convolution(s);
    case OPCODE_GATHER:
        return gather(s);
    case OPCODE_SCATTER:
        return scatter(s);
    default:
        return custom_call(s);
    }
}
