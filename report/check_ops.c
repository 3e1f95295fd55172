/*
 * Operations on lanes: the table of what is measured, against which reference
 * and within which bound; and the program that measures it.
 */
#include "report/check_internal.h"

#include "base/floats.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>

#define FLOATS (1u << INPUTS_HEAVY | 1u << INPUTS_WIDE | 1u << INPUTS_CANCEL | 1u << INPUTS_EDGES)
#define WORDS (1u << INPUTS_BITS | 1u << INPUTS_EDGES)

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double same(double a, double b) { (void)b; return a; }
static double power(double a, double b) { (void)b; return exp2(a); }
static double logarithm(double a, double b) { (void)b; return log2(a); }
static double reciprocal(double a, double b) { (void)b; return 1 / a; }
static double inverse_root(double a, double b) { (void)b; return a == 0 ? 1 / a : 1 / sqrt(a); }
static double tangent(double a, double b) { (void)b; return tanh(a); }

static double greater(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

static double less(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static double is_equal(double a, double b) { return a == b; }
static double is_different(double a, double b) { return a != b; }
static double is_less(double a, double b) { return a < b; }
static double is_less_or_equal(double a, double b) { return a <= b; }
static double is_greater(double a, double b) { return a > b; }
static double is_greater_or_equal(double a, double b) { return a >= b; }

static uint32_t word_add(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a + b); }
static uint32_t word_sub(uint32_t a, uint32_t b) { return (uint32_t)((1ull << 32) + a - b); }
static uint32_t word_mul(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b); }

static uint32_t word_left(uint32_t a, uint32_t b)
{
    return b > 31 ? 0 : (uint32_t)((uint64_t)a << b);
}

static uint32_t word_right(uint32_t a, uint32_t b)
{
    return b > 31 ? 0 : (uint32_t)((uint64_t)a >> b);
}

/* as a division that rounds down */
static uint32_t word_right_sign(uint32_t a, uint32_t b)
{
    int64_t divisor = 1ll << (b > 31 ? 31 : b), value = (int32_t)a;

    return (uint32_t)(value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor));
}

static uint32_t float_of_word(uint32_t a, uint32_t b)
{
    (void)b;
    return f32_bits((float)check_round((double)(int32_t)a, 24));
}

static uint32_t word_of_float(uint32_t a, uint32_t b)
{
    double x = (double)f32_from_bits(a);

    (void)b;
    if (isnan(x))
        return 0;
    return x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? 0x80000000u : (uint32_t)(int32_t)x;
}

static uint32_t word_is_less(uint32_t a, uint32_t b)
{
    return (int32_t)a < (int32_t)b ? 0x3f800000u : 0;
}

static uint32_t word_is_equal(uint32_t a, uint32_t b) { return a == b ? 0x3f800000u : 0; }

#define LANES(op) "{ v2 = " op " v0, v1 }\n"
#define LANE(op) "{ v2 = " op " v0 }\n"
#define EUP(op) "{ " op " v0 }\n{ v2 = vpop.eup }\n"
#define COMPARE(op) "{ vm0 = " op " v0, v1 }\n{ v2 = vsel vm0, 1.0, 0.0 }\n"

