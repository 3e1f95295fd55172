/*
 * Eigh: eigenvectors and eigenvalues of symmetric and Hermitian matrices by Jacobi's rotations, whose
 * element between two rows is made real first, by a phase on the second one. In each round the
 * rows and columns i and i + k of a matrix of n = 2 k rows are rotated so that the elements between
 * them vanish, all k pairs at once; then all but the first move on by one place, as players of a
 * tournament do (Brent and Luk), so that n - 1 rounds bring every pair together once.
 */
#include "import/expand/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX, VECTORS, OFF, COUNT };   /* OFF: f32 [], squares off the diagonal over all squares */
enum { SWEEPS_MAX = 20 };

struct turns { int64_t half; double tolerance; };

static int block(struct hlo_builder *b, int x, int64_t half, int row, int column)
{
    int part = hlo_slice_dim(b, x, 1, row * half, row * half + half);

    return hlo_slice_dim(b, part, 2, column * half, column * half + half);
}

/* the matrix's mirror: its transpose, of complex numbers conjugated */
static int mirror(struct hlo_builder *b, int x)
{
    return matrix_conjugate(b, matrix_transpose(b, x));
}

/*
 * The magnitude of x, and x over it: 1 where x is 0. The larger part is divided out first, since
 * squares of what is nearly diagonal would be too small to be numbers, and the phase none.
 */
static void polar(struct hlo_builder *b, int x, int *size, int *phase)
{
    int most = ar_max(b, ar_abs(b, hlo_real(b, x)), ar_abs(b, hlo_imaginary(b, x)));
    int is_zero = ar_lt(b, most, ar_num(b, most, 0x1p-126)), one = ar_num(b, most, 1), length;
    int unit = ar_div(b, x, matrix_number_of(b, ar_sel(b, is_zero, one, most), x));

    length = ar_sqrt(b, matrix_squares(b, unit));
    *size = ar_sel(b, is_zero, ar_num(b, most, 0), ar_mul(b, most, length));
    length = matrix_number_of(b, ar_sel(b, is_zero, one, length), x);
    *phase = ar_sel(b, is_zero, matrix_number_of(b, one, x), ar_div(b, unit, length));
}

/* [batch, k, k] to its diagonal [batch, k, 1] */
static int diagonal(struct hlo_builder *b, int x)
{
    int is_diagonal = ar_eq(b, matrix_row_number(b, x), matrix_column_number(b, x));

    return matrix_sum_columns(b, ar_sel(b, is_diagonal, x, ar_num(b, x, 0)));
}

/* cosine and sine of the smaller angle that makes [p r; r q] diagonal */
static void angle(struct hlo_builder *b, int p, int r, int q, int *cosine, int *sine)
{
    int zero = ar_num(b, r, 0), one = ar_num(b, r, 1), is_zero = ar_eq(b, r, zero), ratio, t;

    ratio = ar_div(b, ar_sub(b, q, p), ar_muln(b, ar_sel(b, is_zero, one, r), 2));
    t = ar_add(b, ar_abs(b, ratio), ar_sqrt(b, ar_addn(b, ar_mul(b, ratio, ratio), 1)));
    t = ar_div(b, ar_sel(b, ar_lt(b, ratio, zero), ar_neg(b, one), one), t);
    t = ar_sel(b, is_zero, zero, t);
    *cosine = ar_div(b, one, ar_sqrt(b, ar_addn(b, ar_mul(b, t, t), 1)));
    *sine = ar_mul(b, t, *cosine);
}

struct turn { int cosine, sine, phase; };       /* [batch, k, 1]; phase: -1: none */

/* rows i and i + k: c x - s y, s x + c y, with y turned by the phase */
static int rotate_rows(struct hlo_builder *b, int x, int64_t half, const struct turn *t)
{
    int top = hlo_slice_dim(b, x, 1, 0, half), bottom = hlo_slice_dim(b, x, 1, half, 2 * half);
    int c = matrix_spread(b, matrix_number_of(b, t->cosine, x), top);
    int s = matrix_spread(b, matrix_number_of(b, t->sine, x), top), part[2];

    if (t->phase >= 0)
        bottom = ar_mul(b, matrix_spread(b, t->phase, bottom), bottom);
    part[0] = ar_sub(b, ar_mul(b, c, top), ar_mul(b, s, bottom));
    part[1] = ar_add(b, ar_mul(b, s, top), ar_mul(b, c, bottom));
    return hlo_concatenate(b, 2, part, 1);
}

