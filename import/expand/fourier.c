/*
 * Fourier transforms along the last dimensions, in f32: a product with the matrix of cosines and
 * sines, at HIGHEST precision; of long lengths n = p q products of p, a turn of each element, and
 * transforms of length q, after Cooley and Tukey.
 */
#include "import/expand/fourier.h"

#include "import/expand/site.h"

#include <math.h>

enum { DIRECT_MAX = 128 };              /* longer ones are cut if they have a factor */
enum { TABLE_MAX = 512 };               /* and those that have none turned (fourier_chirp.c) */

static int64_t factor_of(int64_t n)
{
    int64_t best = 1;

    if (n <= DIRECT_MAX)
        return 1;
    for (int64_t p = 2; p <= DIRECT_MAX && p < n; p++)
        if (n % p == 0)
            best = p;
    return best;
}

/* cos or sin of 2 pi j k / n for j < rows, k < columns, n below 2^26; `blocks` of it on a diagonal */
static int wave_table(struct hlo_builder *b, int64_t rows, int64_t columns, int64_t n, bool is_sine,
                      int64_t blocks)
{
    int64_t dim[2] = {blocks * rows, blocks * columns};
    struct hlo_type t = hlo_array_type(b->module->arena, ELEMENT_F32, 2, dim);
    float *data = mem_alloc((size_t)(dim[0] * dim[1]) * sizeof(*data));
    const struct hlo_literal *l;

    for (int64_t j = 0; j < dim[0]; j++) {
        float *row = data + j * dim[1] + j / rows * columns;

        for (int64_t k = 0; k < columns; k++) {
            double angle = 2 * AR_PI * (double)(j % rows * k % n) / (double)n;

            row[k] = (float)(is_sine ? sin(angle) : cos(angle));
        }
    }
    l = hlo_literal_copy(b->module->arena, &t, data);
    mem_free(data);
    return hlo_constant_literal(b, l);
}

/* [batch, n] by [n, columns] */
static int product(struct hlo_builder *b, int x, int table)
{
    static const int64_t one = 1, zero = 0;
    struct hlo_dot d = {.lhs_contract = {1, &one}, .rhs_contract = {1, &zero}};

    return hlo_dot(b, x, table, &d, ELEMENT_F32, HLO_PRECISION_HIGHEST);
}

/* (a + i b)(c + i s) */
struct wave fourier_turn(struct hlo_builder *b, struct wave x, int cosine, int sine)
{
    struct wave y;

    if (x.imaginary < 0)
        return (struct wave){ar_mul(b, x.real, cosine), ar_mul(b, x.real, sine)};
    y.real = ar_sub(b, ar_mul(b, x.real, cosine), ar_mul(b, x.imaginary, sine));
    y.imaginary = ar_add(b, ar_mul(b, x.real, sine), ar_mul(b, x.imaginary, cosine));
    return y;
}

/*
 * So many rows of n beside each other fill a row of the matrix units, of those `peers` that are of
 * one transform: each element of it reaches all others anyway, be it infinite.
 */
static int64_t rows_beside(int64_t n, int64_t peers)
{
    int64_t count = DIRECT_MAX / n < peers ? DIRECT_MAX / n : peers;

    while (count > 1 && peers % count)
        count--;
    return count > 1 ? count : 1;
}

/* [batch, n] whole, side by side as the tables have them; sign -1 forwards, 1 back */
static struct wave by_tables(struct hlo_builder *b, struct wave x, int cosine, int sine, int sign)
{
    struct wave y;

    if (sign < 0)
        sine = ar_neg(b, sine);
    y.real = product(b, x.real, cosine);
    y.imaginary = product(b, x.real, sine);
    if (x.imaginary >= 0) {
        y.real = ar_sub(b, y.real, product(b, x.imaginary, sine));
        y.imaginary = ar_add(b, y.imaginary, product(b, x.imaginary, cosine));
    }
    return y;
}

static int as_rows(struct hlo_builder *b, int x, int64_t rows, int64_t columns)
{
    return hlo_reshape(b, x, 2, (int64_t[]){rows, columns});
}

