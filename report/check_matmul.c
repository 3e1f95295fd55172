/*
 * Products of matrices on the matrix unit: a program as the compiler would make
 * it, held against sums in twice double precision, and OpenBLAS beside it.
 */
#include "report/check_internal.h"

#include "base/floats.h"
#include "base/units.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>

#define ARRAY 128                       /* rows and columns of weights that a plain push fills */
#define TILE_ROWS 8

/* where things lie in VMEM, in rows; part i of the operands is i * part_rows further on */
struct layout {
    int64_t blocks, column_tiles;       /* of the contraction, of the result */
    int64_t b, part_rows, out;          /* a is at 0 */
};

static struct layout layout_of(const struct check_product *p, const struct check_matrices *x)
{
    struct layout l = {.blocks = div_up(x->k, ARRAY), .column_tiles = div_up(x->n, ARRAY)};

    l.b = x->m * l.blocks;
    l.part_rows = l.b + l.blocks * l.column_tiles * ARRAY;
    l.out = p->part_count * l.part_rows;
    return l;
}

/* block by block: rows of a, 128 wide; column tile by column tile: blocks of b, 128 x 128 */
static uint32_t *lay_out(const struct check_matrices *x, const struct layout *l, struct check *c)
{
    uint32_t *words = arena_array(&c->scratch, (size_t)l->part_rows * CHECK_LANE_COUNT, 4);

    for (int64_t i = 0; i < x->m; i++)
        for (int64_t k = 0; k < x->k; k++)
            words[(k / ARRAY * x->m + i) * CHECK_LANE_COUNT + k % ARRAY] =
                f32_bits(x->a[i * x->k + k]);
    for (int64_t k = 0; k < x->k; k++)
        for (int64_t n = 0; n < x->n; n++)
            words[(l->b + (n / ARRAY * l->blocks + k / ARRAY) * ARRAY + k % ARRAY) * CHECK_LANE_COUNT +
                  n % ARRAY] = f32_bits(x->b[k * x->n + n]);
    return words;
}

/* remainders of rounding to bf16; the matrix unit rounds each to its part */
static void print_split(struct check_text *t, const struct layout *l, int part_count)
{
    int label = check_loop_begin(t, 0, 0);

    fprintf(t->to, "{ v0 = vld [vmem:s0] }\n");
    for (int part = 1; part < part_count; part++)
        fprintf(t->to, "{ v1 = vpack.c.bf16 v0, v0 }\n{ v1 = vunpack.c.l.bf16 v1 }\n"
                "{ v0 = vsub.f32 v0, v1 }\n{ vst [vmem:s0 + %" PRId64 "] v0 }\n",
                part * l->part_rows);
    check_loop_end(t, label, 0, TILE_ROWS, l->part_rows);
}

/* results of 8 rows leave as one tile, or as two of a 256-wide array, whose second is empty */
static void print_pop(struct check_text *t, const struct chip *chip)
{
    fprintf(t->to, "{ v1 = vpop.f32.mrf.mxu0 }\n");
    if (chip->mxu_size > ARRAY)
        fprintf(t->to, "{ v2 = vpop.f32.mrf.mxu0 }\n");
}

/* one block of weights at s1, the rows of a at s0; `a` and `b` are offsets of their parts */
static void print_block(struct check_text *t, const struct chip *chip, int64_t m, int64_t a,
                        int64_t b, int64_t out, bool is_first)
{
    for (int64_t row = ARRAY - TILE_ROWS; row >= 0; row -= TILE_ROWS)
        fprintf(t->to, "{ v0 = vld [vmem:s1 + %" PRId64 "] }\n{ vmatpush.msra.mxu0 v0 }\n",
                b + row);
    for (int64_t row = 0; row < m; row += TILE_ROWS) {
        fprintf(t->to, "{ v0 = vld [vmem:s0 + %" PRId64 "] }\n{ vmatmul.f32%s.gmra.mxu0 v0 }\n",
                a + row, row ? "" : ".vlgmr.msra");
        print_pop(t, chip);
        if (!is_first)
            fprintf(t->to, "{ v2 = vld [vmem:%" PRId64 "] }\n{ v1 = vadd.f32 v2, v1 }\n",
                    out + row);
        fprintf(t->to, "{ vst [vmem:%" PRId64 "] v1 }\n", out + row);
    }
}

/* all blocks of one pass for one column tile; the very first starts the sum */
static void print_pass(struct check_text *t, const struct check *c, const struct layout *l,
                       int64_t m, int64_t column, int64_t a, int64_t b, bool is_first)
{
    int64_t first = l->b + column * l->blocks * ARRAY, out = l->out + column * m;
    int64_t end = first + l->blocks * ARRAY;
    int label;

    fprintf(t->to, "{ s0 = smov 0 }\n");
    if (is_first) {
        fprintf(t->to, "{ s1 = smov %" PRId64 " }\n", first);
        print_block(t, &c->chip, m, a, b, out, true);
        fprintf(t->to, "{ s0 = smov %" PRId64 " }\n", m);
        first += ARRAY;
    }
    if (first >= end)
        return;
    label = check_loop_begin(t, 1, first);
    print_block(t, &c->chip, m, a, b, out, false);
    fprintf(t->to, "{ s0 = sadd.s32 s0, %" PRId64 " }\n", m);
    check_loop_end(t, label, 1, ARRAY, end);
}

