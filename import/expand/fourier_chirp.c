/*
 * Fourier transforms of lengths without small factors, after Bluestein: as j k = (j^2 + k^2 -
 * (k - j)^2) / 2, they are a convolution with a chirp, which transforms of a power of two compute.
 */
#include "import/expand/fourier.h"

#include <math.h>

#include "base/complex_parts.h"

/* e^(sign pi i j^2 / n) */
static double complex chirp(int64_t j, int64_t n, int sign)
{
    double angle = AR_PI * (double)(j * j % (2 * n)) / (double)n;

    return complex_f64(cos(angle), sign * sin(angle));
}

/* forwards in its place, of a power of two; `room` has as many */
static void transform_host(double complex *x, double complex *room, int64_t n)
{
    if (n == 1)
        return;
    for (int64_t j = 0; j < n / 2; j++) {
        room[j] = x[2 * j];
        room[n / 2 + j] = x[2 * j + 1];
    }
    transform_host(room, x, n / 2);
    transform_host(room + n / 2, x, n / 2);
    for (int64_t k = 0; k < n / 2; k++) {
        double angle = -2 * AR_PI * (double)k / (double)n;
        double complex odd = complex_f64(cos(angle), sin(angle)) * room[n / 2 + k];

        x[k] = room[k] + odd;
        x[n / 2 + k] = room[k] - odd;
    }
}

/* a row for each of `batch`, of real or imaginary parts */
static int rows_of(struct hlo_builder *b, const double complex *x, int64_t batch, int64_t n,
                   bool is_imaginary)
{
    struct hlo_type t = hlo_array_type(b->module->arena, ELEMENT_F32, 1, &n);
    int64_t dim[2] = {batch, n}, dims = 1;
    float *data = mem_alloc((size_t)n * sizeof(*data));
    const struct hlo_literal *l;

    for (int64_t k = 0; k < n; k++)
        data[k] = (float)(is_imaginary ? cimag(x[k]) : creal(x[k]));
    l = hlo_literal_copy(b->module->arena, &t, data);
    mem_free(data);
    return hlo_broadcast(b, hlo_constant_literal(b, l), 2, dim, &dims);
}

static struct wave times(struct hlo_builder *b, struct wave x, const double complex *y,
                         int64_t batch, int64_t n)
{
    int real = rows_of(b, y, batch, n, false);

    return fourier_turn(b, x, real, rows_of(b, y, batch, n, true));
}

static int padded(struct hlo_builder *b, int x, int64_t more)
{
    int64_t low[2] = {0, 0}, high[2] = {0, more};
    struct hlo_type scalar = hlo_scalar_type(ELEMENT_F32);

    return hlo_pad(b, x, hlo_constant(b, &scalar, 0), low, high, NULL);
}

struct wave fourier_chirp(struct hlo_builder *b, struct wave x, int64_t batch, int64_t n, int sign)
{
    int64_t m = 1;
    double complex *own, *other, *room;

    while (m < 2 * n - 1)
        m *= 2;
    own = mem_alloc((size_t)n * sizeof(*own));
    other = mem_alloc((size_t)m * sizeof(*other));
    room = mem_alloc((size_t)m * sizeof(*room));
    for (int64_t j = 0; j < n; j++) {
        own[j] = chirp(j, n, sign);
        other[j] = other[(m - j) % m] = chirp(j, n, -sign) / (double)m;
    }
    transform_host(other, room, m);
    x = times(b, x, own, batch, n);
    x.real = padded(b, x.real, m - n);
    x.imaginary = padded(b, x.imaginary, m - n);
    x = fourier_rows(b, x, batch, m, -1);
    x = times(b, x, other, batch, m);
    x = fourier_rows(b, x, batch, m, 1);
    x.real = hlo_slice_dim(b, x.real, 1, 0, n);
    x.imaginary = hlo_slice_dim(b, x.imaginary, 1, 0, n);
    x = times(b, x, own, batch, n);
    mem_free(own);
    mem_free(other);
    mem_free(room);
    return x;
}