static struct wave as_rows_of(struct hlo_builder *b, struct wave x, int64_t rows, int64_t columns)
{
    x.real = as_rows(b, x.real, rows, columns);
    if (x.imaginary >= 0)
        x.imaginary = as_rows(b, x.imaginary, rows, columns);
    return x;
}

/* [batch, n] whole, of which `peers` rows, one behind the other, are of one transform */
static struct wave direct(struct hlo_builder *b, struct wave x, int64_t batch, int64_t n, int sign,
                          int64_t peers)
{
    int64_t beside = rows_beside(n, peers);
    int cosine = wave_table(b, n, n, n, false, beside), sine = wave_table(b, n, n, n, true, beside);

    if (beside == 1)
        return by_tables(b, x, cosine, sine, sign);
    x = as_rows_of(b, x, batch / beside, beside * n);
    return as_rows_of(b, by_tables(b, x, cosine, sine, sign), batch, n);
}

static int swap_last(struct hlo_builder *b, int x, int64_t batch, int64_t p, int64_t q)
{
    int64_t three[3] = {batch, p, q}, order[3] = {0, 2, 1};

    return hlo_transpose(b, hlo_reshape(b, x, 3, three), order);
}

static struct wave map_wave(struct hlo_builder *b, struct wave x, int64_t batch, int64_t p,
                            int64_t q)
{
    x.real = as_rows(b, swap_last(b, x.real, batch, p, q), batch * q, p);
    if (x.imaginary >= 0)
        x.imaginary = as_rows(b, swap_last(b, x.imaginary, batch, p, q), batch * q, p);
    return x;
}

/* a table [p, q] for each of `batch` */
static int repeat(struct hlo_builder *b, int table, int64_t batch, int64_t p, int64_t q)
{
    int64_t dim[3] = {batch, p, q}, dims[2] = {1, 2};

    return as_rows(b, hlo_broadcast(b, table, 3, dim, dims), batch * p, q);
}

/* element j = j1 q + j2, frequency k = k1 + p k2; `peers` as in direct */
static struct wave rows_of(struct hlo_builder *b, struct wave x, int64_t batch, int64_t n, int sign,
                           int64_t peers)
{
    int64_t p = factor_of(n), q = n / p;
    int cosine, sine;

    if (p == 1 && n > TABLE_MAX)
        return fourier_chirp(b, x, batch, n, sign);
    if (p == 1)
        return direct(b, x, batch, n, sign, peers);
    x = map_wave(b, x, batch, p, q);            /* rows of j1 for each j2 */
    x = direct(b, x, batch * q, p, sign, q);
    cosine = wave_table(b, q, p, n, false, 1);
    sine = wave_table(b, q, p, n, true, 1);
    if (sign < 0)
        sine = ar_neg(b, sine);
    cosine = repeat(b, cosine, batch, q, p);
    sine = repeat(b, sine, batch, q, p);
    x = fourier_turn(b, x, cosine, sine);       /* while the longer of the two lies along lanes */
    x = map_wave(b, x, batch, q, p);            /* rows of j2 for each k1 */
    x = rows_of(b, x, batch * p, q, sign, p);
    x = map_wave(b, x, batch, p, q);            /* [batch, k1, k2] to [batch, k2, k1] */
    return as_rows_of(b, x, batch, n);
}

struct wave fourier_rows(struct hlo_builder *b, struct wave x, int64_t batch, int64_t n, int sign)
{
    return rows_of(b, x, batch, n, sign, 1);
}

/* dimension `dim` to the end of two dimensions, and back */
static int to_rows(struct hlo_builder *b, int x, int dim)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t *order = arena_array(b->module->arena, (size_t)t.rank, sizeof(*order)), n = t.dim[dim];

    for (int d = 0, to = 0; d < t.rank; d++)
        if (d != dim)
            order[to++] = d;
    order[t.rank - 1] = dim;
    if (dim != t.rank - 1)
        x = hlo_transpose(b, x, order);
    return as_rows(b, x, n ? hlo_type_elements(&t) / n : 0, n);
}

