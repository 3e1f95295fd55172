/* Parts of matrices, and parts repeated to matrices. */
#include "import/expand/matrix.h"

#include "base/units.h"

#define LANES 128
#define VECTOR (8 * LANES)              /* elements of a vector: 8 rows of a tile */
#define ACROSS_TIMES 2                  /* so many fewer vectors pay for turning the batch */

static const int64_t *dims_of(struct hlo_builder *b, int x) { return hlo_type_of(b, x)->dim; }

static bool lies_across(struct hlo_builder *b, int x) { return hlo_type_of(b, x)->rank == 4; }

static int rows_axis(struct hlo_builder *b, int x) { return lies_across(b, x) ? 0 : 1; }

int64_t matrix_rows(struct hlo_builder *b, int x) { return dims_of(b, x)[rows_axis(b, x)]; }
int64_t matrix_columns(struct hlo_builder *b, int x) { return dims_of(b, x)[rows_axis(b, x) + 1]; }

/* the dimensions of `like` with other rows and columns; how many there are */
static int dims_like(struct hlo_builder *b, int like, int64_t rows, int64_t columns, int64_t *dim)
{
    int rank = hlo_type_of(b, like)->rank, axis = rows_axis(b, like);

    for (int d = 0; d < rank; d++)
        dim[d] = dims_of(b, like)[d];
    dim[axis] = rows;
    dim[axis + 1] = columns;
    return rank;
}

/* [batch, rows, columns] of the last dimensions; of a vector, columns of one */
static void split_dims(const struct hlo_type *t, int own_rank, int64_t *dim)
{
    dim[0] = dim[1] = dim[2] = 1;
    for (int d = 0; d < t->rank - own_rank; d++)
        dim[0] *= t->dim[d];
    for (int d = 0; d < own_rank; d++)
        dim[d + 1] = t->dim[t->rank - own_rank + d];
}

/* so many and so small that each of their elements, of all of them, fills vectors better */
static bool is_better_across(const struct hlo_type *t)
{
    int64_t dim[3];

    split_dims(t, 2, dim);
    return ACROSS_TIMES * dim[1] * dim[2] * div_up(dim[0], VECTOR) <=
           dim[0] * div_up(dim[1], 8) * div_up(dim[2], LANES);
}

static int turned_across(struct hlo_builder *b, int x)
{
    const int64_t *dim = dims_of(b, x), order[3] = {1, 2, 0};
    int64_t batch = round_up(dim[0], LANES), zero[3] = {0}, high[3] = {0, 0, batch - dim[0]};
    int64_t to[4] = {dim[1], dim[2], batch / LANES, LANES};

    x = hlo_transpose(b, x, order);
    if (high[2])
        x = hlo_pad(b, x, ar_scalar(b, ar_element(b, x), 0), zero, high, NULL);
    return hlo_reshape(b, x, 4, to);
}

/* all operands as it is best for the first */
static int as_matrix(struct expand_site *s, int operand, int own_rank, bool may_lie_across)
{
    struct hlo_type t = *expand_operand_type(s, operand);
    int64_t dim[3];
    int x = s->operand[operand];

    split_dims(&t, own_rank, dim);
    if (!hlo_element_is_complex(t.element))
        x = hlo_convert(s->b, x, ELEMENT_F32);
    x = hlo_reshape(s->b, x, 3, dim);
    return may_lie_across && is_better_across(expand_operand_type(s, 0)) ? turned_across(s->b, x) : x;
}

int matrix_open(struct expand_site *s, int operand) { return as_matrix(s, operand, 2, true); }
int matrix_open_vector(struct expand_site *s, int operand) { return as_matrix(s, operand, 1, true); }
int matrix_open_apart(struct expand_site *s, int operand) { return as_matrix(s, operand, 2, false); }

int matrix_close(struct hlo_builder *b, int x, const struct hlo_type *t)
{
    int64_t dim[3] = {matrix_rows(b, x), matrix_columns(b, x), 0}, order[3] = {2, 0, 1};

    if (lies_across(b, x)) {
        dim[2] = dims_of(b, x)[2] * LANES;
        x = hlo_reshape(b, x, 3, dim);
        x = hlo_slice_dim(b, x, 2, 0, hlo_type_elements(t) / (dim[0] * dim[1]));
        x = hlo_transpose(b, x, order);
    }
    return hlo_convert(b, hlo_reshape(b, x, t->rank, t->dim), t->element);
}

