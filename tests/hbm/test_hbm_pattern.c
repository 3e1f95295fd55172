/* Patterns against the formulas of hbm/hbm_pattern.h, each computed from i alone. */
#include "tests/test.h"

#include "base/units.h"
#include "hbm/hbm_pattern.h"

/* the i-th number from 1 on */
static uint64_t xorshift(int64_t i)
{
    uint64_t x = 88172645463325252ULL;

    while (i-- > 0) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static struct hbm_pattern pattern_of(const char *text, int64_t access, int64_t footprint)
{
    struct hbm_pattern p;
    struct err e;

    if (hbm_pattern_parse(&p, text, &e))
        fail_msg("%s: %s", text, e.msg);
    p.access_bytes = access;
    p.footprint_bytes = footprint;
    if (hbm_pattern_check(&p, &e))
        fail_msg("%s: %s", text, e.msg);
    return p;
}

static int64_t by_formula(const struct hbm_pattern *p, int64_t i, bool *is_write)
{
    int64_t a = p->access_bytes, f = p->footprint_bytes, s = p->stride_bytes;
    uint64_t count = (uint64_t)(f / a);

    *is_write = p->is_write;
    switch (p->kind) {
    case HBM_SEQUENTIAL: return a * i % f;
    case HBM_STRIDE: return i * s % f + a * (i * s / f % (s / a));
    case HBM_RANDOM: return a * (int64_t)(xorshift(i + 1) % count);
    case HBM_COPY:
        *is_write = i % 2 == 1;
        return i / 2 * a % (f / 2) + (i % 2) * f / 2;
    case HBM_MIX:
        *is_write = xorshift(i + 1) % 100 >= (uint64_t)p->read_percent;
        return a * i % f;
    case HBM_RANDOM_MIX:
        *is_write = xorshift(2 * i + 2) % 100 >= (uint64_t)p->read_percent;
        return a * (int64_t)(xorshift(2 * i + 1) % count);
    }
    return -1;
}

static const struct { const char *text; int64_t access, footprint; } cases[] = {
    {"seq", 64, 1 << 14}, {"seq_wr", 32, 96}, {"stride:64", 64, 4096}, {"stride512", 64, 1 << 14},
    {"stride_wr:192", 64, 192 * 5}, {"stride:1K", 256, 4096}, {"random", 64, 1 << 20},
    {"rand_wr", 48, 48 * 7}, {"copy64", 64, 1 << 12}, {"copy", 64, 128}, {"mix:70", 64, 1 << 12},
    {"mix:0", 64, 4096}, {"mix:100", 64, 4096}, {"random_mix:30", 64, 1 << 20},
};

TEST(every_access_is_that_of_its_formula)
{
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        struct hbm_pattern p = pattern_of(cases[k].text, cases[k].access, cases[k].footprint);
        struct hbm_walk w;

        hbm_walk_init(&w, &p);
        for (int64_t i = 0; i < 600; i++) {
            bool is_write, expected;
            int64_t address = hbm_walk_next(&w, &is_write);

            assert_int_equal(address, by_formula(&p, i, &expected));
            assert_int_equal(is_write, expected);
            assert_in_range(address, 0, p.footprint_bytes - p.access_bytes);
        }
        assert_int_equal(w.index, 600);
    }
}

/* against figures made with integers of any length */
TEST(the_generator_is_the_published_one)
{
    assert_true(xorshift(1) == 8748534153485358512ULL);
    assert_true(xorshift(2) == 3040900993826735515ULL);
    assert_true(xorshift(3) == 3453997556048239312ULL);
}

TEST(runs_are_the_accesses_in_order)
{
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        struct hbm_pattern p = pattern_of(cases[k].text, cases[k].access, cases[k].footprint);
        struct hbm_walk runs, single;

        hbm_walk_init(&runs, &p);
        hbm_walk_init(&single, &p);
        for (int64_t i = 0; i < 500;) {
            bool is_write, expected;
            int64_t count, most = 1 + i % 7, address = hbm_walk_run(&runs, most, &count, &is_write);

            assert_in_range(count, 1, most);
            for (int64_t j = 0; j < count; j++) {
                assert_int_equal(address + j * p.access_bytes, hbm_walk_next(&single, &expected));
                assert_int_equal(is_write, expected);
            }
            i += count;
            assert_int_equal(runs.index, i);
        }
    }
}

TEST(a_sequence_comes_in_runs_as_long_as_are_asked_for)
{
    struct hbm_pattern p = pattern_of("seq", 64, 64 * 40);
    struct hbm_walk w;
    int64_t count;
    bool is_write;

    hbm_walk_init(&w, &p);
    assert_int_equal(hbm_walk_run(&w, 32, &count, &is_write), 0);
    assert_int_equal(count, 32);
    assert_int_equal(hbm_walk_run(&w, 32, &count, &is_write), 64 * 32);
    assert_int_equal(count, 8);         /* up to the end of the footprint */
    assert_int_equal(hbm_walk_run(&w, 32, &count, &is_write), 0);
}

TEST(a_stride_touches_all_of_its_footprint_once)
{
    struct hbm_pattern p = pattern_of("stride:512", 64, 1 << 14);
    unsigned char touched[(1 << 14) / 64] = {0};
    struct hbm_walk w;
    bool is_write;

    hbm_walk_init(&w, &p);
    for (size_t i = 0; i < COUNT_OF(touched); i++)
        touched[hbm_walk_next(&w, &is_write) / 64]++;
    for (size_t i = 0; i < COUNT_OF(touched); i++)
        assert_int_equal(touched[i], 1);
}

