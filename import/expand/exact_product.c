/*
 * Products of f32 by the vector unit, product after product in the order of StableHLO's definition,
 * each of them and each sum rounded once. The matrix unit adds parts of bf16 in an order of its own.
 */
#include "import/expand/exact.h"

enum { RANKS = 16, ADDED_MAX = 64, PRODUCTS_MAX = 1 << 16 };

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

int exact_dot(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand)
{
    const struct hlo_dot *dot = from->dot;
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
    if (added < 1 || added > ADDED_MAX || added * size[0] * size[1] * size[2] > PRODUCTS_MAX)
        return -1;
    lhs = as_matrices(b, operand[0], x_order, size[0], size[1], added);
    rhs = as_matrices(b, operand[1], y_order, size[0], added, size[2]);
    for (int64_t k = 0; k < added; k++) {
        int product = ar_mul(b, spread(b, lhs, 2, k, size), spread(b, rhs, 1, k, size));

        sum = sum < 0 ? product : ar_add(b, sum, product);
    }
    return hlo_reshape(b, sum, from->type.rank, from->type.dim);
}

/* a convolution of [batch, feature, space..] by [out, in, space..] */
struct steps {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int space;
    int lhs, kernel;                    /* padded; as they are */
    int64_t batch, groups, in, out;     /* features that go into one, features in all */
    int64_t result[RANKS];              /* [batch, out, space..] */
};

static int arrange(struct steps *s, int x, int64_t first, int64_t second,
                   const struct hlo_ints *space)
{
    int64_t order[RANKS] = {first, second};

    for (int d = 0; d < s->space; d++)
        order[2 + d] = space->item[d];
    return hlo_transpose(s->b, x, order);
}

static int padded(struct steps *s, int x)
{
    int64_t low[RANKS] = {0}, high[RANKS] = {0}, interior[RANKS] = {0};
    struct hlo_type number = hlo_scalar_type(ELEMENT_F32);

    for (int d = 0; d < s->space; d++) {
        low[2 + d] = s->from->window[d].pad_low;
        high[2 + d] = s->from->window[d].pad_high;
        interior[2 + d] = s->from->window[d].base_dilation - 1;
    }
    return hlo_pad(s->b, x, hlo_constant(s->b, &number, 0), low, high, interior);
}

/* what stands at a place of all windows in a feature of each group, for every feature that is made */
static int inputs_at(struct steps *s, const int64_t *place, int64_t feature)
{
    int64_t start[RANKS] = {0, feature}, limit[RANKS] = {s->batch, s->groups * s->in};
    int64_t stride[RANKS] = {1, s->in}, wide[RANKS], dims[RANKS];
    int x;

    wide[0] = s->batch;
    wide[1] = s->groups;
    wide[2] = s->out / s->groups;
    dims[0] = 0;
    dims[1] = 1;
    for (int d = 2; d < s->space + 2; d++) {
        const struct hlo_window *w = &s->from->window[d - 2];

        start[d] = place[d - 2] * w->window_dilation;
        limit[d] = start[d] + (s->result[d] - 1) * w->stride + 1;
        stride[d] = w->stride;
        wide[d + 1] = s->result[d];
        dims[d] = d + 1;
    }
    limit[1] = feature + (s->groups - 1) * s->in + 1;
    x = hlo_slice(s->b, s->lhs, start, limit, stride);
    x = hlo_broadcast(s->b, x, s->space + 3, wide, dims);
    return hlo_reshape(s->b, x, s->space + 2, s->result);
}

static int weights_at(struct steps *s, const int64_t *place, int64_t feature)
{
    int64_t start[RANKS] = {0, feature}, limit[RANKS] = {s->out, feature + 1};
    int x;

    for (int d = 0; d < s->space; d++) {
        const struct hlo_window *w = &s->from->window[d];

        start[2 + d] = w->is_reversed ? w->size - 1 - place[d] : place[d];
        limit[2 + d] = start[2 + d] + 1;
    }
    x = hlo_slice(s->b, s->kernel, start, limit, NULL);
    x = hlo_reshape(s->b, x, 1, &s->out);
    return hlo_broadcast(s->b, x, s->space + 2, s->result, (int64_t[]){1});
}

static int add_up(struct steps *s, int64_t places)
{
    int sum = -1;

    for (int64_t p = 0; p < places; p++) {
        int64_t place[RANKS], rest = p;

        for (int d = s->space - 1; d >= 0; d--) {
            place[d] = rest % s->from->window[d].size;
            rest /= s->from->window[d].size;
        }
        for (int64_t feature = 0; feature < s->in; feature++) {
            int product = ar_mul(s->b, inputs_at(s, place, feature),
                                 weights_at(s, place, feature));

            sum = sum < 0 ? product : ar_add(s->b, sum, product);
        }
    }
    return sum;
}

int exact_convolution(struct hlo_builder *b, const struct hlo_instruction *from,
                      const int *operand)
{
    const struct hlo_conv *conv = from->conv;
    const struct hlo_type x = *hlo_type_of(b, operand[0]), y = *hlo_type_of(b, operand[1]);
    struct steps s = {.b = b, .from = from, .space = from->window_count};
    int64_t places = 1, back[RANKS], count = hlo_type_elements(&from->type);
    int sum;

    if (s.space + 3 > RANKS || conv->batch_groups > 1 || count == 0)
        return -1;
    s.batch = x.dim[conv->in_batch];
    s.in = y.dim[conv->kernel_in];
    s.out = y.dim[conv->kernel_out];
    s.groups = conv->feature_groups > 1 ? conv->feature_groups : 1;
    s.result[0] = s.batch;
    s.result[1] = s.out;
    back[conv->out_batch] = 0;
    back[conv->out_feature] = 1;
    for (int d = 0; d < s.space; d++) {
        s.result[2 + d] = from->type.dim[conv->out_spatial.item[d]];
        back[conv->out_spatial.item[d]] = 2 + d;
        places *= from->window[d].size;
    }
    if (places * s.in < 1 || places > ADDED_MAX || places * s.in > ADDED_MAX ||
        places * s.in * count > PRODUCTS_MAX)
        return -1;
    s.lhs = padded(&s, arrange(&s, operand[0], conv->in_batch, conv->in_feature,
                               &conv->in_spatial));
    s.kernel = arrange(&s, operand[1], conv->kernel_out, conv->kernel_in, &conv->kernel_spatial);
    sum = add_up(&s, places);
    return hlo_transpose(b, sum, back);
}
