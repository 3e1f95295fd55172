/* Operations that put elements in other places. */
#include "import/eval/handlers.h"

#include <string.h>

static size_t result_bytes(const struct call *c) { return value_element_bytes(c->result); }

static void *element_at(const struct value *v, int64_t at)
{
    return (char *)v->data + at * (int64_t)value_element_bytes(v);
}

int eval_iota(struct call *c)
{
    int64_t n, inner, index = 0;
    size_t bytes;
    int along = (int)c->i->index;

    if (call_result(c))
        return -1;
    if (c->result->rank == 0 || value_count(c->result) == 0) {
        memset(c->result->data, 0, c->result->rank == 0 ? result_bytes(c) : 0);
        return 0;
    }
    bytes = result_bytes(c);
    n = c->result->dim[along];
    inner = value_product(c->result->dim, along + 1, c->result->rank);
    for (; index < n; index++) {                /* the first time by numbers, then by copies */
        char *row = element_at(c->result, index * inner);
        _Alignas(16) char element[16] = { 0 };

        if (hlo_element_is_integer(c->result->element))
            hlo_element_store_int(c->result->element, index, element);
        else
            hlo_element_store(c->result->element, (double)index, element);
        stride_fill(row, element, bytes, inner);
    }
    for (int64_t k = n * inner; k < value_count(c->result); k += n * inner)
        memcpy(element_at(c->result, k), c->result->data, (size_t)(n * inner) * bytes);
    return 0;
}