static int from_rows(struct hlo_builder *b, int x, int dim, int rank, const int64_t *like)
{
    int64_t *moved = arena_array(b->module->arena, (size_t)rank, sizeof(*moved));
    int64_t *order = arena_array(b->module->arena, (size_t)rank, sizeof(*order));
    int to = 0;

    for (int d = 0; d < rank; d++)
        if (d != dim)
            moved[to++] = like[d];
    moved[rank - 1] = hlo_type_of(b, x)->dim[1];
    for (int d = 0; d < rank; d++)
        order[d] = d < dim ? d : d == dim ? rank - 1 : d - 1;
    x = hlo_reshape(b, x, rank, moved);
    return dim == rank - 1 ? x : hlo_transpose(b, x, order);
}

static struct wave along(struct hlo_builder *b, struct wave x, int dim, int sign)
{
    struct hlo_type t = *hlo_type_of(b, x.real);
    int64_t n = t.dim[dim], batch = n ? hlo_type_elements(&t) / n : 0;

    if (n <= 1) {
        if (x.imaginary < 0)
            x.imaginary = ar_num(b, x.real, 0);
        return x;
    }
    x.real = to_rows(b, x.real, dim);
    if (x.imaginary >= 0)
        x.imaginary = to_rows(b, x.imaginary, dim);
    x = fourier_rows(b, x, batch, n, sign);
    x.real = from_rows(b, x.real, dim, t.rank, t.dim);
    x.imaginary = from_rows(b, x.imaginary, dim, t.rank, t.dim);
    if (sign > 0) {
        x.real = ar_muln(b, x.real, 1.0 / (double)n);
        x.imaginary = ar_muln(b, x.imaginary, 1.0 / (double)n);
    }
    return x;
}

/* frequencies above the middle are those below it, conjugate and backwards */
static int mirror(struct hlo_builder *b, int x, int64_t n, bool is_conjugate)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t last = t.rank - 1, rest = n - t.dim[last];
    int tail;

    if (rest <= 0)
        return hlo_slice_dim(b, x, (int)last, 0, n);
    tail = hlo_reverse(b, hlo_slice_dim(b, x, (int)last, 1, rest + 1), 1, &last);
    tail = is_conjugate ? ar_neg(b, tail) : tail;
    return hlo_concatenate(b, 2, (int[]){x, tail}, (int)last);
}

int expand_fourier(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_fft kind = hlo_detail(s->from)->fft;
    int rank = expand_operand_type(s, 0)->rank, count = hlo_detail(s->from)->sizes.count;
    int64_t last = count ? hlo_detail(s->from)->sizes.item[count - 1] : 1;
    int sign = kind == HLO_FFT || kind == HLO_RFFT ? -1 : 1, x = s->operand[0];
    struct wave w = {x, -1};

    if (expand_operand_type(s, 0)->element == ELEMENT_C128
        || expand_operand_type(s, 0)->element == ELEMENT_F64)
        return expand_refuse(s, "nothing expands it for types of more than 32 bits a part: convert "
                             "its operand to f32 or c64 before, as programs for a TPU do");
    if (kind != HLO_RFFT) {
        w.real = hlo_real(b, x);
        w.imaginary = hlo_imaginary(b, x);
    }
    if (kind == HLO_RFFT) {
        w = along(b, w, rank - 1, sign);
        w.real = hlo_slice_dim(b, w.real, rank - 1, 0, last / 2 + 1);
        w.imaginary = hlo_slice_dim(b, w.imaginary, rank - 1, 0, last / 2 + 1);
    }
    for (int i = kind == HLO_RFFT || kind == HLO_IRFFT ? 1 : 0;
         i < hlo_detail(s->from)->sizes.count; i++)
        w = along(b, w, rank - 1 - i, sign);
    if (kind == HLO_IRFFT) {
        w.real = mirror(b, w.real, last, false);
        w.imaginary = mirror(b, w.imaginary, last, true);
        return along(b, w, rank - 1, sign).real;
    }
    return hlo_complex(b, w.real, w.imaginary);
}
