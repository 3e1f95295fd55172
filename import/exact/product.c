/*
 * Products of f32 by the vector unit, product after product in the order of StableHLO's definition,
 * each of them and each sum rounded. The matrix unit adds parts of bf16, in an order of its own.
 */
#include "import/expand/conv_steps.h"
#include "import/exact/exact.h"

enum { RANKS = 16, ADDED_MAX = 64 };

static int64_t position(const struct hlo_ints *list, int dim)
{
    for (int k = 0; k < list->count; k++)
        if (list->item[k] == dim)
            return k;
    return -1;
}

/* dimensions one behind the other in `order`, then seen as these three */
static int as_matrices(struct hlo_builder *b, int x, const int64_t *order, int64_t batch,
                       int64_t rows, int64_t columns)
{
    x = hlo_transpose(b, x, order);
    return hlo_reshape(b, x, 3, (int64_t[]){batch, rows, columns});
}

/* element or row `k` of dimension `dim` of [batch, rows, columns], in every place of another */
static int spread(struct hlo_builder *b, int x, int dim, int64_t k, const int64_t *to)
{
    struct hlo_type t;

    x = hlo_slice_dim(b, x, dim, k, k + 1);
    t = *hlo_type_of(b, x);
    x = hlo_reshape(b, x, 2, (int64_t[]){t.dim[0], dim == 2 ? t.dim[1] : t.dim[2]});
    return hlo_broadcast(b, x, 3, to, dim == 2 ? (int64_t[]){0, 1} : (int64_t[]){0, 2});
}

int exact_dot(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand,
              int64_t most)
{
    const struct hlo_dot *dot = hlo_detail(from)->dot;
    const struct hlo_type x = *hlo_type_of(b, operand[0]), y = *hlo_type_of(b, operand[1]);
    int64_t x_order[RANKS], y_order[RANKS], size[3] = {1, 1, 1}, added = 1;
    int nx = dot->lhs_batch.count, ny = dot->rhs_batch.count, lhs, rhs, sum = -1;

    if (x.rank > RANKS || y.rank > RANKS)
        return -1;
    for (int k = 0; k < nx; k++) {
        x_order[k] = dot->lhs_batch.item[k];
        y_order[k] = dot->rhs_batch.item[k];
        size[0] *= x.dim[x_order[k]];
    }
    for (int d = 0; d < x.rank; d++)
        if (position(&dot->lhs_batch, d) < 0 && position(&dot->lhs_contract, d) < 0)
            size[1] *= x.dim[x_order[nx++] = d];
    for (int k = 0; k < dot->lhs_contract.count; k++) {
        added *= x.dim[x_order[nx++] = dot->lhs_contract.item[k]];
        y_order[ny++] = dot->rhs_contract.item[k];
    }
    for (int d = 0; d < y.rank; d++)
        if (position(&dot->rhs_batch, d) < 0 && position(&dot->rhs_contract, d) < 0)
            size[2] *= y.dim[y_order[ny++] = d];
    if (added < 1 || added > ADDED_MAX || added * size[0] * size[1] * size[2] > most)
        return -1;
    lhs = as_matrices(b, operand[0], x_order, size[0], size[1], added);
    rhs = as_matrices(b, operand[1], y_order, size[0], added, size[2]);
    for (int64_t k = 0; k < added; k++) {
        int product = ar_mul(b, spread(b, lhs, 2, k, size), spread(b, rhs, 1, k, size));

        sum = sum < 0 ? product : ar_add(b, sum, product);
    }
    return hlo_reshape(b, sum, from->type->rank, from->type->dim);
}

/* a feature of each group, for every feature that is made of it */
static int feature_of_groups(struct conv_steps *s, int x, int64_t feature)
{
    int64_t start[CONV_RANKS] = {0, feature}, limit[CONV_RANKS], stride[CONV_RANKS];
    int64_t wide[CONV_RANKS] = {s->batch, s->groups, s->out / s->groups};
    int64_t dims[CONV_RANKS] = {0, 1};

    for (int d = 0; d < s->space + 2; d++) {
        limit[d] = s->result[d];
        stride[d] = 1;
    }
    limit[1] = feature + (s->groups - 1) * s->in + 1;
    stride[1] = s->in;
    for (int d = 2; d < s->space + 2; d++) {
        wide[d + 1] = s->result[d];
        dims[d] = d + 1;
    }
    x = hlo_slice(s->b, x, start, limit, stride);
    x = hlo_broadcast(s->b, x, s->space + 3, wide, dims);
    return hlo_reshape(s->b, x, s->space + 2, s->result);
}

static int weight_of(struct conv_steps *s, int kernel, int64_t feature)
{
    int y = hlo_slice_dim(s->b, kernel, 1, feature, feature + 1);

    y = hlo_reshape(s->b, y, 1, &s->out);
    return hlo_broadcast(s->b, y, s->space + 2, s->result, (int64_t[]){1});
}

int exact_convolution(struct hlo_builder *b, const struct hlo_instruction *from,
                      const int *operand, int64_t most)
{
    struct conv_steps s;
    int sum = -1;

    if (!conv_steps_begin(&s, b, from, operand) || s.places * s.in < 1 || s.places > ADDED_MAX ||
        s.places * s.in > ADDED_MAX ||
        s.places * s.in * hlo_type_elements(from->type) > most)
        return -1;
    for (int64_t place = 0; place < s.places; place++) {
        int x = conv_steps_input(&s, place), y = conv_steps_kernel(&s, place);

        for (int64_t feature = 0; feature < s.in; feature++) {
            int product = ar_mul(b, feature_of_groups(&s, x, feature), weight_of(&s, y, feature));

            sum = sum < 0 ? product : ar_add(b, sum, product);
        }
    }
    return conv_steps_end(&s, sum);
}
