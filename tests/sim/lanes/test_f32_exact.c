#include "sim/lanes/f32_exact.h"

#include "base/rng.h"
#include "sim/lanes/simd.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"

/* both signs of each are tried */
static const uint32_t edges[] = {
    0x00000000, 0x00000001, 0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x00800002,
    0x00ffffff, 0x01000000, 0x01000001, 0x0c7fffff, 0x0c800000, 0x1f7fffff, 0x1f800000,
    0x1f800001, 0x1fffffff, 0x20000000, 0x33000000, 0x337fffff, 0x33800000, 0x33800001,
    0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fffffff, 0x40490fdb,
    0x4b000000, 0x4b7fffff, 0x4b800000, 0x5f7fffff, 0x5f800000, 0x5f800001, 0x72ffffff,
    0x7effffff, 0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00001,
};

#define EDGE_COUNT (2 * sizeof(edges) / sizeof(edges[0]))

static uint32_t edge(size_t i) { return edges[i / 2] ^ (uint32_t)(i & 1) << 31; }

static void check_sum_and_product(uint32_t a, uint32_t b)
{
    float x = f32_from_bits(a), y = f32_from_bits(b);

    if (f32_bits(f32_add(x, y)) != reference_add(a, b) ||
        f32_bits(f32_sub(x, y)) != reference_add(a, b ^ 0x80000000u) ||
        f32_bits(f32_mul(x, y)) != reference_mul(a, b))
        fail_msg("%08x and %08x: sum %08x for %08x, product %08x for %08x", a, b,
                 f32_bits(f32_add(x, y)), reference_add(a, b), f32_bits(f32_mul(x, y)),
                 reference_mul(a, b));
}

static void check_fma(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t got = f32_bits(f32_fma(f32_from_bits(a), f32_from_bits(b), f32_from_bits(c)));

    if (got != reference_fma(a, b, c))
        fail_msg("%08x * %08x + %08x: %08x, not %08x", a, b, c, got, reference_fma(a, b, c));
}

static void check_all_edges(void)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            check_sum_and_product(edge(i), edge(j));
            for (size_t k = 0; k < EDGE_COUNT; k++)
                check_fma(edge(i), edge(j), edge(k));
        }
    }
}

TEST(edge_values_compute_as_the_integer_reference)
{
    check_all_edges();
}

TEST(edge_values_compute_the_same_under_flush_to_zero)
{
    uint32_t saved = simd_thread_begin();

    check_all_edges();
    simd_thread_end(saved);
}

/* exponents so close that the sum cancels, or the product meets an end of the range */
TEST(random_values_compute_as_the_integer_reference)
{
    struct rng r;

    rng_init(&r, 7);
    for (int i = 0; i < 1000000; i++) {
        uint32_t a = (uint32_t)rng_next(&r), b = (uint32_t)rng_next(&r), c = (uint32_t)rng_next(&r);
        uint32_t exponent = i % 2 ? rng_below(&r, 4) : 250 + rng_below(&r, 5);
        uint32_t first = a >> 23 & 0xff, second = (exponent + 127 - first) & 0xff;

        check_sum_and_product(a, b);
        check_sum_and_product(a, (a ^ 0x80000000u) + rng_below(&r, 1 << 25));
        check_fma(a, b, c);
        b = (b & 0x807fffffu) | second << 23;
        c = (c & 0x807fffffu) | ((exponent + rng_below(&r, 3)) & 0xff) << 23;
        check_sum_and_product(a, b);
        check_fma(a, b, c);
        c = reference_mul(a, b) ^ 0x80000000u;
        check_fma(a, b, c + rng_below(&r, 3));
    }
}

TEST(result_that_rounds_up_to_the_smallest_normal_is_kept)
{
    float least = 0x1p-126f;

    assert_int_equal(f32_bits(f32_fma(0x1p-75f, -0x1p-76f, least)), 0x00800000);    /* a tie */
    assert_int_equal(f32_bits(f32_fma(0x1p-75f, -0x1.000002p-76f, least)), 0);
    assert_int_equal(f32_bits(f32_fma(-0x1p-75f, -0x1p-76f, -least)), 0x80800000);
    assert_int_equal(f32_bits(f32_fma(-0x1p-75f, -0x1.000002p-76f, -least)), 0x80000000);
    assert_int_equal(f32_bits(f32_mul(0x1.fffffcp-64f, 0x1.000002p-63f)), 0x00800000);
    assert_int_equal(f32_bits(f32_mul(0x1.fffffcp-64f, 0x1p-63f)), 0);
}

TEST(exact_midpoint_is_seen_beyond_double_precision)
{
    /* products of 2^-24 (1 - 2^-46) and 2^-24 (1 + 2^-36): just off the midpoints they add up to */
    assert_int_equal(f32_bits(f32_fma(0x1.fffffcp-25f, 0x1.000002p0f, 1.0f)), 0x3f800000);
    assert_int_equal(f32_bits(f32_fma(0x1.fffffcp-25f, 0x1.000002p0f, 0x1.000002p0f)), 0x3f800001);
    assert_int_equal(f32_bits(f32_fma(0x1.001p0f, 0x1.ffe002p-25f, 1.0f)), 0x3f800001);
    assert_int_equal(f32_bits(f32_fma(0x1p-12f, 0x1p-12f, 1.0f)), 0x3f800000);      /* a tie */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_values_compute_as_the_integer_reference),
        cmocka_unit_test(edge_values_compute_the_same_under_flush_to_zero),
        cmocka_unit_test(random_values_compute_as_the_integer_reference),
        cmocka_unit_test(result_that_rounds_up_to_the_smallest_normal_is_kept),
        cmocka_unit_test(exact_midpoint_is_seen_beyond_double_precision),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
