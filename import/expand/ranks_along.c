/* Operations along some dimensions of arrays that have too many: sums, sorts, products. */
#include <string.h>

#include "import/expand/ranks_impl.h"

static struct arena *arena_of(const struct expand_site *s) { return s->b->module->arena; }

/* all operands of an operation, in an array that lives as long as the module */
static int *operands(struct expand_site *s)
{
    return arena_copy(arena_of(s), s->operand, (size_t)s->from->operand_count,
                      sizeof(*s->operand));
}

/* an instruction of several results, each of these dimensions in its own type, as they are kept */
static int finish(struct expand_site *s, struct hlo_instruction *i, const int *operand, int rank,
                  const int64_t *dim)
{
    const struct hlo_type *to = s->from->type;
    struct hlo_type *part;
    int *result, made;

    if (!hlo_type_is_tuple(to)) {
        i->type = HLO_TYPE(hlo_array_type(arena_of(s), to->element, rank, dim));
        return ranks_keep(s, hlo_copy_instruction(s->b, i, operand), to);
    }
    part = arena_array(arena_of(s), (size_t)to->part_count, sizeof(*part));
    result = arena_array(arena_of(s), (size_t)to->part_count, sizeof(*result));
    for (int k = 0; k < to->part_count; k++)
        part[k] = hlo_array_type(arena_of(s), to->part[k].element, rank, dim);
    i->type = HLO_TYPE(hlo_tuple_type(arena_of(s), to->part_count, part));
    made = hlo_copy_instruction(s->b, i, operand);
    for (int k = 0; k < to->part_count; k++)
        result[k] = ranks_keep(s, hlo_tuple_element(s->b, made, k), &to->part[k]);
    return hlo_tuple(s->b, to->part_count, result);
}

/* x as [what stays, what is reduced] */
static int stays_first(struct expand_site *s, int x, const struct hlo_type *t, struct hlo_ints dims,
                       int64_t *dim)
{
    int64_t order[RANKS_READ_MAX];
    int count = 0;

    dim[0] = dim[1] = 1;
    for (int d = 0; d < t->rank; d++)
        if (!ranks_has(dims, d)) {
            dim[0] *= t->dim[d];
            order[count++] = d;
        }
    for (int d = 0; d < t->rank; d++)
        if (ranks_has(dims, d)) {
            dim[1] *= t->dim[d];
            order[count++] = d;
        }
    return ranks_see(s, ranks_transpose(s, x, t->rank, t->dim, order), 2, dim);
}

int ranks_reduce(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    struct hlo_instruction i = *s->from;
    struct hlo_ints reduced = hlo_detail(&i)->dims;
    int64_t dims[RANKS_READ_MAX], dim[RANKS_READ_MAX];
    int kind[RANKS_READ_MAX], *operand = operands(s), count = 0, rank = 0;
    struct ranks_view v;

    for (int d = 0; d < from->rank; d++)
        kind[d] = ranks_has(reduced, d);
    ranks_group(&v, from->rank, from->dim, kind);
    for (int d = 0; d < from->rank; d++)
        if (kind[d] && v.group[d] >= 0 && (!count || dims[count - 1] != v.group[d]))
            dims[count++] = v.group[d];
    for (int g = 0; g < v.rank; g++)
        if (!ranks_has((struct hlo_ints){count, dims}, g))
            dim[rank++] = v.dim[g];
    for (int k = 0; k < i.operand_count / 2; k++)
        operand[k] = v.rank <= RANKS_MAX ? ranks_see(s, operand[k], v.rank, v.dim)
                                         : stays_first(s, operand[k], from, reduced, v.dim);
    if (v.rank > RANKS_MAX) {
        dim[0] = v.dim[0];
        rank = count = 1;
        dims[0] = 1;
    }
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->dims = ranks_ints(s, count, dims);
    return finish(s, &i, operand, rank, dim);
}

/* [before, the dimension, behind] */
static void three(const struct hlo_type *t, int d, int64_t *dim)
{
    dim[0] = ranks_product(t->dim, 0, d);
    dim[1] = t->dim[d];
    dim[2] = ranks_product(t->dim, d + 1, t->rank);
}

/* what has one dimension along which it works, the same of all operands and results */
int ranks_along(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    const struct hlo_type *to = hlo_type_is_tuple(i.type) ? &i.type->part[0] : i.type;
    int d = (int)hlo_detail(&i)->dims.item[0], *operand = operands(s);
    int64_t dim[3];

    for (int k = 0; k < i.operand_count; k++) {
        three(expand_operand_type(s, k), d, dim);
        operand[k] = ranks_see(s, operand[k], 3, dim);
    }
    three(to, d, dim);
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->dims = ranks_ints(s, 1, (int64_t[]){1});
    return finish(s, &i, operand, 3, dim);
}

/* the greatest of the last dimension, and where they are */
int ranks_top(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0), *to = &s->from->type->part[0];
    struct hlo_instruction i = *s->from;
    int64_t dim[2] = {ranks_product(from->dim, 0, from->rank - 1), from->dim[from->rank - 1]};
    int operand = ranks_see(s, s->operand[0], 2, dim);

    dim[1] = to->dim[to->rank - 1];
    return finish(s, &i, &operand, 2, dim);
}

