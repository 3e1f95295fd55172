/*
 * Operations word by word: their programs over tiles or scalars, and what is
 * measured of the results.
 */
#include "report/numerics/check_internal.h"

#include "base/floats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define TILE_ROWS (CHECK_TILE_WORDS / CHECK_LANE_COUNT)
#define UNIT_ROUNDOFF 0x1p-24

struct lanes {
    int64_t count;                      /* a multiple of a tile's words */
    uint32_t *a, *b, *out;
};

#define SCALARS_MAX 4096                /* results of a scalar operation take a row of VMEM each */

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static void make_lanes(struct lanes *l, struct check *c, const struct check_op *op,
                       enum check_inputs inputs)
{
    int64_t most = op->unit == CHECK_SCALAR ? SCALARS_MAX
                                            : check_vmem_rows(c) / 3 * CHECK_LANE_COUNT;
    int64_t wanted = at_most(inputs == INPUTS_EDGES ? 4096 : c->sample_count, most);
    struct rng r;

    l->count = op->unit == CHECK_SCALAR ? wanted : wanted - wanted % CHECK_TILE_WORDS;
    if (l->count == 0)
        l->count = CHECK_TILE_WORDS;
    l->a = arena_array(&c->scratch, (size_t)l->count, sizeof(*l->a));
    l->b = arena_array(&c->scratch, (size_t)l->count, sizeof(*l->b));
    l->out = arena_array(&c->scratch, (size_t)l->count, sizeof(*l->out));
    rng_init(&r, c->seed);
    check_fill(inputs, op, &r, l->a, l->b, l->count);
}

/* operands in VMEM one after the other, results behind them */
static int run_lanes(struct lanes *l, struct check *c, const struct check_op *op, struct err *e)
{
    int64_t rows = l->count / CHECK_LANE_COUNT;
    struct check_text t;
    int label, status;

    if (check_vmem_write(c, 0, l->a, l->count, e) || check_vmem_write(c, rows, l->b, l->count, e))
        return -1;
    check_text_open(&t, c);
    label = check_loop_begin(&t, 0, 0);
    fprintf(t.to, "{ v0 = vld [vmem:s0] }\n{ v1 = vld [vmem:s0 + %" PRId64 "] }\n%s"
            "{ vst [vmem:s0 + %" PRId64 "] v2 }\n", rows, op->body, 2 * rows);
    check_loop_end(&t, label, 0, TILE_ROWS, rows);
    status = check_text_run(&t, c, e);
    if (status)
        return status;
    return check_vmem_read(c, 2 * rows, l->out, l->count, e);
}

static int read_first_lanes(struct check *c, uint32_t *out, int64_t count, struct err *e)
{
    uint32_t *words = arena_array(&c->scratch, (size_t)(count * CHECK_LANE_COUNT), 4);

    if (check_vmem_read(c, 0, words, count * CHECK_LANE_COUNT, e))
        return -1;
    for (int64_t i = 0; i < count; i++)
        out[i] = words[i * CHECK_LANE_COUNT];
    return 0;
}

/* `count` of them from `first`: operands in SMEM, result i to row i of VMEM */
static int run_some_scalars(struct lanes *l, struct check *c, const struct check_op *op,
                            int64_t first, int64_t count, struct err *e)
{
    int64_t bytes = 4 * count;
    struct check_text t;
    int label;

    if (machine_smem_write(c->machine, 0, 0, l->a + first, bytes, e) ||
        machine_smem_write(c->machine, 0, bytes, l->b + first, bytes, e))
        return -1;
    check_text_open(&t, c);
    fprintf(t.to, "{ s16 = smov 0 }\n");
    label = check_loop_begin(&t, 0, 0);
    fprintf(t.to, "{ s1 = sld [smem:s0] }\n{ s2 = sld [smem:s0 + %" PRId64 "] }\n%s"
            "{ v0 = vstv s3 }\n{ vst [vmem:s16] sm:$0x1 v0 }\n{ s16 = sadd.s32 s16, 1 }\n",
            bytes, op->body);
    check_loop_end(&t, label, 0, 4, bytes);
    if (check_text_run(&t, c, e))
        return -1;
    return read_first_lanes(c, l->out + first, count, e);
}

static int run_scalars(struct lanes *l, struct check *c, const struct check_op *op, struct err *e)
{
    int64_t per_run = at_most(c->chip.smem_bytes / 8, check_vmem_rows(c) / 2);

    for (int64_t first = 0; first < l->count; first += per_run)
        if (run_some_scalars(l, c, op, first, at_most(per_run, l->count - first), e))
            return -1;
    return 0;
}

/* as the operation sees it: without subnormals, rounded where the program rounds it */
static double operand(const struct check_op *op, uint32_t bits)
{
    double x = (double)f32_from_bits(f32_flush_bits(bits));

    return op->operand_digits ? check_round(x, op->operand_digits) : x;
}

static struct check_sample compare(const struct check_op *op, uint32_t a, uint32_t b, uint32_t got)
{
    struct check_sample s = {0};

    if (op->exact)
        return check_compare(got, op->exact(operand(op, a), operand(op, b)), op->digits,
                             op->bound_ulp);
    s.is_wrong = got != op->bits(a, b);
    return s;
}

