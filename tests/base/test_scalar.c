/*
 * The scalar unit beyond plain integers: compares of every kind, f32, division,
 * predicates, fences. References are C's own integers and doubles.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "tests/reference/f32_reference.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <math.h>

static struct rig rig;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, "v3", NULL);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* s1 at the end of `body`, with s2 = a and s3 = b, brought out through VMEM row 1000 */
static uint32_t result(const char *body, uint32_t a, uint32_t b)
{
    char text[2048];
    uint32_t row[128];
    struct err e;

    snprintf(text, sizeof(text), "{ s2 = smov 0x%x ;; s3 = smov 0x%x }\n{ %s }\n"
             "{ v31 = vstv s1 }\n{ vst [vmem:1000] v31 }\n{ shalt }\n", a, b, body);
    rig_cycles(&rig, text);
    assert_int_equal(machine_vmem_read(rig.m, 0, 1000 * 512, row, 512, &e), 0);
    return row[0];
}

static void assert_result(const char *body, uint32_t a, uint32_t b, uint32_t expected)
{
    uint32_t found = result(body, a, b);

    if (found != expected)
        fail_msg("%s of 0x%x, 0x%x: found 0x%x, expected 0x%x", body, a, b, found, expected);
}

/* 0, ends of the ranges, -1, f32: 1, -0, infinity, NaN, subnormal, smallest normal */
static const uint32_t edges[] = {
    0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0x7f800000, 0xff800000, 0x7fc00001,
    0x00000123, 0x00800000, 0x12345678, 0xc0490fdb,
};

static void for_all_pairs(void (*check)(uint32_t a, uint32_t b))
{
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        for (size_t j = 0; j < COUNT_OF(edges); j++)
            check(edges[i], edges[j]);
}

static const char *const relations[] = {"eq", "ne", "lt", "le", "gt", "ge"};

/* all six of a kind in one program: bit i of s1 is relation i */
static uint32_t compare_all(const char *kind, uint32_t a, uint32_t b)
{
    char body[1024] = "s1 = smov 0 }\n{ ";
    size_t i, length = strlen(body);

    for (i = 0; i < 6; i++)
        length += (size_t)snprintf(body + length, sizeof(body) - length,
                                   "p1 = scmp.%s.%s s2, s3 }\n{ s1 = sor.u32 (p1) s1, %d%s",
                                   relations[i], kind, 1 << i, i < 5 ? " }\n{ " : "");
    return result(body, a, b);
}

static uint32_t expected_relations(bool less, bool equal, bool greater)
{
    return (uint32_t)(equal | !equal << 1 | less << 2 | (less || equal) << 3 | greater << 4
                      | (greater || equal) << 5);
}

static double flushed(uint32_t bits)
{
    double x = (double)f32_from_bits(bits);

    return fabs(x) < 0x1p-126 ? copysign(0.0, x) : x;
}

static void check_compares(uint32_t a, uint32_t b)
{
    double x = flushed(a), y = flushed(b);

    assert_int_equal(compare_all("u32.totalorder", a, b), expected_relations(a < b, a == b, a > b));
    assert_int_equal(compare_all("f32.partialorder", a, b),
                     expected_relations(x < y, x == y, x > y));
}

TEST(compares_follow_c_on_unsigned_and_float_values)
{
    for_all_pairs(check_compares);
}

static void check_integers(uint32_t a, uint32_t b)
{
    int32_t x = (int32_t)a, y = (int32_t)b;

    assert_result("s1 = smin.s32 s2, s3", a, b, (uint32_t)(x < y ? x : y));
    assert_result("s1 = smax.s32 s2, s3", a, b, (uint32_t)(x > y ? x : y));
    assert_result("s1 = smin.u32 s2, s3", a, b, a < b ? a : b);
    assert_result("s1 = smax.u32 s2, s3", a, b, a > b ? a : b);
    assert_result("s1 = smulhi.u32 s2, s3", a, b, (uint32_t)((uint64_t)a * b / 0x100000000u));
}

TEST(minimum_maximum_and_high_product_follow_c)
{
    for_all_pairs(check_integers);
}

TEST(leading_zeros_are_counted)
{
    for (int bit = 0; bit < 32; bit++) {
        assert_result("s1 = sclz s2", 1u << bit, 0, (uint32_t)(31 - bit));
        assert_result("s1 = sclz s2", (2u << bit) - 1, 0, (uint32_t)(31 - bit));
    }
    assert_result("s1 = sclz s2", 0, 0, 32);
}

static void check_floats(uint32_t a, uint32_t b)
{
    double x = flushed(a), y = flushed(b);
    bool is_nan = isnan(x) || isnan(y);

    assert_result("s1 = sadd.f32 s2, s3", a, b, reference_add(a, b));
    assert_result("s1 = ssub.f32 s2, s3", a, b,
                  isnan(y) ? 0x7fc00000 : reference_add(a, b ^ 0x80000000u));
    assert_result("s1 = smul.f32 s2, s3", a, b, reference_mul(a, b));
    if (x == 0 && y == 0)
        return;                         /* signs of zeros below */
    assert_result("s1 = smin.f32 s2, s3", a, b,
                  is_nan ? 0x7fc00000 : f32_bits((float)(x < y ? x : y)));
    assert_result("s1 = smax.f32 s2, s3", a, b,
                  is_nan ? 0x7fc00000 : f32_bits((float)(x > y ? x : y)));
}