static void print_product(struct check_text *t, const struct check *c,
                          const struct check_product *p, const struct layout *l, int64_t m)
{
    if (p->part_count > 1)
        print_split(t, l, p->part_count);
    for (int64_t column = 0; column < l->column_tiles; column++)
        for (int pass = 0; pass < p->pass_count; pass++)
            print_pass(t, c, l, m, column, p->pass[pass].lhs * l->part_rows,
                       p->pass[pass].rhs * l->part_rows, pass == 0);
}

static int read_result(struct check *c, const struct layout *l, struct check_matrices *x,
                       struct err *e)
{
    uint32_t *words = arena_array(&c->scratch, (size_t)(x->m * l->column_tiles) * CHECK_LANE_COUNT, 4);

    if (check_vmem_read(c, l->out, words, x->m * l->column_tiles * CHECK_LANE_COUNT, e))
        return -1;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t n = 0; n < x->n; n++)
            x->out[i * x->n + n] =
                f32_from_bits(words[(n / ARRAY * x->m + i) * CHECK_LANE_COUNT + n % ARRAY]);
    return 0;
}

bool check_fits(const struct check *c, const struct check_product *p,
                const struct check_matrices *x)
{
    struct layout l = layout_of(p, x);

    return l.out + x->m * l.column_tiles <= check_vmem_rows(c);
}

int check_multiply(struct check *c, const struct check_product *p, struct check_matrices *x,
                   struct err *e)
{
    struct layout l = layout_of(p, x);
    struct check_text t;

    if (check_vmem_write(c, 0, lay_out(x, &l, c), l.part_rows * CHECK_LANE_COUNT, e))
        return -1;
    check_text_open(&t, c);
    print_product(&t, c, p, &l, x->m);
    if (check_text_run(&t, c, e))
        return -1;
    return read_result(c, &l, x, e);
}

/* two in a row cancel up to a few units of bf16; or products lie around 2^-126 */
static void fill(struct check_matrices *x, enum check_inputs inputs, struct rng *r)
{
    for (int64_t i = 0; i < x->m * x->k; i++) {
        if (inputs == INPUTS_HEAVY)
            x->a[i] = check_heavy(r);
        else if (inputs == INPUTS_EDGES)
            x->a[i] = check_exponents(r, -70, -58);
        else
            x->a[i] = check_exponents(r, -20, 20);
        if (inputs == INPUTS_CANCEL && i % x->k % 2)
            x->a[i] = x->a[i - 1];
    }
    for (int64_t i = 0; i < x->k * x->n; i++) {
        if (inputs == INPUTS_HEAVY)
            x->b[i] = check_heavy(r);
        else if (inputs == INPUTS_EDGES)
            x->b[i] = check_exponents(r, -68, -56);
        else
            x->b[i] = check_exponents(r, -20, 20);
        if (inputs == INPUTS_CANCEL && i / x->n % 2)
            x->b[i] = f32_from_bits((f32_bits(x->b[i - x->n]) ^ 0x80000000u) +
                                    (rng_below(r, 5) << 15));
    }
}

static float *rounded(struct check *c, const float *from, int64_t count)
{
    float *to = arena_array(&c->scratch, (size_t)count, sizeof(*to));

    for (int64_t i = 0; i < count; i++)
        to[i] = (float)check_round((double)from[i], 8);
    return to;
}

void check_make_matrices(struct check_matrices *x, struct check *c, int64_t m, int64_t n,
                         int64_t k, enum check_inputs inputs, bool is_rounded)
{
    struct rng r;

    *x = (struct check_matrices){.m = m, .n = n, .k = k};
    x->a = arena_array(&c->scratch, (size_t)(m * k), sizeof(*x->a));
    x->b = arena_array(&c->scratch, (size_t)(k * n), sizeof(*x->b));
    x->out = arena_array(&c->scratch, (size_t)(m * n), sizeof(*x->out));
    rng_init(&r, c->seed + (uint64_t)k);
    fill(x, inputs, &r);
    x->exact_a = is_rounded ? rounded(c, x->a, m * k) : x->a;
    x->exact_b = is_rounded ? rounded(c, x->b, k * n) : x->b;
}

