/* Do the elementwise operations compute what HLO says, bit for bit or within their bounds? */
#include "tests/test.h"

#include <math.h>

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/machine/machine.h"
#include "stack/hlo/array.h"
#include "stack/kernels/loop/fused.h"
#include "stack/interp/interp.h"
#include "stack/backend/emitters.h"
#include "tests/rigs/whole_program.h"

#define LANES 128
#define ROWS 32                         /* of every array: one tile of the narrowest type */
#define ELEMS (ROWS * LANES)
#define SMALLEST 1.17549435e-38         /* normal f32 */

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

/* ----- running a body on one group of 32 rows */

struct bench {
    struct array in[4], out[2];
    const struct graph *body;
    struct vcode code;
};

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    struct bench *b = user;
    const struct array *a = &b->in[f->body->node[node].parameter_index];
    int per_tile = a->tile_rows / 8;

    (void)e;
    assert_int_equal(f->body->node[node].op, HLO_PARAMETER);
    for (int t = 0; t < ROWS / a->tile_rows; t++) {
        struct fused_value v;
        int tile = emit_vld(f->code, isa_rows_at(NONE, a->address / ARRAY_ROW_BYTES + 8 * t),
                            VCODE_REGION_ANY);

        fused_unpack(f->code, f->chip, a->shape.dtype, tile, &v);
        for (int p = 0; p < per_tile; p++)
            out->part[t * per_tile + p] = v.part[p];
        out->is_mask = v.is_mask;
    }
    return 0;
}

static void store(struct bench *b, struct fused *f, const struct array *a, int node)
{
    int per_tile = a->tile_rows / 8;

    for (int t = 0; t < ROWS / a->tile_rows; t++) {
        struct fused_value v = {.is_mask = f->value[node].is_mask};

        for (int p = 0; p < per_tile; p++)
            v.part[p] = f->value[node].part[t * per_tile + p];
        emit_vst(&b->code, isa_rows_at(NONE, a->address / ARRAY_ROW_BYTES + 8 * t),
                 fused_pack(&b->code, f->chip, a->shape.dtype, &v), VCODE_REGION_ANY);
    }
}

static size_t compile(struct bench *b, const struct chip *chip, struct arena *a,
                      struct isa_program *program)
{
    struct vcode_stats stats;
    struct fused f;
    struct err e;
    size_t ops;

    vcode_init(&b->code, a);
    fused_init(&f, &b->code, chip, b->body, ROWS / 8, a);
    f.leaf = leaf;
    f.user = b;
    for (int i = 0; i < b->body->output_count; i++) {
        must(fused_emit(&f, b->body->output[i].node, &e), &e);
        store(b, &f, &b->out[i], b->body->output[i].node);
    }
    ops = b->code.block[0].op_count;
    must(whole_program(&b->code, chip, 4096, 256, a, program, &stats, &e), &e);
    vcode_fini(&b->code);
    return ops;
}

/* returns operations, before they are scheduled */
static size_t run(const struct graph *body, const char *slice_name, const void *const *input,
                  void **output, struct arena *a)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto"};
    struct bench b = {.body = body};
    struct isa_program program;
    struct machine *m;
    struct slice slice;
    struct chip chip;
    struct err e;
    int64_t address = 0;
    size_t ops;

    must(slice_parse(&slice, slice_name, &e), &e);
    must(chip_load_builtin(&chip, slice.chip_name, NULL, NULL, &e), &e);
    m = machine_create(&slice, &chip, &options, &e);
    for (int i = 0; i < body->parameter_count + body->output_count; i++) {
        int k = i - body->parameter_count;
        struct array *to = k < 0 ? &b.in[i] : &b.out[k];
        int node = k < 0 ? body->parameter[i] : body->output[k].node;

        array_init(to, "a", &body->node[node].shape, NULL);
        to->address = address;
        address += to->bytes;
    }
    ops = compile(&b, &chip, a, &program);
    for (int i = 0; i < body->parameter_count; i++) {
        void *tiles = arena_alloc(a, (size_t)b.in[i].bytes);

        array_pack(&b.in[i], input[i], tiles);
        must(machine_vmem_write(m, 0, b.in[i].address, tiles, b.in[i].bytes, &e), &e);
    }
    must(machine_load(m, 0, &program, &e), &e);
    must(machine_run(m, &e), &e);
    for (int i = 0; i < body->output_count; i++) {
        void *tiles = arena_alloc(a, (size_t)b.out[i].bytes);

        must(machine_vmem_read(m, 0, b.out[i].address, tiles, b.out[i].bytes, &e), &e);
        output[i] = arena_alloc(a, ELEMS * 4);
        array_unpack(&b.out[i], tiles, output[i]);
    }
    machine_destroy(m);
    return ops;
}