TEST(float_arithmetic_keeps_the_numerics_contract)
{
    for_all_pairs(check_floats);
    assert_result("s1 = smin.f32 s2, s3", 0, 0x80000000, 0x80000000);
    assert_result("s1 = smax.f32 s2, s3", 0x80000000, 0, 0);
    assert_result("s1 = smul.f32 s2, 0.5", 0x3f800000, 0, 0x3f000000);
}

TEST(conversions_round_and_saturate)
{
    static const struct { int32_t from; uint32_t to; } up[] = {
        {0, 0}, {1, 0x3f800000}, {-1, 0xbf800000}, {16777217, 0x4b800000},
        {16777219, 0x4b800002}, {INT32_MAX, 0x4f000000}, {INT32_MIN, 0xcf000000},
    };
    static const struct { uint32_t from; int32_t to; } down[] = {
        {0x3fffffff, 1}, {0xbfffffff, -1}, {0x4f000000, INT32_MAX}, {0xcf000000, INT32_MIN},
        {0x7f800000, INT32_MAX}, {0xff800000, INT32_MIN}, {0x7fc00000, 0}, {0x00000001, 0},
    };

    for (size_t i = 0; i < COUNT_OF(up); i++)
        assert_result("s1 = scvt.s32.f32 s2", (uint32_t)up[i].from, 0, up[i].to);
    for (size_t i = 0; i < COUNT_OF(down); i++)
        assert_result("s1 = scvt.f32.s32 s2", down[i].from, 0, (uint32_t)down[i].to);
}

TEST(division_gives_quotient_then_remainder)
{
    const char *quotient = "sdivrem.u32 s2, s3 }\n{ s1 = spop.drf }\n{ s0 = spop.drf";
    const char *remainder = "sdivrem.u32 s2, s3 }\n{ s0 = spop.drf ;; s1 = spop.drf";

    for (size_t i = 0; i < COUNT_OF(edges); i++)
        for (size_t j = 0; j < COUNT_OF(edges); j++) {
            uint32_t a = edges[i], b = edges[j];

            assert_result(quotient, a, b, b ? a / b : 0xffffffffu);
            assert_result(remainder, a, b, b ? a % b : a);
        }
}

TEST(divisions_of_a_bundle_keep_their_order)
{
    assert_result("sdivrem.u32 s2, 10 ;; sdivrem.u32 s2, 7 }\n{ s4 = spop.drf ;; s5 = spop.drf }\n"
                  "{ s6 = spop.drf ;; s7 = spop.drf }\n{ s1 = smul.u32 s4, 1000 }\n"
                  "{ s1 = sadd.s32 s1, s5 }\n{ s1 = smul.u32 s1, 1000 }\n"
                  "{ s1 = sadd.s32 s1, s6 }\n{ s1 = smul.u32 s1, 10 }\n{ s1 = sadd.s32 s1, s7",
                  128, 0, 120080182);
    assert_result("s4 = smov 5 }\n{ s4 = smov 9 ;; sdivrem.u32 s4, 3 }\n{ s1 = spop.drf }\n"
                  "{ s0 = spop.drf", 0, 0, 1);
}

TEST(predicates_take_immediates_and_exclusive_or)
{
    assert_result("s1 = smov 0 ;; p1 = pmov 1 }\n{ p2 = pmov 0 ;; p3 = pmov -1 }\n"
                  "{ p4 = pmov !p2 ;; p5 = pxor p1, p3 }\n{ p6 = pxor p1, p2 }\n"
                  "{ s1 = sor.u32 (p1) s1, 1 }\n{ s1 = sor.u32 (p2) s1, 2 }\n"
                  "{ s1 = sor.u32 (p3) s1, 4 }\n{ s1 = sor.u32 (p4) s1, 8 }\n"
                  "{ s1 = sor.u32 (p5) s1, 16 }\n{ s1 = sor.u32 (p6) s1, 32", 0, 0,
                  1 + 4 + 8 + 32);
}

TEST(division_mistakes_are_faults)
{
    assert_fault("{ s1 = spop.drf }\n{ shalt }", FAULT_FIFO_EMPTY,
                 "spop.drf with nothing pushed by sdivrem");
    assert_fault("{ s0 = smov 0 }\nagain:\n{ s0 = sadd.s32 s0, 1 ;; sdivrem.u32 s0, 3 }\n"
                 "{ sbr.rel target = again }\n{}\n{ shalt }", FAULT_FIFO_OVERFLOW,
                 "sdivrem finds its result fifo full: 16 words not popped, of 16");
}

TEST(division_leaves_nothing_behind_for_the_next_launch)
{
    rig_cycles(&rig, "{ sdivrem.u32 s0, 3 }\n{ shalt }");
    rig_load(&rig, 0, "{ s1 = spop.drf }\n{ shalt }");
    assert_int_equal(rig_run(&rig), -1);
    assert_int_equal(machine_fault(rig.m)->kind, FAULT_FIFO_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares_follow_c_on_unsigned_and_float_values),
        cmocka_unit_test(minimum_maximum_and_high_product_follow_c),
        cmocka_unit_test(leading_zeros_are_counted),
        cmocka_unit_test(float_arithmetic_keeps_the_numerics_contract),
        cmocka_unit_test(conversions_round_and_saturate),
        cmocka_unit_test(division_gives_quotient_then_remainder),
        cmocka_unit_test(divisions_of_a_bundle_keep_their_order),
        cmocka_unit_test(predicates_take_immediates_and_exclusive_or),
        cmocka_unit_test(division_mistakes_are_faults),
        cmocka_unit_test(division_leaves_nothing_behind_for_the_next_launch),
    };

    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