/* name, type, arity, body, exact, bits, digits, bound, whole numbers, inputs, operand digits */
const struct check_op check_ops[] = {
    {"vadd", "f32", 2, LANES("vadd.f32"), add, NULL, 24, 0.5, false, FLOATS, 0},
    {"vsub", "f32", 2, LANES("vsub.f32"), sub, NULL, 24, 0.5, false, FLOATS, 0},
    {"vmul", "f32", 2, LANES("vmul.f32"), mul, NULL, 24, 0.5, false, FLOATS, 0},
    {"vmax", "f32", 2, LANES("vmax.f32"), greater, NULL, 24, 0.5, false, FLOATS, 0},
    {"vmin", "f32", 2, LANES("vmin.f32"), less, NULL, 24, 0.5, false, FLOATS, 0},
    {"vcmp.eq", "f32", 2, COMPARE("vcmp.eq.f32.partialorder"), is_equal, NULL, 24, 0.5, false,
     FLOATS, 0},
    {"vcmp.ne", "f32", 2, COMPARE("vcmp.ne.f32.partialorder"), is_different, NULL, 24, 0.5, false,
     FLOATS, 0},
    {"vcmp.lt", "f32", 2, COMPARE("vcmp.lt.f32.partialorder"), is_less, NULL, 24, 0.5, false,
     FLOATS, 0},
    {"vcmp.le", "f32", 2, COMPARE("vcmp.le.f32.partialorder"), is_less_or_equal, NULL, 24, 0.5,
     false, FLOATS, 0},
    {"vcmp.gt", "f32", 2, COMPARE("vcmp.gt.f32.partialorder"), is_greater, NULL, 24, 0.5, false,
     FLOATS, 0},
    {"vcmp.ge", "f32", 2, COMPARE("vcmp.ge.f32.partialorder"), is_greater_or_equal, NULL, 24, 0.5,
     false, FLOATS, 0},
    {"vpack", "bf16", 1, "{ v3 = vpack.c.bf16 v0, v0 }\n{ v2 = vunpack.c.l.bf16 v3 }\n", same,
     NULL, 8, 0.5, false, FLOATS, 0},
    {"vpow2", "f32", 1, EUP("vpow2.f32"), power, NULL, 24, 1.0, false, FLOATS, 0},
    {"vlog2", "f32", 1, EUP("vlog2.f32"), logarithm, NULL, 24, 1.0, false, FLOATS, 0},
    {"vrcp", "f32", 1, EUP("vrcp.f32"), reciprocal, NULL, 24, 0.5, false, FLOATS, 0},
    {"vrsqrt", "f32", 1, EUP("vrsqrt.f32"), inverse_root, NULL, 24, 1.0, false, FLOATS, 0},
    {"vtanh", "f32", 1, EUP("vtanh.f32"), tangent, NULL, 24, 2.0, false, FLOATS, 0},
    {"vcvt.f32.s32", "f32", 1, LANE("vcvt.f32.s32"), NULL, word_of_float, 0, 0, false, FLOATS, 0},
    {"vcvt.s32.f32", "s32", 1, LANE("vcvt.s32.f32"), NULL, float_of_word, 0, 0, true, WORDS, 0},
    {"vadd", "s32", 2, LANES("vadd.s32"), NULL, word_add, 0, 0, true, WORDS, 0},
    {"vsub", "s32", 2, LANES("vsub.s32"), NULL, word_sub, 0, 0, true, WORDS, 0},
    {"vcmp.lt", "s32", 2, COMPARE("vcmp.lt.s32.totalorder"), NULL, word_is_less, 0, 0, true,
     WORDS, 0},
    {"vcmp.eq", "s32", 2, COMPARE("vcmp.eq.s32.totalorder"), NULL, word_is_equal, 0, 0, true,
     WORDS, 0},
    {"vshra", "s32", 2, LANES("vshra.s32"), NULL, word_right_sign, 0, 0, true, WORDS, 0},
    {"vmul", "u32", 2, LANES("vmul.u32"), NULL, word_mul, 0, 0, true, WORDS, 0},
    {"vshll", "u32", 2, LANES("vshll.u32"), NULL, word_left, 0, 0, true, WORDS, 0},
    {"vshrl", "u32", 2, LANES("vshrl.u32"), NULL, word_right, 0, 0, true, WORDS, 0},
};

const size_t check_op_count = COUNT_OF(check_ops);

struct lanes {
    int64_t count;                      /* a multiple of a tile's words */
    uint32_t *a, *b, *out;
};

static void make_lanes(struct lanes *l, struct check *c, const struct check_op *op,
                       enum check_inputs inputs)
{
    int64_t most = check_vmem_rows(c) / 3 * CHECK_LANES;
    int64_t wanted = inputs == INPUTS_EDGES ? 4096 : c->sample_count;
    struct rng r;

