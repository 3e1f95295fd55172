/*
 * f32 products of 1, 3 and 6 passes: are the parts what the contract says, do
 * compiled products have the bits that follow from it, and do they stay within
 * the bound that docs/numerics.md derives?
 */
#include "stack/hlo/precision.h"

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/lanes/f32_exact.h"
#include "tests/reference/f32_reference.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>

#define ARRAY 128                       /* rows of the matrix unit's array on a v3 */

/* the parts of x as programs make them, with the vector unit's rounding and subtraction */
static void precision_split(float x, float part[PART_COUNT])
{
    for (int i = 0; i < PART_COUNT; i++) {
        part[i] = f32_round_to_bf16(x);
        x = f32_sub(x, part[i]);
    }
}

static uint32_t sign_flipped(uint32_t bits) { return bits ^ 0x80000000u; }

/* the parts once more, in integers */
static void reference_split(uint32_t x, uint32_t part[PART_COUNT])
{
    for (int i = 0; i < PART_COUNT; i++) {
        part[i] = (uint32_t)reference_bf16(x) << 16;
        x = reference_add(x, sign_flipped(part[i]));
    }
}

static uint32_t random_bits(struct rng *r, uint32_t first_exponent, uint32_t last_exponent)
{
    uint32_t exponent = first_exponent + rng_below(r, last_exponent - first_exponent + 1);

    return ((uint32_t)rng_next(r) & 0x807fffffu) | exponent << 23;
}

static void check_split(uint32_t bits)
{
    uint32_t expected[PART_COUNT];
    float part[PART_COUNT];

    precision_split(f32_from_bits(bits), part);
    reference_split(bits, expected);
    for (int i = 0; i < PART_COUNT; i++)
        if (f32_bits(part[i]) != expected[i])
            fail_msg("part %d of %08x is %08x, not %08x", i, bits, f32_bits(part[i]), expected[i]);
}

TEST(parts_of_any_float_are_those_of_integer_arithmetic)
{
    static const uint32_t edges[] = {
        0, 0x80000000, 1, 0x007fffff, 0x00800000, 0x00ffffff, 0x0b7fffff, 0x0c000001, 0x3f7fffff,
        0x3f808000, 0x3f818000, 0x3f80ffff, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0x7f800000,
        0xff800000, 0x7f800001, 0xffc00000,
    };
    struct rng r;

    rng_init(&r, 31);
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        check_split(edges[i]);
    for (int i = 0; i < 300000; i++)
        check_split((uint32_t)rng_next(&r));
}

TEST(parts_add_up_exactly_and_shrink_as_stated)
{
    struct rng r;

    rng_init(&r, 32);
    for (int i = 0; i < 300000; i++) {
        float x = f32_from_bits(random_bits(&r, 127 - 103, 254)), part[PART_COUNT];
        double size = fabs((double)x), rest = x;

        if (size >= 0x1p128 - 0x1p119)
            continue;
        precision_split(x, part);
        rest -= (double)part[PART_HI];
        assert_true(fabs(rest) <= 0x1p-8 * size);
        rest -= (double)part[PART_MID];
        assert_true(fabs(rest) <= 0x1p-17 * size);
        if (rest != (double)part[PART_LO])
            fail_msg("%a loses %a", (double)x, rest - (double)part[PART_LO]);
    }
}

TEST(small_floats_lose_less_than_the_least_normal)
{
    struct rng r;

    rng_init(&r, 33);
    for (int i = 0; i < 300000; i++) {
        float x = f32_from_bits(random_bits(&r, 0, 127 - 103)), part[PART_COUNT];

        precision_split(x, part);
        assert_true(fabs((double)x - part[0] - part[1] - part[2]) < 0x1p-126);
    }
}

struct product {
    int64_t m, n, k;
    float *a, *b, *out;                 /* m x k, k x n, m x n */
    struct arena arena;
};

enum { VALUES_PLAIN, VALUES_WIDE, VALUES_SMALL, VALUES_SPECIAL, VALUES_COUNT };

static float random_value(struct rng *r, int kind)
{
    static const uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0};

    if (kind == VALUES_PLAIN)
        return rng_uniform(r, -2, 2);
    if (kind == VALUES_WIDE)
        return f32_from_bits(random_bits(r, 107, 147));
    if (kind == VALUES_SPECIAL && rng_below(r, 400) == 0)
        return f32_from_bits(special[rng_below(r, COUNT_OF(special))]);
    return f32_from_bits(random_bits(r, 52, 84));       /* products and remainders that flush */
}

static void fill_product(struct product *p, int kind, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < p->m * p->k; i++)
        p->a[i] = random_value(&r, kind);
    for (int64_t i = 0; i < p->k * p->n; i++)
        p->b[i] = random_value(&r, kind);
}

static void open_product(struct product *p, int64_t m, int64_t n, int64_t k)
{
    *p = (struct product){.m = m, .n = n, .k = k};
    arena_init(&p->arena);
    p->a = arena_array(&p->arena, (size_t)(m * k), sizeof(float));
    p->b = arena_array(&p->arena, (size_t)(n * k), sizeof(float));
}

static void run_product(struct product *p, enum graph_precision precision, const char *simd)
{
    struct graph_run run = {.slice = "v3-1", .simd = simd};
    const void *input[] = {p->a, p->b};
    struct graph g;
    void *out[1];
    int x, y;

    graph_init(&g, &p->arena, "product");
    x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){p->m, p->k}), "x");
    y = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){p->k, p->n}), "y");
    graph_output(&g, graph_dot(&g, x, y, 1, 0, precision), "out", -1);
    run_graph(&run, &g, input, out, &p->arena);
    p->out = out[0];
    graph_fini(&g);
}

