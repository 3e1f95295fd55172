/*
 * Triangular systems, a row of the solution in each round, from the end where an equation has one
 * unknown only. All variants are made the one with the matrix at the left, not transposed.
 */
#include "import/expand/matrix.h"

enum { MATRIX, DIAGONAL, REST, COUNT };     /* strictly triangular; [batch, n, 1]; becomes X */

struct solve { bool is_lower; int64_t n; };

static void round_body(struct hlo_builder *b, int *x, int round, const void *user)
{
    const struct solve *solve = user;
    int last = ar_scalar(b, ELEMENT_S32, solve->n - 1);
    int j = solve->is_lower ? round : ar_sub(b, last, round), row, at;

    row = matrix_row(b, x[REST], j);
    at = matrix_element(b, x[DIAGONAL], j, ar_scalar(b, ELEMENT_S32, 0));
    row = ar_div(b, row, matrix_spread(b, at, row));
    x[REST] = matrix_set_row(b, x[REST], row, j);
    x[REST] = ar_sub(b, x[REST],
                     ar_mul(b, matrix_spread(b, matrix_column(b, x[MATRIX], j), x[REST]),
                            matrix_spread(b, row, x[REST])));
}

int expand_triangular_solve(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int a = matrix_open(s, 0), y = matrix_open(s, 1), zero, diagonal, rows, columns;
    bool is_lower = hlo_detail(s->from)->is_lower;
    struct solve solve;
    struct expand_loop loop = {.count = COUNT, .body = round_body, .user = &solve};

    if (hlo_detail(s->from)->transpose == HLO_SOLVE_ADJOINT)
        a = matrix_conjugate(b, a);
    if (hlo_detail(s->from)->transpose != HLO_SOLVE_PLAIN) {
        a = matrix_transpose(b, a);
        is_lower = !is_lower;
    }
    if (!hlo_detail(s->from)->is_left) {            /* x a = b is a' x' = b' */
        a = matrix_transpose(b, a);
        y = matrix_transpose(b, y);
        is_lower = !is_lower;
    }
    solve = (struct solve){is_lower, matrix_rows(b, a)};
    zero = ar_num(b, a, 0);
    rows = matrix_row_number(b, a);
    columns = matrix_column_number(b, a);
    diagonal = matrix_sum_columns(b, ar_sel(b, ar_eq(b, rows, columns), a, zero));
    if (hlo_detail(s->from)->is_unit_diagonal)
        diagonal = ar_num(b, diagonal, 1);
    loop.state[MATRIX] = ar_sel(b, hlo_compare(b, is_lower ? HLO_GT : HLO_LT, rows, columns), a, zero);
    loop.state[DIAGONAL] = diagonal;
    loop.state[REST] = y;
    loop.rounds = solve.n;
    expand_loop(b, &loop);
    y = loop.state[REST];
    return matrix_close(b, hlo_detail(s->from)->is_left ? y : matrix_transpose(b, y),
                        s->from->type);
}