TEST(a_mix_has_the_share_of_reads_that_it_was_asked_for)
{
    struct hbm_pattern p = pattern_of("mix:70", 64, 1 << 20);
    struct hbm_walk w;
    int reads = 0;

    hbm_walk_init(&w, &p);
    for (int i = 0; i < 100000; i++) {
        bool is_write;

        hbm_walk_next(&w, &is_write);
        reads += !is_write;
    }
    assert_in_range(reads, 70000 - 435, 70000 + 435);   /* three standard deviations */
}

TEST(patterns_print_as_they_are_read)
{
    static const char *const ours[] = {"seq", "seq_wr", "stride:512", "stride_wr:4096", "random",
                                       "random_wr", "copy", "mix:70", "random_mix:5"};
    static const char *const others[][2] = {
        {"seq_rd", "seq"}, {"stride2048", "stride:2048"}, {"stride:4K", "stride:4096"},
        {"rand_rd", "random"}, {"copy64", "copy"}, {"stride_rd:64", "stride:64"},
        {"stride_wr512", "stride_wr:512"}};
    char text[64];

    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        struct hbm_pattern p = pattern_of(ours[i], 1, 1LL << 52);

        assert_string_equal(hbm_pattern_print(&p, text, sizeof(text)), ours[i]);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct hbm_pattern p = pattern_of(others[i][0], 1, 1LL << 52);

        assert_string_equal(hbm_pattern_print(&p, text, sizeof(text)), others[i][1]);
    }
}

TEST(what_is_no_pattern_gets_a_message)
{
    static const struct { const char *text, *message; } wrong[] = {
        {"", "unknown pattern \"\""},
        {"sequ", "unknown pattern \"sequ\" (did you mean \"seq\"?)"},
        {"randon", "(did you mean \"random\"?)"},
        {"strided:64", "(did you mean \"stride\"?)"},
        {"nothing_like_it", "there are seq, stride:BYTES, random"},
        {"seq:1", "seq takes no number"},
        {"copy:", "copy takes no number"},
        {"stride", "expected a stride of at least 1 byte"},
        {"stride:0", "expected a stride of at least 1 byte"},
        {"stride:-64", "expected a stride of at least 1 byte"},
        {"stride:x", "expected a stride of at least 1 byte"},
        {"mix", "expected a percentage of reads in 0..100, as in mix:70"},
        {"mix:101", "expected a percentage of reads in 0..100"},
        {"random_mix:-1", "as in random_mix:70"},
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct hbm_pattern p;
        struct err e;

        assert_int_equal(hbm_pattern_parse(&p, wrong[i].text, &e), -1);
        if (!strstr(e.msg, wrong[i].message))
            fail_msg("%s: %s", wrong[i].text, e.msg);
    }
}

TEST(sizes_that_do_not_fit_get_a_message_with_the_nearest_that_do)
{
    static const struct { struct hbm_pattern p; const char *message; } wrong[] = {
        {{.kind = HBM_SEQUENTIAL, .access_bytes = 0, .footprint_bytes = 64}, "at least 1 byte"},
        {{.kind = HBM_SEQUENTIAL, .access_bytes = 64, .footprint_bytes = 32},
         "no room for an access of 64 bytes"},
        {{.kind = HBM_COPY, .access_bytes = 64, .footprint_bytes = 64},
         "no room for two accesses of 64 bytes"},
        {{.kind = HBM_RANDOM, .access_bytes = 64, .footprint_bytes = 100},
         "no multiple of an access of 64 bytes; the nearest below is 64"},
        {{.kind = HBM_COPY, .access_bytes = 64, .footprint_bytes = 192},
         "no multiple of two accesses of 64 bytes; the nearest below is 128"},
        {{.kind = HBM_STRIDE, .stride_bytes = 100, .access_bytes = 64, .footprint_bytes = 6400},
         "a stride of 100 bytes is no multiple of an access of 64 bytes; the nearest is 128"},
        {{.kind = HBM_STRIDE, .stride_bytes = 192, .access_bytes = 64, .footprint_bytes = 640},
         "the nearest below is 576"},
        {{.kind = HBM_STRIDE, .stride_bytes = 128, .access_bytes = 64, .footprint_bytes = 64},
         "longer than the footprint of 64 bytes"},
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err e;

        assert_int_equal(hbm_pattern_check(&wrong[i].p, &e), -1);
        if (!strstr(e.msg, wrong[i].message))
            fail_msg("expected \"%s\": %s", wrong[i].message, e.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_access_is_that_of_its_formula),
        cmocka_unit_test(the_generator_is_the_published_one),
        cmocka_unit_test(runs_are_the_accesses_in_order),
        cmocka_unit_test(a_sequence_comes_in_runs_as_long_as_are_asked_for),
        cmocka_unit_test(a_stride_touches_all_of_its_footprint_once),
        cmocka_unit_test(a_mix_has_the_share_of_reads_that_it_was_asked_for),
        cmocka_unit_test(patterns_print_as_they_are_read),
        cmocka_unit_test(what_is_no_pattern_gets_a_message),
        cmocka_unit_test(sizes_that_do_not_fit_get_a_message_with_the_nearest_that_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