/*
 * One block of one pass: k = 1,0,3,2,… over the array's rows. Beyond the end
 * zeros are multiplied: they change nothing but a sum of -0, which becomes +0.
 */
static uint32_t reference_chain(const struct product *p, int64_t i, int64_t j, int64_t first,
                                struct precision_pass pass)
{
    uint32_t sum = 0;

    for (int64_t step = 0; step < ARRAY; step++) {
        int64_t k = first + (step ^ 1);
        uint32_t a[PART_COUNT] = {0}, b[PART_COUNT] = {0};

        if (k < p->k) {
            reference_split(f32_bits(p->a[i * p->k + k]), a);
            reference_split(f32_bits(p->b[k * p->n + j]), b);
        }
        sum = reference_fma(a[pass.lhs], b[pass.rhs], sum);
    }
    return sum;
}

/* written out by hand: smallest products first, each pass over all blocks */
static uint32_t reference_element(const struct product *p, int64_t i, int64_t j, int pass_count)
{
    static const struct precision_pass all[] = {
        {PART_LO, PART_HI}, {PART_HI, PART_LO}, {PART_MID, PART_MID},
        {PART_MID, PART_HI}, {PART_HI, PART_MID}, {PART_HI, PART_HI},
    };
    uint32_t sum = 0;
    bool is_first = true;

    for (size_t pass = COUNT_OF(all) - (size_t)pass_count; pass < COUNT_OF(all); pass++) {
        for (int64_t first = 0; first < p->k; first += ARRAY) {
            uint32_t block = reference_chain(p, i, j, first, all[pass]);

            sum = is_first ? block : reference_add(sum, block);
            is_first = false;
        }
    }
    return sum;
}

static const int pass_counts[] = {1, 3, 6};

static void check_bits(int64_t m, int64_t n, int64_t k, int kind, const char *simd)
{
    struct product p;

    open_product(&p, m, n, k);
    fill_product(&p, kind, (uint64_t)(k + kind));
    for (int precision = PRECISION_DEFAULT; precision <= PRECISION_HIGHEST; precision++) {
        run_product(&p, (enum graph_precision)precision, simd);
        for (int64_t i = 0; i < m * n; i++) {
            uint32_t expected = reference_element(&p, i / n, i % n, pass_counts[precision]);

            if (f32_bits(p.out[i]) != expected)
                fail_msg("k %d, values %d, %d passes, element %d: %08x, not %08x", (int)k, kind,
                         pass_counts[precision], (int)i, f32_bits(p.out[i]), expected);
        }
    }
    arena_fini(&p.arena);
}

TEST(compiled_products_have_the_bits_of_the_stated_order)
{
    static const int64_t lengths[] = {1, 40, 128, 129, 300};

    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (int kind = 0; kind < VALUES_COUNT; kind++)
            check_bits(9, 11, lengths[i], kind, "auto");
    check_bits(9, 11, 300, VALUES_SPECIAL, "c");
}

/* worst of |error| / (bound * sum |a||b|) */
static double worst_of_bound(const struct product *p, double bound)
{
    double worst = 0;

    for (int64_t i = 0; i < p->m * p->n; i++) {
        double sum = 0, size = 0;

        for (int64_t k = 0; k < p->k; k++) {
            double term = (double)p->a[i / p->n * p->k + k] * p->b[k * p->n + i % p->n];

            sum += term;
            size += fabs(term);
        }
        worst = fmax(worst, fabs((double)p->out[i] - sum) / (bound * size));
    }
    return worst;
}

/* values whose parts are as large as they get: a tie for hi; mid and lo close to a half */
static void fill_worst(struct product *p, enum graph_precision precision)
{
    struct rng r;

    rng_init(&r, 9);
    for (int64_t i = 0; i < p->m * p->k; i++)
        p->a[i] = precision == PRECISION_DEFAULT ? 0x1.01p0f : rng_uniform(&r, 1.0039f, 1.0041f);
    for (int64_t i = 0; i < p->k * p->n; i++)
        p->b[i] = precision == PRECISION_DEFAULT ? 0x1.01p0f : rng_uniform(&r, 1.0039f, 1.0041f);
}

static double share_of_bound(struct product *p, enum graph_precision precision)
{
    run_product(p, precision, "auto");
    return worst_of_bound(p, precision_error_bound(precision, p->k, ARRAY));
}

/* a bound that no operands come near would hold for a worse order too */
TEST(errors_stay_below_the_derived_bound_and_come_near_it)
{
    static const double near[] = {0.99, 0.6, 0.15};

    for (int i = PRECISION_DEFAULT; i <= PRECISION_HIGHEST; i++) {
        enum graph_precision precision = (enum graph_precision)i;
        struct product p;
        double worst, wide;

        open_product(&p, 64, 64, 1);
        fill_worst(&p, precision);
        worst = share_of_bound(&p, precision);
        arena_fini(&p.arena);
        open_product(&p, 24, 40, 520);
        fill_product(&p, VALUES_WIDE, 8);
        wide = share_of_bound(&p, precision);
        arena_fini(&p.arena);
        printf("%d passes: %.1f %% of the bound by the worst operands, %.2f %% by wide ones\n",
               pass_counts[i], 100 * worst, 100 * wide);
        assert_true(worst <= 1 && wide <= 1);
        assert_true(worst >= near[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_any_float_are_those_of_integer_arithmetic),
        cmocka_unit_test(parts_add_up_exactly_and_shrink_as_stated),
        cmocka_unit_test(small_floats_lose_less_than_the_least_normal),
        cmocka_unit_test(compiled_products_have_the_bits_of_the_stated_order),
        cmocka_unit_test(errors_stay_below_the_derived_bound_and_come_near_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
