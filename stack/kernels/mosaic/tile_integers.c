/*
 * Sums and extremes of integers along lanes: those that are known to be small, as indices and counts
 * are, take one pass of a cross-lane unit, others two (stack/kernels/loop/fused_lanes.c).
 */
#include "stack/kernels/mosaic/tile.h"

enum {
    F32_EXACT = 1 << 24,                /* integers below it are floats */
    DEPTH_MAX = 12,                     /* operations that a bound is followed through */
};

/* ----- how large a number may be */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t of_type(enum mosaic_element e)
{
    int bits = mosaic_element_bits(e);

    return bits >= 32 ? INT64_C(1) << 32 : INT64_C(1) << bits;
}

static int64_t of_constant(const struct mosaic_op *op, int64_t most)
{
    const struct mosaic_attr *a = mosaic_attr(op, "value");
    int64_t bound = 0;

    if (a->kind == MOSAIC_ATTR_INT)
        return smaller(most, a->integer < 0 ? -a->integer : a->integer);
    if (a->kind != MOSAIC_ATTR_ELEMENTS)
        return most;
    for (int i = 0; i < (a->is_splat ? 1 : a->count); i++) {
        int64_t x = (int32_t)a->element[i];

        bound = larger(bound, x < 0 ? -x : x);
    }
    return smaller(most, bound);
}

static int64_t bound_of(const struct mosaic_value *v, int depth);

/* no element is larger, without its sign, than in any of the operands from `first` on */
static int64_t of_operands(const struct mosaic_op *op, int first, int depth)
{
    int64_t bound = 0;

    for (int i = first; i < op->operand_count; i++)
        bound = larger(bound, bound_of(op->operand[i], depth + 1));
    return bound;
}

/* of an index along any of its dimensions */
static int64_t of_dims(const struct mosaic_value *v)
{
    int64_t bound = 0;

    for (int d = 0; d < v->type.rank; d++)
        bound = larger(bound, v->type.dim[d]);
    return bound;
}

static int64_t of_sum_or_product(const struct mosaic_op *op, int depth)
{
    int64_t a = bound_of(op->operand[0], depth + 1), b = bound_of(op->operand[1], depth + 1);

    return op->code == MOSAIC_MULI ? a * smaller(b, INT32_MAX) : a + b;
}

/* elements of v are smaller than or equal to this, without their signs, as signed numbers are */
static int64_t bound_of(const struct mosaic_value *v, int depth)
{
    int64_t most = of_type(v->type.element);

    if (!v->op || depth > DEPTH_MAX)
        return most;
    switch (v->op->code) {
    case MOSAIC_CONSTANT: return of_constant(v->op, most);
    case MOSAIC_IOTA: return smaller(most, of_dims(v));
    case MOSAIC_REDUCE_INDEX: return smaller(most, of_dims(v->op->operand[0]));
    case MOSAIC_ADDI: case MOSAIC_SUBI: case MOSAIC_MULI:
        return smaller(most, of_sum_or_product(v->op, depth));
    case MOSAIC_EXTSI: case MOSAIC_EXTUI: case MOSAIC_MINSI: case MOSAIC_MAXSI:
    case MOSAIC_BROADCAST: case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE:
    case MOSAIC_CONCATENATE: case MOSAIC_TRANSPOSE: case MOSAIC_VECTOR_TRANSPOSE:
    case MOSAIC_STRIDED_SLICE:
        return smaller(most, of_operands(v->op, 0, depth));
    case MOSAIC_SELECT: return smaller(most, of_operands(v->op, 1, depth));
    default: return most;
    }
}

/* ----- along lanes */

opnd tile_integers_across(struct tiler *t, const struct mosaic_op *op, enum graph_reduce kind, opnd x)
{
    const struct mosaic_type *from = &op->operand[0]->type, *to = &op->result[0]->type;
    bool is_unsigned = mosaic_text(op, "kind", "")[3] == 'u';
    int64_t together = kind == REDUCE_ADD ? mosaic_elements(from) / mosaic_elements(to) : 1;
    int unit = tile_unit(t);

    if (!is_unsigned && bound_of(op->operand[0], 0) < F32_EXACT / together)
        return fused_small_across_lanes(t->c, unit, kind, x);
    return fused_integers_across_lanes(t->c, unit, tile_unit(t), kind, is_unsigned, x);
}
