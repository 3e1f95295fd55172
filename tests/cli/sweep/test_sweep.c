/* The grid of a sweep: lists, ranges, keys, and what is refused before anything runs. */
#include "tests/test.h"

#include "cli/commands/swept.h"

static char *train[] = {(char *)"train", (char *)"model.json", NULL};

static void begin(struct sweep *s)
{
    *s = (struct sweep){.jobs = 1, .known = swept_commands,
                        .known_count = swept_count, .command = train, .command_count = 2};
    arena_init(&s->arena);
}

static void expect_values(const char *vary, const char *key, const char *expected)
{
    struct sweep s;
    struct err e;
    char values[400] = "";

    begin(&s);
    if (sweep_parse_vary(&s, vary, &e))
        fail_msg("%s: %s", vary, e.msg);
    assert_string_equal(s.axis[0].key, key);
    for (size_t i = 0; i < s.axis[0].count; i++) {
        strcat(values, i ? " " : "");
        strcat(values, s.axis[0].value[i]);
    }
    assert_string_equal(values, expected);
    arena_fini(&s.arena);
}

TEST(lists_and_ranges_give_their_values_in_order)
{
    expect_values("mxu.count=1,2,4", "mxu.count", "1 2 4");
    expect_values("batch=64..1024x2", "batch", "64 128 256 512 1024");
    expect_values("batch=64..1000x2", "batch", "64 128 256 512");
    expect_values("seed=1..4", "seed", "1 2 3 4");
    expect_values("batch=0..100+25", "batch", "0 25 50 75 100");
    expect_values("batch=8,100..300+100,512..1024x2", "batch", "8 100 200 300 512 1024");
    expect_values("lr=0.1..0.5+0.1", "lr", "0.1 0.2 0.3 0.4 0.5");
    expect_values("lr=1e-4..1e-1x10", "lr", "0.0001 0.001 0.01 0.1");
    expect_values("x=-2..2+2", "x", "-2 0 2");
    expect_values("n=1e+2..3e+2+1e+2", "n", "100 200 300");
    expect_values("n=5..5", "n", "5");
}

TEST(words_that_look_a_little_like_ranges_stay_words)
{
    expect_values("policy=float32,mixed_bfloat16", "policy", "float32 mixed_bfloat16");
    expect_values("data=../mnist,a..b", "data", "../mnist a..b");
    expect_values("tpu=v3-8,v5e-8", "tpu", "v3-8 v5e-8");
    expect_values("set=a=b", "set", "a=b");
}

TEST(the_grid_holds_every_combination_once_the_last_key_fastest)
{
    static const char *const expected[] = {
        "a.b=1 c=x d=5", "a.b=1 c=y d=5", "a.b=2 c=x d=5", "a.b=2 c=y d=5"};
    struct sweep s;
    struct err e;
    char text[100];

    begin(&s);
    assert_int_equal(sweep_parse_vary(&s, "a.b=1,2", &e), 0);
    assert_int_equal(sweep_parse_vary(&s, "c=x,y", &e), 0);
    assert_int_equal(sweep_parse_vary(&s, "d=5", &e), 0);
    assert_int_equal(sweep_make_points(&s, &e), 0);
    assert_int_equal(s.point_count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(sweep_print_point(&s, &s.point[i], text, sizeof(text)), expected[i]);
    assert_true(s.axis[0].is_chip);
    assert_false(s.axis[1].is_chip);
    arena_fini(&s.arena);
}

TEST(values_that_cannot_be_read_are_refused)
{
    static const struct { const char *vary, *message; } bad[] = {
        {"batch", "write KEY=VALUES"},
        {"=3", "write KEY=VALUES"},
        {"batch=", "an empty value"},
        {"batch=1,,2", "an empty value"},
        {"batch=1,2,", "an empty value"},
        {"batch=4..1", "goes down"},
        {"batch=1..8x1", "a factor above 1 and a start above 0"},
        {"batch=0..8x2", "a factor above 1 and a start above 0"},
        {"batch=1..8+0", "a step above 0"},
        {"batch=1..8*2", "is no range"},
        {"batch=1..8x", "is no range"},
        {"batch=1..", "is no range"},
        {"batch=1..x", "is no range"},
        {"batch=1..1e300", "is no range"},
        {"batch=1..nan", "is no range"},
        {"batch=1..99999", "more than 10000 values"},
        {"batch=1..2,2", "2 stands there twice"},
    };
    struct err e;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sweep s;

        begin(&s);
        if (sweep_parse_vary(&s, bad[i].vary, &e) == 0)
            fail_msg("%s is taken", bad[i].vary);
        if (!strstr(e.msg, bad[i].message))
            fail_msg("%s: \"%s\" says nothing of \"%s\"", bad[i].vary, e.msg, bad[i].message);
        arena_fini(&s.arena);
    }
}

TEST(a_key_given_twice_and_a_grid_too_large_are_refused)
{
    struct sweep s;
    struct err e;

    begin(&s);
    assert_int_equal(sweep_parse_vary(&s, "a=1..200", &e), 0);
    assert_int_equal(sweep_parse_vary(&s, "a=3", &e), -1);
    assert_non_null(strstr(e.msg, "a is given twice"));
    assert_int_equal(sweep_parse_vary(&s, "b=1..200", &e), 0);
    assert_int_equal(sweep_make_points(&s, &e), -1);
    assert_non_null(strstr(e.msg, "more than 10000 points"));
    arena_fini(&s.arena);
}

static void expect_keys(const char *vary, const char *message)
{
    struct sweep s;
    struct err e;

    begin(&s);
    assert_int_equal(sweep_parse_vary(&s, vary, &e), 0);
    if (!message) {
        if (sweep_check_keys(&s, &e))
            fail_msg("%s: %s", vary, e.msg);
    } else {
        assert_int_equal(sweep_check_keys(&s, &e), -1);
        if (!strstr(e.msg, message))
            fail_msg("%s: \"%s\" says nothing of \"%s\"", vary, e.msg, message);
    }
    arena_fini(&s.arena);
}

TEST(keys_are_held_against_the_chip_and_the_command)
{
    expect_keys("mxu.count=1,8", NULL);
    expect_keys("hbm.gib=0.5", NULL);
    expect_keys("mxu.sum=chain,quad4", NULL);
    expect_keys("batch=8", NULL);
    expect_keys("mxu.cuont=8", "(did you mean \"mxu.count\"?)");
    expect_keys("mxu.count=9", "allowed are whole numbers in 1..8");
    expect_keys("mxu.count=1.5", "allowed are whole numbers in 1..8");
    expect_keys("hbm.gib=x", "allowed are numbers in 0.001..1024");
    expect_keys("btach=8", "(did you mean \"batch\"?)");
    expect_keys("check-races=yes", "no option --check-races with a value");
    expect_keys("out=x", "each has its own folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges_give_their_values_in_order),
        cmocka_unit_test(words_that_look_a_little_like_ranges_stay_words),
        cmocka_unit_test(the_grid_holds_every_combination_once_the_last_key_fastest),
        cmocka_unit_test(values_that_cannot_be_read_are_refused),
        cmocka_unit_test(a_key_given_twice_and_a_grid_too_large_are_refused),
        cmocka_unit_test(keys_are_held_against_the_chip_and_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