/* ----- inputs */

enum range { ANY, MODEST, SMALL_TURNS };

static float flushed(float x)
{
    return fabsf(x) < (float)SMALLEST ? copysignf(0, x) : x;
}

static uint32_t float_input(struct rng *r, enum range range, int64_t i)
{
    static const float hard[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN,
                                 1.17549435e-38f, -1.17549435e-38f, 3.4028235e38f, 2.0f, -2.0f,
                                 -3.4028235e38f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 3.0f, -3.0f,
                                 88.72f, -87.3f, 2147483648.0f, -2147483648.0f, 4294967296.0f,
                                 1e-7f, 0.00044f, 127.5f, 255.5f, -128.5f, 16777216.0f};
    uint32_t pick = rng_below(r, 8);

    (void)i;
    if (range == MODEST)
        return f32_bits(rng_uniform(r, -20, 20));
    if (pick < 2)
        return f32_bits(hard[rng_below(r, COUNT_OF(hard))]);
    if (pick < 4)
        return f32_bits(rng_uniform(r, -100, 100));
    if (pick < 5)
        return f32_bits((float)((int)rng_below(r, 41) - 20));
    return f32_bits(flushed(f32_from_bits((uint32_t)(rng_next(r) >> 13))));
}

static uint32_t integer_input(struct rng *r, enum graph_dtype t)
{
    static const uint32_t hard[] = {0, 1, 2, 3, 7, 0x7fffffff, 0x80000000, 0xffffffff,
                                    0xfffffffe, 31, 32, 33, 255, 128, 127, 0x80000001, 65536};
    uint32_t bits = rng_below(r, 2) ? hard[rng_below(r, COUNT_OF(hard))]
                                    : (uint32_t)(rng_next(r) >> 17) >> rng_below(r, 32);

    if (t == DTYPE_S8)
        return (uint32_t)(int8_t)(uint8_t)bits;
    return t == DTYPE_U8 ? bits & 255 : t == DTYPE_PRED ? bits & 1 : bits;
}

static void *random_input(struct arena *a, enum graph_dtype t, enum range range, uint64_t seed)
{
    uint32_t *data = arena_alloc(a, ELEMS * 4);
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < ELEMS; i++) {
        bool is_float = t == DTYPE_F32 || t == DTYPE_BF16;

        data[i] = is_float ? float_input(&r, range, i) : integer_input(&r, t);
        if (t == DTYPE_BF16)
            data[i] = f32_bits(f32_round_to_bf16(f32_from_bits(data[i])));
    }
    return data;
}

/* ----- bounds */

/* what an operation may be off: ulp, per_size times a size that operands make, and besides */
struct bound {
    enum graph_op op;
    enum range range;
    double ulp;
    double per_size;
    double (*size)(double x, double y);
    double absolute;
    bool any_zero;                      /* of either sign */
};

static double size_x(double x, double y) { (void)y; return fabs(x); }
static double size_power(double x, double y) { return fabs(y * log2(fabs(x))); }

