/*
 * LuDecomposition: factors of a matrix whose rows are exchanged so that each pivot is the largest of
 * its column, packed as LAPACK's getrf has them; the exchanges, and the order of rows that they make.
 */
#include "import/expand/matrix.h"

enum { PACKED, PIVOTS, ORDER, COUNT };  /* [batch, m, n]; s32 [batch, k, 1]; s32 [batch, m, 1] */

static int size_of(struct hlo_builder *b, int x)
{
    if (hlo_element_is_complex(ar_element(b, x)))
        return ar_add(b, ar_abs(b, hlo_real(b, x)), ar_abs(b, hlo_imaginary(b, x)));
    return ar_abs(b, x);
}

/* the row of the first of the largest elements from row j on: s32 [batch, 1, 1] */
static int pivot_row(struct hlo_builder *b, int column, int j)
{
    int size = size_of(b, column), below = matrix_row_is(b, size, HLO_GE, j), largest, rows;
    struct hlo_type scalar = hlo_scalar_type(ELEMENT_F32);
    int is_largest;

    size = ar_sel(b, below, size, ar_num(b, size, -1));
    largest = matrix_reduce_rows(b, size, OPCODE_MAXIMUM, hlo_constant(b, &scalar, -1));
    rows = matrix_row_number(b, size);
    is_largest = ar_and(b, below, ar_ge(b, size, matrix_spread(b, largest, size)));
    rows = ar_sel(b, is_largest, rows, ar_int(b, rows, INT32_MAX));
    rows = matrix_reduce_rows(b, rows, OPCODE_MINIMUM, ar_scalar(b, ELEMENT_S32, INT32_MAX));
    /* a column of NaN has no largest: it keeps its row */
    return ar_sel(b, ar_eq(b, rows, ar_int(b, rows, INT32_MAX)), ar_spread(b, j, rows), rows);
}

/* rows j and `pivot` of x in each other's place */
static int exchange(struct hlo_builder *b, int x, int j, int pivot)
{
    int numbers = matrix_row_number(b, x), at_pivot, here = matrix_row(b, x, j), there, zero;

    at_pivot = ar_eq(b, numbers, matrix_spread(b, pivot, numbers));
    zero = ar_num(b, x, 0);
    there = matrix_sum_rows(b, ar_sel(b, at_pivot, x, zero));
    x = ar_sel(b, at_pivot, matrix_spread(b, here, x), x);
    return matrix_set_row(b, x, there, j);
}

static void round_body(struct hlo_builder *b, int *x, int j, const void *user)
{
    int pivot = pivot_row(b, matrix_column(b, x[PACKED], j), j), column, at, row, is_zero, update;

    (void)user;
    x[PIVOTS] = matrix_set_row(b, x[PIVOTS], pivot, j);
    x[PACKED] = exchange(b, x[PACKED], j, pivot);
    x[ORDER] = exchange(b, x[ORDER], j, pivot);
    column = matrix_column(b, x[PACKED], j);
    row = matrix_row(b, x[PACKED], j);
    at = matrix_spread(b, matrix_element(b, x[PACKED], j, j), column);
    is_zero = ar_eq(b, at, ar_num(b, at, 0));
    at = ar_sel(b, is_zero, ar_num(b, at, 1), at);
    column = ar_sel(b, matrix_row_is(b, column, HLO_GT, j), ar_div(b, column, at), column);
    x[PACKED] = matrix_set_column(b, x[PACKED], column, j);
    column = ar_sel(b, matrix_row_is(b, column, HLO_GT, j), column, ar_num(b, column, 0));
    row = ar_sel(b, matrix_column_is(b, row, HLO_GT, j), row, ar_num(b, row, 0));
    update = ar_mul(b, matrix_spread(b, column, x[PACKED]), matrix_spread(b, row, x[PACKED]));
    x[PACKED] = ar_sub(b, x[PACKED], update);
}

int expand_lu(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *t = s->from->type;
    int x = matrix_open(s, 0), result[3], numbers;
    int64_t m = matrix_rows(b, x), n = matrix_columns(b, x), least = m < n ? m : n;
    struct expand_loop loop = {.count = COUNT, .body = round_body, .rounds = least};

    if (!hlo_type_is_tuple(t) || t->part_count != 3)
        return expand_refuse(s, "its results must be a matrix, pivots and a permutation");
    numbers = matrix_row_number(b, matrix_zero(b, x, least, 1));
    loop.state[PACKED] = x;
    loop.state[PIVOTS] = ar_int(b, numbers, 0);
    loop.state[ORDER] = matrix_row_number(b, matrix_zero(b, x, m, 1));
    expand_loop(b, &loop);
    for (int i = 0; i < 3; i++)
        result[i] = matrix_close(b, loop.state[i], &t->part[i]);
    return hlo_tuple(b, 3, result);
}
