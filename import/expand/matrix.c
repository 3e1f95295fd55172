/* Parts of matrices, and parts repeated to matrices. */
#include "import/expand/matrix.h"

static const int64_t *dims_of(struct hlo_builder *b, int x) { return hlo_type_of(b, x)->dim; }

int64_t matrix_rows(struct hlo_builder *b, int x) { return dims_of(b, x)[1]; }
int64_t matrix_columns(struct hlo_builder *b, int x) { return dims_of(b, x)[2]; }

static int as_matrix(struct expand_site *s, int operand, int own_rank)
{
    struct hlo_type t = *expand_operand_type(s, operand);
    int64_t dim[3] = {1, 1, 1};
    int x = s->operand[operand];

    for (int d = 0; d < t.rank - own_rank; d++)
        dim[0] *= t.dim[d];
    for (int d = 0; d < own_rank; d++)
        dim[d + 1] = t.dim[t.rank - own_rank + d];
    if (!hlo_element_is_complex(t.element))
        x = hlo_convert(s->b, x, ELEMENT_F32);
    return hlo_reshape(s->b, x, 3, dim);
}

int matrix_open(struct expand_site *s, int operand) { return as_matrix(s, operand, 2); }
int matrix_open_vector(struct expand_site *s, int operand) { return as_matrix(s, operand, 1); }

int matrix_close(struct hlo_builder *b, int x, const struct hlo_type *t)
{
    return hlo_convert(b, hlo_reshape(b, x, t->rank, t->dim), t->element);
}

int matrix_zero(struct hlo_builder *b, int like, int64_t rows, int64_t columns)
{
    int64_t dim[3] = {dims_of(b, like)[0], rows, columns};
    struct hlo_type t = hlo_array_type(b->module->arena, ar_element(b, like), 3, dim);

    return hlo_constant(b, &t, 0);
}

static int number(struct hlo_builder *b, int like, int dim)
{
    struct hlo_type t = ar_type(b, like, ELEMENT_S32);

    return hlo_iota(b, &t, dim);
}

int matrix_row_number(struct hlo_builder *b, int like) { return number(b, like, 1); }
int matrix_column_number(struct hlo_builder *b, int like) { return number(b, like, 2); }

static int number_is(struct hlo_builder *b, int numbers, enum hlo_direction d, int at)
{
    return hlo_compare(b, d, numbers, ar_spread(b, at, numbers));
}

int matrix_row_is(struct hlo_builder *b, int like, enum hlo_direction d, int at)
{
    return number_is(b, matrix_row_number(b, like), d, at);
}

int matrix_column_is(struct hlo_builder *b, int like, enum hlo_direction d, int at)
{
    return number_is(b, matrix_column_number(b, like), d, at);
}

int matrix_column(struct hlo_builder *b, int x, int at)
{
    int64_t sizes[3] = {dims_of(b, x)[0], dims_of(b, x)[1], 1};
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    return hlo_dynamic_slice(b, x, (int[]){zero, zero, at}, sizes);
}

int matrix_row(struct hlo_builder *b, int x, int at)
{
    int64_t sizes[3] = {dims_of(b, x)[0], 1, dims_of(b, x)[2]};
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    return hlo_dynamic_slice(b, x, (int[]){zero, at, zero}, sizes);
}

int matrix_element(struct hlo_builder *b, int x, int row, int column)
{
    int64_t sizes[3] = {dims_of(b, x)[0], 1, 1};
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    return hlo_dynamic_slice(b, x, (int[]){zero, row, column}, sizes);
}

int matrix_set_column(struct hlo_builder *b, int x, int column, int at)
{
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    return hlo_dynamic_update_slice(b, x, column, (int[]){zero, zero, at});
}

int matrix_set_row(struct hlo_builder *b, int x, int row, int at)
{
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    return hlo_dynamic_update_slice(b, x, row, (int[]){zero, at, zero});
}

int matrix_spread(struct hlo_builder *b, int x, int like)
{
    struct hlo_type from = *hlo_type_of(b, x), to = *hlo_type_of(b, like);
    int64_t kept[3], dims[3];
    int count = 0;

    for (int d = 0; d < 3; d++) {
        if (from.dim[d] == to.dim[d]) {
            kept[count] = from.dim[d];
            dims[count++] = d;
        }
    }
    if (count == 3)
        return x;
    return hlo_broadcast(b, hlo_reshape(b, x, count, kept), 3, to.dim, dims);
}

int matrix_transpose(struct hlo_builder *b, int x)
{
    int64_t order[3] = {0, 2, 1};

    return hlo_transpose(b, x, order);
}

bool matrix_is_complex(struct hlo_builder *b, int x)
{
    return hlo_element_is_complex(ar_element(b, x));
}

int matrix_real(struct hlo_builder *b, int x)
{
    return matrix_is_complex(b, x) ? hlo_real(b, x) : x;
}

int matrix_number_of(struct hlo_builder *b, int x, int like)
{
    return matrix_is_complex(b, like) ? hlo_complex(b, x, ar_num(b, x, 0)) : x;
}

int matrix_squares(struct hlo_builder *b, int x)
{
    int real = matrix_real(b, x), square = ar_mul(b, real, real);

    if (!matrix_is_complex(b, x))
        return square;
    real = hlo_imaginary(b, x);
    return ar_add(b, square, ar_mul(b, real, real));
}

int matrix_conjugate(struct hlo_builder *b, int x)
{
    int real;

    if (!matrix_is_complex(b, x))
        return x;
    real = hlo_real(b, x);
    return hlo_complex(b, real, ar_neg(b, hlo_imaginary(b, x)));
}

static int sum(struct hlo_builder *b, int x, int64_t dim)
{
    struct hlo_type t = *hlo_type_of(b, x), scalar = hlo_scalar_type(t.element);
    int64_t kept[3] = {t.dim[0], t.dim[1], t.dim[2]};
    int zero;

    kept[dim] = 1;
    zero = hlo_constant(b, &scalar, 0);
    x = hlo_reduce(b, x, zero, 1, &dim,
                   hlo_scalar_computation(b->module, OPCODE_ADD, t.element));
    return hlo_reshape(b, x, 3, kept);
}

int matrix_sum_rows(struct hlo_builder *b, int x) { return sum(b, x, 1); }
int matrix_sum_columns(struct hlo_builder *b, int x) { return sum(b, x, 2); }
