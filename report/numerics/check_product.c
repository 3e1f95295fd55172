/*
 * What is measured of products: inputs, sums in twice double precision or exact
 * integers, and OpenBLAS beside them.
 */
#include "report/numerics/check_internal.h"

#include "base/floats.h"
#include "base/units.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HALF 128

/* around 2^-126 when multiplied, and so that nothing overflows */
#define EDGE_LEFT -70, -58
#define EDGE_RIGHT -68, -56

static float random_float(enum check_inputs inputs, bool is_left, struct rng *r)
{
    if (inputs == INPUTS_HEAVY)
        return check_heavy(r);
    if (inputs != INPUTS_EDGES)
        return check_exponents(r, -20, 20);
    return is_left ? check_exponents(r, EDGE_LEFT) : check_exponents(r, EDGE_RIGHT);
}

/* any code that is a number; as edges: zero and the largest and least of either sign */
static uint32_t random_code(const struct check_type *t, enum check_inputs inputs, struct rng *r)
{
    uint32_t count = 1u << (32 / t->per_word), code = rng_below(r, count);

    if (inputs == INPUTS_EDGES) {
        uint32_t top = isnan(t->value(count / 2 - 1)) ? count / 2 - 2 : count / 2 - 1;
        const uint32_t edges[] = {0, 1, top, count / 2, top + count / 2, count - 1};

        code = edges[rng_below(r, COUNT_OF(edges))];
    }
    return isnan(t->value(code)) ? 0 : code;
}

static uint32_t random_operand(const struct check_type *t, enum check_inputs inputs, bool is_left,
                               struct rng *r)
{
    float x;

    if (t->per_word > 2)
        return random_code(t, inputs, r);
    x = random_float(inputs, is_left, r);
    if (t->per_word == 1)
        return f32_bits(x);
    return f32_bits((float)check_round((double)x, 8)) >> 16;
}

/* the second of a pair of products nearly undoes the first */
static uint32_t nearly_negated(const struct check_type *t, uint32_t code, struct rng *r)
{
    uint32_t sign = 1u << (32 / t->per_word - 1);

    if (t->per_word == 1)
        return (code ^ sign) + (rng_below(r, 5) << 15);
    if (t->per_word == 2)
        return (code ^ sign) + rng_below(r, 3);
    code ^= sign ^ rng_below(r, 2);
    return isnan(t->value(code)) ? 0 : code;
}

static void fill_codes(struct check_matrices *x, const struct check_type *t,
                       enum check_inputs inputs, struct rng *r)
{
    bool is_cancelling = inputs == INPUTS_CANCEL;

    for (int64_t i = 0; i < x->m * x->k; i++)
        x->a[i] = is_cancelling && i % x->k % 2 ? x->a[i - 1]
                                                : random_operand(t, inputs, true, r);
    for (int64_t i = 0; i < x->k * x->n; i++)
        x->b[i] = is_cancelling && i / x->n % 2 ? nearly_negated(t, x->b[i - x->n], r)
                                                : random_operand(t, inputs, false, r);
}

static float *values_of(struct check *c, const struct check_product *p, const uint32_t *code,
                        int64_t count)
{
    const struct check_type *t = check_find_type(p->storage);
    float *to = arena_array(&c->scratch, (size_t)count, sizeof(*to));

    for (int64_t i = 0; i < count; i++) {
        double x = t->value(code[i]);

        to[i] = (float)(p->is_rounded ? check_round(x, 8) : x);
    }
    return to;
}

void check_fill_matrices(struct check_matrices *x, struct check *c, const struct check_product *p,
                         enum check_inputs inputs)
{
    struct rng r;

    x->a = arena_array(&c->scratch, (size_t)(x->m * x->k), sizeof(*x->a));
    x->b = arena_array(&c->scratch, (size_t)(x->k * x->n), sizeof(*x->b));
    x->out = arena_array(&c->scratch, (size_t)(x->m * x->n), sizeof(*x->out));
    rng_init(&r, c->seed + (uint64_t)x->k);
    fill_codes(x, check_find_type(p->storage), inputs, &r);
    x->exact_a = values_of(c, p, x->a, x->m * x->k);
    x->exact_b = values_of(c, p, x->b, x->k * x->n);
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
    double size = (double)(p->pass_count * (x->k + div_up(x->k, HALF)));

    for (int64_t k = 0; k < x->k; k++)
        size += 1.01 * (fabs((double)x->exact_a[at / x->n * x->k + k]) +
                        fabs((double)x->exact_b[k * x->n + at % x->n]));
    return size * 0x1p-126;
}