    wanted = wanted < most ? wanted : most;
    l->count = wanted < CHECK_TILE_WORDS ? CHECK_TILE_WORDS : wanted - wanted % CHECK_TILE_WORDS;
    l->a = arena_array(&c->scratch, (size_t)l->count, sizeof(*l->a));
    l->b = arena_array(&c->scratch, (size_t)l->count, sizeof(*l->b));
    l->out = arena_array(&c->scratch, (size_t)l->count, sizeof(*l->out));
    rng_init(&r, c->seed);
    check_fill(inputs, op, &r, l->a, l->b, l->count);
}

/* operands in VMEM one after the other, results behind them */
static int run_lanes(struct lanes *l, struct check *c, const struct check_op *op, struct err *e)
{
    int64_t rows = l->count / CHECK_LANES;
    struct check_text t;
    int label;

    if (check_vmem_write(c, 0, l->a, l->count, e) || check_vmem_write(c, rows, l->b, l->count, e))
        return -1;
    check_text_open(&t, c);
    label = check_loop_begin(&t, 0, 0);
    fprintf(t.to, "{ v0 = vld [vmem:s0] }\n{ v1 = vld [vmem:s0 + %" PRId64 "] }\n%s"
            "{ vst [vmem:s0 + %" PRId64 "] v2 }\n", rows, op->body, 2 * rows);
    check_loop_end(&t, label, 0, CHECK_TILE_WORDS / CHECK_LANES, rows);
    if (check_text_run(&t, c, e))
        return -1;
    return check_vmem_read(c, 2 * rows, l->out, l->count, e);
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

static void describe(const struct check_op *op, const struct lanes *l, int64_t at,
                     struct check_row *row)
{
    double expected;

    if (op->bits) {
        snprintf(row->example, sizeof(row->example), "operands %08x %08x: %08x, not %08x",
                 l->a[at], l->b[at], l->out[at], op->bits(l->a[at], l->b[at]));
        return;
    }
    expected = check_round(op->exact(operand(op, l->a[at]), operand(op, l->b[at])), op->digits);
    snprintf(row->example, sizeof(row->example), "operands %08x %08x: %08x, not %08x", l->a[at],
             l->b[at], l->out[at],
             isnan(expected) ? F32_NAN_BITS : f32_bits((float)expected));
}

static void measure_lanes(const struct lanes *l, struct check *c, const struct check_op *op,
                          enum check_inputs inputs)
{
    struct check_sample *sample = arena_array(&c->scratch, (size_t)l->count, sizeof(*sample));
    struct check_row *row = check_add_row(c);
    int64_t worst = 0;

    row->name = op->name;
    row->dtype = op->dtype;
    row->inputs = check_inputs_name(inputs);
    if (op->bits)
        snprintf(row->bound, sizeof(row->bound), "exact");
    else
        snprintf(row->bound, sizeof(row->bound), "%g ulp", op->bound_ulp);
    for (int64_t i = 0; i < l->count; i++) {
        sample[i] = compare(op, l->a[i], l->b[i], l->out[i]);
        if ((sample[i].is_wrong && !sample[worst].is_wrong) ||
            (sample[i].is_wrong == sample[worst].is_wrong && sample[i].ulp > sample[worst].ulp))
            worst = i;
    }
    describe(op, l, worst, row);
    check_summarise(row, sample, l->count);
}

int check_run_op(struct check *c, const struct check_op *op, struct err *e)
{
    for (int inputs = 0; inputs < INPUTS_COUNT; inputs++) {
        struct lanes l;

        if (!(op->inputs >> inputs & 1))
            continue;
        make_lanes(&l, c, op, (enum check_inputs)inputs);
        if (run_lanes(&l, c, op, e))
            return -1;
        measure_lanes(&l, c, op, (enum check_inputs)inputs);
        arena_fini(&c->scratch);
    }
    return 0;
}
