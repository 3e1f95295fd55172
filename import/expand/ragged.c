/*
 * ragged-dot and scaled-dot. Groups of rows, or of contracted elements, as long as a list says, meet
 * a matrix each: group by group, all rows are multiplied and those of the group are kept; of
 * contracted elements those of other groups are zeros.
 */
#include "import/expand/loop.h"
#include "import/expand/site.h"

enum { LHS, RHS, SIZES, START, RESULT, COUNT };

struct ragged {
    const struct hlo_instruction *from;
    int along, rhs_along, group_dim, result_along;      /* dimensions; -1: none */
};

static bool is_listed(struct hlo_ints l, int64_t d)
{
    for (int k = 0; k < l.count; k++)
        if (l.item[k] == d)
            return true;
    return false;
}

static struct hlo_ints without(struct hlo_builder *b, struct hlo_ints l, int dim)
{
    int64_t *item = arena_array(b->module->arena, (size_t)l.count + 1, sizeof(*item));

    for (int k = 0; k < l.count; k++)
        item[k] = l.item[k] - (dim >= 0 && l.item[k] > dim);
    return (struct hlo_ints){l.count, item};
}

/* pred like x: is the place along `dim` from start on and before end? */
static int within(struct hlo_builder *b, int x, int dim, int start, int end)
{
    struct hlo_type t = ar_type(b, x, ELEMENT_S32);
    int at = hlo_iota(b, &t, dim);
    int from = ar_ge(b, at, ar_spread(b, start, at));

    return ar_and(b, from, ar_lt(b, at, ar_spread(b, end, at)));
}

/* one matrix of the right side, without the dimension of groups */
static int group_of(struct hlo_builder *b, int y, int dim, int group)
{
    struct hlo_type t = *hlo_type_of(b, y);
    int64_t *sizes = arena_array(b->module->arena, (size_t)t.rank, sizeof(*sizes));
    int64_t *kept = arena_array(b->module->arena, (size_t)t.rank, sizeof(*kept));
    int *start = arena_array(b->module->arena, (size_t)t.rank, sizeof(*start)), rank = 0;
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    for (int d = 0; d < t.rank; d++) {
        sizes[d] = d == dim ? 1 : t.dim[d];
        start[d] = d == dim ? group : zero;
        if (d != dim)
            kept[rank++] = t.dim[d];
    }
    return hlo_reshape(b, hlo_dynamic_slice(b, y, start, sizes), rank, kept);
}

static void round_body(struct hlo_builder *b, int *x, int group, const void *user)
{
    const struct ragged *r = user;
    const struct hlo_dot *dot = hlo_detail(r->from)->dot;
    enum hlo_element e = r->from->type->element;
    struct hlo_dot plain = {.lhs_batch = dot->lhs_batch, .lhs_contract = dot->lhs_contract,
                            .rhs_batch = without(b, dot->rhs_batch, r->group_dim),
                            .rhs_contract = without(b, dot->rhs_contract, r->group_dim)};
    int64_t one = 1;
    int size = hlo_reshape(b, hlo_dynamic_slice(b, x[SIZES], &group, &one), 0, NULL), end, product;

    end = ar_add(b, x[START], ar_max(b, size, ar_int(b, size, 0)));
    if (r->group_dim >= 0) {
        product = hlo_dot(b, x[LHS], group_of(b, x[RHS], r->group_dim, group), &plain, e,
                          r->from->precision[0]);
        x[RESULT] = ar_sel(b, within(b, product, r->result_along, x[START], end), product, x[RESULT]);
    } else {
        int lhs = ar_sel(b, within(b, x[LHS], r->along, x[START], end), x[LHS],
                         ar_num(b, x[LHS], 0));
        int rhs = ar_sel(b, within(b, x[RHS], r->rhs_along, x[START], end), x[RHS],
                         ar_num(b, x[RHS], 0));
        struct hlo_type t = *r->from->type;
        int64_t *dim = arena_copy(b->module->arena, t.dim, (size_t)t.rank, sizeof(*dim));
        int *start = arena_array(b->module->arena, (size_t)t.rank, sizeof(*start));

        dim[0] = 1;
        for (int d = 0; d < t.rank; d++)
            start[d] = d ? ar_scalar(b, ELEMENT_S32, 0) : group;
        product = hlo_reshape(b, hlo_dot(b, lhs, rhs, &plain, e, r->from->precision[0]), t.rank, dim);
        x[RESULT] = hlo_dynamic_update_slice(b, x[RESULT], product, start);
    }
    x[START] = end;
}

