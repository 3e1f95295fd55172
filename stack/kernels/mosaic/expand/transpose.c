/*
 * Transposes that take another dimension to the lanes, as ones that do either of two things: the last
 * two dimensions change places, which the cross-lane units do, or rows move and lanes stay. All at once
 * an element would be put together of as many tiles as it has neighbours.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

expanded expand_transposed(struct expand *e, expanded x, const int64_t *order)
{
    struct mosaic_type t = x->type;
    struct mosaic_attr attr = {.name = "permutation", .kind = MOSAIC_ATTR_INTS, .count = t.rank};
    bool is_plain = true;

    for (int i = 0; i < t.rank; i++) {
        is_plain = is_plain && order[i] == i;
        t.dim[i] = x->type.dim[order[i]];
    }
    if (is_plain)
        return x;
    attr.ints = arena_copy(e->a, order, (size_t)t.rank, sizeof(*order));
    return expand_op(e, MOSAIC_TRANSPOSE, &t, &x, 1, &attr, 1);
}

/* dimension `dim` behind all others but the last one */
static expanded to_rows(struct expand *e, expanded x, int dim)
{
    int64_t order[MOSAIC_RANK_MAX];
    int n = 0, rank = x->type.rank;

    for (int d = 0; d < rank - 1; d++)
        if (d != dim)
            order[n++] = d;
    order[n++] = dim;
    order[n] = rank - 1;
    return expand_transposed(e, x, order);
}

static expanded exchanged(struct expand *e, expanded x)
{
    int64_t order[MOSAIC_RANK_MAX];
    int rank = x->type.rank;

    for (int d = 0; d < rank; d++)
        order[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    return expand_transposed(e, x, order);
}

/* where an original dimension stands once `lane` has been brought to the lanes in its last place's stead */
static int place_of(int dim, int lane, int rank)
{
    if (dim == rank - 1)
        return rank - 2;
    return dim == lane ? rank - 1 : dim - (dim > lane);
}

bool expand_transpose(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    const struct mosaic_attr *p = mosaic_attr(op, "permutation");
    const struct mosaic_type *t = &op->operand[0]->type;
    int64_t order[MOSAIC_RANK_MAX];
    bool is_exchange = true;
    int lane;
    expanded x;

    if (!p || p->kind != MOSAIC_ATTR_INTS || p->count != t->rank || t->rank < 3 ||
        t->element == MOSAIC_I1)
        return false;
    lane = (int)p->ints[t->rank - 1];
    for (int d = 0; d < t->rank - 2; d++)
        is_exchange = is_exchange && p->ints[d] == d;
    /* a dimension of one element along lanes is rows as long as that: they are put together at once */
    if (is_exchange || lane == t->rank - 1 || t->dim[lane] == 1)
        return false;
    x = exchanged(e, to_rows(e, expand_operand(e, op, 0), lane));
    for (int d = 0; d < t->rank; d++)
        order[d] = place_of((int)p->ints[d], lane, t->rank);
    *result = expand_transposed(e, x, order);
    return true;
}
