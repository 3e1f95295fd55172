/* Operations on vectors as a whole: those that spread, join, cut and move elements. */
#include "stack/mosaic/run_impl.h"

#include <string.h>

int mosaic_eval_broadcast(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type, *t = &op->result[0]->type;
    int64_t index[MOSAIC_RANK_MAX] = {0}, step[MOSAIC_RANK_MAX] = {0}, stride[MOSAIC_RANK_MAX];
    int lead = t->rank - from->rank;
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    uint32_t *to = mosaic_out(r, op);
    int64_t i = 0;

    if (lead < 0)
        return mosaic_stop(r, op, "its result has fewer dimensions than its operand");
    mosaic_strides(from, stride);
    for (int d = 0; d < from->rank; d++) {
        if (from->dim[d] != 1 && from->dim[d] != t->dim[lead + d])
            return mosaic_stop(r, op, "dimension %d of %lld becomes %lld", d,
                               (long long)from->dim[d], (long long)t->dim[lead + d]);
        step[lead + d] = from->dim[d] == 1 ? 0 : stride[d];
    }
    do
        to[i++] = a[mosaic_at(index, step, t->rank)];
    while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

int mosaic_eval_reshape(struct mosaic_run *r, const struct mosaic_op *op)
{
    int64_t n = mosaic_elements(&op->result[0]->type);

    if (mosaic_elements(&op->operand[0]->type) != n)
        return mosaic_stop(r, op, "another number of elements");
    memcpy(mosaic_out(r, op), mosaic_words(r, op->operand[0]), (size_t)n * sizeof(uint32_t));
    return 0;
}

int mosaic_eval_iota(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const struct mosaic_attr *dims = mosaic_attr(op, "dimensions");
    int64_t index[MOSAIC_RANK_MAX] = {0}, i = 0;
    uint32_t *to = mosaic_out(r, op);

    if (!dims || dims->kind != MOSAIC_ATTR_INTS)
        return mosaic_stop(r, op, "it names no dimensions");
    for (int d = 0; d < dims->count; d++)
        if (mosaic_check_dim(r, op, dims->ints[d], t->rank))
            return -1;
    do {
        int64_t x = 0;

        for (int d = 0; d < dims->count; d++)
            x = x * t->dim[dims->ints[d]] + index[dims->ints[d]];
        to[i++] = (uint32_t)mosaic_wrap(t->element, x);
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

int mosaic_eval_concatenate(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t dim = mosaic_int(op, "dimension", 0), outer = 1, inner = 1, done = 0;
    uint32_t *to = mosaic_out(r, op);

    if (mosaic_check_dim(r, op, dim, t->rank))
        return -1;
    for (int d = 0; d < dim; d++)
        outer *= t->dim[d];
    for (int d = (int)dim + 1; d < t->rank; d++)
        inner *= t->dim[d];
    for (int k = 0; k < op->operand_count; k++) {
        int64_t size = op->operand[k]->type.dim[dim] * inner;

        if (done + size > t->dim[dim] * inner ||
            mosaic_elements(&op->operand[k]->type) != outer * size)
            return mosaic_stop(r, op, "operand %d does not fit its place", k);
        for (int64_t o = 0; o < outer; o++)
            memcpy(to + o * t->dim[dim] * inner + done, mosaic_words(r, op->operand[k]) + o * size,
                   (size_t)size * sizeof(*to));
        done += size;
    }
    return 0;
}

int mosaic_eval_repeat(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    int64_t dim = mosaic_int(op, "dimension", 0), index[MOSAIC_RANK_MAX] = {0}, i = 0;
    int64_t stride[MOSAIC_RANK_MAX], where[MOSAIC_RANK_MAX];
    uint32_t *to = mosaic_out(r, op);

    if (mosaic_check_dim(r, op, dim, t->rank))
        return -1;
    mosaic_strides(from, stride);
    do {
        memcpy(where, index, sizeof(where));
        where[dim] %= from->dim[dim];
        to[i++] = mosaic_words(r, op->operand[0])[mosaic_at(where, stride, t->rank)];
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

/* a sub-vector or a scalar at a position, of which the dynamic entries are INT64_MIN */
int mosaic_eval_extract(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *position = mosaic_attr(op, "static_position");
    const struct mosaic_type *from = &op->operand[0]->type;
    int64_t n = mosaic_elements(&op->result[0]->type), offset = 0, stride[MOSAIC_RANK_MAX];
    int dynamic = 1;
    uint32_t *to = mosaic_out(r, op);

    if (!position)
        position = mosaic_attr(op, "position");
    if (!position || position->count > from->rank)
        return mosaic_stop(r, op, "no position in its operand");
    mosaic_strides(from, stride);
    for (int d = 0; d < position->count; d++) {
        int64_t p = position->ints[d];

        if (p == INT64_MIN && dynamic < op->operand_count)
            p = mosaic_int_in(r, op->operand[dynamic++]);
        if (p < 0 || p >= from->dim[d])
            return mosaic_stop(r, op, "position %lld of a dimension of %lld", (long long)p,
                               (long long)from->dim[d]);
        offset += p * stride[d];
    }
    memcpy(to, mosaic_words(r, op->operand[0]) + offset, (size_t)n * sizeof(*to));
    if (op->result[0]->type.kind == MOSAIC_SCALAR)
        mosaic_datum(r, op->result[0])->integer = (int32_t)to[0];
    return 0;
}

int mosaic_eval_strided_slice(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    const struct mosaic_attr *offsets = mosaic_attr(op, "offsets");
    const struct mosaic_attr *strides = mosaic_attr(op, "strides");
    int64_t index[MOSAIC_RANK_MAX] = {0}, where[MOSAIC_RANK_MAX], stride[MOSAIC_RANK_MAX], i = 0;
    uint32_t *to = mosaic_out(r, op);

    if (!offsets || offsets->count > from->rank)
        return mosaic_stop(r, op, "no offsets");
    mosaic_strides(from, stride);
    do {
        for (int d = 0; d < t->rank; d++) {
            int64_t step = strides && d < strides->count ? strides->ints[d] : 1;

            where[d] = (d < offsets->count ? offsets->ints[d] : 0) + index[d] * step;
            if (where[d] < 0 || where[d] >= from->dim[d])
                return mosaic_stop(r, op, "it leaves its operand in dimension %d", d);
        }
        to[i++] = mosaic_words(r, op->operand[0])[mosaic_at(where, stride, t->rank)];
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

int mosaic_eval_transpose(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    const struct mosaic_attr *p = mosaic_attr(op, "permutation");
    int64_t index[MOSAIC_RANK_MAX] = {0}, stride[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX], i = 0;
    uint32_t *to = mosaic_out(r, op);

    if (!p || p->count != t->rank || t->rank != from->rank)
        return mosaic_stop(r, op, "no permutation of its dimensions");
    mosaic_strides(from, stride);
    for (int d = 0; d < t->rank; d++) {
        if (mosaic_check_dim(r, op, p->ints[d], t->rank))
            return -1;
        step[d] = stride[p->ints[d]];
    }
    do
        to[i++] = mosaic_words(r, op->operand[0])[mosaic_at(index, step, t->rank)];
    while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

/* towards higher indices, by amount, and stride more for each index of another dimension */
int mosaic_eval_rotate(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t dim = mosaic_int(op, "dimension", 0), stride = mosaic_int(op, "stride", 0);
    int64_t along = mosaic_int(op, "stride_dimension", dim), i = 0;
    int64_t amount = op->operand_count > 1 ? mosaic_int_in(r, op->operand[1])
                                           : mosaic_int(op, "amount", 0);
    int64_t index[MOSAIC_RANK_MAX] = {0}, where[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX];
    uint32_t *to = mosaic_out(r, op);

    if (mosaic_check_dim(r, op, dim, t->rank) || mosaic_check_dim(r, op, along, t->rank))
        return -1;
    mosaic_strides(t, step);
    do {
        int64_t by = amount + (along == dim ? 0 : stride * index[along]);

        memcpy(where, index, sizeof(where));
        where[dim] = ((index[dim] - by) % t->dim[dim] + t->dim[dim]) % t->dim[dim];
        to[i++] = mosaic_words(r, op->operand[0])[mosaic_at(where, step, t->rank)];
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

/* each element from the place that the index says, along dimensions that count as one */
int mosaic_eval_dynamic_gather(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    const struct mosaic_attr *dims = mosaic_attr(op, "dimensions");
    int64_t index[MOSAIC_RANK_MAX] = {0}, where[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX], i = 0;
    int64_t size = 1;
    uint32_t *to = mosaic_out(r, op);

    if (!dims || dims->kind != MOSAIC_ATTR_INTS || t->rank != from->rank)
        return mosaic_stop(r, op, "it names no dimensions");
    for (int d = 0; d < dims->count; d++) {
        if (mosaic_check_dim(r, op, dims->ints[d], t->rank))
            return -1;
        size *= from->dim[dims->ints[d]];
    }
    mosaic_strides(from, step);
    do {
        int64_t place = (int32_t)mosaic_words(r, op->operand[1])[i] % size;

        place += place < 0 ? size : 0;
        memcpy(where, index, sizeof(where));
        for (int d = dims->count - 1; d >= 0; d--) {
            where[dims->ints[d]] = place % from->dim[dims->ints[d]];
            place /= from->dim[dims->ints[d]];
        }
        to[i++] = mosaic_words(r, op->operand[0])[mosaic_at(where, step, t->rank)];
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

int mosaic_eval_gather(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    const struct mosaic_attr *indices = mosaic_attr(op, "indices");
    int64_t dim = mosaic_int(op, "dimension", 0), index[MOSAIC_RANK_MAX] = {0}, i = 0;
    int64_t where[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX];
    uint32_t *to = mosaic_out(r, op);

    if (mosaic_check_dim(r, op, dim, t->rank) || !indices || indices->count != t->dim[dim])
        return mosaic_stop(r, op, "it does not say an index for each place");
    mosaic_strides(from, step);
    do {
        memcpy(where, index, sizeof(where));
        where[dim] = indices->ints[index[dim]];
        if (where[dim] < 0 || where[dim] >= from->dim[dim])
            return mosaic_stop(r, op, "index %lld of %lld", (long long)where[dim],
                               (long long)from->dim[dim]);
        to[i++] = mosaic_words(r, op->operand[0])[mosaic_at(where, step, t->rank)];
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

int mosaic_eval_create_mask(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t index[MOSAIC_RANK_MAX] = {0}, i = 0;
    uint32_t *to = mosaic_out(r, op);

    if (op->operand_count != 2 * t->rank)
        return mosaic_stop(r, op, "%d bounds of %d dimensions", op->operand_count, t->rank);
    do {
        bool is_in = true;

        for (int d = 0; d < t->rank; d++)
            is_in = is_in && index[d] >= mosaic_int_in(r, op->operand[d]) &&
                    index[d] < mosaic_int_in(r, op->operand[t->rank + d]);
        to[i++] = is_in;
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}