int eval_broadcast(struct call *c)
{
    enum { WORTH_A_SPLAT = 1024 };
    struct stride_copy s = { .rank = c->i->type->rank };
    int64_t step[EVAL_RANK_MAX], dim[EVAL_RANK_MAX];

    call_dims(c, c->i->type, dim);
    if (c->operand[0]->is_splat || (value_count(c->operand[0]) == 1 &&
                                    value_product(dim, 0, s.rank) >= WORTH_A_SPLAT)) {
        c->result = value_splat(&c->ev->pool, c->i->type->element, s.rank, dim, c->operand[0]->data);
        return 0;
    }
    if (call_result(c))
        return -1;
    value_strides(c->operand[0], step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = c->result->dim[d];
    for (int d = 0; d < c->operand[0]->rank; d++)
        if (c->operand[0]->dim[d] > 1)
            s.from_step[hlo_detail(c->i)->dims.item[d]] = step[d];
    stride_copy(s, result_bytes(c), c->result->data, c->operand[0]->data);
    return 0;
}

int eval_reshape(struct call *c)
{
    int64_t dim[EVAL_RANK_MAX];

    call_dims(c, c->i->type, dim);
    if (value_product(dim, 0, c->i->type->rank) != value_count(c->operand[0]))
        return call_fail(c, "%lld elements cannot have the result's sizes",
                         (long long)value_count(c->operand[0]));
    return call_result_view(c, 0);
}

/* Dimensions in the order of `order` become those of an array that lies row-major, or come from it. */
static struct stride_copy in_order(const struct value *v, const int *order, bool is_from)
{
    struct stride_copy s = { .rank = v->rank };
    int64_t step[EVAL_RANK_MAX], flat = 1;

    value_strides(v, step);
    for (int k = s.rank - 1; k >= 0; k--) {
        s.dim[k] = v->dim[order[k]];
        (is_from ? s.from_step : s.to_step)[k] = step[order[k]];
        (is_from ? s.to_step : s.from_step)[k] = flat;
        flat *= s.dim[k];
    }
    return s;
}

/*
 * The same bytes seen as another type, in the order in which layouts have them. Values lie row-major
 * here whatever their layout, so what lies otherwise is put into its order, and back out of the
 * result's.
 */
int eval_bitcast(struct call *c)
{
    const struct hlo_type *t = c->i->type, *from = c->f->c->instruction[c->i->operand[0]].type;
    int from_order[EVAL_RANK_MAX], order[EVAL_RANK_MAX];
    int64_t count = value_count(c->operand[0]);
    size_t bytes = value_element_bytes(c->operand[0]);
    struct value *flat;
    bool is_plain = hlo_type_physical_order(from, from_order);

    is_plain &= hlo_type_physical_order(t, order);
    if (hlo_element_bytes(t->element) * (size_t)hlo_type_elements(t) != (size_t)count * bytes)
        return call_fail(c, "its operand has another number of bytes");
    if (is_plain)
        return call_result_view(c, 0);
    if (hlo_element_bytes(t->element) != bytes)
        return call_fail(c, "bytes of %s cannot be taken for %s where layouts are not row-major",
                         hlo_element_name(from->element), hlo_element_name(t->element));
    flat = call_array(c, from->element, 1, &count);
    if (!flat || call_result(c)) {
        value_drop(&c->ev->pool, flat);
        return -1;
    }
    stride_copy(in_order(c->operand[0], from_order, true), bytes, flat->data, c->operand[0]->data);
    stride_copy(in_order(c->result, order, false), bytes, c->result->data, flat->data);
    value_drop(&c->ev->pool, flat);
    return 0;
}

int eval_transpose(struct call *c)
{
    struct stride_copy s = { .rank = c->i->type->rank };
    int64_t step[EVAL_RANK_MAX];
    int last = -1;
    bool is_same = true;

    for (int d = 0; d < s.rank; d++) {          /* only sizes of one change places */
        int from = (int)hlo_detail(c->i)->dims.item[d];

        if (c->operand[0]->dim[from] == 1)
            continue;
        is_same &= from > last;
        last = from;
    }
    if (is_same)
        return call_result_view(c, 0);
    if (call_result(c))
        return -1;
    value_strides(c->operand[0], step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++) {
        s.dim[d] = c->result->dim[d];
        s.from_step[d] = step[hlo_detail(c->i)->dims.item[d]];
    }
    stride_copy(s, result_bytes(c), c->result->data, c->operand[0]->data);
    return 0;
}

int eval_reverse(struct call *c)
{
    struct stride_copy s = { .rank = c->i->type->rank };
    int64_t first = 0;

    if (call_result(c))
        return -1;
    value_strides(c->operand[0], s.from_step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = c->result->dim[d];
    for (int k = 0; k < hlo_detail(c->i)->dims.count; k++) {
        int d = (int)hlo_detail(c->i)->dims.item[k];

        first += (s.dim[d] - 1) * s.from_step[d];
        s.from_step[d] = -s.from_step[d];
    }
    stride_copy(s, result_bytes(c), c->result->data, element_at(c->operand[0], first));
    return 0;
}

int eval_concatenate(struct call *c)
{
    int along = (int)hlo_detail(c->i)->dims.item[0];
    int64_t at = 0;
    struct stride_copy s = { .rank = c->i->type->rank };

    if (call_result(c))
        return -1;
    for (int o = 0; o < c->i->operand_count; o++) {
        struct value *from = c->operand[o];

        value_strides(from, s.from_step);
        value_strides(c->result, s.to_step);
        for (int d = 0; d < s.rank; d++)
            s.dim[d] = from->dim[d];
        stride_copy(s, result_bytes(c), element_at(c->result, at * s.to_step[along]), from->data);
        at += from->dim[along];
    }
    return 0;
}

int eval_slice(struct call *c)
{
    struct stride_copy s = { .rank = c->i->type->rank };
    int64_t first = 0;

    if (call_result(c))
        return -1;
    value_strides(c->operand[0], s.from_step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++) {
        s.dim[d] = c->result->dim[d];
        first += hlo_detail(c->i)->start.item[d] * s.from_step[d];
        s.from_step[d] *= hlo_detail(c->i)->stride.count ? hlo_detail(c->i)->stride.item[d] : 1;
    }
    stride_copy(s, result_bytes(c), c->result->data, element_at(c->operand[0], first));
    return 0;
}

/* which elements of one dimension stay inside where padding is negative */
static void pad_range(int64_t n, int64_t to, int64_t low, int64_t step, int64_t *first,
                      int64_t *count)
{
    int64_t last;

    *first = low < 0 ? (-low + step - 1) / step : 0;
    last = to - 1 - low < 0 ? -1 : (to - 1 - low) / step;
    last = last < n - 1 ? last : n - 1;
    *count = last < *first ? 0 : last - *first + 1;
}

int eval_pad(struct call *c)
{
    struct stride_copy s = { .rank = c->i->type->rank };
    int64_t to = 0, from = 0;

    if (call_result(c))
        return -1;
    stride_fill(c->result->data, c->operand[1]->data, result_bytes(c), value_count(c->result));
    value_strides(c->operand[0], s.from_step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++) {
        int64_t step = hlo_detail(c->i)->interior.item[d] + 1, low = hlo_detail(c->i)->low.item[d],
                first;

        pad_range(c->operand[0]->dim[d], c->result->dim[d], low, step, &first, &s.dim[d]);
        to += (low + first * step) * s.to_step[d];
        from += first * s.from_step[d];
        s.to_step[d] *= step;
    }
    for (int d = 0; d < s.rank; d++)
        if (s.dim[d] == 0)
            return 0;
    stride_copy(s, result_bytes(c), element_at(c->result, to), element_at(c->operand[0], from));
    return 0;
}

/* start of a slice of these sizes, kept inside the array; operands from `first` are indices */
static int64_t start_of(const struct call *c, const struct value *array, const int64_t *size,
                        int first)
{
    int64_t step[EVAL_RANK_MAX], at = 0, start;

    value_strides(array, step);
    for (int d = 0; d < array->rank; d++) {
        struct value *index = c->operand[c->i->operand_count == first + 1 && array->rank > 1
                                             ? first : first + d];
        int64_t room = array->dim[d] - size[d];

        start = value_int(index, index->rank ? d : 0);
        if (hlo_element_kind(index->element) == ELEMENT_KIND_UNSIGNED && start < 0)
            start = INT64_MAX;
        at += clamp_int(start, 0, room < 0 ? 0 : room) * step[d];
    }
    return at;
}

int eval_dynamic_slice(struct call *c)
{
    struct stride_copy s = { .rank = c->i->type->rank };
    int64_t first;

    if (call_result(c))
        return -1;
    first = start_of(c, c->operand[0], c->result->dim, 1);
    value_strides(c->operand[0], s.from_step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = c->result->dim[d];
    stride_copy(s, result_bytes(c), c->result->data, element_at(c->operand[0], first));
    return 0;
}

int eval_dynamic_update_slice(struct call *c)
{
    struct value *array = c->operand[0], *update = c->operand[1];
    struct stride_copy s = { .rank = array->rank };
    int64_t first = start_of(c, array, update->dim, 2);

    if (call_may_overwrite(c, 0)) {
        c->result = value_hold(array);
    } else {
        if (call_result(c))
            return -1;
        memcpy(c->result->data, array->data, (size_t)value_count(array) * result_bytes(c));
    }
    value_strides(update, s.from_step);
    value_strides(c->result, s.to_step);
    for (int d = 0; d < s.rank; d++)
        s.dim[d] = update->dim[d];
    stride_copy(s, result_bytes(c), element_at(c->result, first), update->data);
    return 0;
}