static struct check_sample measure(const struct check *c, const struct check_product *p,
                                   const struct check_matrices *x, int64_t at, float blas,
                                   double *blas_ulp)
{
    struct check_sample s = {0};
    double size, exact = check_exact_dot(x, at, &size), unit = check_ulp(exact, 24), error;

    if (check_find_type(p->storage)->is_integer) {
        s.is_wrong = (int64_t)(int32_t)x->out[at] != (int64_t)exact;
        *blas_ulp = NAN;
        return s;
    }
    error = fabs((double)f32_from_bits(x->out[at]) - exact);
    s.is_wrong = !isfinite(error);
    s.share = error / (p->bound(p, x->k, c->chip.mxu_size) * size + flushed(p, x, at));
    if (exact == 0)
        return s;                       /* no unit to measure in: the bound alone holds it */
    s.ulp = error / unit;
    s.relative = error / fabs(exact);
    *blas_ulp = fabs((double)blas - exact) / unit;
    return s;
}

static void print_bound(const struct check *c, const struct check_product *p, int64_t length,
                        struct check_row *row)
{
    if (check_find_type(p->storage)->is_integer)
        snprintf(row->bound, sizeof(row->bound), "exact");
    else
        snprintf(row->bound, sizeof(row->bound), "%.2e S",
                 p->bound(p, length, c->chip.mxu_size));
}

static void add_row(struct check *c, const struct check_product *p, const struct check_matrices *x,
                    enum check_inputs inputs)
{
    int64_t all = x->m * x->n, count = all < c->sample_count ? all : c->sample_count;
    struct check_sample *sample = arena_array(&c->scratch, (size_t)count, sizeof(*sample));
    float *blas = arena_array(&c->scratch, (size_t)all, sizeof(*blas));
    struct check_row *row = check_add_row(c);
    double blas_sum = 0, blas_max = 0;

    row->name = p->name;
    row->dtype = p->dtype;
    row->inputs = check_inputs_name(inputs);
    row->passes = p->pass_count;
    snprintf(row->shape, sizeof(row->shape), "K %" PRId64 ", N %" PRId64 "%s", x->k, x->n,
             strcmp(p->storage, "bf16") ? "" : " packed");
    print_bound(c, p, x->k, row);
    check_blas(x, blas);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i * all / count;
        double blas_ulp = 0;

        sample[i] = measure(c, p, x, at, blas[at], &blas_ulp);
        blas_sum += blas_ulp;
        blas_max = isnan(blas_ulp) ? NAN : fmax(blas_max, blas_ulp);
        if (!row->example[0] && (sample[i].is_wrong || sample[i].share > 1))
            snprintf(row->example, sizeof(row->example), "element %" PRId64 ": %08x", at,
                     x->out[at]);
    }
    row->blas_max_ulp = blas_max;
    row->blas_mean_ulp = blas_sum / (double)count;
    check_summarise(row, sample, count);
}

static int run_shape(struct check *c, const struct check_product *p, struct check_matrices x,
                     struct err *e)
{
    static const enum check_inputs of_floats[] = {INPUTS_HEAVY, INPUTS_WIDE, INPUTS_CANCEL,
                                                  INPUTS_EDGES};
    static const enum check_inputs of_codes[] = {INPUTS_BITS, INPUTS_CANCEL, INPUTS_EDGES};
    bool is_narrow = check_find_type(p->storage)->per_word > 2;
    const enum check_inputs *inputs = is_narrow ? of_codes : of_floats;
    size_t count = is_narrow ? COUNT_OF(of_codes) : COUNT_OF(of_floats);

    if (!check_fits(c, p, &x)) {
        check_leave_out(c, "too large for the vector memory", "%s %s, K %" PRId64 ", N %" PRId64
                        " x%d", p->name, p->dtype, x.k, x.n, p->pass_count);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        check_fill_matrices(&x, c, p, inputs[i]);
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
    const struct check_type *t = check_find_type(p->storage);
    int64_t step = 8 * t->per_word, m = c->sample_count / CHECK_TILE_WORDS;

    if (!check_takes_type(&c->chip, t)) {
        check_leave_out(c, "the matrix unit does not take the type", "%s %s%s", p->name,
                        p->storage, strcmp(p->storage, "bf16") ? "" : " packed");
        return 0;
    }
    m = m < step ? step : m > 256 ? 256 : m - m % step;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        if (run_shape(c, p, (struct check_matrices){.m = m, .n = shapes[i].n, .k = shapes[i].k},
                      e))
            return -1;
    return 0;
}