/* places 0 1 .. k-1 | k .. n-1 become 0 k 1 .. k-2 | k+1 .. n-1 k-1 along a dimension */
static int move_on(struct hlo_builder *b, int x, int64_t half, int dim)
{
    int part[5], count = 0;

    if (half == 1)
        return x;
    part[count++] = hlo_slice_dim(b, x, dim, 0, 1);
    part[count++] = hlo_slice_dim(b, x, dim, half, half + 1);
    if (half > 2)
        part[count++] = hlo_slice_dim(b, x, dim, 1, half - 1);
    part[count++] = hlo_slice_dim(b, x, dim, half + 1, 2 * half);
    part[count++] = hlo_slice_dim(b, x, dim, half - 1, half);
    return hlo_concatenate(b, count, part, dim);
}

static int total(struct hlo_builder *b, int x)
{
    int64_t dims[3] = {0, 1, 2};
    int zero = ar_scalar(b, ELEMENT_F32, 0);

    return hlo_reduce(b, x, zero, 3, dims,
                      hlo_scalar_computation(b->module, OPCODE_ADD, ELEMENT_F32));
}

static int off_share(struct hlo_builder *b, int x)
{
    int is_diagonal = ar_eq(b, matrix_row_number(b, x), matrix_column_number(b, x));
    int square = matrix_squares(b, x);
    int all = total(b, square), off = total(b, ar_sel(b, is_diagonal, ar_num(b, square, 0), square));

    return ar_div(b, off, ar_max(b, all, ar_num(b, all, 0x1p-126)));
}

static void round_body(struct hlo_builder *b, int *x, int round, const void *user)
{
    const struct turns *turns = user;
    int64_t half = turns->half;
    int a = x[MATRIX], v, between = diagonal(b, block(b, a, half, 0, 1)), first, second;
    struct turn turn = {.phase = -1};

    (void)round;
    if (matrix_is_complex(b, a))
        polar(b, between, &between, &turn.phase);
    first = matrix_real(b, diagonal(b, block(b, a, half, 0, 0)));
    second = matrix_real(b, diagonal(b, block(b, a, half, 1, 1)));
    angle(b, first, between, second, &turn.cosine, &turn.sine);
    a = rotate_rows(b, a, half, &turn);
    a = mirror(b, rotate_rows(b, mirror(b, a), half, &turn));
    v = rotate_rows(b, x[VECTORS], half, &turn);
    x[MATRIX] = move_on(b, move_on(b, a, half, 1), half, 2);
    x[VECTORS] = move_on(b, v, half, 1);
    x[OFF] = off_share(b, x[MATRIX]);
}

/* after whole sweeps the matrix may be diagonal enough */
static int goes_on(struct hlo_builder *b, const int *x, int round, const void *user)
{
    const struct turns *turns = user;
    int length = ar_scalar(b, ELEMENT_S32, 2 * turns->half - 1);
    int within = ar_ne(b, hlo_binary(b, OPCODE_REMAINDER, round, length), ar_int(b, round, 0));

    return ar_or(b, within, ar_gt(b, x[OFF], ar_num(b, x[OFF], turns->tolerance)));
}

/* the other triangle is the mirror of the one that counts, whose diagonal is real */
static int symmetric(struct hlo_builder *b, int x, bool is_lower)
{
    int rows = matrix_row_number(b, x), columns = matrix_column_number(b, x);
    int counts = hlo_compare(b, is_lower ? HLO_GE : HLO_LE, rows, columns);

    x = ar_sel(b, counts, x, mirror(b, x));
    if (!matrix_is_complex(b, x))
        return x;
    return ar_sel(b, ar_eq(b, rows, columns), matrix_number_of(b, matrix_real(b, x), x), x);
}

