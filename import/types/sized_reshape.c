/*
 * Reshapes of arrays of a bounded size. Where a bounded dimension is the first of those that it is
 * joined with, what is there stays one behind the other, and the arrays on the bounds are reshaped.
 * Elsewhere each element of the result is fetched from the place that its number among those that
 * are there has in the operand.
 */
#include "import/types/sized.h"

static int constant(struct hlo_builder *b, int64_t value)
{
    return ar_scalar(b, ELEMENT_S32, value);
}

static int product(struct hlo_builder *b, const struct sized *v, int rank)
{
    int all = constant(b, 1);

    for (int d = 0; d < rank; d++)
        all = ar_mul(b, all, sized_size(b, v, d));
    return all;
}

/*
 * Dimensions of both sides in groups of the same number of elements on the bound. In each group the
 * bounded dimension of the result has what its others leave of the elements that are there.
 */
static bool sizes_by_groups(struct expand_site *s, const struct sized *v, struct sized *result,
                            bool *is_plain)
{
    const struct hlo_type *from = expand_operand_type(s, 0), *to = s->from->type;
    struct hlo_builder *b = s->b;
    int i = 0, j = 0;

    *is_plain = true;
    while (i < from->rank || j < to->rank) {
        int64_t left = 1, right = 1, others = 1;
        int first_i = i, first_j = j, bounded = -1, count = constant(b, 1);

        do {
            if (i < from->rank && (left <= right || j >= to->rank))
                left *= from->dim[i++];
            else if (j < to->rank)
                right *= to->dim[j++];
            else
                return false;
        } while (left != right);
        while (i < from->rank && from->dim[i] == 1 && j >= to->rank)
            i++;
        while (j < to->rank && to->dim[j] == 1 && i >= from->rank)
            j++;
        for (int d = first_i; d < i; d++) {
            count = ar_mul(b, count, sized_size(b, v, d));
            for (int k = first_i; k < d && v->size[d] >= 0; k++)
                *is_plain = *is_plain && from->dim[k] == 1;
        }
        for (int d = first_j; d < j; d++) {
            if (!to->is_bounded || !to->is_bounded[d]) {
                others *= to->dim[d];
                continue;
            }
            if (bounded >= 0)
                return false;
            bounded = d;
            for (int k = first_j; k < d; k++)
                *is_plain = *is_plain && to->dim[k] == 1;
        }
        if (bounded >= 0)
            result->size[bounded] = others == 1 ? count : ar_div(b, count, constant(b, others));
    }
    return true;
}

/* numbers of the elements of the result: those there are counted by the sizes, row-major */
static int element_numbers(struct hlo_builder *b, const struct hlo_type *to, const struct sized *v)
{
    struct hlo_type t = hlo_array_type(b->module->arena, ELEMENT_S32, to->rank, to->dim);
    int number = hlo_constant_int(b, &t, 0), step = constant(b, 1);

    for (int d = to->rank - 1; d >= 0; d--) {
        number = ar_add(b, number, ar_mul(b, hlo_iota(b, &t, d), ar_spread(b, step, number)));
        step = ar_mul(b, step, v->size[d] >= 0 ? v->size[d] : constant(b, to->dim[d]));
    }
    return number;
}

/* where the element of that number lies in the operand on its bound */
static int places(struct hlo_builder *b, const struct hlo_type *from, const struct sized *v,
                  int number)
{
    int place = ar_int(b, number, 0);
    int64_t step = 1;

    for (int d = from->rank - 1; d >= 0; d--) {
        int size = ar_max(b, sized_size(b, v, d), constant(b, 1));
        int wide = ar_spread(b, size, number), at = hlo_binary(b, OPCODE_REMAINDER, number, wide);

        place = ar_add(b, place, ar_mul(b, at, ar_int(b, at, step)));
        number = ar_div(b, number, wide);
        step *= from->dim[d];
    }
    return place;
}

static int fetch(struct expand_site *s, const struct sized *v, const struct sized *result)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *from = expand_operand_type(s, 0), *to = s->from->type;
    int64_t all = hlo_type_elements(from), count = hlo_type_elements(to);
    int64_t column[2] = {count, 1}, zero = 0, one = 1;
    struct hlo_gather g = {.collapsed_dims = {1, &zero}, .start_index_map = {1, &zero},
                           .index_vector_dim = 1};
    int place = places(b, from, v, element_numbers(b, to, result));

    place = hlo_reshape(b, place, 2, column);
    place = hlo_gather(b, hlo_reshape(b, v->x, 1, &all), place, &g, &one);
    return hlo_reshape(b, place, to->rank, to->dim);
}

int sized_reshape(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *to = s->from->type;
    struct sized v = sized_operand(s, 0), result;
    bool is_plain = false;

    for (int d = 0; d < SIZED_RANK_MAX; d++)
        result.size[d] = -1;
    if (s->from->op == OPCODE_DYNAMIC_RESHAPE) {
        for (int d = 0; d < to->rank && d + 1 < s->from->operand_count; d++)
            if (to->is_bounded && to->is_bounded[d]) {
                if (expand_operand_type(s, d + 1)->rank != 0)
                    return expand_refuse(s, "the sizes of its result are to be scalars");
                result.size[d] = hlo_convert(b, s->operand[d + 1], ELEMENT_S32);
            }
    } else if (!sizes_by_groups(s, &v, &result, &is_plain)) {
        int bounded = -1;
        int64_t others = 1;

        for (int d = 0; d < to->rank; d++) {
            if (to->is_bounded && to->is_bounded[d] && bounded >= 0)
                return expand_refuse(s, "which of its bounded dimensions has which size is not known");
            if (to->is_bounded && to->is_bounded[d])
                bounded = d;
            else
                others *= to->dim[d];
        }
        if (bounded >= 0)
            result.size[bounded] = ar_div(b, product(b, &v, expand_operand_type(s, 0)->rank),
                                          constant(b, others));
    }
    if (is_plain && hlo_type_elements(expand_operand_type(s, 0)) == hlo_type_elements(to))
        result.x = hlo_reshape(b, v.x, to->rank, to->dim);
    else
        result.x = fetch(s, &v, &result);
    return sized_make(b, to, result);
}
