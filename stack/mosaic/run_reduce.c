/* Reductions of vectors on the host. */
#include "stack/mosaic/run_impl.h"

#include <math.h>
#include <string.h>

#include "base/floats.h"

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
        uint32_t *sum = &to[mosaic_at(index, stride, from->rank)];

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
        if (mosaic_check_dim(r, op, dims->ints[d], from->rank))
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

    if (mosaic_check_dim(r, op, dim, t->rank))
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

    if (mosaic_check_dim(r, op, dim, t->rank))
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
