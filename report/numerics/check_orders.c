/*
 * What the order of a sum changes: the same dot products of bf16 values, added
 * in f32 by the matrix unit and in other orders. Products are exact in every
 * order, so only the additions differ.
 */
#include "report/numerics/check_internal.h"

#include "base/floats.h"
#include "base/units.h"
#include "sim/lanes/f32_exact.h"

#include <math.h>

/* dots of one run and one row each; b has as many columns as there are dots per row of a */
typedef void order_fn(const struct check_matrices *x, float *out);

static float sum_ascending(const float *a, const float *b, int64_t stride, int64_t length)
{
    float sum = 0;

    for (int64_t k = 0; k < length; k++)
        sum = f32_fma(a[k], b[k * stride], sum);
    return sum;
}

/* halves of a power of two, down to single products */
static float sum_pairwise(const float *a, const float *b, int64_t stride, int64_t length)
{
    int64_t half = length / 2;

    if (length == 1)
        return f32_mul(a[0], b[0]);
    return f32_add(sum_pairwise(a, b, stride, half),
                   sum_pairwise(a + half, b + half * stride, stride, length - half));
}

static void each(const struct check_matrices *x, float *out,
                 float (*sum)(const float *, const float *, int64_t, int64_t))
{
    for (int64_t i = 0; i < x->m * x->n; i++)
        out[i] = sum(x->exact_a + i / x->n * x->k, x->exact_b + i % x->n, x->n, x->k);
}

static void order_ascending(const struct check_matrices *x, float *out)
{
    each(x, out, sum_ascending);
}

static void order_pairwise(const struct check_matrices *x, float *out)
{
    each(x, out, sum_pairwise);
}

/* as a matrix unit with another mxu.sum has left it */
static void order_simulated(const struct check_matrices *x, float *out)
{
    for (int64_t i = 0; i < x->m * x->n; i++)
        out[i] = f32_from_bits(x->out[i]);
}

static const struct {
    const char *name;
    order_fn *sum;
    const char *mxu_sum;                /* of the machine that runs it; NULL = none does */
} orders[] = {
    {"chain, as simulated", order_simulated, "chain"},
    {"exact sums of 4", order_simulated, "quad4"},
    {"ascending k", order_ascending, NULL},
    {"pairwise", order_pairwise, NULL},
    {"OpenBLAS", check_blas, NULL},
};

/* against the chain's results, in x->out */
static void add_order(struct check *c, const struct check_matrices *x, size_t which,
                      enum check_inputs inputs, const float *out)
{
    int64_t count = x->m * x->n, same = 0;
    struct check_order *o = &MEM_ADD(c->order, c->order_count, c->order_capacity);

    *o = (struct check_order){.name = orders[which].name, .inputs = check_inputs_name(inputs),
                              .length = x->k, .count = count};
    for (int64_t i = 0; i < count; i++) {
        double size, exact = check_exact_dot(x, i, &size), unit = check_ulp(exact, 24);
        double difference = fabs((double)out[i] - (double)f32_from_bits(x->out[i])) / unit;
        double error = fabs((double)out[i] - exact) / unit;

        same += f32_bits(out[i]) == x->out[i];
        o->max_difference_ulp = fmax(o->max_difference_ulp, difference);
        o->mean_difference_ulp += difference / (double)count;
        o->max_ulp = fmax(o->max_ulp, error);
        o->mean_ulp += error / (double)count;
    }
    o->same_share = (double)same / (double)count;
}

static const struct check_product once = {.name = "matmul", .dtype = "bf16", .storage = "f32",
                                          .pass_count = 1, .part_count = 1, .is_rounded = true};

/* the product on a machine of its own */
static int multiply_as(struct check *c, const char *mxu_sum, struct check_matrices *x,
                       struct err *e)
{
    struct chip chip = c->chip;
    struct check other;
    int status;

    snprintf(chip.mxu_sum, sizeof(chip.mxu_sum), "%s", mxu_sum);
    status = check_init(&other, &c->slice, &chip, c->simd, e);
    if (status == 0)
        status = check_multiply(&other, &once, x, e);
    check_fini(&other);
    return status;
}

static int run_inputs(struct check *c, struct check_matrices *x, enum check_inputs inputs,
                      struct err *e)
{
    size_t count = (size_t)(x->m * x->n);
    struct check_matrices again;
    float *out;

    check_fill_matrices(x, c, &once, inputs);
    if (multiply_as(c, "chain", x, e))
        return -1;
    again = *x;
    again.out = arena_array(&c->scratch, count, sizeof(*again.out));
    out = arena_array(&c->scratch, count, sizeof(*out));
    for (size_t which = 0; which < COUNT_OF(orders); which++) {
        if (orders[which].mxu_sum && multiply_as(c, orders[which].mxu_sum, &again, e))
            return -1;
        orders[which].sum(&again, out);
        add_order(c, x, which, inputs, out);
    }
    arena_fini(&c->scratch);
    return 0;
}

int check_run_orders(struct check *c, struct err *e)
{
    static const int64_t lengths[] = {128, 1024};
    static const enum check_inputs inputs[] = {INPUTS_HEAVY, INPUTS_WIDE, INPUTS_CANCEL};

    for (size_t i = 0; i < COUNT_OF(lengths) * COUNT_OF(inputs); i++) {
        struct check_matrices x = {.m = 16, .n = 128, .k = lengths[i % COUNT_OF(lengths)]};

        if (!check_fits(c, &once, &x))
            check_leave_out(c, "too large for the vector memory", "orders, K %d", (int)x.k);
        else if (run_inputs(c, &x, inputs[i / COUNT_OF(lengths)], e))
            return -1;
    }
    return 0;
}
