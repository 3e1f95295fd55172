/*
 * Does the measurement of numerics measure: known errors come out as they are,
 * and an operation that breaks its bound is found?
 */
#include "report/numerics/check.h"
#include "report/numerics/check_internal.h"

#include "base/floats.h"
#include "base/units.h"
#include "tests/test.h"

#include <math.h>

static void open_check(struct check *c, int64_t samples)
{
    struct slice slice;
    struct chip chip;
    struct err e;

    assert_int_equal(slice_parse(&slice, "v3", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, "v3", NULL, NULL, &e), 0);
    if (check_init(c, &slice, &chip, "auto", &e))
        fail_msg("%s", e.msg);
    c->sample_count = samples;
    c->seed = 7;
}

static void run(struct check *c, const struct check_op *op)
{
    struct err e;

    if (check_run_op(c, op, &e))
        fail_msg("%s", e.msg);
}

TEST(every_operation_is_within_its_bound)
{
    struct check c;

    open_check(&c, 4096);
    for (size_t i = 0; i < check_op_count; i++)
        run(&c, &check_ops[i]);
    for (size_t i = 0; i < c.row_count; i++) {
        assert_true(c.row[i].count >= 1024);
        if (!c.row[i].has_passed)
            fail_msg("%s %s, %s: %s", c.row[i].name, c.row[i].dtype, c.row[i].inputs,
                     c.row[i].example);
    }
    check_fini(&c);
}

static double subtract(double a, double b) { return a - b; }
static double nearly_add(double a, double b) { return (a + b) * (1 + 0x1p-24); }
static uint32_t first_plus_one(uint32_t a, uint32_t b) { return a + b + 1; }

/* each is the program of another operation than its reference */
static const struct check_op wrong_ops[] = {
    {"wrong", "f32", CHECK_LANES, 2, "{ v2 = vadd.f32 v0, v1 }\n", subtract, NULL, 24, 1000,
     false, 1u << INPUTS_HEAVY, 0},
    {"rounded", "f32", CHECK_LANES, 2, "{ v2 = vadd.f32 v0, v1 }\n", nearly_add, NULL, 24, 0.5,
     false, 1u << INPUTS_HEAVY, 0},
    {"loose", "f32", CHECK_LANES, 1,
     "{ v1 = vpack.c.bf16 v0, v0 }\n{ v2 = vunpack.c.l.bf16 v1 }\n", subtract, NULL, 24,
     20000, false, 1u << INPUTS_CANCEL, 0},
    {"words", "s32", CHECK_LANES, 2, "{ v2 = vadd.s32 v0, v1 }\n", NULL, first_plus_one, 0, 0, true,
     1u << INPUTS_BITS, 0},
};

TEST(operation_that_differs_from_its_reference_fails)
{
    struct check c;

    open_check(&c, 1024);
    for (size_t i = 0; i < COUNT_OF(wrong_ops); i++)
        run(&c, &wrong_ops[i]);
    assert_int_equal(c.row_count, COUNT_OF(wrong_ops));
    assert_int_equal(check_failed_count(&c), COUNT_OF(wrong_ops));
    assert_int_equal(c.row[3].wrong_count, 1024);
    assert_non_null(strstr(c.row[3].example, "operands "));
    check_fini(&c);
}

TEST(errors_are_measured_in_units_of_the_exact_result)
{
    struct check_sample s = check_compare(0x3f800001, 1.0, 24, 2);

    assert_true(s.ulp == 1 && s.share == 0.5 && s.relative == 0x1p-23 && !s.is_wrong);
    s = check_compare(0x3f810000, 1.0, 8, 2);           /* one unit of bf16 */
    assert_true(s.ulp == 1 && s.share == 0.5);
    s = check_compare(0x3f7fffff, 1.0, 24, 2);          /* half a unit below a power of two */
    assert_true(s.ulp == 0.5);
    s = check_compare(0x3f7fffff, 1.0, 24, 0.5);        /* yet not the nearest */
    assert_true(s.is_wrong);
}

