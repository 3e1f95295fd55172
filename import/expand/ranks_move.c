/*
 * What moves arrays of too many dimensions. Where grouping leaves too many, a move is made one
 * dimension after the other: each sees the array as what stands before it, itself, and what stands
 * behind it.
 */
#include <string.h>

#include "import/expand/ranks_impl.h"

/* dimension `from` goes to the place `to` before it */
static void move_dimension(int rank, int64_t *dim, int64_t *order, int from, int to)
{
    int64_t moved = dim[from];

    memmove(dim + to + 1, dim + to, (size_t)(from - to) * sizeof(*dim));
    dim[to] = moved;
    for (int k = 0; k < rank; k++)
        order[k] = order[k] == from ? to : order[k] + (order[k] >= to && order[k] < from);
}

/* dimensions that stay neighbours in this order are one; how many are left */
static int join(int rank, int64_t *dim, int64_t *order)
{
    int64_t size[RANKS_READ_MAX];
    int group[RANKS_READ_MAX], groups = 0, kept = 0;
    bool follows[RANKS_READ_MAX] = {false};

    for (int k = 1; k < rank; k++)
        follows[order[k]] = order[k] == order[k - 1] + 1;
    for (int d = 0; d < rank; d++) {
        group[d] = follows[d] ? groups - 1 : groups++;
        size[group[d]] = (follows[d] ? size[group[d]] : 1) * dim[d];
    }
    for (int k = 0; k < rank; k++)
        if (!follows[order[k]])
            order[kept++] = group[order[k]];
    memcpy(dim, size, (size_t)groups * sizeof(*dim));
    return groups;
}

int ranks_transpose(struct expand_site *s, int x, int rank, const int64_t *dim,
                    const int64_t *order)
{
    int64_t size[RANKS_READ_MAX], to[RANKS_READ_MAX];
    int place = 0;

    memcpy(size, dim, (size_t)rank * sizeof(*size));
    memcpy(to, order, (size_t)rank * sizeof(*to));
    while (rank > RANKS_MAX && (rank = join(rank, size, to)) > RANKS_MAX) {
        for (place = 0; to[place] == place; )
            place++;
        x = ranks_see(s, x, 4, (int64_t[]){ranks_product(size, 0, place),
                                           ranks_product(size, place, (int)to[place]),
                                           size[to[place]],
                                           ranks_product(size, (int)to[place] + 1, rank)});
        x = hlo_transpose(s->b, x, (int64_t[]){0, 2, 1, 3});
        move_dimension(rank, size, to, (int)to[place], place);
    }
    return hlo_transpose(s->b, ranks_see(s, x, rank, size), to);
}

/* without dimensions of size one, which have no order */
int ranks_permute(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    int64_t dim[RANKS_READ_MAX], order[RANKS_READ_MAX], place[RANKS_READ_MAX];
    int rank = 0, count = 0;

    for (int d = 0; d < from->rank; d++) {
        place[d] = rank;
        if (from->dim[d] != 1)
            dim[rank++] = from->dim[d];
    }
    for (int d = 0; d < from->rank; d++)
        if (from->dim[hlo_detail(s->from)->dims.item[d]] != 1)
            order[count++] = place[hlo_detail(s->from)->dims.item[d]];
    return ranks_keep(s, ranks_transpose(s, s->operand[0], rank, dim, order), s->from->type);
}

/* x with its dimensions in the order in which they stand in the result */
static int in_order(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    struct hlo_ints to = hlo_detail(s->from)->dims;
    int64_t order[RANKS_READ_MAX];
    int count = 0;
    bool is_sorted = true;

    for (int d = 0; d < s->from->type->rank; d++)
        for (int k = 0; k < to.count; k++)
            if (to.item[k] == d)
                order[count++] = k;
    for (int k = 0; k < count; k++)
        is_sorted = is_sorted && order[k] == k;
    return is_sorted ? s->operand[0]
                     : ranks_transpose(s, s->operand[0], from->rank, from->dim, order);
}

enum { NEW, OLD };                      /* kinds of a broadcast's dimensions */

int ranks_broadcast(struct expand_site *s)
{
    const struct hlo_type *to = s->from->type;
    int64_t dim[RANKS_READ_MAX], dims[RANKS_READ_MAX];
    int kind[RANKS_READ_MAX], is_old[RANKS_READ_MAX], x = in_order(s), rank = 0;
    struct ranks_view v;

    for (int d = 0; d < to->rank; d++)
        kind[d] = ranks_has(hlo_detail(s->from)->dims, d) ? OLD : NEW;
    ranks_group(&v, to->rank, to->dim, kind);
    for (int d = 0; d < to->rank; d++)
        if (v.group[d] >= 0)
            is_old[v.group[d]] = kind[d];
    for (int g = v.rank - 1; g >= 0 && v.rank > RANKS_MAX; g--) {
        int64_t before = 1, after = ranks_product(v.dim, g + 1, v.rank);

        if (is_old[g])
            continue;
        for (int k = 0; k < g; k++)
            before *= is_old[k] ? v.dim[k] : 1;
        x = hlo_broadcast(s->b, ranks_see(s, x, 2, (int64_t[]){before, after}), 3,
                          (int64_t[]){before, v.dim[g], after}, (int64_t[]){0, 2});
        v.dim[g] *= after;              /* it and all behind it are one that is there */
        is_old[g] = OLD;
        v.rank = g + 1;
    }
    for (int g = 0; g < v.rank; g++)
        if (is_old[g]) {
            dim[rank] = v.dim[g];
            dims[rank++] = g;
        }
    x = hlo_broadcast(s->b, ranks_see(s, x, rank, dim), v.rank, v.dim, dims);
    return ranks_keep(s, x, to);
}