/* values rising, vectors (rows here) with them: one sort of rows that all have the same keys */
static void sort_pairs(struct hlo_builder *b, int *values, int *vectors)
{
    struct hlo_module *m = b->module;
    struct hlo_builder c = *b;
    struct hlo_type scalar = hlo_scalar_type(ELEMENT_F32), part[2], carried;
    int keys = matrix_spread(b, matrix_transpose(b, *values), *vectors), first, second, sorted;
    int payload = mirror(b, *vectors);
    int64_t last = 2;
    struct hlo_instruction i = {.op = OPCODE_SORT,
                                .operand_count = 2,
                                .detail = &(struct hlo_detail){
                                    .is_stable = true, .computation_count = 1, .dims = {1, &last}}};

    carried = hlo_scalar_type(ar_element(b, payload));
    c.computation = hlo_add_computation(m, "rising");
    first = hlo_parameter(&c, 0, &scalar);
    second = hlo_parameter(&c, 1, &scalar);
    hlo_parameter(&c, 2, &carried);
    hlo_parameter(&c, 3, &carried);
    ar_lt(&c, first, second);
    part[0] = *hlo_type_of(b, keys);
    part[1] = *hlo_type_of(b, payload);
    i.type = HLO_TYPE(hlo_tuple_type(m->arena, 2, part));
    i.detail->computation = &c.computation;
    sorted = hlo_copy_instruction(b, &i, (int[]){keys, payload});
    *vectors = hlo_tuple_element(b, sorted, 1);         /* [batch, n, n], vectors as columns */
    *values = matrix_transpose(b, hlo_slice_dim(b, hlo_tuple_element(b, sorted, 0), 1, 0, 1));
}

/* backend_config "lower,sort,rounds,tolerance", with or without quotes */
static void read_config(const char *text, bool *is_lower, bool *is_sorted)
{
    const char *digit = text ? strpbrk(text, "01") : NULL;

    *is_lower = !digit || *digit == '1';
    digit = digit ? strchr(digit, ',') : NULL;
    *is_sorted = !digit || digit[1 + strspn(digit + 1, " ")] != '0';
}

int expand_eigh(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *t = s->from->type;
    bool is_lower, is_sorted;
    int x = matrix_open_apart(s, 0), one, values, vectors;
    int64_t n = matrix_rows(b, x), low[3] = {0}, high[3] = {0, n % 2, n % 2};
    struct turns turns = {.half = (n + 1) / 2, .tolerance = 1e-14};
    struct expand_loop loop = {.count = COUNT, .body = round_body, .goes_on = goes_on,
                               .user = &turns};

    if (!hlo_type_is_tuple(t) || t->part_count != 2)
        return expand_refuse(s, "its results must be eigenvectors and eigenvalues");
    read_config(hlo_detail(s->from)->config, &is_lower, &is_sorted);
    x = symmetric(b, x, is_lower);
    if (n % 2)                          /* a row and column of zeros, which nothing turns */
        x = hlo_pad(b, x, ar_scalar(b, ar_element(b, x), 0), low, high, NULL);
    one = ar_eq(b, matrix_row_number(b, x), matrix_column_number(b, x));
    loop.state[MATRIX] = x;
    loop.state[VECTORS] = ar_sel(b, one, ar_num(b, x, 1), ar_num(b, x, 0));
    loop.state[OFF] = off_share(b, x);
    loop.rounds = SWEEPS_MAX * (2 * turns.half - 1);
    expand_loop(b, &loop);
    values = matrix_real(b, hlo_slice_dim(b, diagonal(b, loop.state[MATRIX]), 1, 0, n));
    vectors = loop.state[VECTORS];
    vectors = hlo_slice_dim(b, hlo_slice_dim(b, vectors, 1, 0, n), 2, 0, n);
    if (is_sorted)
        sort_pairs(b, &values, &vectors);
    else
        vectors = mirror(b, vectors);
    vectors = matrix_close(b, vectors, &t->part[0]);
    return hlo_tuple(b, 2, (int[]){vectors, matrix_close(b, values, &t->part[1])});
}
