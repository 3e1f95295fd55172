/* Measures errors in units of the last place, and their statistics. */
#include "report/numerics/check_internal.h"

#include "base/floats.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* of a normal double; ilogb and ldexp would take most of the time of a run */
static int exponent_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

double check_ulp(double exact, int digits)
{
    int exponent = exponent_of(exact);  /* -1023 of a subnormal or a zero */

    return power_of_two((exponent < -126 ? -126 : exponent) - digits + 1);
}

/* scaled so that the last place is 1; rint rounds to nearest even */
double check_round(double x, int digits)
{
    double scaled, unit;

    if (isnan(x) || isinf(x))
        return x;
    if (fabs(x) < 0x1p-127)
        return copysign(0, x);
    unit = power_of_two(exponent_of(x) - digits + 1);
    scaled = rint(x / unit) * unit;
    if (fabs(scaled) < 0x1p-126)
        return copysign(0, x);
    return fabs(scaled) >= 0x1p128 ? copysign(INFINITY, x) : scaled;
}

struct check_sample check_compare(uint32_t got, double exact, int digits, double bound_ulp)
{
    double expected = check_round(exact, digits), value = (double)f32_from_bits(got);
    struct check_sample s = {0};

    if (isnan(expected)) {
        s.is_wrong = got != F32_NAN_BITS;
        return s;
    }
    if (isinf(expected) || expected == 0 || !isfinite(value) || value == 0) {
        s.is_wrong = got != f32_bits((float)expected);
        return s;
    }
    s.ulp = fabs(value - exact) / check_ulp(exact, digits);
    s.relative = fabs(value - exact) / fabs(exact);
    s.share = s.ulp / bound_ulp;
    s.is_wrong = bound_ulp <= 0.5 && value != expected;
    return s;
}

static int by_ulp(const void *a, const void *b)
{
    double x = ((const struct check_sample *)a)->ulp, y = ((const struct check_sample *)b)->ulp;

    return (x > y) - (x < y);
}

void check_summarise(struct check_row *row, struct check_sample *sample, int64_t count)
{
    double sum = 0;

    row->count = count;
    for (int64_t i = 0; i < count; i++) {
        sum += sample[i].ulp;
        row->wrong_count += sample[i].is_wrong;
        row->max_relative = fmax(row->max_relative, sample[i].relative);
        row->worst_share = fmax(row->worst_share, sample[i].share);
    }
    qsort(sample, (size_t)count, sizeof(*sample), by_ulp);
    row->max_ulp = sample[count - 1].ulp;
    row->p999_ulp = sample[(count - 1) - (count - 1) / 1000].ulp;
    row->mean_ulp = sum / (double)count;
    row->has_passed = row->wrong_count == 0 && row->worst_share <= 1;
}

struct check_row *check_add_row(struct check *c)
{
    c->row = mem_grow(c->row, &c->row_capacity, c->row_count + 1, sizeof(*c->row));
    c->row[c->row_count] = (struct check_row){.blas_max_ulp = NAN, .blas_mean_ulp = NAN};
    return &c->row[c->row_count++];
}

void check_leave_out(struct check *c, const char *why, const char *what, ...)
{
    struct check_left_out *l;
    va_list args;

    l = &MEM_ADD(c->left_out, c->left_out_count, c->left_out_capacity);
    va_start(args, what);
    vsnprintf(l->what, sizeof(l->what), what, args);
    va_end(args);
    snprintf(l->why, sizeof(l->why), "%s", why);
}

size_t check_failed_count(const struct check *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->row_count; i++)
        count += !c->row[i].has_passed;
    return count;
}
