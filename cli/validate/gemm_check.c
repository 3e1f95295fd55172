/*
 * Compares a product with OpenBLAS's, element by element, within the bound that the roundings of
 * both sums allow.
 */
#include "cli/validate/gemm_check.h"

#include "base/units.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>

#define UNIT_ROUNDOFF 0x1p-24           /* of f32 */
#define BF16_ROUNDOFF 0x1p-8            /* half an ulp, relative */
#define SMALLEST 0x1p-126               /* smaller ones are flushed */

/* what n roundings in a row may add up to, relative */
static double gamma_of(double n)
{
    return n * UNIT_ROUNDOFF / (1 - n * UNIT_ROUNDOFF);
}

static void multiply(const struct gemm_operands *x, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)x->m, (int)x->n, (int)x->k, 1, a,
                (int)x->k, b, (int)x->n, 0, c, (int)x->n);
}

static float *sizes(const float *from, int64_t count, struct arena *a)
{
    float *to = arena_array(a, (size_t)count, sizeof(*to));

    for (int64_t i = 0; i < count; i++)
        to[i] = fabsf(from[i]);
    return to;
}

/* an element's difference as a share of what is allowed; infinities and NaN must be the same */
static double share_of(float is, float blas, double size, double relative, double bf16)
{
    double allowed = relative * size + bf16 * (fabs((double)blas) + relative * size) + SMALLEST;

    if (!isfinite(is) || !isfinite(blas))
        return isnan(is) == isnan(blas) && (isnan(is) || is == blas) ? 0 : INFINITY;
    return fabs((double)is - (double)blas) / allowed;
}

static int64_t not_finite(const float *x, int64_t count)
{
    int64_t found = 0;

    for (int64_t i = 0; i < count; i++)
        found += !isfinite(x[i]);
    return found;
}

/* what the bound says nothing of */
static void print_not_finite(const struct gemm_operands *x)
{
    int64_t operands = not_finite(x->a, x->m * x->k) + not_finite(x->b, x->k * x->n);
    int64_t results = not_finite(x->c, x->m * x->n);

    if (operands + results > 0)
        printf("NaN and infinite: %lld elements of the operands, %lld of %lld of the result, the "
               "same as OpenBLAS's\n", (long long)operands, (long long)results,
               (long long)(x->m * x->n));
}

int gemm_check(const struct gemm_operands *x, int64_t array, bool is_result_bf16, struct arena *a,
               struct err *e)
{
    int64_t count = x->m * x->n, worst = 0;
    float *blas = arena_array(a, (size_t)count, sizeof(*blas));
    float *size = arena_array(a, (size_t)count, sizeof(*size));
    double passes = (double)div_up(x->k, array), worst_share = 0;
    double ours = gamma_of((double)array + passes), theirs = gamma_of((double)x->k);
    double relative = (ours + theirs) / (1 - theirs);   /* `size` is sgemm's as well */
    double bf16 = is_result_bf16 ? BF16_ROUNDOFF : 0;

    multiply(x, x->a, x->b, blas);
    multiply(x, sizes(x->a, x->m * x->k, a), sizes(x->b, x->k * x->n, a), size);
    for (int64_t i = 0; i < count; i++) {
        double share = share_of(x->c[i], blas[i], (double)size[i], relative, bf16);

        if (share > worst_share) {
            worst_share = share;
            worst = i;
        }
    }
    if (worst_share > 1)
        return err_set(e, "element (%lld, %lld) is %.9g, OpenBLAS has %.9g: %.3g times the bound",
                       (long long)(worst / x->n), (long long)(worst % x->n),
                       (double)x->c[worst], (double)blas[worst], worst_share);
    print_not_finite(x);
    printf("within the bound of OpenBLAS: at most %.3f of %.3g sum |a||b|%s\n", worst_share,
           relative, bf16 > 0 ? " + 2^-8 |c|" : "");
    return 0;
}
