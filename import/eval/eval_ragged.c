/*
 * Ragged dots: groups of rows (or of contracted elements), as long as the third operand says, meet
 * a matrix each; what belongs to no group gives zeros. Every group is a dot of its own.
 */
#include "import/eval/handlers.h"

#include <string.h>

/* one dot of slices: what is cut out of each operand */
struct ragged {
    struct call *c;
    const struct hlo_dot *dot;
    int along;                          /* the lhs dimension that groups cut */
    int rhs_along;                      /* where it is contracted: its partner; -1 */
    int group_dim;                      /* of rhs; -1: groups are a dimension of the result */
    int64_t groups;
};

static struct value *cut(struct call *c, const struct value *v, int dim, int64_t start,
                         int64_t size)
{
    struct stride_copy s = { .rank = v->rank };
    int64_t dims[EVAL_RANK_MAX];
    struct value *made;

    value_strides(v, s.from_step);
    for (int d = 0; d < v->rank; d++)
        dims[d] = s.dim[d] = d == dim ? size : v->dim[d];
    made = call_array(c, v->element, v->rank, dims);
    if (!made)
        return NULL;
    value_strides(made, s.to_step);
    stride_copy(s, value_element_bytes(v), made->data,
                (char *)v->data + (size_t)(start * s.from_step[dim]) * value_element_bytes(v));
    return made;
}

/* without one dimension of size one */
static struct value *dropped(struct call *c, struct value *v, int dim)
{
    int64_t dims[EVAL_RANK_MAX];
    struct value *made;
    int n = 0;

    if (!v)
        return NULL;
    for (int d = 0; d < v->rank; d++)
        if (d != dim)
            dims[n++] = v->dim[d];
    made = value_view(&c->ev->pool, v, v->element, n, dims);
    value_drop(&c->ev->pool, v);
    return made;
}

static struct hlo_ints shifted(const struct hlo_ints *l, int above, int64_t *room)
{
    for (int k = 0; k < l->count; k++)
        room[k] = l->item[k] - (above >= 0 && l->item[k] > above);
    return (struct hlo_ints){ l->count, room };
}

static bool is_listed(const struct hlo_ints *l, int64_t d)
{
    for (int k = 0; k < l->count; k++)
        if (l->item[k] == d)
            return true;
    return false;
}

/* the sizes of a dot: batch, free dimensions of the left, of the right */
static int dot_dims(const struct hlo_dot *d, const struct value *x, const struct value *y,
                    int64_t *dim)
{
    int n = 0;

    for (int k = 0; k < d->lhs_batch.count; k++)
        dim[n++] = x->dim[d->lhs_batch.item[k]];
    for (int k = 0; k < x->rank; k++)
        if (!is_listed(&d->lhs_batch, k) && !is_listed(&d->lhs_contract, k))
            dim[n++] = x->dim[k];
    for (int k = 0; k < y->rank; k++)
        if (!is_listed(&d->rhs_batch, k) && !is_listed(&d->rhs_contract, k))
            dim[n++] = y->dim[k];
    return n;
}

/* x and y, which it drops, multiplied as another instruction would */
static struct value *plain_dot(const struct ragged *r, struct value *x, struct value *y)
{
    int64_t room[2][EVAL_RANK_MAX], dim[EVAL_RANK_MAX];
    struct hlo_instruction i = *r->c->i;
    struct hlo_detail detail = *hlo_detail(&i);
    struct hlo_dot dot = *r->dot;
    struct value *operand[2] = { x, y };
    struct hlo_type type = *i.type;
    struct call sub = *r->c;
    int status = -1;

    dot.rhs_batch = shifted(&r->dot->rhs_batch, r->group_dim, room[0]);
    dot.rhs_contract = shifted(&r->dot->rhs_contract, r->group_dim, room[1]);
    i.op = OPCODE_DOT;
    detail.dot = &dot;
    i.detail = &detail;
    sub.i = &i;
    sub.operand = operand;
    sub.result = NULL;
    if (x && y) {
        type.rank = dot_dims(&dot, x, y, dim);
        type.dim = dim;
        type.is_bounded = NULL;
        i.type = &type;
        status = eval_dot(&sub);
    }
    value_drop(&r->c->ev->pool, x);
    value_drop(&r->c->ev->pool, y);
    return status ? NULL : sub.result;
}

/* where a group's product goes: along the ragged dimension, or as row g of the result */
static int place(const struct ragged *r, const struct value *from, int64_t g, int64_t start)
{
    struct value *to = r->c->result;
    struct stride_copy s = { .rank = from->rank };
    int64_t step[EVAL_RANK_MAX], at = 0;
    int along = r->dot->lhs_batch.count, shift = to->rank - from->rank;

    for (int d = 0; d < r->along; d++)
        along += !is_listed(&r->dot->lhs_batch, d) && !is_listed(&r->dot->lhs_contract, d);
    if (shift != (r->group_dim < 0) || (shift && g >= to->dim[0]))
        return call_fail(r->c, "its result has another rank, or other groups");
    value_strides(from, s.from_step);
    value_strides(to, step);
    for (int d = 0; d < from->rank; d++) {
        bool is_cut = !shift && d == along;

        s.dim[d] = from->dim[d];
        s.to_step[d] = step[d + shift];
        if (is_cut ? start + s.dim[d] > to->dim[d] : s.dim[d] != to->dim[d + shift])
            return call_fail(r->c, "its result is not as large as the groups' products");
    }
    at = shift ? g * step[0] : start * step[along];
    stride_copy(s, value_element_bytes(to), (char *)to->data +
                (size_t)at * value_element_bytes(to), from->data);
    return 0;
}

