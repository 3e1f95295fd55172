/*
 * Reductions over several dimensions as one after the other, from outer dimensions to lanes, and the
 * index of an extreme along other dimensions than the last as the least index that has it.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

#include <string.h>

static expanded reduce(struct expand *e, expanded x, int dim, const char *kind, expanded start)
{
    const expanded operand[] = {x, start};
    int64_t *dims = arena_array(e->a, 1, sizeof(*dims));
    struct mosaic_attr attr[] = {
        {.name = "kind", .kind = MOSAIC_ATTR_TEXT, .text = kind},
        {.name = "reduction_dims", .kind = MOSAIC_ATTR_INTS, .count = 1, .ints = dims}};

    dims[0] = dim;
    return expand_op(e, MOSAIC_MULTI_REDUCTION, &start->type, operand, 2, attr, 2);
}

static struct mosaic_type without(const struct mosaic_type *t, int dim)
{
    struct mosaic_type made = *t;

    made.rank--;
    for (int d = dim; d < made.rank; d++)
        made.dim[d] = t->dim[d + 1];
    return made;
}

static bool has_outer(const struct mosaic_type *t, uint32_t mask)
{
    for (int d = 0; d < t->rank - 2; d++)
        if (mask >> d & 1)
            return true;
    return false;
}

/* Rows and lanes of one outer index are reduced at once, to one element. */
static bool is_at_once(const struct mosaic_type *t, uint32_t mask)
{
    for (int d = 0; d < t->rank - 2; d++)
        if (t->dim[d] != 1)
            return false;
    return t->rank >= 2 && mask >> (t->rank - 2) == 3;
}

/* the start of a reduction in another type: neutral ones stay constants */
static expanded start_as(struct expand *e, const struct mosaic_op *op, uint32_t neutral)
{
    const struct mosaic_op *from = op->operand[1]->op;
    const struct mosaic_attr *a = from && from->code == MOSAIC_CONSTANT ? mosaic_attr(from, "value")
                                                                        : NULL;
    const struct mosaic_type t = expand_type(&op->operand[1]->type, MOSAIC_F32);

    return a && a->kind == MOSAIC_ATTR_ELEMENTS && a->is_splat && a->element[0] == neutral
               ? expand_constant(e, &t, neutral)
               : expand_op1(e, MOSAIC_EXTF, &t, expand_operand(e, op, 1));
}

/* Registers add up words: bf16 along other dimensions than lanes is reduced as f32. */
bool expand_reduction(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    const struct mosaic_type *t = &op->operand[0]->type;
    const char *kind = mosaic_text(op, "kind", "");
    uint32_t mask = mosaic_reduced_dims(op), neutral;
    bool is_widened = t->element == MOSAIC_BF16 && mask != 1u << (t->rank - 1);
    int left_over = __builtin_popcount(mask);
    expanded x = expand_operand(e, op, 0), start = expand_operand(e, op, 1);

    if (op->result[0]->type.kind != MOSAIC_VECTOR || !mosaic_neutral(kind, t->element, &neutral) ||
        (!is_widened && (left_over < 2 || (is_at_once(t, mask) && !has_outer(t, mask)))))
        return false;
    if (is_widened) {
        const struct mosaic_type wide = expand_type(t, MOSAIC_F32);

        x = expand_op1(e, MOSAIC_EXTF, &wide, x);
        start = start_as(e, op, neutral);
    }
    for (int d = 0, at = 0; d < t->rank; d++) {
        struct mosaic_type to;

        if (!(mask >> d & 1)) {
            at++;
            continue;
        }
        to = without(&x->type, at);
        x = reduce(e, x, at, kind, --left_over ? expand_constant(e, &to, neutral) : start);
    }
    *result = is_widened ? expand_op1(e, MOSAIC_TRUNCF, &op->result[0]->type, x) : x;
    return true;
}

/* what is the same along a dimension, or a NaN, by the least of its indices */
bool expand_index(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    const struct mosaic_type t = op->operand[0]->type, to = op->result[0]->type;
    bool is_max = !strcmp(mosaic_text(op, "kind", ""), "arg_max");
    int dim = (int)mosaic_int(op, "axis", 0);
    struct mosaic_type flags = expand_type(&t, MOSAIC_I1), whole = expand_type(&t, MOSAIC_I32);
    struct mosaic_type less, kept = t;
    struct mosaic_attr equal = {.name = "predicate", .kind = MOSAIC_ATTR_INT, .integer = 1};
    struct mosaic_attr unequal = {.name = "predicate", .kind = MOSAIC_ATTR_INT, .integer = 13};
    struct mosaic_attr along = {.name = "dimensions", .kind = MOSAIC_ATTR_INTS, .count = 1};
    int64_t *dims = arena_array(e->a, 1, sizeof(*dims));
    expanded x, best, is_best, index, operand[3];

    if (t.element != MOSAIC_F32 || dim < 0 || dim >= t.rank - 1 || to.kind != MOSAIC_VECTOR)
        return false;
    x = expand_operand(e, op, 0);
    less = without(&t, dim);
    kept.dim[dim] = 1;
    dims[0] = dim;
    along.ints = dims;
    best = reduce(e, x, dim, is_max ? "maximumf" : "minimumf",
                  expand_constant(e, &less, is_max ? 0xff800000u : 0x7f800000u));
    best = expand_op1(e, MOSAIC_BROADCAST, &t, expand_op1(e, MOSAIC_SHAPE_CAST, &kept, best));
    operand[0] = x;
    operand[1] = best;
    is_best = expand_op(e, MOSAIC_CMPF, &flags, operand, 2, &equal, 1);
    operand[1] = x;
    is_best = expand_op2(e, MOSAIC_ORI, &flags, is_best,
                         expand_op(e, MOSAIC_CMPF, &flags, operand, 2, &unequal, 1));
    index = expand_op(e, MOSAIC_IOTA, &whole, NULL, 0, &along, 1);
    operand[0] = is_best;
    operand[1] = index;
    operand[2] = expand_constant(e, &whole, INT32_MAX);
    index = expand_op(e, MOSAIC_SELECT, &whole, operand, 3, NULL, 0);
    less.element = MOSAIC_I32;
    *result = reduce(e, index, dim, "minsi", expand_constant(e, &less, INT32_MAX));
    return true;
}
