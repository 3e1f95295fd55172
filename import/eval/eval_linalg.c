/*
 * Cholesky and triangular solves, and the factorizations that programs for TPUs call by name, with
 * LAPACK's conventions: Qr gives Householder vectors below R and their factors, LuDecomposition the
 * packed factors, pivots from 0 and the permutation they make, Eigh vectors and rising values.
 */
#include "import/lanes/lapack.h"
#include "import/eval/linalg.h"
#include "import/lanes/linalg_matrix.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

static int check_stack(const struct call *c, int operand)
{
    const struct value *v = c->operand[operand];

    if (v->rank < 2 || (!hlo_element_is_float(v->element) && !hlo_element_is_complex(v->element)))
        return call_fail(c, "operand %d is no stack of matrices of numbers", operand);
    if (linalg_rows(v) > 30000 || linalg_columns(v) > 30000)
        return call_fail(c, "a matrix of more than 30000 rows or columns");
    return 0;
}

static int parts(struct call *c, struct value **part, int count)
{
    if (c->i->type->part_count != count)
        return call_fail(c, "%s gives %d results", hlo_detail(c->i)->target, count);
    call_result_tuple(c);
    for (int k = 0; k < count; k++)
        if (!(part[k] = call_part(c, k)))
            return -1;
    return 0;
}

/* the other triangle becomes zero; a matrix that has no factor NaN throughout */
static void finish_cholesky(struct linalg_matrix *m, bool is_lower, bool failed)
{
    int width = m->lane == LANE_C128 ? 2 : 1, n = m->rows;
    double *x = m->data;

    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < width; k++) {
                bool is_kept = is_lower ? i >= j : i <= j;
                double *at = &x[((size_t)j * (size_t)n + (size_t)i) * (size_t)width + (size_t)k];

                *at = !is_kept ? 0 : failed ? NAN : *at;
            }
}

int eval_cholesky(struct call *c)
{
    struct linalg_matrix m;
    const char *uplo = hlo_detail(c->i)->is_lower ? "L" : "U";
    int info;

    if (check_stack(c, 0) || call_result(c))
        return -1;
    linalg_matrix_init(&m, c->operand[0]->element, linalg_rows(c->operand[0]),
                linalg_columns(c->operand[0]));
    for (int64_t k = 0; k < linalg_stack(c->operand[0]) && m.rows; k++) {
        linalg_matrix_take(&m, c->operand[0], k);
        if (m.lane == LANE_F64)
            dpotrf_(uplo, &m.rows, m.data, &m.rows, &info);
        else
            zpotrf_(uplo, &m.rows, m.data, &m.rows, &info);
        finish_cholesky(&m, hlo_detail(c->i)->is_lower, info != 0);
        linalg_matrix_give(&m, c->result, k);
    }
    linalg_matrix_fini(&m);
    return 0;
}

int eval_triangular_solve(struct call *c)
{
    const struct hlo_instruction *i = c->i;
    CBLAS_SIDE side = hlo_detail(i)->is_left ? CblasLeft : CblasRight;
    CBLAS_UPLO uplo = hlo_detail(i)->is_lower ? CblasLower : CblasUpper;
    CBLAS_TRANSPOSE turned = hlo_detail(i)->transpose == HLO_SOLVE_PLAIN     ? CblasNoTrans
                             : hlo_detail(i)->transpose == HLO_SOLVE_ADJOINT ? CblasConjTrans
                                                                             : CblasTrans;
    CBLAS_DIAG diagonal = hlo_detail(i)->is_unit_diagonal ? CblasUnit : CblasNonUnit;
    const double one[2] = { 1, 0 };
    struct linalg_matrix a, b;

    if (check_stack(c, 0) || check_stack(c, 1) || call_result(c))
        return -1;
    linalg_matrix_init(&a, c->operand[0]->element, linalg_rows(c->operand[0]),
                linalg_columns(c->operand[0]));
    linalg_matrix_init(&b, c->operand[1]->element, linalg_rows(c->operand[1]),
                linalg_columns(c->operand[1]));
    for (int64_t k = 0; k < linalg_stack(c->operand[1]) && b.rows && b.columns; k++) {
        linalg_matrix_take(&a, c->operand[0], k);
        linalg_matrix_take(&b, c->operand[1], k);
        if (a.lane == LANE_F64)
            cblas_dtrsm(CblasColMajor, side, uplo, turned, diagonal, b.rows, b.columns, 1, a.data,
                        a.rows, b.data, b.rows);
        else
            cblas_ztrsm(CblasColMajor, side, uplo, turned, diagonal, b.rows, b.columns, one,
                        a.data, a.rows, b.data, b.rows);
        linalg_matrix_give(&b, c->result, k);
    }
    linalg_matrix_fini(&a);
    linalg_matrix_fini(&b);
    return 0;
}

int linalg_qr(struct call *c)
{
    struct value *part[2], *v = c->operand[0];
    struct linalg_matrix m, tau, work;
    int64_t shorter;
    int info, room;

    if (check_stack(c, 0) || parts(c, part, 2))
        return -1;
    shorter = linalg_rows(v) < linalg_columns(v) ? linalg_rows(v) : linalg_columns(v);
    linalg_matrix_init(&m, v->element, linalg_rows(v), linalg_columns(v));
    linalg_matrix_init(&tau, v->element, 1, shorter);
    linalg_matrix_init(&work, v->element, 64, linalg_columns(v) + 1);
    room = work.rows * work.columns;
    for (int64_t k = 0; k < linalg_stack(v) && shorter; k++) {
        linalg_matrix_take(&m, v, k);
        if (m.lane == LANE_F64)
            dgeqrf_(&m.rows, &m.columns, m.data, &m.rows, tau.data, work.data, &room, &info);
        else
            zgeqrf_(&m.rows, &m.columns, m.data, &m.rows, tau.data, work.data, &room, &info);
        linalg_matrix_give(&m, part[0], k);
        linalg_matrix_give_vector(&tau, part[1], k);
    }
    linalg_matrix_fini(&m);
    linalg_matrix_fini(&tau);
    linalg_matrix_fini(&work);
    return 0;
}