/* products are exact in double; what an addition loses is added up beside */
double check_exact_dot(const struct check_matrices *x, int64_t at, double *size)
{
    const float *a = x->exact_a + at / x->n * x->k, *b = x->exact_b + at % x->n;
    double sum = 0, lost = 0;

    *size = 0;
    for (int64_t k = 0; k < x->k; k++) {
        double term = (double)a[k] * (double)b[k * x->n], next = sum + term, part = next - sum;

        lost += (sum - (next - part)) + (term - part);
        sum = next;
        *size += fabs(term);
    }
    sum += lost;
    return fabs(sum) < 0x1p-90 * *size ? 0 : sum;       /* what is left of exact cancellation */
}

void check_blas(const struct check_matrices *x, float *out)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)x->m, (int)x->n, (int)x->k, 1,
                x->exact_a, (int)x->k, x->exact_b, (int)x->n, 0, out, (int)x->n);
}

/* what flushing may take: of each step, and of each operand times its partner */
static double flushed(const struct check_product *p, const struct check_matrices *x, int64_t at)
{
    double size = (double)(p->pass_count * (x->k + div_up(x->k, ARRAY)));

    for (int64_t k = 0; k < x->k; k++)
        size += 1.01 * (fabs((double)x->exact_a[at / x->n * x->k + k]) +
                        fabs((double)x->exact_b[k * x->n + at % x->n]));
    return size * 0x1p-126;
}

static struct check_sample measure(const struct check_product *p, const struct check_matrices *x,
                                   int64_t at, float blas, double *blas_ulp)
{
    struct check_sample s = {0};
    double size, exact = check_exact_dot(x, at, &size), unit = check_ulp(exact, 24);
    double error = fabs((double)x->out[at] - exact);

    s.is_wrong = !isfinite(x->out[at]);
    s.share = error / (p->bound(p, x->k, ARRAY) * size + flushed(p, x, at));
    if (exact == 0)
        return s;                       /* no unit to measure in: the bound alone holds it */
    s.ulp = error / unit;
    s.relative = error / fabs(exact);
    *blas_ulp = fabs((double)blas - exact) / unit;
    return s;
}

static void add_row(struct check *c, const struct check_product *p, const struct check_matrices *x,
                    enum check_inputs inputs)
{
    int64_t count = x->m * x->n;
    struct check_sample *sample = arena_array(&c->scratch, (size_t)count, sizeof(*sample));
    float *blas = arena_array(&c->scratch, (size_t)count, sizeof(*blas));
    struct check_row *row = check_add_row(c);
    double blas_sum = 0, blas_max = 0;

    row->name = p->name;
    row->dtype = p->dtype;
    row->inputs = check_inputs_name(inputs);
    row->passes = p->pass_count;
    snprintf(row->shape, sizeof(row->shape), "K %" PRId64 ", N %" PRId64, x->k, x->n);
    snprintf(row->bound, sizeof(row->bound), "%.2e S", p->bound(p, x->k, ARRAY));
    check_blas(x, blas);
    for (int64_t i = 0; i < count; i++) {
        double blas_ulp = 0;

        sample[i] = measure(p, x, i, blas[i], &blas_ulp);
        blas_sum += blas_ulp;
        blas_max = fmax(blas_max, blas_ulp);
        if (!row->example[0] && (sample[i].is_wrong || sample[i].share > 1))
            snprintf(row->example, sizeof(row->example), "element %" PRId64 ": %.9g", i,
                     (double)x->out[i]);
    }
    row->blas_max_ulp = blas_max;
    row->blas_mean_ulp = blas_sum / (double)count;
    check_summarise(row, sample, count);
}

static int run_shape(struct check *c, const struct check_product *p, int64_t m, int64_t n,
                     int64_t k, struct err *e)
{
    static const enum check_inputs inputs[] = {INPUTS_HEAVY, INPUTS_WIDE, INPUTS_CANCEL,
                                               INPUTS_EDGES};
    struct check_matrices x = {.m = m, .n = n, .k = k};

    if (!check_fits(c, p, &x)) {
        check_leave_out(c, "%s %s, K %" PRId64 ", N %" PRId64 ", %d passes: too large for the "
                        "vector memory", p->name, p->dtype, k, n, p->pass_count);
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        check_make_matrices(&x, c, m, n, k, inputs[i], p->is_rounded);
        if (check_multiply(c, p, &x, e))
            return -1;
        add_row(c, p, &x, inputs[i]);
        arena_fini(&c->scratch);
    }
    return 0;
}

int check_run_product(struct check *c, const struct check_product *p, struct err *e)
{
    static const struct { int64_t k, n; } shapes[] = {
        {16, 128}, {128, 128}, {256, 256}, {1024, 128}, {2048, 256},
    };
    int64_t m = c->sample_count / CHECK_TILE_WORDS;

    m = m < 8 ? 8 : m > 256 ? 256 : m - m % 8;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        if (run_shape(c, p, m, shapes[i].n, shapes[i].k, e))
            return -1;
    return 0;
}
