/* Matrix products: of floats by BLAS, of integers by rows. */
#include "import/lanes/gemm.h"

#include <cblas.h>
#include <string.h>

#define ROWS(name, T) \
    static void name(int64_t m, int64_t n, int64_t k, const T *a, const T *b, T *c) \
    { \
        memset(c, 0, (size_t)(m * n) * sizeof(*c)); \
        for (int64_t i = 0; i < m; i++) \
            for (int64_t l = 0; l < k; l++) { \
                T x = a[i * k + l]; \
                T *z = c + i * n; \
                const T *y = b + l * n; \
                for (int64_t j = 0; j < n; j++) \
                    z[j] += x * y[j]; \
            } \
    }

ROWS(rows32, uint32_t)
ROWS(rows64, uint64_t)
ROWS(rows_f32, float)

enum hlo_element gemm_element(enum hlo_element to, enum hlo_element a, enum hlo_element b)
{
    bool is_complex = hlo_element_is_complex(to) || hlo_element_is_complex(a) ||
                      hlo_element_is_complex(b);
    bool is_wide = to == ELEMENT_F64 || to == ELEMENT_C128 || a == ELEMENT_F64 ||
                   b == ELEMENT_F64 || a == ELEMENT_C128 || b == ELEMENT_C128;
    bool is_float = hlo_element_is_float(to) || hlo_element_is_float(a) || hlo_element_is_float(b);

    if (is_complex)
        return is_wide ? ELEMENT_C128 : ELEMENT_C64;
    if (is_float)
        return is_wide ? ELEMENT_F64 : ELEMENT_F32;
    return hlo_element_bits(to) == 64 ? ELEMENT_U64 : ELEMENT_U32;
}

/* few enough terms that their order shows: then it is the plain one */
static bool is_tiny(int64_t m, int64_t n, int64_t k)
{
    return k <= 32 && m <= 4096 && n <= 4096 && m * n * k <= 100000;
}

/* a product small enough to be had in f64, rounded once at the end */
static bool is_small(int64_t m, int64_t n, int64_t k)
{
    enum { SMALL = 1 << 18 };

    return m < SMALL && n < SMALL && k < SMALL && m * k < SMALL && n * k < SMALL && m * n < SMALL;
}

static void small_f32(int m, int n, int k, const float *a, const float *b, float *c)
{
    size_t in_a = (size_t)m * (size_t)k, in_b = (size_t)k * (size_t)n;
    size_t out = (size_t)m * (size_t)n;
    double *x = mem_alloc_unset((in_a + in_b + out) * sizeof(*x)), *y = x + in_a, *z = y + in_b;

    lane_cast(LANE_F64, x, LANE_F32, a, (int64_t)in_a);
    lane_cast(LANE_F64, y, LANE_F32, b, (int64_t)in_b);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, x, k, y, n, 0, z, n);
    lane_cast(LANE_F32, c, LANE_F64, z, (int64_t)out);
    mem_free(x);
}

void gemm(enum lane l, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c)
{
    int mi = (int)m, ni = (int)n, ki = (int)k;
    const float one[2] = { 1, 0 }, zero[2] = { 0, 0 };
    const double one_wide[2] = { 1, 0 }, zero_wide[2] = { 0, 0 };

    if (m == 0 || n == 0)
        return;
    if (k == 0) {
        memset(c, 0, (size_t)(m * n) * lane_bytes(l));
        return;
    }
    switch (l) {
    case LANE_F32:
        if (is_tiny(m, n, k)) {
            rows_f32(m, n, k, a, b, c);
            break;
        }
        if (is_small(m, n, k)) {
            small_f32(mi, ni, ki, a, b, c);
            break;
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, mi, ni, ki, 1, a, ki, b, ni, 0, c,
                    ni);
        break;
    case LANE_F64:
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, mi, ni, ki, 1, a, ki, b, ni, 0, c,
                    ni);
        break;
    case LANE_C64:
        cblas_cgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, mi, ni, ki, one, a, ki, b, ni,
                    zero, c, ni);
        break;
    case LANE_C128:
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, mi, ni, ki, one_wide, a, ki, b, ni,
                    zero_wide, c, ni);
        break;
    case LANE_U64:
        rows64(m, n, k, a, b, c);
        break;
    default:
        rows32(m, n, k, a, b, c);
        break;
    }
}