int linalg_householder_product(struct call *c)
{
    struct value *v = c->operand[0], *factors = c->operand[1];
    struct linalg_matrix m, tau, work;
    int info, room, count;

    if (check_stack(c, 0) || call_result(c))
        return -1;
    if (linalg_rows(v) < linalg_columns(v) || factors->dim[factors->rank - 1] > linalg_columns(v))
        return call_fail(c, "%lld x %lld with %lld reflectors is no product of reflectors",
                         (long long)linalg_rows(v), (long long)linalg_columns(v),
                         (long long)factors->dim[factors->rank - 1]);
    linalg_matrix_init(&m, v->element, linalg_rows(v), linalg_columns(v));
    linalg_matrix_init(&tau, v->element, 1, factors->dim[factors->rank - 1]);
    linalg_matrix_init(&work, v->element, 64, linalg_columns(v) + 1);
    room = work.rows * work.columns;
    count = tau.columns;
    for (int64_t k = 0; k < linalg_stack(v) && m.columns; k++) {
        linalg_matrix_take(&m, v, k);
        linalg_matrix_take_vector(&tau, factors, k);
        if (m.lane == LANE_F64)
            dorgqr_(&m.rows, &m.columns, &count, m.data, &m.rows, tau.data, work.data, &room,
                    &info);
        else
            zungqr_(&m.rows, &m.columns, &count, m.data, &m.rows, tau.data, work.data, &room,
                    &info);
        linalg_matrix_give(&m, c->result, k);
    }
    linalg_matrix_fini(&m);
    linalg_matrix_fini(&tau);
    linalg_matrix_fini(&work);
    return 0;
}

/* pivots from 0, and where each row of the product has come from */
static void give_pivots(const int *pivot, int64_t count, int64_t rows, int64_t at,
                        struct value *pivots, struct value *permutation)
{
    int32_t *to = (int32_t *)pivots->data + at * count;
    int32_t *order = (int32_t *)permutation->data + at * rows;

    for (int64_t k = 0; k < rows; k++)
        order[k] = (int32_t)k;
    for (int64_t k = 0; k < count; k++) {
        int32_t moved = order[k];

        to[k] = pivot[k] - 1;
        order[k] = order[to[k]];
        order[to[k]] = moved;
    }
}

int linalg_lu(struct call *c)
{
    struct value *part[3], *v = c->operand[0];
    struct linalg_matrix m;
    int64_t shorter;
    int info, *pivot;

    if (check_stack(c, 0) || parts(c, part, 3))
        return -1;
    if (part[1]->element != ELEMENT_S32 || part[2]->element != ELEMENT_S32)
        return call_fail(c, "pivots and permutation are s32");
    shorter = linalg_rows(v) < linalg_columns(v) ? linalg_rows(v) : linalg_columns(v);
    linalg_matrix_init(&m, v->element, linalg_rows(v), linalg_columns(v));
    pivot = mem_alloc((size_t)shorter * sizeof(*pivot) + 1);
    for (int64_t k = 0; k < linalg_stack(v) && shorter; k++) {
        linalg_matrix_take(&m, v, k);
        if (m.lane == LANE_F64)
            dgetrf_(&m.rows, &m.columns, m.data, &m.rows, pivot, &info);
        else
            zgetrf_(&m.rows, &m.columns, m.data, &m.rows, pivot, &info);
        linalg_matrix_give(&m, part[0], k);
        give_pivots(pivot, shorter, m.rows, k, part[1], part[2]);
    }
    mem_free(pivot);
    linalg_matrix_fini(&m);
    return 0;
}

/* the configuration begins with 1 for the lower triangle, 0 for the upper */
int linalg_eigh(struct call *c)
{
    const char *config = hlo_detail(c->i)->config ? hlo_detail(c->i)->config : "1", *uplo;
    struct value *part[2], *v = c->operand[0];
    struct linalg_matrix m, values, work, more;
    int info = 0, room;

    if (check_stack(c, 0) || parts(c, part, 2))
        return -1;
    uplo = config[strspn(config, "\"")] == '0' ? "U" : "L";
    linalg_matrix_init(&m, v->element, linalg_rows(v), linalg_columns(v));
    linalg_matrix_init(&values, ELEMENT_F64, 1, m.rows);
    linalg_matrix_init(&work, v->element, 64, m.rows + 1);
    linalg_matrix_init(&more, ELEMENT_F64, 3, m.rows + 1);
    room = work.rows * work.columns;
    for (int64_t k = 0; k < linalg_stack(v) && m.rows && !info; k++) {
        linalg_matrix_take(&m, v, k);
        if (m.lane == LANE_F64)
            dsyev_("V", uplo, &m.rows, m.data, &m.rows, values.data, work.data, &room, &info);
        else
            zheev_("V", uplo, &m.rows, m.data, &m.rows, values.data, work.data, &room, more.data,
                   &info);
        linalg_matrix_give(&m, part[0], k);
        linalg_matrix_give_vector(&values, part[1], k);
    }
    linalg_matrix_fini(&m);
    linalg_matrix_fini(&values);
    linalg_matrix_fini(&work);
    linalg_matrix_fini(&more);
    return info ? call_fail(c, "the eigenvalues of a matrix were not found") : 0;
}