static bool is_power_of_two(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

static int log_of(int64_t x)
{
    int log = 0;

    while (x >> (log + 1))
        log++;
    return log;
}

/* counted from elements' own numbers, which nothing has to move, where that takes bits alone */
static int counted(struct expand_site *s, const struct hlo_type *kept, const int64_t *dim)
{
    struct hlo_type t = hlo_array_type(arena_of(s), ELEMENT_S32, kept->rank, kept->dim);
    int x = hlo_iota(s->b, &t, 0);

    x = hlo_binary(s->b, OPCODE_SHIFT_RIGHT_LOGICAL, x, hlo_constant_int(s->b, &t, log_of(dim[2])));
    x = hlo_binary(s->b, OPCODE_AND, x, hlo_constant_int(s->b, &t, dim[1] - 1));
    return hlo_convert(s->b, x, kept->element);
}

int ranks_iota(struct expand_site *s)
{
    struct hlo_type kept = ranks_type(arena_of(s), s->from->type), seen;
    int64_t dim[3];

    three(s->from->type, (int)s->from->index, dim);
    if (kept.rank == 1 && hlo_type_elements(&kept) <= INT32_MAX && is_power_of_two(dim[1]) &&
        is_power_of_two(dim[2]))
        return counted(s, &kept, dim);
    seen = hlo_array_type(arena_of(s), s->from->type->element, 3, dim);
    return ranks_keep(s, hlo_iota(s->b, &seen, 1), s->from->type);
}

static const struct hlo_window none = {.size = 1, .stride = 1, .base_dilation = 1,
                                       .window_dilation = 1};

static bool is_none(const struct hlo_window *w)
{
    return w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
           w->base_dilation == 1;
}

/* windows along few enough dimensions */
int ranks_window(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    const struct hlo_type *to = hlo_type_is_tuple(s->from->type) ? &s->from->type->part[0]
                                                                 : s->from->type;
    struct hlo_instruction i = *s->from;
    struct hlo_window *window = arena_array(arena_of(s), RANKS_READ_MAX, sizeof(*window));
    int kind[RANKS_READ_MAX], *operand = operands(s);
    int64_t dim[RANKS_READ_MAX];
    struct ranks_view v;

    for (int d = 0; d < from->rank; d++)
        kind[d] = is_none(&hlo_detail(&i)->window[d]) ? 0 : RANKS_ALONE;
    ranks_group(&v, from->rank, from->dim, kind);
    if (v.rank > RANKS_MAX)
        return expand_refuse(s, "windows along more than %d dimensions", RANKS_MAX / 2);
    memcpy(dim, v.dim, sizeof(dim));
    for (int g = 0; g < v.rank; g++)
        window[g] = none;
    for (int d = 0; d < from->rank; d++)
        if (kind[d] == RANKS_ALONE) {
            window[v.group[d]] = hlo_detail(&i)->window[d];
            dim[v.group[d]] = to->dim[d];
        }
    for (int k = 0; k < i.operand_count / 2; k++)
        operand[k] = ranks_see(s, operand[k], v.rank, v.dim);
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->window = window;
    i.detail->window_count = v.rank;
    return finish(s, &i, operand, v.rank, dim);
}

/* a product's operand as [batch, free, contracted]: `dim` are the three */
static int as_matrices(struct expand_site *s, int which, struct hlo_ints batch,
                       struct hlo_ints contract, int64_t *dim)
{
    const struct hlo_type *t = expand_operand_type(s, which);
    int64_t order[RANKS_READ_MAX];
    int rank = 0;

    dim[0] = dim[1] = dim[2] = 1;
    for (int k = 0; k < batch.count; k++) {
        dim[0] *= t->dim[batch.item[k]];
        order[rank++] = batch.item[k];
    }
    for (int d = 0; d < t->rank; d++)
        if (!ranks_has(batch, d) && !ranks_has(contract, d)) {
            dim[1] *= t->dim[d];
            order[rank++] = d;
        }
    for (int k = 0; k < contract.count; k++) {
        dim[2] *= t->dim[contract.item[k]];
        order[rank++] = contract.item[k];
    }
    return ranks_see(s, ranks_transpose(s, s->operand[which], rank, t->dim, order), 3, dim);
}

int ranks_dot(struct expand_site *s)
{
    const struct hlo_dot *of = hlo_detail(s->from)->dot;
    struct hlo_dot *dot = arena_copy(arena_of(s), of, 1, sizeof(*dot));
    struct hlo_instruction i = *s->from;
    int64_t x[3], y[3];
    int operand[2], batches;

    operand[0] = as_matrices(s, 0, of->lhs_batch, of->lhs_contract, x);
    operand[1] = as_matrices(s, 1, of->rhs_batch, of->rhs_contract, y);
    batches = x[0] != 1;
    for (int k = 0; !batches && k < 2; k++)
        operand[k] = ranks_see(s, operand[k], 2, k ? y + 1 : x + 1);
    dot->lhs_batch = dot->rhs_batch = ranks_ints(s, batches, (int64_t[]){0});
    dot->lhs_contract = dot->rhs_contract = ranks_ints(s, 1, (int64_t[]){1 + batches});
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->dot = dot;
    return finish(s, &i, operand, 2 + batches, (int64_t[]){x[0], x[1], y[1]} + !batches);
}