static int plain_dot(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;

    i.op = OPCODE_DOT;
    i.operand_count = 2;
    return hlo_copy_instruction(s->b, &i, s->operand);
}

int expand_ragged_dot(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    const struct hlo_dot *d = hlo_detail(s->from)->dot;
    struct ragged r = {.from = s->from, .rhs_along = -1};
    struct hlo_type t = *s->from->type;
    struct expand_loop loop = {.count = COUNT, .body = round_body, .user = &r};

    r.along = d->lhs_ragged.count ? (int)d->lhs_ragged.item[0] : -1;
    r.group_dim = d->rhs_group.count ? (int)d->rhs_group.item[0] : -1;
    if (r.along >= 0 && is_listed(d->lhs_batch, r.along))
        return plain_dot(s);            /* groups of batches change nothing */
    for (int k = 0; k < d->lhs_contract.count; k++)
        if (d->lhs_contract.item[k] == r.along)
            r.rhs_along = (int)d->rhs_contract.item[k];
    if (r.along < 0 || (r.group_dim < 0 && r.rhs_along < 0))
        return expand_refuse(s, "neither rows nor contracted elements are cut into groups");
    if (expand_operand_type(s, 2)->rank != 1)
        return expand_refuse(s, "the sizes of groups must be one list");
    r.result_along = d->lhs_batch.count;
    for (int k = 0; k < r.along; k++)
        r.result_along += !is_listed(d->lhs_batch, k) && !is_listed(d->lhs_contract, k);
    loop.rounds = expand_operand_type(s, 2)->dim[0];
    loop.state[LHS] = s->operand[0];
    loop.state[RHS] = s->operand[1];
    loop.state[SIZES] = hlo_convert(b, s->operand[2], ELEMENT_S32);
    loop.state[START] = ar_scalar(b, ELEMENT_S32, 0);
    loop.state[RESULT] = hlo_constant(b, &t, 0);
    expand_loop(b, &loop);
    return loop.state[RESULT];
}

/* in f32, each element by the scale of its block */
static int scaled(struct expand_site *s, int operand, int scale_operand)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *t = expand_operand_type(s, operand);
    const struct hlo_type *blocks = expand_operand_type(s, scale_operand);
    int x = expand_to_f32(s, operand), scale = expand_to_f32(s, scale_operand);
    int64_t *wide = arena_array(b->module->arena, (size_t)t->rank * 2 + 1, sizeof(*wide));
    int64_t *dims = arena_array(b->module->arena, (size_t)t->rank + 1, sizeof(*dims));

    if (blocks->rank != t->rank)
        return blocks->rank == 0 ? ar_mul(b, x, ar_spread(b, scale, x)) : EXPAND_FAILED;
    for (int d = 0; d < t->rank; d++) {
        if (blocks->dim[d] == 0 || t->dim[d] % blocks->dim[d])
            return EXPAND_FAILED;
        wide[2 * d] = blocks->dim[d];
        wide[2 * d + 1] = t->dim[d] / blocks->dim[d];
        dims[d] = 2 * d;
    }
    scale = hlo_broadcast(b, scale, 2 * t->rank, wide, dims);
    return ar_mul(b, x, hlo_reshape(b, scale, t->rank, t->dim));
}

int expand_scaled_dot(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    int x = scaled(s, 0, 2), y = scaled(s, 1, 3);

    if (x < 0 || y < 0)
        return expand_refuse(s, "the dimensions of an operand must be multiples of its scales'");
    i.op = OPCODE_DOT;
    i.operand_count = 2;
    return hlo_copy_instruction(s->b, &i, (int[]){x, y});
}