/* of SLICE and PAD, which have three lists, and of REVERSE: a dimension that they leave as it is */
static bool is_left(const struct hlo_instruction *i, const struct hlo_type *t, int d)
{
    const struct hlo_detail *own = hlo_detail(i);

    if (i->op == OPCODE_REVERSE)
        return !ranks_has(own->dims, d);
    return i->type->dim[d] == t->dim[d] && own->start.item[d] == 0;     /* as all of it is */
}

/* the operation on x, of `rank` dimensions, along one of them */
static int along_one(struct expand_site *s, int x, int d, int rank, const int64_t *dim, int at)
{
    const struct hlo_detail *own = hlo_detail(s->from);
    int64_t first[3] = {0}, last[3], step[3] = {1, 1, 1}, none[3] = {0};

    x = ranks_see(s, x, rank, dim);
    memcpy(last, dim, (size_t)rank * sizeof(*last));
    switch (s->from->op) {
    case OPCODE_SLICE:
        first[at] = own->start.item[d];
        last[at] = own->limit.item[d];
        step[at] = own->stride.count ? own->stride.item[d] : 1;
        return hlo_slice(s->b, x, first, last, step);
    case OPCODE_PAD:
        first[at] = own->low.item[d];
        memset(last, 0, sizeof(last));
        last[at] = own->high.item[d];
        none[at] = own->interior.count ? own->interior.item[d] : 0;
        return hlo_pad(s->b, x, s->operand[1], first, last, none);
    default:
        return hlo_reverse(s->b, x, 1, (int64_t[]){at});
    }
}

/* one dimension after the other, none of which reads what another has moved */
static int by_dimension(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    int64_t dim[RANKS_READ_MAX];
    int x = s->operand[0];

    memcpy(dim, from->dim, (size_t)from->rank * sizeof(*dim));
    for (int d = 0; d < from->rank; d++) {
        if (is_left(s->from, from, d))
            continue;
        x = along_one(s, x, d, 3, (int64_t[]){ranks_product(dim, 0, d), dim[d],
                                              ranks_product(dim, d + 1, from->rank)}, 1);
        dim[d] = s->from->type->dim[d];
    }
    return ranks_keep(s, x, s->from->type);
}

/* the lists of a slice or a padding, an entry for each dimension as it is seen */
static struct hlo_ints entries(struct expand_site *s, const struct ranks_view *v, int rank,
                               struct hlo_ints of, const bool *left, const int64_t *otherwise)
{
    int64_t item[RANKS_READ_MAX];

    memcpy(item, otherwise, (size_t)v->rank * sizeof(*item));
    for (int d = 0; d < rank && of.count; d++)
        if (v->group[d] >= 0 && !left[d])
            item[v->group[d]] = of.item[d];
    return ranks_ints(s, v->rank, item);
}

/* the operation as it is on an array of few enough groups */
static int by_groups(struct expand_site *s, const struct ranks_view *v, const bool *left)
{
    const struct hlo_type *from = expand_operand_type(s, 0), *to = s->from->type;
    const int64_t noughts[RANKS_READ_MAX] = {0};
    int64_t made[RANKS_READ_MAX], ones[RANKS_READ_MAX];
    const int64_t *limit = s->from->op == OPCODE_SLICE ? v->dim : noughts;
    const int64_t *step = s->from->op == OPCODE_SLICE ? ones : noughts;
    struct hlo_instruction i = *s->from;
    int operand[2] = {ranks_see(s, s->operand[0], v->rank, v->dim),
                      s->from->operand_count > 1 ? s->operand[1] : 0};

    memcpy(made, v->dim, sizeof(made));
    for (int g = 0; g < v->rank; g++)
        ones[g] = 1;
    for (int d = 0; d < from->rank; d++)
        if (!left[d])
            made[v->group[d]] = to->dim[d];
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->start = entries(s, v, from->rank, i.detail->start, left, noughts);
    i.detail->limit = entries(s, v, from->rank, i.detail->limit, left, limit);
    i.detail->stride = entries(s, v, from->rank, i.detail->stride, left, step);
    i.type = HLO_TYPE(hlo_array_type(s->b->module->arena, to->element, v->rank, made));
    return ranks_keep(s, hlo_copy_instruction(s->b, &i, operand), to);
}

static int sliced_or_padded(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    int kind[RANKS_READ_MAX];
    bool left[RANKS_READ_MAX];
    struct ranks_view v;

    for (int d = 0; d < from->rank; d++) {
        left[d] = is_left(s->from, from, d);
        kind[d] = left[d] ? 0 : RANKS_ALONE;
    }
    ranks_group(&v, from->rank, from->dim, kind);
    return v.rank > RANKS_MAX ? by_dimension(s) : by_groups(s, &v, left);
}

int ranks_slice(struct expand_site *s) { return sliced_or_padded(s); }
int ranks_pad(struct expand_site *s) { return sliced_or_padded(s); }

/* reversed neighbours are reversed together as one */
int ranks_reverse(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0);
    int kind[RANKS_READ_MAX], count = 0;
    int64_t dims[RANKS_READ_MAX];
    struct ranks_view v;

    for (int d = 0; d < from->rank; d++)
        kind[d] = ranks_has(hlo_detail(s->from)->dims, d);
    ranks_group(&v, from->rank, from->dim, kind);
    if (v.rank > RANKS_MAX)
        return by_dimension(s);
    for (int d = 0; d < from->rank; d++)
        if (kind[d] && v.group[d] >= 0 && (!count || dims[count - 1] != v.group[d]))
            dims[count++] = v.group[d];
    return count ? ranks_keep(s, hlo_reverse(s->b, ranks_see(s, s->operand[0], v.rank, v.dim),
                                             count, dims), from)
                 : s->operand[0];
}
