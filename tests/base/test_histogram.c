#include "tests/test.h"

#include "base/histogram.h"
#include "base/rng.h"
#include "base/units.h"

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

enum { VALUES = 5000 };

/* of any magnitude up to 2^bits */
static void fill(struct histogram *h, int64_t value[VALUES], uint64_t seed, int bits)
{
    struct rng r;

    memset(h, 0, sizeof(*h));
    rng_init(&r, seed);
    for (int i = 0; i < VALUES; i++) {
        value[i] = (int64_t)(rng_next(&r) >> (64 - 1 - (int)rng_below(&r, (uint32_t)bits)));
        histogram_add(h, value[i], 1);
    }
    qsort(value, VALUES, sizeof(*value), by_value);
}

TEST(quantiles_are_those_of_the_sorted_values_to_a_step)
{
    static struct histogram h;
    static int64_t value[VALUES];

    for (int bits = 7; bits <= 49; bits += 7) {
        fill(&h, value, (uint64_t)bits, bits);
        assert_int_equal(h.least, value[0]);
        assert_int_equal(h.most, value[VALUES - 1]);
        for (int percent = 1; percent <= 100; percent++) {
            int64_t exact = value[VALUES / 100 * percent - 1];
            int64_t ours = histogram_quantile(&h, percent / 100.0);

            assert_true(ours >= exact);
            assert_true(ours - exact <= exact / HISTOGRAM_STEPS);
            if (exact < HISTOGRAM_EXACT)
                assert_int_equal(ours, exact);
        }
    }
}

TEST(count_mean_and_extremes_are_exact)
{
    static struct histogram h;

    assert_int_equal(histogram_quantile(&h, 0.5), 0);
    assert_true(histogram_mean(&h) == 0.0);
    histogram_add(&h, 1000003, 3);
    histogram_add(&h, 7, 1);
    assert_int_equal(h.count, 4);
    assert_int_equal(h.least, 7);
    assert_int_equal(h.most, 1000003);
    assert_true(histogram_mean(&h) == (3 * 1000003.0 + 7) / 4);
    assert_int_equal(histogram_quantile(&h, 0.25), 7);
    assert_int_equal(histogram_quantile(&h, 0.26), 1000003);     /* never above the largest */
    assert_int_equal(histogram_quantile(&h, 0.0), 7);
}

TEST(the_largest_value_has_a_bin)
{
    static struct histogram h;

    histogram_add(&h, INT64_MAX, 1);
    histogram_add(&h, 0, 1);
    assert_int_equal(histogram_quantile(&h, 1.0), INT64_MAX);
    assert_int_equal(histogram_quantile(&h, 0.5), 0);
}

/* in one bin, in bins of one width, and across widths */
TEST(values_at_equal_distances_count_like_single_ones)
{
    static const struct {
        int64_t first, step, count;
    } rows[] = {{0, 0, 1}, {7, 0, 9}, {0, 1, 300}, {100, 3, 100}, {5000, 1, 4}, {90000, 2000, 8},
                {1000, 700, 60}, {(1LL << 40) - 5, 1, 11}, {3, 12345, 1}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static struct histogram single, many;

        if (i % 3 == 0) {
            memset(&single, 0, sizeof(single));
            memset(&many, 0, sizeof(many));
        }
        for (int64_t k = 0; k < rows[i].count; k++)
            histogram_add(&single, rows[i].first + k * rows[i].step, 1);
        histogram_add_steps(&many, rows[i].first, rows[i].step, rows[i].count);
        assert_memory_equal(&many, &single, sizeof(single));
    }
}

static char *printed(const struct histogram *h, int64_t unit, int lines)
{
    static char text[4096];
    FILE *f = fmemopen(text, sizeof(text), "w");

    memset(text, 0, sizeof(text));
    histogram_print(h, unit, lines, "ns", "accesses", f);
    fclose(f);
    return text;
}

TEST(lines_have_round_bounds_and_the_tail_shares_the_last)
{
    static struct histogram h;

    histogram_add(&h, 12000, 300);
    histogram_add(&h, 35999, 600);
    histogram_add(&h, 51000, 99);
    histogram_add(&h, 900000, 1);
    assert_string_equal(printed(&h, 1000, 6),
"                        ns      accesses\n"
"          10 .. 20                   300  30.0 %  ####################\n"
"          20 .. 30                     0   0.0 %\n"
"          30 .. 40                   600  60.0 %  ########################################\n"
"          40 .. 50                     0   0.0 %\n"
"          50 .. 60                    99   9.9 %  #######\n"
"          60 to 900                    1   0.1 %  .\n");
}

TEST(values_that_are_all_equal_are_one_line)
{
    static struct histogram h;

    assert_string_equal(printed(&h, 1000, 10), "");
    histogram_add(&h, 2500, 12345);
    assert_string_equal(printed(&h, 1000, 10),
"                        ns      accesses\n"
"           2 .. 3                 12,345 100.0 %  ########################################\n");
}

TEST(the_counts_of_all_lines_are_all_counts)
{
    static struct histogram h;
    static int64_t value[VALUES];

    for (int bits = 7; bits <= 49; bits += 3) {
        int64_t sum = 0;
        int lines = 0;

        fill(&h, value, (uint64_t)bits + 100, bits);
        for (char *line = strchr(printed(&h, 1, 12), '\n'); line && line[1];
             line = strchr(line + 1, '\n')) {
            char number[32], *to = number;
            int length = 0;

            assert_int_equal(sscanf(line + 1, " %*s %*s %*s %31[0-9,]%n", number, &length), 1);
            for (const char *from = number; *from; from++)
                if (*from != ',')
                    *to++ = *from;
            *to = '\0';
            sum += atoll(number);
            lines++;
        }
        assert_int_equal(sum, VALUES);
        assert_in_range(lines, 2, 13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_sorted_values_to_a_step),
        cmocka_unit_test(count_mean_and_extremes_are_exact),
        cmocka_unit_test(the_largest_value_has_a_bin),
        cmocka_unit_test(values_at_equal_distances_count_like_single_ones),
        cmocka_unit_test(lines_have_round_bounds_and_the_tail_shares_the_last),
        cmocka_unit_test(values_that_are_all_equal_are_one_line),
        cmocka_unit_test(the_counts_of_all_lines_are_all_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