static const struct bound bounds[] = {
    {.op = HLO_EXP, .ulp = 2, .per_size = 1.5, .size = size_x},
    {.op = HLO_EXPM1, .ulp = 6, .per_size = 1.5, .size = size_x, .any_zero = true},
    {.op = HLO_LOG, .ulp = 2},
    {.op = HLO_LOG1P, .ulp = 3, .absolute = 1.3e-7, .any_zero = true},
    {.op = HLO_SQRT, .ulp = 1.5},
    {.op = HLO_RSQRT, .ulp = 1},
    {.op = HLO_CBRT, .ulp = 2},
    {.op = HLO_TANH, .ulp = 2},
    {.op = HLO_LOGISTIC, .ulp = 3, .per_size = 1.5, .size = size_x},
    {.op = HLO_ERF, .ulp = 4},
    {.op = HLO_SINE, .ulp = 3}, {.op = HLO_COSINE, .ulp = 3}, {.op = HLO_TAN, .ulp = 6},
    {.op = HLO_DIVIDE, .ulp = 1.5},
    {.op = HLO_REMAINDER, .range = MODEST},
    {.op = HLO_POWER, .ulp = 3, .per_size = 2, .size = size_power, .any_zero = true},
    {.op = HLO_ATAN2, .ulp = 4},
    {.op = HLO_MAXIMUM, .any_zero = true}, {.op = HLO_MINIMUM, .any_zero = true},
    {.op = HLO_CLAMP, .any_zero = true},
};

static struct bound bound_of(enum graph_op op)
{
    for (size_t i = 0; i < COUNT_OF(bounds); i++)
        if (bounds[i].op == op)
            return bounds[i];
    return (struct bound){.op = op};
}

