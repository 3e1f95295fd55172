/* In how many buckets are gradients summed? What is expected follows from what could hide a sum. */
#include "base/units.h"
#include "sim/chip/chip.h"
#include "stack/passes/combine_buckets.h"
#include "stack/module/module_impl.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#define LAYERS 3
#define WIDTH 512

static struct slice slice;
static struct chip chip;
static struct module_settings settings;
static struct bucket_member member[LAYERS];

static int setup(void **state)
{
    struct err e;

    one_graph_open(state);
    assert_int_equal(slice_parse(&slice, "v3-8", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, "v3", NULL, &arena, &e), 0);
    settings = (struct module_settings){.chip = &chip, .slice = &slice, .replica_count = 8};
    return 0;
}

/* layers, each behind the one before, whose gradients' products have so many terms */
static void build(int64_t terms, int64_t width)
{
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){terms, width}), "x");

    for (int i = 0; i < LAYERS; i++) {
        struct shape shape = shape_make(DTYPE_F32, 2, (int64_t[]){width, width});
        int w = graph_parameter(&g, shape, "w"), dw = graph_dot(&g, x, x, 0, 0, PRECISION_DEFAULT);
        int sum = graph_all_reduce(&g, dw);

        x = graph_unary(&g, HLO_NEGATE, graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT));
        member[i] = (struct bucket_member){sum, dw, width * width * 4};
        graph_output(&g, graph_binary(&g, HLO_SUBTRACT, w, sum), "w", i + 1);
    }
}

/* buckets of the size that is chosen */
static int buckets(bool may_choose)
{
    struct pass_context c = {.chip = &chip, .replica_count = 8, .bucket_bytes = 4 * MIB,
                             .sum_times = may_choose ? module_plan_sum_times : NULL,
                             .settings = &settings};
    int64_t bytes = combine_buckets_choose(&c, &g, member, LAYERS);
    int count = 0;

    assert_in_range(bytes, 1, 4 * MIB);
    for (int first = 0; first < LAYERS; count++)
        first = combine_buckets_end(member, LAYERS, first, bytes);
    return count;
}

/* products of 34 GFLOP, at least 0.56 ms each, follow the first gradient: 1 MiB over links */
TEST(long_products_hide_what_is_summed_before_they_end)
{
    build(65536, WIDTH);
    assert_in_range(buckets(true), 2, LAYERS);
    assert_int_equal(buckets(false), 1);
}

/* products of 4 MFLOP, 1 MiB read or written each: all are over before blocks have come */
TEST(what_nothing_hides_is_one_message)
{
    build(8, WIDTH);
    assert_int_equal(buckets(true), 1);
}

/* the parts of another sum take the core for longer than a small sum needs */
TEST(small_sums_are_one_message)
{
    build(8192, 16);
    assert_int_equal(buckets(true), 1);
}

TEST(buckets_end_where_they_are_full_and_a_small_rest_joins)
{
    static const struct bucket_member m[] = {{.bytes = 40}, {.bytes = 60}, {.bytes = 10},
                                             {.bytes = 90}, {.bytes = 11}};

    assert_int_equal(combine_buckets_end(m, 5, 0, 100), 2);
    assert_int_equal(combine_buckets_end(m, 5, 2, 100), 5); /* 11 is less than an eighth of 100 */
    assert_int_equal(combine_buckets_end(m, 5, 2, 80), 4);
    assert_int_equal(combine_buckets_end(m, 5, 4, 80), 5);
    assert_int_equal(combine_buckets_end(m, 5, 0, 0), 5);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, setup, one_graph_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(long_products_hide_what_is_summed_before_they_end),
        UNIT(what_nothing_hides_is_one_message),
        UNIT(small_sums_are_one_message),
        UNIT(buckets_end_where_they_are_full_and_a_small_rest_joins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
