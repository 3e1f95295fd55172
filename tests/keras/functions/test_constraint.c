/* Constraints and regularisers as files name them, against their formulas in doubles. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "keras/functions/regularizer.h"

#include <math.h>

enum { ROWS = 3, COLUMNS = 4, COUNT = ROWS * COLUMNS };

static struct graph_rig r;
static struct err e;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    r.mode = INTERP_WIDE;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static json_t *parse(const char *text)
{
    json_error_t why;
    json_t *v = json_loads(text, JSON_DECODE_ANY, &why);

    assert_non_null(v);
    return v;
}

static int matrix(void)
{
    return grig_random(&r, DTYPE_F32, DIMS(ROWS, COLUMNS), 7, -2, 2);
}

static double norm(const double *x, int count, int step)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += x[i * step] * x[i * step];
    return sqrt(sum);
}

/* what a norm becomes */
static double wanted(const struct constraint *c, double is)
{
    switch (c->kind) {
    case CONSTRAINT_MAX_NORM: return fmin(is, c->max_value);
    case CONSTRAINT_UNIT_NORM: return 1;
    default: return c->rate * fmin(fmax(is, c->min_value), c->max_value) + (1 - c->rate) * is;
    }
}

static void check(const char *text)
{
    json_t *v = parse(text);
    struct constraint c;
    double want[COUNT];
    int w;

    tear_down(NULL);
    set_up(NULL);
    w = matrix();
    assert_int_equal(constraint_from_json(&c, v, &e), 0);
    json_decref(v);
    for (int i = 0; i < COUNT; i++) {
        bool is_row = c.axis[0] != 0;
        double is = is_row ? norm(r.value[0] + i / COLUMNS * COLUMNS, COLUMNS, 1)
                           : norm(r.value[0] + i % COLUMNS, ROWS, COLUMNS);

        is = c.axis_count == 2 ? norm(r.value[0], COUNT, 1) : is;
        want[i] = c.kind == CONSTRAINT_NON_NEG ? fmax(r.value[0][i], 0)
                                               : r.value[0][i] * wanted(&c, is) / (is + 1e-7);
    }
    grig_expect(grig_run(&r, constraint_apply(&r.g, &c, w)), want, COUNT, 1e-12);
}

TEST(constraints_are_their_formulas)
{
    check("\"non_neg\"");
    check("\"MaxNorm\"");
    check("{\"class_name\": \"MaxNorm\", \"args\": [0.5, 1]}");
    check("{\"class_name\": \"UnitNorm\", \"config\": {\"axis\": -1}}");
    check("{\"class_name\": \"MinMaxNorm\", \"config\": {\"min_value\": 1, \"max_value\": 1.5, "
          "\"rate\": 0.3, \"axis\": [0, 1]}}");
}

TEST(an_orthogonal_regulariser_adds_up_how_alike_rows_are)
{
    for (int by_columns = 0; by_columns < 2; by_columns++) {
        int count = by_columns ? COLUMNS : ROWS, length = by_columns ? ROWS : COLUMNS, value;
        json_t *v = parse(by_columns ? "{\"class_name\": \"OrthogonalRegularizer\", \"config\": "
                                       "{\"factor\": 0.5, \"mode\": \"columns\"}}"
                                     : "{\"class_name\": \"orthogonal_regularizer\", \"args\": "
                                       "[0.5]}");
        int step = by_columns ? COLUMNS : 1, next = by_columns ? 1 : COLUMNS;
        struct regularizer reg = {0};
        double sum = 0;

        tear_down(NULL);
        set_up(NULL);
        value = matrix();
        assert_int_equal(regularizer_from_json(&reg, v, &e), 0);
        json_decref(v);
        value = regularizer_sum(&r.g, &reg, value);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++) {
                const double *a = r.value[0] + i * next, *b = r.value[0] + k * next;
                double dot = 0;

                for (int n = 0; n < length; n++)
                    dot += a[n * step] * b[n * step];
                sum += fabs(dot) / (norm(a, length, step) * norm(b, length, step));
            }
        sum *= 0.5 / (count * (count - 1) / 2.0);
        grig_expect(grig_run(&r, value), &sum, 1, 1e-9);
        r.g.output_count = 0;
        grig_check_gradients(&r, value);
    }
}

TEST(what_is_wrong_is_named)
{
    static const struct { const char *text, *says; } wrong[] = {
        {"\"MaxNrm\"", "unknown constraint \"MaxNrm\" (did you mean \"MaxNorm\"?)"},
        {"{\"class_name\": \"NonNeg\", \"config\": {\"axis\": 0}}", "NonNeg has no argument axis"},
        {"{\"class_name\": \"MaxNorm\", \"config\": {\"max_value\": -1}}",
         "MaxNorm: max_value is -1, allowed are 0..1e+30"},
        {"3", "a constraint is a name, or an object with class_name and config"},
    };
    struct constraint c;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json_t *v = parse(wrong[i].text);

        assert_int_equal(constraint_from_json(&c, v, &e), -1);
        assert_string_equal(e.msg, wrong[i].says);
        json_decref(v);
    }
    c = (struct constraint){.kind = CONSTRAINT_UNIT_NORM, .axis_count = 1, .axis = {2}};
    assert_int_equal(constraint_check(&c, &(struct shape){DTYPE_F32, 2, {3, 4}}, "w", &e), -1);
    assert_string_equal(e.msg, "w: its constraint UnitNorm goes along axis 2, and it has 2 "
                               "dimensions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(constraints_are_their_formulas),
        UNIT(an_orthogonal_regulariser_adds_up_how_alike_rows_are), UNIT(what_is_wrong_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
