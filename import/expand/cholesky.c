/*
 * Cholesky's factor, a column in each round: what the columns before leave of the matrix, divided by
 * the root of its diagonal. The upper factor is the adjoint of the lower one of the adjoint.
 */
#include "import/expand/matrix.h"

enum { REST, FACTOR, COUNT };

static void round_body(struct hlo_builder *b, int *x, int j, const void *user)
{
    int column = matrix_column(b, x[REST], j), at = matrix_element(b, x[REST], j, j), root, update;

    (void)user;
    if (hlo_element_is_complex(ar_element(b, at))) {
        root = ar_sqrt(b, hlo_real(b, at));
        root = hlo_complex(b, root, ar_num(b, root, 0));
    } else {
        root = ar_sqrt(b, at);
    }
    at = matrix_spread(b, root, column);
    column = ar_sel(b, matrix_row_is(b, column, HLO_GT, j), ar_div(b, column, at),
                    ar_sel(b, matrix_row_is(b, column, HLO_EQ, j), at, ar_num(b, column, 0)));
    update = ar_mul(b, matrix_spread(b, column, x[REST]),
                    matrix_spread(b, matrix_conjugate(b, matrix_transpose(b, column)), x[REST]));
    x[FACTOR] = matrix_set_column(b, x[FACTOR], column, j);
    x[REST] = ar_sub(b, x[REST], update);
}

int expand_cholesky(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int x = matrix_open(s, 0), factor;
    struct expand_loop loop = {.count = COUNT, .body = round_body, .rounds = matrix_rows(b, x)};

    if (!hlo_detail(s->from)->is_lower)
        x = matrix_conjugate(b, matrix_transpose(b, x));
    loop.state[REST] = x;
    loop.state[FACTOR] = matrix_zero(b, x, loop.rounds, loop.rounds);
    expand_loop(b, &loop);
    factor = loop.state[FACTOR];
    if (!hlo_detail(s->from)->is_lower)
        factor = matrix_conjugate(b, matrix_transpose(b, factor));
    return matrix_close(b, factor, s->from->type);
}
