/*
 * Qr and ProductOfElementaryHouseholderReflectors: R above and the vectors of reflections below the
 * diagonal, as LAPACK's geqrf packs them, H = 1 - tau v v^H with v 1 at the diagonal; and the matrix
 * with orthonormal columns that the reflections make, as its orgqr and ungqr.
 */
#include "import/expand/matrix.h"

enum { PACKED, TAUS, COUNT };           /* [batch, m, n]; [batch, k, 1] */

/* x - tau v (v^H x) */
static int reflect(struct hlo_builder *b, int x, int v, int tau)
{
    int product = ar_mul(b, matrix_spread(b, matrix_conjugate(b, v), x), x);
    int row = matrix_sum_rows(b, product);

    row = ar_mul(b, row, matrix_spread(b, tau, row));
    return ar_sub(b, x, ar_mul(b, matrix_spread(b, v, x), matrix_spread(b, row, x)));
}

static void factor_round(struct hlo_builder *b, int *x, int j, const void *user)
{
    int column = matrix_column(b, x[PACKED], j), at = matrix_element(b, x[PACKED], j, j);
    int zero = ar_num(b, column, 0), tail, rest, norm, beta, tau, v, none, real = matrix_real(b, at);
    int below = matrix_row_is(b, column, HLO_GT, j), right, divisor, others;

    (void)user;
    tail = ar_sel(b, below, column, zero);
    rest = matrix_sum_rows(b, matrix_squares(b, tail));
    if (matrix_is_complex(b, at)) {
        int imaginary = hlo_imaginary(b, at);

        none = ar_add(b, rest, ar_mul(b, imaginary, imaginary));
    } else {
        none = rest;
    }
    none = ar_eq(b, none, ar_num(b, rest, 0));
    norm = ar_sqrt(b, ar_add(b, rest, matrix_squares(b, at)));
    beta = ar_sel(b, ar_ge(b, real, ar_num(b, real, 0)), ar_neg(b, norm), norm);
    beta = matrix_number_of(b, ar_sel(b, none, real, beta), at);
    divisor = ar_sel(b, none, ar_num(b, at, 1), ar_sub(b, at, beta));
    others = ar_sel(b, none, ar_num(b, at, 1), beta);
    tau = ar_div(b, ar_sub(b, beta, at), others);
    tau = ar_sel(b, none, ar_num(b, tau, 0), tau);
    v = ar_div(b, tail, matrix_spread(b, divisor, tail));
    x[TAUS] = matrix_set_row(b, x[TAUS], tau, j);
    /* the columns to the right see the adjoint of the reflection; this one is what is packed */
    right = ar_sel(b, matrix_row_is(b, v, HLO_EQ, j), ar_num(b, v, 1), v);
    others = reflect(b, x[PACKED], right, matrix_conjugate(b, tau));
    x[PACKED] = ar_sel(b, matrix_column_is(b, x[PACKED], HLO_GT, j), others, x[PACKED]);
    column = ar_sel(b, matrix_row_is(b, column, HLO_EQ, j), matrix_spread(b, beta, column), column);
    x[PACKED] = matrix_set_column(b, x[PACKED], ar_sel(b, below, v, column), j);
}

int expand_qr(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *t = s->from->type;
    int x = matrix_open(s, 0), result[COUNT];
    int64_t m = matrix_rows(b, x), n = matrix_columns(b, x);
    struct expand_loop loop = {.count = COUNT, .body = factor_round, .rounds = m < n ? m : n};

    if (!hlo_type_is_tuple(t) || t->part_count != COUNT)
        return expand_refuse(s, "its results must be a packed matrix and taus");
    loop.state[PACKED] = x;
    loop.state[TAUS] = matrix_zero(b, x, loop.rounds, 1);
    expand_loop(b, &loop);
    for (int i = 0; i < COUNT; i++)
        result[i] = matrix_close(b, loop.state[i], &t->part[i]);
    return hlo_tuple(b, COUNT, result);
}

enum { PRODUCT, VECTORS, FACTORS, PRODUCT_COUNT };

/* H0 (H1 (.. 1)): the last reflection first */
static void product_round(struct hlo_builder *b, int *x, int round, const void *user)
{
    const int64_t *count = user;
    int j = ar_sub(b, ar_scalar(b, ELEMENT_S32, *count - 1), round), zero_at, v, tau;

    zero_at = ar_scalar(b, ELEMENT_S32, 0);
    v = matrix_column(b, x[VECTORS], j);
    tau = matrix_element(b, x[FACTORS], j, zero_at);
    v = ar_sel(b, matrix_row_is(b, v, HLO_GT, j), v,
               ar_sel(b, matrix_row_is(b, v, HLO_EQ, j), ar_num(b, v, 1), ar_num(b, v, 0)));
    x[PRODUCT] = reflect(b, x[PRODUCT], v, tau);
}

int expand_reflectors(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int x = matrix_open(s, 0), taus = matrix_open_vector(s, 1), one;
    int64_t count = matrix_rows(b, taus), columns = s->from->type->dim[s->from->type->rank - 1];
    struct expand_loop loop = {.count = PRODUCT_COUNT, .body = product_round, .rounds = count,
                               .user = &count};

    one = matrix_zero(b, x, matrix_rows(b, x), columns);
    one = ar_sel(b, ar_eq(b, matrix_row_number(b, one), matrix_column_number(b, one)),
                 ar_num(b, one, 1), one);
    loop.state[PRODUCT] = one;
    loop.state[VECTORS] = x;
    loop.state[FACTORS] = taus;
    expand_loop(b, &loop);
    return matrix_close(b, loop.state[PRODUCT], s->from->type);
}
