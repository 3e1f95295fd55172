/* Operations on vectors as a whole: those that move elements, reductions, products. */
#include "stack/mosaic/run_impl.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/floats.h"

static void strides_of(const struct mosaic_type *t, int64_t *stride)
{
    int64_t s = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        stride[d] = s;
        s *= t->dim[d];
    }
}

static int64_t at(const int64_t *index, const int64_t *stride, int rank)
{
    int64_t sum = 0;

    for (int d = 0; d < rank; d++)
        sum += index[d] * stride[d];
    return sum;
}

static int normal(struct mosaic_run *r, const struct mosaic_op *op, int64_t dim, int rank)
{
    if (dim < 0 || dim >= rank)
        return mosaic_stop(r, op, "dimension %lld of %d", (long long)dim, rank);
    return 0;
}

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
    strides_of(from, stride);
    for (int d = 0; d < from->rank; d++) {
        if (from->dim[d] != 1 && from->dim[d] != t->dim[lead + d])
            return mosaic_stop(r, op, "dimension %d of %lld becomes %lld", d,
                               (long long)from->dim[d], (long long)t->dim[lead + d]);
        step[lead + d] = from->dim[d] == 1 ? 0 : stride[d];
    }
    do
        to[i++] = a[at(index, step, t->rank)];
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
        if (normal(r, op, dims->ints[d], t->rank))
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

    if (normal(r, op, dim, t->rank))
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

    if (normal(r, op, dim, t->rank))
        return -1;
    strides_of(from, stride);
    do {
        memcpy(where, index, sizeof(where));
        where[dim] %= from->dim[dim];
        to[i++] = mosaic_words(r, op->operand[0])[at(where, stride, t->rank)];
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
    strides_of(from, stride);
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
    strides_of(from, stride);
    do {
        for (int d = 0; d < t->rank; d++) {
            int64_t step = strides && d < strides->count ? strides->ints[d] : 1;

            where[d] = (d < offsets->count ? offsets->ints[d] : 0) + index[d] * step;
            if (where[d] < 0 || where[d] >= from->dim[d])
                return mosaic_stop(r, op, "it leaves its operand in dimension %d", d);
        }
        to[i++] = mosaic_words(r, op->operand[0])[at(where, stride, t->rank)];
    } while (mosaic_next(index, t->dim, t->rank));
    return 0;
}

/* ----- reductions */

enum reduction { R_ADD, R_MUL, R_MAX, R_MIN, R_MAXU, R_MINU, R_AND, R_OR, R_XOR, R_NONE };

static enum reduction reduction_of(const char *kind)
{
    static const struct { const char *name; enum reduction is; } names[] = {
        {"add", R_ADD}, {"sum", R_ADD}, {"mul", R_MUL}, {"maximumf", R_MAX}, {"maxnumf", R_MAX},
        {"maxf", R_MAX}, {"maxsi", R_MAX}, {"max", R_MAX}, {"minimumf", R_MIN},
        {"minnumf", R_MIN}, {"minf", R_MIN}, {"minsi", R_MIN}, {"min", R_MIN}, {"maxui", R_MAXU},
        {"minui", R_MINU}, {"and", R_AND}, {"or", R_OR}, {"xor", R_XOR}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i].name, kind))
            return names[i].is;
    return R_NONE;
}

static uint32_t combine(enum reduction kind, bool is_float, enum mosaic_element e, uint32_t a,
                        uint32_t b)
{
    float x = f32_from_bits(a), y = f32_from_bits(b);
    int64_t i = (int32_t)a, j = (int32_t)b;

    if (is_float && (kind == R_MAX || kind == R_MIN)) {
        bool takes_a = isnan(x) || (!isnan(y) && (kind == R_MAX ? x > y : x < y));

        return takes_a ? a : b;
    }
    if (is_float)
        return f32_bits(mosaic_round(e, kind == R_MUL ? x * y : x + y));
    switch (kind) {
    case R_ADD: return (uint32_t)mosaic_wrap(e, i + j);
    case R_MUL: return (uint32_t)mosaic_wrap(e, i * j);
    case R_MAX: return i > j ? a : b;
    case R_MIN: return i < j ? a : b;
    case R_MAXU: return a > b ? a : b;
    case R_MINU: return a < b ? a : b;
    case R_AND: return a & b;
    case R_OR: return a | b;
    default: return a ^ b;
    }
}