int matrix_zero(struct hlo_builder *b, int like, int64_t rows, int64_t columns)
{
    int64_t dim[4];
    int rank = dims_like(b, like, rows, columns, dim);
    struct hlo_type t = hlo_array_type(b->module->arena, ar_element(b, like), rank, dim);

    return hlo_constant(b, &t, 0);
}

static int number(struct hlo_builder *b, int like, int dim)
{
    struct hlo_type t = ar_type(b, like, ELEMENT_S32);

    return hlo_iota(b, &t, dim);
}

int matrix_row_number(struct hlo_builder *b, int like) { return number(b, like, rows_axis(b, like)); }

int matrix_column_number(struct hlo_builder *b, int like)
{
    return number(b, like, rows_axis(b, like) + 1);
}


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

/* where a part begins: zero along the batch */
static const int *place(struct hlo_builder *b, int x, int row, int column, int *at)
{
    int zero = ar_scalar(b, ELEMENT_S32, 0), axis = rows_axis(b, x);

    for (int d = 0; d < 4; d++)
        at[d] = zero;
    at[axis] = row < 0 ? zero : row;
    at[axis + 1] = column < 0 ? zero : column;
    return at;
}

static int part(struct hlo_builder *b, int x, int row, int column)
{
    int64_t sizes[4];
    int at[4];

    dims_like(b, x, row < 0 ? matrix_rows(b, x) : 1, column < 0 ? matrix_columns(b, x) : 1, sizes);
    return hlo_dynamic_slice(b, x, place(b, x, row, column, at), sizes);
}

int matrix_column(struct hlo_builder *b, int x, int at) { return part(b, x, -1, at); }
int matrix_row(struct hlo_builder *b, int x, int at) { return part(b, x, at, -1); }

int matrix_element(struct hlo_builder *b, int x, int row, int column)
{
    return part(b, x, row, column);
}

int matrix_set_column(struct hlo_builder *b, int x, int column, int at)
{
    int start[4];

    return hlo_dynamic_update_slice(b, x, column, place(b, x, -1, at, start));
}

int matrix_set_row(struct hlo_builder *b, int x, int row, int at)
{
    int start[4];

    return hlo_dynamic_update_slice(b, x, row, place(b, x, at, -1, start));
}

int matrix_spread(struct hlo_builder *b, int x, int like)
{
    struct hlo_type from = *hlo_type_of(b, x), to = *hlo_type_of(b, like);
    int64_t kept[4], dims[4];
    int count = 0;

    for (int d = 0; d < to.rank; d++) {
        if (from.dim[d] == to.dim[d]) {
            kept[count] = from.dim[d];
            dims[count++] = d;
        }
    }
    if (count == to.rank)
        return x;
    return hlo_broadcast(b, hlo_reshape(b, x, count, kept), to.rank, to.dim, dims);
}

int matrix_transpose(struct hlo_builder *b, int x)
{
    int64_t apart[3] = {0, 2, 1}, across[4] = {1, 0, 2, 3};

    return hlo_transpose(b, x, lies_across(b, x) ? across : apart);
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

static int reduced(struct hlo_builder *b, int x, int64_t axis, enum hlo_opcode op, int init)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t kept[4];

    for (int d = 0; d < t.rank; d++)
        kept[d] = d == axis ? 1 : t.dim[d];
    x = hlo_reduce(b, x, init, 1, &axis, hlo_scalar_computation(b->module, op, t.element));
    return hlo_reshape(b, x, t.rank, kept);
}

static int sum(struct hlo_builder *b, int x, int64_t axis)
{
    struct hlo_type scalar = hlo_scalar_type(ar_element(b, x));

    return reduced(b, x, axis, OPCODE_ADD, hlo_constant(b, &scalar, 0));
}

int matrix_sum_rows(struct hlo_builder *b, int x) { return sum(b, x, rows_axis(b, x)); }
int matrix_sum_columns(struct hlo_builder *b, int x) { return sum(b, x, rows_axis(b, x) + 1); }

int matrix_reduce_rows(struct hlo_builder *b, int x, enum hlo_opcode op, int init)
{
    return reduced(b, x, rows_axis(b, x), op, init);
}