TEST(results_of_another_kind_are_wrong)
{
    static const struct { uint32_t got; double exact; bool is_wrong; } rows[] = {
        {0x7fc00000, NAN, false}, {0x7fc00001, NAN, true}, {0xffc00000, NAN, true},
        {0x7f800000, INFINITY, false}, {0x7f7fffff, INFINITY, true},
        {0x7f800000, 0x1p128 - 0x1p103, false}, {0x7f7fffff, 0x1.fffffefp127, false},
        {0, 0, false}, {0x80000000, 0, true}, {0x80000000, -0x1p-127, false},
        {0x00800000, 0x1p-126 - 0x1p-151, false}, {0, 0x1p-126 - 0x1p-150, false},
        {0, 1, true}, {0x00000001, 0x1p-149, true}, {0, 0x1p-1060, false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (check_compare(rows[i].got, rows[i].exact, 24, 1).is_wrong != rows[i].is_wrong)
            fail_msg("%08x for %a", rows[i].got, rows[i].exact);
}

TEST(summary_is_that_of_the_samples)
{
    struct check_row row = {0};
    struct check_sample sample[2000];

    for (int i = 0; i < 2000; i++)
        sample[i] = (struct check_sample){.ulp = (i * 7 % 2000) / 100.0, .relative = 1e-7};
    check_summarise(&row, sample, 2000);
    assert_true(row.max_ulp == 19.99 && row.p999_ulp == 19.98);
    assert_true(fabs(row.mean_ulp - 9.995) < 1e-9);
    assert_true(row.has_passed);
    sample[5].share = 1.01;
    check_summarise(&row, sample, 2000);
    assert_false(row.has_passed);
}

TEST(exact_dots_keep_what_cancels)
{
    float a[] = {1e10f, 3, -1e10f, 0x1p-20f}, b[] = {1e9f, 5, 1e9f, 0x1p-20f};
    struct check_matrices x = {.m = 1, .n = 1, .k = 4, .exact_a = a, .exact_b = b};
    double size;

    assert_true(check_exact_dot(&x, 0, &size) == 15 + 0x1p-40);
    assert_true(size > 1.9e19);
}

/* within the bound of one rounding nothing that sums 128 terms can be */
static double tiny_bound(const struct check_product *p, int64_t length, int64_t block_length)
{
    (void)p, (void)length, (void)block_length;
    return 0x1p-26;
}

static double loose_bound(const struct check_product *p, int64_t length, int64_t block_length)
{
    (void)p, (void)block_length;
    return (double)length * 0x1p-23;
}

TEST(product_that_breaks_its_bound_fails_beside_blas)
{
    struct check_product p = {.name = "matmul", .dtype = "bf16", .storage = "f32", .pass_count = 1,
                              .part_count = 1, .is_rounded = true, .bound = loose_bound};
    struct check c;
    struct err e;

    open_check(&c, 2048);
    assert_int_equal(check_run_product(&c, &p, &e), 0);
    assert_int_equal(check_failed_count(&c), 0);
    for (size_t i = 0; i < c.row_count; i++)
        assert_true(c.row[i].blas_mean_ulp > 0 && c.row[i].max_ulp > 0);
    p.bound = tiny_bound;
    assert_int_equal(check_run_product(&c, &p, &e), 0);
    assert_true(check_failed_count(&c) > 0);
    check_fini(&c);
}

static void run_storage(const char *chip_name, const char *storage, int64_t *rows)
{
    struct check_product p = {.name = "matmul", .dtype = storage, .storage = storage,
                              .pass_count = 1, .part_count = 1, .is_rounded = true,
                              .bound = loose_bound};
    struct slice slice;
    struct chip chip;
    struct check c;
    struct err e;

    assert_int_equal(slice_parse(&slice, chip_name, &e), 0);
    assert_int_equal(chip_load_builtin(&chip, chip_name, NULL, NULL, &e), 0);
    if (check_init(&c, &slice, &chip, "auto", &e))
        fail_msg("%s", e.msg);
    c.sample_count = 1024;
    if (check_run_product(&c, &p, &e))
        fail_msg("%s: %s", chip_name, e.msg);
    assert_int_equal(check_failed_count(&c), 0);
    assert_int_equal(c.left_out_count, c.row_count ? 0 : 1);
    *rows += (int64_t)c.row_count;
    check_fini(&c);
}

/* FIFO and accumulators, arrays of 128 and 256 rows, every type that some chip takes */
TEST(products_of_every_type_are_right_on_every_generation)
{
    static const char *const chips[] = {"v3", "v4", "v5e", "v6e", "v7x"};

    for (size_t i = 0; i < check_type_count; i++) {
        int64_t rows = 0;

        for (size_t j = 0; j < COUNT_OF(chips); j++)
            run_storage(chips[j], check_types[i].name, &rows);
        assert_true(rows > 0);
    }
}

/* some of each: one, the largest, the least, no number */
TEST(codes_mean_what_their_types_say)
{
    static const struct { const char *type; uint32_t code; double value; } rows[] = {
        {"s8", 0x80, -128}, {"u8", 0xff, 255}, {"s4", 8, -8}, {"u4", 15, 15},
        {"f8e5m2", 0x3c, 1}, {"f8e5m2", 0x7b, 57344}, {"f8e5m2", 0x81, -0x1p-16},
        {"f8e4m3fn", 0x38, 1}, {"f8e4m3fn", 0x7e, 448}, {"f8e4m3fn", 1, 0x1p-9},
        {"f8e4m3b11fnuz", 0x58, 1}, {"f8e4m3b11fnuz", 0xff, -30}, {"f8e4m3b11fnuz", 1, 0x1p-13},
    };
    static const struct { const char *type; uint32_t code; } no_numbers[] = {
        {"f8e5m2", 0x7c}, {"f8e5m2", 0xff}, {"f8e4m3fn", 0xff}, {"f8e4m3b11fnuz", 0x80},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(check_find_type(rows[i].type)->value(rows[i].code) == rows[i].value);
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++)
        assert_true(isnan(check_find_type(no_numbers[i].type)->value(no_numbers[i].code)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_within_its_bound),
        cmocka_unit_test(operation_that_differs_from_its_reference_fails),
        cmocka_unit_test(errors_are_measured_in_units_of_the_exact_result),
        cmocka_unit_test(results_of_another_kind_are_wrong),
        cmocka_unit_test(summary_is_that_of_the_samples),
        cmocka_unit_test(exact_dots_keep_what_cancels),
        cmocka_unit_test(products_of_every_type_are_right_on_every_generation),
        cmocka_unit_test(codes_mean_what_their_types_say),
        cmocka_unit_test(product_that_breaks_its_bound_fails_beside_blas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