/* element by element into the accumulator; dims: which of `from` are reduced */
static void reduce(enum reduction kind, const struct mosaic_type *from, const uint32_t *a,
                   uint32_t mask, uint32_t *to)
{
    int64_t index[MOSAIC_RANK_MAX] = {0}, stride[MOSAIC_RANK_MAX] = {0}, s = 1, i = 0;
    bool is_float = mosaic_is_float(from);

    for (int d = from->rank - 1; d >= 0; d--) {
        if (mask >> d & 1)
            continue;
        stride[d] = s;
        s *= from->dim[d];
    }
    do {
        uint32_t *sum = &to[at(index, stride, from->rank)];

        *sum = combine(kind, is_float, from->element, *sum, a[i++]);
    } while (mosaic_next(index, from->dim, from->rank));
}

int mosaic_eval_multi_reduction(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type;
    const struct mosaic_attr *dims = mosaic_attr(op, "reduction_dims");
    enum reduction kind = reduction_of(mosaic_text(op, "kind", ""));
    uint32_t mask = 0;

    if (!dims || dims->kind != MOSAIC_ATTR_INTS || kind == R_NONE)
        return mosaic_stop(r, op, "a reduction of kind \"%s\"", mosaic_text(op, "kind", ""));
    for (int d = 0; d < dims->count; d++) {
        if (normal(r, op, dims->ints[d], from->rank))
            return -1;
        mask |= 1u << dims->ints[d];
    }
    mosaic_copy_value(r, op->result[0], op->operand[1]);
    reduce(kind, from, mosaic_words(r, op->operand[0]), mask, mosaic_out(r, op));
    if (op->result[0]->type.kind == MOSAIC_SCALAR)
        mosaic_datum(r, op->result[0])->integer = (int32_t)mosaic_out(r, op)[0];
    return 0;
}

/* the reduction of a dimension, or where its extreme is, in every place of it */
int mosaic_eval_all_reduce(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->operand[0]->type;
    int64_t dim = mosaic_int(op, "dim", 0), inner = 1;
    enum reduction kind = reduction_of(mosaic_text(op, "kind", ""));
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    uint32_t *to = mosaic_out(r, op);

    if (normal(r, op, dim, t->rank))
        return -1;
    if (kind == R_NONE || !mosaic_type_equal(t, &op->result[0]->type))
        return mosaic_stop(r, op, "a reduction of kind \"%s\"", mosaic_text(op, "kind", ""));
    for (int d = (int)dim + 1; d < t->rank; d++)
        inner *= t->dim[d];
    for (int64_t i = 0; i < mosaic_elements(t); i++) {
        int64_t first = i / (inner * t->dim[dim]) * inner * t->dim[dim] + i % inner;
        uint32_t sum = a[first];

        for (int64_t k = 1; k < t->dim[dim]; k++)
            sum = combine(kind, mosaic_is_float(t), t->element, sum, a[first + k * inner]);
        to[i] = sum;
    }
    return 0;
}

int mosaic_eval_reduce_index(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->operand[0]->type;
    int64_t dim = mosaic_int(op, "axis", 0), inner = 1, n = mosaic_elements(&op->result[0]->type);
    bool is_max = strcmp(mosaic_text(op, "kind", ""), "arg_max") == 0;
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    uint32_t *to = mosaic_out(r, op);

    if (normal(r, op, dim, t->rank))
        return -1;
    for (int d = (int)dim + 1; d < t->rank; d++)
        inner *= t->dim[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t first = i / inner * inner * t->dim[dim] + i % inner, best = 0;

        for (int64_t k = 1; k < t->dim[dim]; k++) {
            float x = f32_from_bits(a[first + k * inner]);
            float y = f32_from_bits(a[first + best * inner]);

            if (!isnan(y) && (isnan(x) || (is_max ? x > y : x < y)))
                best = k;
        }
        to[i] = (uint32_t)best;
    }
    return 0;
}

