/*
 * Fourier transforms of any length, in c128: powers of two by halving, other lengths as a
 * convolution of such a length (Bluestein).
 */
#include "import/eval/handlers.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* n a power of two; sign -1 forwards, 1 backwards without the division */
static void fft_power(lane_c128 *x, int64_t n, int sign)
{
    for (int64_t i = 1, j = 0; i < n; i++) {
        int64_t bit = n >> 1;

        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            lane_c128 t = x[i];

            x[i] = x[j];
            x[j] = t;
        }
    }
    for (int64_t length = 2; length <= n; length *= 2)
        for (int64_t k = 0; k < length / 2; k++) {
            double angle = sign * 2 * pi * (double)k / (double)length;
            double c = cos(angle), s = sin(angle);

            for (int64_t i = k; i < n; i += length) {
                lane_c128 y = x[i + length / 2], z;

                z = complex_f64(creal(y) * c - cimag(y) * s, creal(y) * s + cimag(y) * c);
                x[i + length / 2] = x[i] - z;
                x[i] += z;
            }
        }
}

static void fft_any(lane_c128 *x, int64_t n, int sign)
{
    int64_t m = 1;
    lane_c128 *chirp, *a, *b;

    while (m < 2 * n)
        m *= 2;
    chirp = mem_alloc((size_t)(n + 2 * m) * sizeof(*chirp));
    a = chirp + n;
    b = a + m;
    for (int64_t k = 0; k < n; k++) {
        double angle = sign * pi * (double)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * n)) /
                       (double)n;

        chirp[k] = complex_f64(cos(angle), sin(angle));
        a[k] = x[k] * chirp[k];
        b[k] = conj(chirp[k]);
        if (k)
            b[m - k] = b[k];
    }
    fft_power(a, m, -1);
    fft_power(b, m, -1);
    for (int64_t k = 0; k < m; k++)
        a[k] *= b[k];
    fft_power(a, m, 1);
    for (int64_t k = 0; k < n; k++)
        x[k] = a[k] / (double)m * chirp[k];
    mem_free(chirp);
}

static void fft_line(lane_c128 *x, int64_t n, int sign)
{
    if (n & (n - 1))
        fft_any(x, n, sign);
    else
        fft_power(x, n, sign);
    for (int64_t k = 0; k < n && sign > 0; k++)
        x[k] /= (double)n;
}

/* along dimension d of a dense array */
static void fft_dim(lane_c128 *x, int rank, const int64_t *dim, int d, int sign)
{
    int64_t n = dim[d], inner = value_product(dim, d + 1, rank), outer = value_product(dim, 0, d);
    lane_c128 *line = mem_alloc((size_t)n * sizeof(*line) + 1);

    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            lane_c128 *first = x + o * n * inner + i;

            for (int64_t k = 0; k < n; k++)
                line[k] = first[k * inner];
            fft_line(line, n, sign);
            for (int64_t k = 0; k < n; k++)
                first[k * inner] = line[k];
        }
    mem_free(line);
}

/* elements of the last dimension that a real signal's transform leaves out: conjugates of others.
 * from: last dimension `given`, to: `n`; the other transformed dimensions run backwards */
static void complete(const lane_c128 *from, lane_c128 *to, int rank, const int64_t *dim,
                     int transformed, int64_t given)
{
    int64_t index[EVAL_RANK_MAX] = { 0 }, at = 0;

    do {
        int64_t k = index[rank - 1], n = dim[rank - 1], source = 0;
        bool is_there = k < given;

        for (int d = 0; d < rank; d++) {
            int64_t size = d == rank - 1 ? given : dim[d], x = index[d];

            if (!is_there && d == rank - 1)
                x = n - k;
            else if (!is_there && d >= rank - transformed)
                x = (dim[d] - x) % dim[d];
            source = source * size + x;
        }
        to[at++] = is_there ? from[source] : conj(from[source]);
    } while (stride_next(rank, dim, index));
}

static lane_c128 *load_complex(const struct value *v, size_t room)
{
    int64_t n = value_count(v);
    lane_c128 *x = mem_alloc((room > (size_t)n ? room : (size_t)n) * sizeof(*x) + 1);

    lane_convert(ELEMENT_C128, x, v->element, v->data, n);
    return x;
}

/* forwards; of real numbers only the first half of the last dimension is kept */
static void transform(struct call *c, int sign)
{
    struct value *from = c->operand[0];
    int rank = from->rank, lengths = hlo_detail(c->i)->sizes.count;
    lane_c128 *x = load_complex(from, 0);
    int64_t kept = c->result->dim[rank - 1], n = from->dim[rank - 1];

    for (int d = rank - lengths; d < rank; d++)
        fft_dim(x, rank, from->dim, d, sign);
    for (int64_t row = 0; kept < n && row < value_count(from) / n; row++)
        memmove(x + row * kept, x + row * n, (size_t)kept * sizeof(*x));
    lane_convert(c->result->element, c->result->data, ELEMENT_C128, x, value_count(c->result));
    mem_free(x);
}

static void back_to_real(struct call *c)
{
    struct value *from = c->operand[0], *to = c->result;
    int lengths = hlo_detail(c->i)->sizes.count;
    lane_c128 *half = load_complex(from, 0);
    lane_c128 *x = mem_alloc((size_t)value_count(to) * sizeof(*x) + 1);

    complete(half, x, to->rank, to->dim, lengths, from->dim[from->rank - 1]);
    for (int d = to->rank - lengths; d < to->rank; d++)
        fft_dim(x, to->rank, to->dim, d, 1);
    lane_convert(to->element, to->data, ELEMENT_C128, x, value_count(to));
    mem_free(half);
    mem_free(x);
}

int eval_fft(struct call *c)
{
    if (call_result(c))
        return -1;
    if (value_count(c->result) == 0)
        return 0;
    if (hlo_detail(c->i)->fft == HLO_IRFFT)
        back_to_real(c);
    else
        transform(c, hlo_detail(c->i)->fft == HLO_IFFT ? 1 : -1);
    return 0;
}
