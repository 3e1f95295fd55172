/* Does base/csv.h read what RFC 4180 allows, and say what is wrong with the rest? */
#include "base/csv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

static int parse(struct csv *c, const char *text, const char *heading, struct err *e)
{
    return csv_parse(c, "t.csv", arena_strdup(&arena, text), heading, &arena, e);
}

static void quotes_commas_and_lines(void **state)
{
    struct csv c;
    struct err e;

    (void)state;
    assert_int_equal(parse(&c, "a,b\r\n\"x, \"\"y\"\"\nz\",1.5\r\n\r\n,2\n3", NULL, &e), 0);
    assert_int_equal(c.row_count, 3);
    assert_string_equal(csv_text(&c, 0, 0), "x, \"y\"\nz");
    assert_string_equal(csv_text(&c, 0, 1), "1.5");
    assert_string_equal(csv_text(&c, 1, 0), "");
    assert_string_equal(csv_text(&c, 1, 1), "2");
    assert_string_equal(csv_text(&c, 2, 1), "");        /* a short row */
    assert_int_equal(c.row[0].line, 2);
    assert_int_equal(c.row[1].line, 5);
    assert_int_equal(c.row[2].line, 6);
}

static void remarks_before_the_heading(void **state)
{
    struct csv c;
    struct err e;

    (void)state;
    assert_int_equal(parse(&c, "made by hand\n\nRank,us\n1,2\n", "Rank", &e), 0);
    assert_int_equal(c.row_count, 1);
    assert_int_equal(csv_find(&c, "us"), 1);
    assert_int_equal(csv_find(&c, "ms"), -1);
    assert_int_equal(parse(&c, "x\n1\n", "Rank", &e), -1);
    assert_string_equal(e.msg, "no heading that begins with Rank");
}

static void numbers_and_mistakes(void **state)
{
    struct csv c;
    struct err e;
    double value;

    (void)state;
    assert_int_equal(parse(&c, "measured\n12\n\" \"\nx\n", NULL, &e), 0);
    assert_int_equal(csv_number(&c, 0, 0, 0, 100, &value, &e), 0);
    assert_true(value == 12);
    assert_int_equal(csv_number(&c, 0, -1, 0, 100, &value, &e), 0);
    assert_true(isnan(value));
    assert_int_equal(csv_number(&c, 2, 0, 0, 100, &value, &e), -1);
    assert_string_equal(e.msg, "measured: expected a number in 0..100, found \"x\"");
    assert_int_equal(e.line, 4);
    assert_int_equal(csv_column(&c, "mesured", &e), -1);
    assert_non_null(strstr(e.msg, "did you mean \"measured\"?"));
    assert_int_equal(parse(&c, "a\n\"open\n", NULL, &e), -1);
    assert_string_equal(e.msg, "a quoted field is not closed");
    assert_int_equal(parse(&c, "a\n\"x\"y\n", NULL, &e), -1);
    assert_int_equal(e.line, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_commas_and_lines),
        cmocka_unit_test(remarks_before_the_heading),
        cmocka_unit_test(numbers_and_mistakes),
    };
    int failed;

    arena_init(&arena);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_fini(&arena);
    return failed;
}