/* ----- moves */

int mosaic_eval_transpose(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    const struct mosaic_attr *p = mosaic_attr(op, "permutation");
    int64_t index[MOSAIC_RANK_MAX] = {0}, stride[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX], i = 0;
    uint32_t *to = mosaic_out(r, op);

    if (!p || p->count != t->rank || t->rank != from->rank)
        return mosaic_stop(r, op, "no permutation of its dimensions");
    strides_of(from, stride);
    for (int d = 0; d < t->rank; d++) {
        if (normal(r, op, p->ints[d], t->rank))
            return -1;
        step[d] = stride[p->ints[d]];
    }
    do
        to[i++] = mosaic_words(r, op->operand[0])[at(index, step, t->rank)];
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

    if (normal(r, op, dim, t->rank) || normal(r, op, along, t->rank))
        return -1;
    strides_of(t, step);
    do {
        int64_t by = amount + (along == dim ? 0 : stride * index[along]);

        memcpy(where, index, sizeof(where));
        where[dim] = ((index[dim] - by) % t->dim[dim] + t->dim[dim]) % t->dim[dim];
        to[i++] = mosaic_words(r, op->operand[0])[at(where, step, t->rank)];
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
        if (normal(r, op, dims->ints[d], t->rank))
            return -1;
        size *= from->dim[dims->ints[d]];
    }
    strides_of(from, step);
    do {
        int64_t place = (int32_t)mosaic_words(r, op->operand[1])[i] % size;

        place += place < 0 ? size : 0;
        memcpy(where, index, sizeof(where));
        for (int d = dims->count - 1; d >= 0; d--) {
            where[dims->ints[d]] = place % from->dim[dims->ints[d]];
            place /= from->dim[dims->ints[d]];
        }
        to[i++] = mosaic_words(r, op->operand[0])[at(where, step, t->rank)];
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

    if (normal(r, op, dim, t->rank) || !indices || indices->count != t->dim[dim])
        return mosaic_stop(r, op, "it does not say an index for each place");
    strides_of(from, step);
    do {
        memcpy(where, index, sizeof(where));
        where[dim] = indices->ints[index[dim]];
        if (where[dim] < 0 || where[dim] >= from->dim[dim])
            return mosaic_stop(r, op, "index %lld of %lld", (long long)where[dim],
                               (long long)from->dim[dim]);
        to[i++] = mosaic_words(r, op->operand[0])[at(where, step, t->rank)];
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

/* ----- products */

/* lhs [m, k] and rhs [k, n] of one batch, gathered from their places */
static float *matrix_of(const uint32_t *a, const struct mosaic_type *t, const int *batch,
                        const int64_t *batch_index, int batches, const int *free_dims,
                        int free_count, int contract, bool is_exact, int64_t *rows)
{
    int64_t stride[MOSAIC_RANK_MAX], index[MOSAIC_RANK_MAX] = {0}, dim[MOSAIC_RANK_MAX];
    int64_t base = 0, i = 0, k = t->dim[contract];
    float *m;

    strides_of(t, stride);
    for (int b = 0; b < batches; b++)
        base += batch_index[b] * stride[batch[b]];
    *rows = 1;
    for (int f = 0; f < free_count; f++) {
        dim[f] = t->dim[free_dims[f]];
        *rows *= dim[f];
    }
    m = mem_alloc_unset((size_t)(*rows * k) * sizeof(*m) + 1);
    do {
        int64_t from = base;

        for (int f = 0; f < free_count; f++)
            from += index[f] * stride[free_dims[f]];
        for (int64_t c = 0; c < k; c++) {
            uint32_t w = a[from + c * stride[contract]];
            float x = mosaic_is_float(t) ? f32_from_bits(w) : (float)(int32_t)w;

            m[i++] = is_exact ? x : f32_round_to_bf16(x);
        }
    } while (mosaic_next(index, dim, free_count));
    return m;
}

static int product(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_dot *d)
{
    const struct mosaic_type *lt = &op->operand[0]->type, *rt = &op->operand[1]->type;
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t index[MOSAIC_RANK_MAX] = {0}, dim[MOSAIC_RANK_MAX], k = lt->dim[d->lhs_contract];
    uint32_t *to = mosaic_out(r, op);
    bool is_exact = d->is_exact || !mosaic_is_float(lt);
    int64_t batch = 0;

    if (rt->dim[d->rhs_contract] != k)
        return mosaic_stop(r, op, "%lld and %lld elements are contracted", (long long)k,
                           (long long)rt->dim[d->rhs_contract]);
    for (int b = 0; b < d->batch_count; b++)
        dim[b] = lt->dim[d->lhs_batch[b]];
    do {
        int64_t m, n;
        float *a = matrix_of(mosaic_words(r, op->operand[0]), lt, d->lhs_batch, index,
                             d->batch_count, d->lhs_free, d->lhs_free_count, d->lhs_contract,
                             is_exact, &m);
        float *b = matrix_of(mosaic_words(r, op->operand[1]), rt, d->rhs_batch, index,
                             d->batch_count, d->rhs_free, d->rhs_free_count, d->rhs_contract,
                             is_exact, &n);
        float *c = mem_alloc((size_t)(m * n) * sizeof(*c) + 1);

        if ((batch + 1) * m * n > mosaic_elements(t)) {
            mem_free(a);
            mem_free(b);
            mem_free(c);
            return mosaic_stop(r, op, "its result is smaller than the product");
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a, (int)k,
                    b, (int)k, 0, c, (int)n);
        for (int64_t i = 0; i < m * n; i++) {
            uint32_t *sum = &to[batch * m * n + i];

            *sum = mosaic_is_float(t) ? f32_bits(f32_from_bits(*sum) + c[i])
                                      : *sum + (uint32_t)(int64_t)c[i];
        }
        batch++;
        mem_free(a);
        mem_free(b);
        mem_free(c);
    } while (mosaic_next(index, dim, d->batch_count));
    return 0;
}

int mosaic_eval_matmul(struct mosaic_run *r, const struct mosaic_op *op)
{
    struct mosaic_dot d;

    if (mosaic_dot_of(op, &d, r->err))
        return mosaic_stop(r, op, "%s", r->err->msg);
    mosaic_copy_value(r, op->result[0], op->operand[2]);
    return product(r, op, &d);
}

int mosaic_eval_contract(struct mosaic_run *r, const struct mosaic_op *op)
{
    return mosaic_stop(r, op, "products of this form, of before tpu.matmul, are not made");
}

/* ----- bits */

static uint32_t bits_of(enum mosaic_element e, uint32_t word)
{
    int bits = mosaic_element_bits(e);

    if (e == MOSAIC_BF16)
        return bf16_from_f32_bits(word);
    return bits == 32 ? word : word & ((1u << bits) - 1);
}

static uint32_t word_of_bits(enum mosaic_element e, uint32_t bits)
{
    if (e == MOSAIC_BF16)
        return bits << 16;
    if (mosaic_element_kind(e) == MOSAIC_KIND_FLOAT)
        return bits;
    return (uint32_t)mosaic_wrap(e, bits);
}

static bool has_bits(enum mosaic_element e)
{
    return mosaic_element_kind(e) == MOSAIC_KIND_INT || e == MOSAIC_F32 || e == MOSAIC_BF16;
}

/* rows of narrow elements lie in one another's words, the first one lowest */
int mosaic_eval_bitcast(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type, *t = &op->result[0]->type;
    int fb = mosaic_element_bits(from->element), tb = mosaic_element_bits(t->element);
    int64_t lanes = t->rank ? t->dim[t->rank - 1] : 1, n = mosaic_elements(t);
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    uint32_t *to = mosaic_out(r, op);

    if (!has_bits(from->element) || !has_bits(t->element) ||
        mosaic_elements(from) * fb != n * tb)
        return mosaic_stop(r, op, "bits of %s as %s", mosaic_element_name(from->element),
                           mosaic_element_name(t->element));
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / lanes, lane = i % lanes;
        uint32_t bits = 0;

        if (tb >= fb)
            for (int p = 0; p < tb / fb; p++)
                bits |= bits_of(from->element, a[(row * (tb / fb) + p) * lanes + lane])
                        << (p * fb);
        else
            bits = bits_of(from->element, a[row / (fb / tb) * lanes + lane])
                   >> (row % (fb / tb) * tb) & (tb == 32 ? ~0u : (1u << tb) - 1);
        to[i] = word_of_bits(t->element, bits);
    }
    return 0;
}

int mosaic_eval_pack_elementwise(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *target = mosaic_attr(op, "target_type");
    uint32_t *to = mosaic_out(r, op);
    int bits;

    if (!target || target->kind != MOSAIC_ATTR_TYPE || !has_bits(target->type.element))
        return mosaic_stop(r, op, "it does not name the type that it packs to");
    bits = mosaic_element_bits(target->type.element);
    for (int64_t i = 0; i < mosaic_elements(&op->result[0]->type); i++) {
        to[i] = 0;
        for (int p = 0; p < op->operand_count; p++)
            to[i] |= bits_of(target->type.element, mosaic_words(r, op->operand[p])[i])
                     << (p * bits % 32);
    }
    return 0;
}

int mosaic_eval_unpack_elementwise(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *source = mosaic_attr(op, "source_type");
    int64_t index = mosaic_int(op, "index", 0);
    uint32_t *to = mosaic_out(r, op);
    int bits;

    if (!source || source->kind != MOSAIC_ATTR_TYPE || !has_bits(source->type.element) ||
        index < 0 || index * mosaic_element_bits(source->type.element) > 31)
        return mosaic_stop(r, op, "it does not name the type that it unpacks");
    bits = mosaic_element_bits(source->type.element);
    for (int64_t i = 0; i < mosaic_elements(&op->result[0]->type); i++)
        to[i] = word_of_bits(source->type.element,
                             mosaic_words(r, op->operand[0])[i] >> (index * bits) &
                             (bits == 32 ? ~0u : (1u << bits) - 1));
    return 0;
}

int mosaic_eval_stochastic_convert(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const uint32_t *a = mosaic_words(r, op->operand[0]), *bits = mosaic_words(r, op->operand[1]);
    uint32_t *to = mosaic_out(r, op);

    if (t->element != MOSAIC_BF16)
        return mosaic_stop(r, op, "to %s; bf16 is made", mosaic_element_name(t->element));
    for (int64_t i = 0; i < mosaic_elements(t); i++)
        to[i] = isfinite(f32_from_bits(a[i])) ? (a[i] + (bits[i] & 0xffff)) & 0xffff0000u : a[i];
    return 0;
}

/* ----- random bits: a generator of our own, since the hardware's is not told */

int mosaic_eval_prng_seed(struct mosaic_run *r, const struct mosaic_op *op)
{
    r->seed[0] = r->seed[1] = 0;
    for (int i = 0; i < op->operand_count; i++)
        r->seed[i % 2] = r->seed[i % 2] * 0x9e3779b9u + (uint32_t)mosaic_int_in(r, op->operand[i]);
    r->drawn = 0;
    return 0;
}

int mosaic_eval_prng_bits(struct mosaic_run *r, const struct mosaic_op *op)
{
    uint32_t *to = mosaic_out(r, op);

    for (int64_t i = 0; i < mosaic_elements(&op->result[0]->type); i++) {
        uint64_t x = ((uint64_t)r->seed[0] << 32 | r->seed[1]) + ++r->drawn * 0x9e3779b97f4a7c15u;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        to[i] = (uint32_t)(x ^ x >> 31);
    }
    return 0;
}