/* the sum or extreme of a row, and the sum of the sizes of its lanes */
static double fold_row(const struct check_op *op, const uint32_t *a, double *size)
{
    double x = operand(op, a[0]);

    *size = fabs(x);
    for (int j = 1; j < CHECK_LANE_COUNT; j++) {
        double y = operand(op, a[j]);

        x = op->exact(x, y);
        *size += fabs(y);
    }
    return x;
}

/* each of 7 levels rounds once, and may flush; where a partial sum overflows nothing is claimed */
static struct check_sample compare_row(const struct check_op *op, const uint32_t *a, uint32_t got)
{
    struct check_sample s = {0};
    double size, exact = fold_row(op, a, &size), steps = op->bound_ulp * UNIT_ROUNDOFF;
    double error = fabs((double)f32_from_bits(got) - exact);

    if (op->bound_ulp <= 0.5 || isnan(exact))
        return check_compare(got, exact, op->digits, 0.5);
    if (size >= 0x1p127)
        return s;
    s.is_wrong = isnan(error);
    s.share = error / (steps / (1 - steps) * size + CHECK_LANE_COUNT * 0x1p-126);
    s.ulp = exact == 0 ? 0 : error / check_ulp(exact, op->digits);
    s.relative = exact == 0 ? 0 : error / fabs(exact);
    return s;
}

static struct check_sample compare_at(const struct check_op *op, const struct lanes *l, int64_t at)
{
    int64_t first = at - at % CHECK_LANE_COUNT;
    struct check_sample s;

    if (op->unit != CHECK_ROWS)
        return compare(op, l->a[at], l->b[at], l->out[at]);
    s = compare_row(op, l->a + first, l->out[first]);
    s.is_wrong |= l->out[at] != l->out[first];
    return s;
}

static void describe(const struct check_op *op, const struct lanes *l, int64_t at,
                     struct check_row *row)
{
    double expected;
    uint32_t bits;

    if (op->unit == CHECK_ROWS) {
        snprintf(row->example, sizeof(row->example), "row %" PRId64 ", lane %" PRId64 ": %08x",
                 at / CHECK_LANE_COUNT, at % CHECK_LANE_COUNT, l->out[at]);
        return;
    }
    if (op->bits) {
        bits = op->bits(l->a[at], l->b[at]);
    } else {
        expected = check_round(op->exact(operand(op, l->a[at]), operand(op, l->b[at])),
                               op->digits);
        bits = isnan(expected) ? F32_NAN_BITS : f32_bits((float)expected);
    }
    snprintf(row->example, sizeof(row->example), "operands %08x %08x: %08x, not %08x", l->a[at],
             l->b[at], l->out[at], bits);
}

static void print_bound(const struct check_op *op, struct check_row *row)
{
    if (op->bits)
        snprintf(row->bound, sizeof(row->bound), "exact");
    else if (op->unit == CHECK_ROWS && op->bound_ulp > 0.5)
        snprintf(row->bound, sizeof(row->bound), "%.2e S", op->bound_ulp * UNIT_ROUNDOFF);
    else
        snprintf(row->bound, sizeof(row->bound), "%g ulp", op->bound_ulp);
}

static void measure_lanes(const struct lanes *l, struct check *c, const struct check_op *op,
                          enum check_inputs inputs)
{
    struct check_sample *sample = arena_array(&c->scratch, (size_t)l->count, sizeof(*sample));
    static const char *const shapes[] = {"lanes", "rows of lanes", "scalars"};
    struct check_row *row = check_add_row(c);
    int64_t worst = 0;

    row->name = op->name;
    row->dtype = op->dtype;
    row->inputs = check_inputs_name(inputs);
    snprintf(row->shape, sizeof(row->shape), "%s", shapes[op->unit]);
    print_bound(op, row);
    for (int64_t i = 0; i < l->count; i++) {
        sample[i] = compare_at(op, l, i);
        if ((sample[i].is_wrong && !sample[worst].is_wrong) ||
            (sample[i].is_wrong == sample[worst].is_wrong && sample[i].ulp > sample[worst].ulp))
            worst = i;
    }
    describe(op, l, worst, row);
    check_summarise(row, sample, l->count);
}

/* "bundle 3: vadd.bf16: the chip has no …": what comes last */
static const char *last_part(const char *message)
{
    for (const char *next = strstr(message, ": "); next; next = strstr(message, ": "))
        message = next + 2;
    return message;
}

int check_run_op(struct check *c, const struct check_op *op, struct err *e)
{
    for (int inputs = 0; inputs < INPUTS_COUNT; inputs++) {
        struct lanes l;
        int status;

        if (!(op->inputs >> inputs & 1))
            continue;
        make_lanes(&l, c, op, (enum check_inputs)inputs);
        status = op->unit == CHECK_SCALAR ? run_scalars(&l, c, op, e) : run_lanes(&l, c, op, e);
        if (status == CHECK_REFUSED) {
            check_leave_out(c, last_part(e->msg), "%s %s", op->name, op->dtype);
            return 0;
        }
        if (status)
            return -1;
        measure_lanes(&l, c, op, (enum check_inputs)inputs);
        arena_fini(&c->scratch);
    }
    return 0;
}
