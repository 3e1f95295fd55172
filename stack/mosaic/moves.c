/* Where the elements of reshaped, cut, joined, repeated and rotated vectors come from. */
#include "stack/mosaic/moves.h"

#include <string.h>

static int64_t remainder_of(int64_t a, int64_t n)
{
    return (a % n + n) % n;
}

static int reshaped(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_type *t = &op->result[0]->type, *f = &op->operand[0]->type;
    int64_t at = 0;

    for (int d = 0; d < t->rank; d++)
        at = at * t->dim[d] + to[d];
    for (int d = f->rank - 1; d >= 0; d--) {
        from[d] = at % f->dim[d];
        at /= f->dim[d];
    }
    return 0;
}

static int cut(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_attr *offsets = mosaic_attr(op, "offsets");
    const struct mosaic_attr *strides = mosaic_attr(op, "strides");

    for (int d = 0; d < op->result[0]->type.rank; d++) {
        int64_t by = strides && d < strides->count ? strides->ints[d] : 1;

        from[d] = to[d] * by + (offsets && d < offsets->count ? offsets->ints[d] : 0);
    }
    return 0;
}

static int joined(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    int64_t dim = mosaic_int(op, "dimension", 0), first = 0;

    memcpy(from, to, (size_t)op->result[0]->type.rank * sizeof(*to));
    if (dim < 0 || dim >= op->result[0]->type.rank)
        return -1;
    for (int i = 0; i < op->operand_count; i++) {
        int64_t size = op->operand[i]->type.dim[dim];

        if (to[dim] < first + size) {
            from[dim] = to[dim] - first;
            return i;
        }
        first += size;
    }
    return -1;
}

static int rotated(const struct mosaic_op *op, int64_t amount, const int64_t *to, int64_t *from)
{
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t dim = mosaic_int(op, "dimension", 0), stride = mosaic_int(op, "stride", 0);
    int64_t along = mosaic_int(op, "stride_dimension", dim);

    if (dim < 0 || dim >= t->rank || along < 0 || along >= t->rank)
        return -1;
    memcpy(from, to, (size_t)t->rank * sizeof(*to));
    if (along != dim)
        amount += stride * to[along];
    from[dim] = remainder_of(to[dim] - amount, t->dim[dim]);
    return 0;
}

static int repeated(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_type *f = &op->operand[0]->type;
    int64_t dim = mosaic_int(op, "dimension", 0);

    if (dim < 0 || dim >= f->rank)
        return -1;
    memcpy(from, to, (size_t)f->rank * sizeof(*to));
    from[dim] %= f->dim[dim];
    return 0;
}

static int spread(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_type *t = &op->result[0]->type, *f = &op->operand[0]->type;

    if (f->kind != MOSAIC_VECTOR)
        return -1;
    for (int d = 0; d < f->rank; d++)
        from[d] = f->dim[d] == 1 ? 0 : to[t->rank - f->rank + d];
    return 0;
}

static int picked(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_attr *indices = mosaic_attr(op, "indices");
    const struct mosaic_type *f = &op->operand[0]->type;
    int64_t dim = mosaic_int(op, "dimension", 0);

    if (dim < 0 || dim >= f->rank || !indices || to[dim] >= indices->count)
        return -1;
    memcpy(from, to, (size_t)f->rank * sizeof(*to));
    from[dim] = indices->ints[to[dim]];
    return from[dim] < 0 || from[dim] >= f->dim[dim] ? -1 : 0;
}

/* a part of known position */
static int extracted(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_attr *position = mosaic_attr(op, "static_position");
    const struct mosaic_type *f = &op->operand[0]->type;

    if (!position)
        position = mosaic_attr(op, "position");
    if (!position || op->result[0]->type.kind != MOSAIC_VECTOR ||
        position->count + op->result[0]->type.rank != f->rank)
        return -1;
    for (int d = 0; d < position->count; d++) {
        from[d] = position->ints[d];
        if (from[d] < 0 || from[d] >= f->dim[d])
            return -1;
    }
    memcpy(from + position->count, to, (size_t)op->result[0]->type.rank * sizeof(*to));
    return 0;
}

static int transposed(const struct mosaic_op *op, const int64_t *to, int64_t *from)
{
    const struct mosaic_attr *p = mosaic_attr(op, "permutation");

    if (!p || p->count != op->result[0]->type.rank)
        return -1;
    for (int d = 0; d < p->count; d++) {
        if (p->ints[d] < 0 || p->ints[d] >= p->count)
            return -1;
        from[p->ints[d]] = to[d];
    }
    return 0;
}

int mosaic_move(const struct mosaic_op *op, int64_t amount, const int64_t *to, int64_t *from)
{
    switch (op->code) {
    case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE: return reshaped(op, to, from);
    case MOSAIC_STRIDED_SLICE: return cut(op, to, from);
    case MOSAIC_CONCATENATE: return joined(op, to, from);
    case MOSAIC_ROTATE: return rotated(op, mosaic_int(op, "amount", 0), to, from);
    case MOSAIC_DYNAMIC_ROTATE: return rotated(op, amount, to, from);
    case MOSAIC_REPEAT: return repeated(op, to, from);
    case MOSAIC_BROADCAST: return spread(op, to, from);
    case MOSAIC_GATHER: return picked(op, to, from);
    case MOSAIC_EXTRACT: return extracted(op, to, from);
    case MOSAIC_TRANSPOSE: case MOSAIC_VECTOR_TRANSPOSE: return transposed(op, to, from);
    default: return -1;
    }
}