static int run_group(const struct ragged *r, int64_t g, int64_t start, int64_t size)
{
    struct call *c = r->c;
    struct value *x = cut(c, c->operand[0], r->along, start, size), *y, *z;
    int status;

    if (r->group_dim >= 0)
        y = dropped(c, cut(c, c->operand[1], r->group_dim, g, 1), r->group_dim);
    else
        y = cut(c, c->operand[1], r->rhs_along, start, size);
    z = plain_dot(r, x, y);
    if (!z)
        return -1;
    status = place(r, z, g, start);
    value_drop(&c->ev->pool, z);
    return status;
}

/* does each number name a dimension of that operand? */
static int check_list(const struct call *c, const struct hlo_ints *l, int operand)
{
    for (int k = 0; k < l->count; k++)
        if (l->item[k] < 0 || l->item[k] >= c->operand[operand]->rank)
            return call_fail(c, "operand %d has no dimension %lld", operand,
                             (long long)l->item[k]);
    return 0;
}

static int check_dims(const struct call *c)
{
    const struct hlo_dot *d = hlo_detail(c->i)->dot;

    if (d->lhs_contract.count != d->rhs_contract.count || d->lhs_batch.count != d->rhs_batch.count)
        return call_fail(c, "batches or contracted dimensions are not in pairs");
    return check_list(c, &d->lhs_batch, 0) || check_list(c, &d->lhs_contract, 0) ||
           check_list(c, &d->lhs_ragged, 0) || check_list(c, &d->rhs_batch, 1) ||
           check_list(c, &d->rhs_contract, 1) || check_list(c, &d->rhs_group, 1) ? -1 : 0;
}

static int find_dims(struct ragged *r)
{
    const struct hlo_dot *d = r->dot;

    r->along = d->lhs_ragged.count ? (int)d->lhs_ragged.item[0] : -1;
    r->group_dim = d->rhs_group.count ? (int)d->rhs_group.item[0] : -1;
    r->rhs_along = -1;
    for (int k = 0; k < d->lhs_contract.count; k++)
        if (d->lhs_contract.item[k] == r->along)
            r->rhs_along = (int)d->rhs_contract.item[k];
    if (r->along < 0 || (r->group_dim < 0 && r->rhs_along < 0))
        return call_fail(r->c, "neither rows nor contracted elements are cut into groups");
    if (r->c->operand[2]->rank != 1)
        return call_fail(r->c, "the sizes of groups are one list");
    r->groups = r->c->operand[2]->dim[0];
    if (r->group_dim >= 0 && r->c->operand[1]->dim[r->group_dim] != r->groups)
        return call_fail(r->c, "%lld groups have %lld matrices", (long long)r->groups,
                         (long long)r->c->operand[1]->dim[r->group_dim]);
    return 0;
}

int eval_ragged_dot(struct call *c)
{
    struct ragged r = { .c = c, .dot = hlo_detail(c->i)->dot };
    int64_t start = 0, size;

    if (check_dims(c))
        return -1;
    if (is_listed(&hlo_detail(c->i)->dot->lhs_batch, hlo_detail(c->i)->dot->lhs_ragged.count
                                              ? hlo_detail(c->i)->dot->lhs_ragged.item[0] : -1))
        return eval_dot(c);                     /* groups of batches change nothing */
    if (find_dims(&r) || call_result(c))
        return -1;
    memset(c->result->data, 0,
           (size_t)value_count(c->result) * value_element_bytes(c->result));
    for (int64_t g = 0; g < r.groups; g++, start += size) {
        int64_t room = c->operand[0]->dim[r.along] - start;

        size = clamp_int(value_int(c->operand[2], g), 0, room);
        if (size && run_group(&r, g, start, size))
            return -1;
    }
    return 0;
}

/* x times its scale, one for each block of elements along each dimension; the caller's */
static struct value *scaled(struct call *c, const struct value *x, const struct value *scale)
{
    struct value *made = call_array(c, ELEMENT_F32, x->rank, x->dim);
    int64_t index[EVAL_RANK_MAX] = { 0 }, step[EVAL_RANK_MAX], at = 0;
    float *to;

    if (!made || value_count(x) == 0)
        return made;
    to = made->data;
    lane_convert(ELEMENT_F32, to, x->element, x->data, value_count(x));
    value_strides(scale, step);
    do {
        int64_t from = 0;

        for (int d = 0; d < scale->rank && d < x->rank; d++)
            from += index[d] * scale->dim[d] / x->dim[d] * step[d];
        to[at++] *= (float)hlo_element_load(scale->element, (const char *)scale->data +
                                            (size_t)from * value_element_bytes(scale));
    } while (stride_next(x->rank, x->dim, index));
    return made;
}

static int scaled_dot(struct call *c)
{
    struct value *operand[2] = { scaled(c, c->operand[0], c->operand[2]),
                                 scaled(c, c->operand[1], c->operand[3]) };
    struct call sub = *c;
    int status = operand[0] && operand[1] ? 0 : -1;

    sub.operand = operand;
    if (!status)
        status = eval_dot(&sub);
    c->result = sub.result;
    value_drop(&c->ev->pool, operand[0]);
    value_drop(&c->ev->pool, operand[1]);
    return status;
}

int eval_scaled_dot(struct call *c)
{
    return check_dims(c) ? -1 : scaled_dot(c);
}
