/* Keras objects as text: is a call read as Python reads it, and a mistake shown where it is? */
#include "tests/test.h"

#include "keras/call/call.h"

static char *dumped(const json_t *j) { return json_dumps(j, JSON_SORT_KEYS); }

static void expect(const char *text, const char *json)
{
    struct err e;
    json_t *call;
    char *got;

    assert_int_equal(call_parse(text, &call, &e), 0);
    got = dumped(call);
    assert_string_equal(got, json);
    free(got);
    json_decref(call);
}

TEST(calls_are_read_as_python_reads_them)
{
    expect("Dense(128, activation='relu')",
           "{\"args\": [128], \"class_name\": \"Dense\", \"config\": {\"activation\": \"relu\"}}");
    expect("adam", "{\"class_name\": \"adam\", \"config\": {}}");
    expect(" keras.layers.Flatten ( ) ", "{\"class_name\": \"Flatten\", \"config\": {}}");
    expect("Conv2D(256, (3, 3,), padding=same, use_bias=False, name=\"a b\")",
           "{\"args\": [256, [3, 3]], \"class_name\": \"Conv2D\", \"config\": {\"name\": \"a b\", "
           "\"padding\": \"same\", \"use_bias\": false}}");
    expect("SGD(CosineDecay(0.5, -10), clipnorm=None, x=[], y=1e-3, z=+2)",
           "{\"args\": [{\"args\": [0.5, -10], \"class_name\": \"CosineDecay\", \"config\": {}}], "
           "\"class_name\": \"SGD\", \"config\": {\"clipnorm\": null, \"x\": [], \"y\": 0.001, "
           "\"z\": 2}}");
    expect("Rescaling(1./255, 0.001*8, 1e-3/2, 2**3 * (4 - 1), -2**2, 7 - 2 - 1, 8/4)",
           "{\"args\": [0.0039215686274509803, 0.0080000000000000002, 0.00050000000000000001, "
           "24, -4, 4, 2.0], \"class_name\": \"Rescaling\", \"config\": {}}");
    expect("F(1, 2.5, 3)", "{\"args\": [1, 2.5, 3], \"class_name\": \"F\", \"config\": {}}");
}

static void expect_error(const char *text, int column, const char *message)
{
    struct err e;
    json_t *call;

    assert_int_equal(call_parse(text, &call, &e), -1);
    assert_null(call);
    assert_string_equal(e.msg, message);
    assert_int_equal(e.col, column);
}

TEST(mistakes_are_shown_where_they_are)
{
    expect_error("", 1, "expected a name, like Dense(128, activation='relu'), found the end of "
                 "\"\"");
    expect_error("3", 1, "expected a name, like Dense(128, activation='relu'), found '3' at "
                 "column 1 of \"3\"");
    expect_error("Dense(128", 10, "expected ',' or ')', found the end of \"Dense(128\"");
    expect_error("Dense(1 2)", 9, "expected ',' or ')', found '2' at column 9 of \"Dense(1 2)\"");
    expect_error("Dense(a=1, a=2)", 14,
                 "expected each argument once, found '2' at column 14 of \"Dense(a=1, a=2)\"");
    expect_error("Dense(a=1, 2)", 12, "expected name=value behind arguments with names, found "
                 "'2' at column 12 of \"Dense(a=1, 2)\"");
    expect_error("Dense(1))", 9, "expected nothing more, found ')' at column 9 of \"Dense(1))\"");
    expect_error("Dense('a)", 10, "expected a closing ', found the end of \"Dense('a)\"");
    expect_error("Dense(1-)", 9, "expected a number, found ')' at column 9 of \"Dense(1-)\"");
    expect_error("Dense(1/(2-2))", 14, "expected no division by 0, found ')' at column 14 of "
                 "\"Dense(1/(2-2))\"");
    expect_error("Dense(0**-3)", 12, "expected a finite number, found ')' at column 12 of "
                 "\"Dense(0**-3)\"");
    expect_error("Dense(1e300*1e300)", 18, "expected a finite number, found ')' at column 18 of "
                 "\"Dense(1e300*1e300)\"");
    expect_error("Dense(1*(-8)**0.5)", 18, "expected a finite number, found ')' at column 18 of "
                 "\"Dense(1*(-8)**0.5)\"");
    expect_error("Dense(2x)", 7, "expected a number, found '2' at column 7 of \"Dense(2x)\"");
    expect_error("Dense(9223372036854775807+1)", 28, "expected a whole number of 64 bits, found "
                 "')' at column 28 of \"Dense(9223372036854775807+1)\"");
    expect_error("Dense(1e999)", 7, "expected a number, found '1' at column 7 of "
                 "\"Dense(1e999)\"");
    expect_error("Dense(99999999999999999999)", 7, "expected a whole number of 64 bits, found '9' "
                 "at column 7 of \"Dense(99999999999999999999)\"");
    expect_error("Dense(=)", 7, "expected a value, found '=' at column 7 of \"Dense(=)\"");
    expect_error("A(((((((((((((((((1", 19, "expected at most 16 brackets in each other, found "
                 "'1' at column 19 of \"A(((((((((((((((((1\"");
}

TEST(arguments_without_a_name_get_theirs)
{
    static const char *const names[] = {"units", "activation", NULL};
    struct err e;
    json_t *call;
    char *got;

    assert_int_equal(call_parse("Dense(3, relu)", &call, &e), 0);
    assert_int_equal(call_name_args(call, names, &e), 0);
    got = dumped(call);
    assert_string_equal(got, "{\"class_name\": \"Dense\", \"config\": {\"activation\": \"relu\", "
                        "\"units\": 3}}");
    free(got);
    json_decref(call);
    assert_int_equal(call_parse("Dense(3, 4, 5)", &call, &e), 0);
    assert_int_equal(call_name_args(call, names, &e), -1);
    assert_string_equal(e.msg, "Dense takes 2 arguments without a name, not 3");
    json_decref(call);
    assert_int_equal(call_parse("Dense(3, units=4)", &call, &e), 0);
    assert_int_equal(call_name_args(call, names, &e), -1);
    assert_string_equal(e.msg, "Dense: units is given twice, as argument 1 and by name");
    json_decref(call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_read_as_python_reads_them),
        cmocka_unit_test(mistakes_are_shown_where_they_are),
        cmocka_unit_test(arguments_without_a_name_get_theirs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