static double ulp_of(double x)
{
    int exponent;

    frexp(x, &exponent);
    return ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static bool is_close(const struct bound *b, uint32_t got, uint32_t expected, double x, double y)
{
    double g = (double)f32_from_bits(got), w = (double)f32_from_bits(expected), allowed;

    if (got == expected || (isnan(g) && isnan(w)))
        return true;
    if (fabs(w) < SMALLEST && w != 0 && g == 0)
        return true;                    /* flushed */
    if (g == 0 && w == 0)
        return b->any_zero || signbit(g) == signbit(w);
    allowed = (b->ulp + (b->size ? b->per_size * b->size(x, y) : 0)) * ulp_of(w) + b->absolute;
    if (fabs(w) < 4 * SMALLEST && fabs(g) < 4 * SMALLEST && b->ulp > 0)
        return true;                    /* at the lower end of the range */
    if (isinf(w) || isinf(g)) {         /* at its upper end, from either side */
        double largest = ldexp(1, 128);
        double finite = isinf(w) ? g : w;

        return b->ulp > 0 && !isinf(finite) && !isnan(finite) && (g > 0) == (w > 0)
               && fabs(finite) >= largest - 8 * allowed - 8 * ulp_of(largest)
               && (allowed > 0 || !isinf(w));
    }
    return fabs(g - w) <= allowed;
}

static double number_of(const uint32_t *data, enum graph_dtype t, int64_t i)
{
    return t == DTYPE_F32 || t == DTYPE_BF16 ? (double)f32_from_bits(data[i])
                                             : (double)(int32_t)data[i];
}

static void check_body(const struct graph *g, const char *slice, enum graph_op op, uint64_t seed)
{
    struct bound b = bound_of(op);
    struct interp_value in[4], out[2];
    const void *input[4];
    void *output[2];
    struct arena a;
    struct err e;
    enum graph_dtype t = g->node[g->output[0].node].shape.dtype;

    arena_init(&a);
    for (int i = 0; i < g->parameter_count; i++) {
        input[i] = random_input(&a, g->node[g->parameter[i]].shape.dtype, b.range,
                                seed + 10 * (uint64_t)i);
        in[i].data = (void *)(uintptr_t)input[i];
    }
    run(g, slice, input, output, &a);
    must(interp_run(g, INTERP_DOT_F32, in, out, &a, &e), &e);
    for (int64_t i = 0; i < ELEMS; i++) {
        uint32_t got = ((uint32_t *)output[0])[i], expected = ((uint32_t *)out[0].data)[i];
        double x = number_of(input[0], g->node[g->parameter[0]].shape.dtype, i), y = 0;

        if (g->parameter_count > 1)
            y = number_of(input[1], g->node[g->parameter[1]].shape.dtype, i);
        if (op == HLO_DIVIDE && fabs(y) > 0x1p126)
            continue;                   /* its reciprocal is flushed: docs/numerics.md */
        if (t == DTYPE_F32 || t == DTYPE_BF16 ? is_close(&b, got, expected, x, y)
                                              : got == expected)
            continue;
        print_message("%s of %.9g and %.9g on %s: %08x (%.9g), expected %08x (%.9g)\n",
                      graph_op_name(op), x, y, slice, got, (double)f32_from_bits(got), expected,
                      (double)f32_from_bits(expected));
        fail();
    }
    arena_fini(&a);
}

/* ----- bodies of one operation */

static struct shape square(enum graph_dtype t)
{
    return shape_make(t, 2, (int64_t[]){ROWS, LANES});
}

static void check_op(enum graph_op op, enum graph_dtype t, const char *slice, uint64_t seed)
{
    enum graph_op_kind kind = graph_op_kind(op);
    struct graph g;
    struct arena a;
    int x, y, node;

    arena_init(&a);
    graph_init(&g, &a, "body");
    x = graph_parameter(&g, square(t), "x");
    if (kind == KIND_UNARY) {
        node = graph_unary(&g, op, x);
    } else if (op == HLO_CLAMP) {
        y = graph_parameter(&g, square(t), "y");
        node = graph_clamp(&g, x, y, graph_parameter(&g, square(t), "z"));
    } else {
        y = graph_parameter(&g, square(t), "y");
        node = graph_binary(&g, op, x, y);
    }
    graph_output(&g, node, "out", -1);
    check_body(&g, slice, op, seed);
    graph_fini(&g);
    arena_fini(&a);
}

static const char *const slices[] = {"v3-2", "v6e-1"};

TEST(functions_of_floats_stay_within_their_bounds)
{
    for (int op = 0; op < HLO_COUNT; op++) {
        enum graph_op_kind kind = graph_op_kind((enum graph_op)op);

        if ((kind != KIND_UNARY && kind != KIND_BINARY && op != HLO_CLAMP)
            || op == HLO_CONVERT || op == HLO_BITCAST_CONVERT || op == HLO_NOT
            || op == HLO_POPCNT || op == HLO_CLZ || op == HLO_COMPARE || op == HLO_AND
            || op == HLO_OR || op == HLO_XOR || op == HLO_SHIFT_LEFT
            || op == HLO_SHIFT_RIGHT_LOGICAL || op == HLO_SHIFT_RIGHT_ARITHMETIC)
            continue;
        for (uint64_t seed = 1; seed <= 6; seed++)
            check_op((enum graph_op)op, DTYPE_F32, slices[seed % 2], seed);
    }
}

TEST(integers_are_exact_in_every_width)
{
    static const enum graph_op ops[] = {
        HLO_NEGATE, HLO_ABS, HLO_SIGN, HLO_NOT, HLO_POPCNT, HLO_CLZ, HLO_ADD, HLO_SUBTRACT,
        HLO_MULTIPLY, HLO_DIVIDE, HLO_REMAINDER, HLO_POWER, HLO_MAXIMUM, HLO_MINIMUM, HLO_AND,
        HLO_OR, HLO_XOR, HLO_SHIFT_LEFT, HLO_SHIFT_RIGHT_LOGICAL, HLO_SHIFT_RIGHT_ARITHMETIC,
        HLO_CLAMP};
    static const enum graph_dtype types[] = {DTYPE_S32, DTYPE_U32, DTYPE_S8, DTYPE_U8};

    for (size_t i = 0; i < COUNT_OF(ops); i++)
        for (size_t t = 0; t < COUNT_OF(types); t++) {
            if ((ops[i] == HLO_NEGATE || ops[i] == HLO_ABS || ops[i] == HLO_SIGN)
                && (types[t] == DTYPE_U32 || types[t] == DTYPE_U8))
                continue;
            check_op(ops[i], types[t], slices[i % 2], 5 + i);
        }
}

TEST(predicates_and_comparisons_are_exact)
{
    static const enum graph_op logic[] = {HLO_NOT, HLO_AND, HLO_OR, HLO_XOR, HLO_COPY};

    for (size_t i = 0; i < COUNT_OF(logic); i++)
        check_op(logic[i], DTYPE_PRED, slices[i % 2], i);
    for (int t = 0; t < DTYPE_COUNT; t++)
        for (int direction = COMPARE_EQ; direction <= COMPARE_GE; direction++) {
            struct graph g;
            struct arena a;
            int x, y, p;

            arena_init(&a);
            graph_init(&g, &a, "compare");
            x = graph_parameter(&g, square((enum graph_dtype)t), "x");
            y = graph_parameter(&g, square((enum graph_dtype)t), "y");
            p = graph_compare(&g, (enum graph_compare)direction, x, y);
            graph_output(&g, graph_select(&g, p, y, x), "out", -1);
            check_body(&g, slices[t % 2], HLO_SELECT, 77);
            g.output[0].node = p;
            check_body(&g, slices[t % 2], HLO_COMPARE, 78);
            graph_fini(&g);
            arena_fini(&a);
        }
}

TEST(conversions_between_all_types_are_exact)
{
    for (int from = 0; from < DTYPE_COUNT; from++)
        for (int to = 0; to < DTYPE_COUNT; to++) {
            struct graph g;
            struct arena a;
            int x;

            if (from == to)
                continue;
            arena_init(&a);
            graph_init(&g, &a, "convert");
            x = graph_parameter(&g, square((enum graph_dtype)from), "x");
            graph_output(&g, graph_convert(&g, x, (enum graph_dtype)to), "out", -1);
            check_body(&g, slices[(from + to) % 2], HLO_CONVERT, 31);
            graph_fini(&g);
            arena_fini(&a);
        }
}

TEST(bf16_results_are_rounded_where_they_are_used)
{
    struct graph g;
    struct arena a;
    int x, y, sum;

    arena_init(&a);
    graph_init(&g, &a, "rounding");
    x = graph_parameter(&g, square(DTYPE_F32), "x");
    y = graph_parameter(&g, square(DTYPE_BF16), "y");
    sum = graph_binary(&g, HLO_ADD, graph_convert(&g, x, DTYPE_BF16), y);
    sum = graph_binary(&g, HLO_MULTIPLY, sum, y);
    graph_output(&g, graph_convert(&g, sum, DTYPE_F32), "out", -1);
    check_body(&g, "v5e-1", HLO_MULTIPLY, 9);
    graph_fini(&g);
    arena_fini(&a);
}

/* e^-x, behind -x itself where it is kept */
static const void *exponential_of_negated(struct arena *a, bool is_kept, size_t *ops)
{
    const void *input = random_input(a, DTYPE_F32, ANY, 7);
    struct graph g;
    void *output[2];
    int x;

    graph_init(&g, a, "negated");
    x = graph_unary(&g, HLO_NEGATE, graph_parameter(&g, square(DTYPE_F32), "x"));
    if (is_kept)
        graph_output(&g, x, "negated", -1);
    graph_output(&g, graph_unary(&g, HLO_EXP, x), "power", -1);
    *ops = run(&g, "v3-2", &input, output, a);
    graph_fini(&g);
    return output[is_kept];
}

TEST(a_sign_goes_into_the_constant_of_an_exponential)
{
    size_t kept, folded;
    struct arena a;
    const void *expected, *got;

    arena_init(&a);
    expected = exponential_of_negated(&a, true, &kept);
    got = exponential_of_negated(&a, false, &folded);
    assert_memory_equal(got, expected, ELEMS * 4);
    assert_int_equal(folded, kept - ROWS / 8 * 2);      /* nor is it stored */
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_floats_stay_within_their_bounds),
        cmocka_unit_test(integers_are_exact_in_every_width),
        cmocka_unit_test(predicates_and_comparisons_are_exact),
        cmocka_unit_test(conversions_between_all_types_are_exact),
        cmocka_unit_test(bf16_results_are_rounded_where_they_are_used),
        cmocka_unit_test(a_sign_goes_into_the_constant_of_an_exponential),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
