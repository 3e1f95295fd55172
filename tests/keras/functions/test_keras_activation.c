/* Activations against their formulas, their slopes, and on the core. */
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/module_rig.h"
#include "tests/test.h"

#include "base/units.h"
#include "keras/functions/activation.h"
#include "stack/nn/nn.h"

#include <math.h>

static struct graph_rig r;

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
enum { ROWS = 3, COLUMNS = 8, COUNT = ROWS * COLUMNS };

static double bound(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double elu(double x, double alpha)
{
    return x > 0 ? x : alpha * (exp(x) - 1);
}

/* the sum of all of the row that are at least v, and how many they are */
static double sum_from(const double *row, double v, int *count)
{
    double sum = 0;

    *count = 0;
    for (int c = 0; c < COLUMNS; c++)
        if (row[c] >= v) {
            sum += row[c];
            ++*count;
        }
    return sum;
}

/* of a row without equal ones: those support it that are above (sum - 1) / how many */
static double sparsemax(const double *row, double v)
{
    double sums = 0;
    int support = 0, count;

    for (int c = 0; c < COLUMNS; c++) {
        double sum = sum_from(row, row[c], &count);

        if (row[c] > (sum - 1) / count) {
            sums += sum;
            support++;
        }
    }
    return bound(v - (sums - 1) / support, 0, INFINITY);
}

/* of element i of x; Keras's documented formulas */
static double expected(enum activation_kind kind, const double *x, int i)
{
    double v = x[i], sum = 0, sigmoid = 1 / (1 + exp(-v)), softplus = log(1 + exp(v));

    for (int c = 0; c < COLUMNS; c++)
        sum += exp(x[i / COLUMNS * COLUMNS + c]);
    switch (kind) {
    case ACTIVATION_LINEAR: return v;
    case ACTIVATION_RELU: return v > 0 ? v : 0;
    case ACTIVATION_RELU6: return bound(v, 0, 6);
    case ACTIVATION_LEAKY_RELU: return v > 0 ? v : 0.2 * v;
    case ACTIVATION_ELU: return elu(v, 1);
    case ACTIVATION_CELU: return elu(v, 1);
    case ACTIVATION_SELU: return 1.0507009873554804934 * elu(v, 1.6732632423543772848);
    case ACTIVATION_GELU: return v / 2 * (1 + erf(v / sqrt(2)));
    case ACTIVATION_GELU_TANH:
        return v / 2 * (1 + tanh(sqrt(2 / acos(-1.0)) * (v + 0.044715 * v * v * v)));
    case ACTIVATION_SILU: return v * sigmoid;
    case ACTIVATION_TANH: return tanh(v);
    case ACTIVATION_SIGMOID: return sigmoid;
    case ACTIVATION_LOG_SIGMOID: return log(sigmoid);
    case ACTIVATION_SOFTPLUS: return softplus;
    case ACTIVATION_SOFTSIGN: return v / (1 + fabs(v));
    case ACTIVATION_MISH: return v * tanh(softplus);
    case ACTIVATION_HARD_SIGMOID: return bound((v + 3) / 6, 0, 1);
    case ACTIVATION_HARD_SILU: return v * bound((v + 3) / 6, 0, 1);
    case ACTIVATION_HARD_TANH: return bound(v, -1, 1);
    case ACTIVATION_EXPONENTIAL: return exp(v);
    case ACTIVATION_SOFTMAX: return exp(v) / sum;
    case ACTIVATION_LOG_SOFTMAX: return v - log(sum);
    case ACTIVATION_TANH_SHRINK: return v - tanh(v);
    case ACTIVATION_SOFT_SHRINK: return fabs(v) > 0.5 ? v - copysign(0.5, v) : 0;
    case ACTIVATION_HARD_SHRINK: return fabs(v) > 0.5 ? v : 0;
    case ACTIVATION_SPARSE_PLUS: return v <= -1 ? 0 : v < 1 ? (v + 1) * (v + 1) / 4 : v;
    case ACTIVATION_SPARSE_SIGMOID: return bound((v + 1) / 2, 0, 1);
    case ACTIVATION_SPARSEMAX: return sparsemax(x + i / COLUMNS * COLUMNS, v);
    case ACTIVATION_SQUAREPLUS: return (v + sqrt(v * v + 4)) / 2;
    case ACTIVATION_COUNT: break;
    }
    return NAN;
}

static int apply(enum activation_kind kind, int x)
{
    struct activation a = activation_standard(kind);

    return activation_apply(&r.g, &a, x);
}

/* from -7 to 7, over every bend, on none of them */
TEST(each_is_its_formula)
{
    double values[COUNT], want[COUNT];
    int x;

    for (int i = 0; i < COUNT; i++)
        values[i] = -7 + 14 * ((double)(i * 7 % COUNT) + 0.4) / COUNT;
    x = grig_parameter(&r, DTYPE_F32, DIMS(ROWS, COLUMNS), values);
    for (int kind = 0; kind < ACTIVATION_COUNT; kind++) {
        for (int i = 0; i < COUNT; i++)
            want[i] = expected((enum activation_kind)kind, values, i);
        grig_expect(grig_run(&r, apply((enum activation_kind)kind, x)), want, COUNT, 1e-12);
    }
}

TEST(each_has_its_slope)
{
    for (int kind = 0; kind < ACTIVATION_COUNT; kind++) {
        double values[COUNT];
        int x;

        tear_down(NULL);
        set_up(NULL);
        for (int i = 0; i < COUNT; i++)
            values[i] = -4 + 7.9 * ((double)(i * 7 % COUNT) + 0.4) / COUNT;
        x = grig_parameter(&r, DTYPE_F32, DIMS(ROWS, COLUMNS), values);
        grig_check_gradients(&r, apply((enum activation_kind)kind, x));
    }
}

/* where logits of new models lie */
TEST(softplus_has_its_slope_at_zero)
{
    int x = grig_parameter(&r, DTYPE_F32, DIMS(2), RIG_VALUES(0, 0));

    grig_check_gradients(&r, activation_softplus(&r.g, x));
}

TEST(large_arguments_overflow_nowhere)
{
    double high[] = {200, -200}, is;
    enum activation_kind kinds[] = {ACTIVATION_SOFTPLUS, ACTIVATION_ELU, ACTIVATION_SELU,
                                    ACTIVATION_MISH, ACTIVATION_LOG_SIGMOID, ACTIVATION_SILU};
    int x = grig_parameter(&r, DTYPE_F32, DIMS(2), high);

    r.mode = INTERP_DOT_F32;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int k = 0; k < 2; k++) {
            is = grig_run(&r, apply(kinds[i], x))[k];
            assert_true(isfinite(is));
        }
}

TEST(all_run_on_the_core)
{
    int x = graph_parameter(&r.g, shape_make(DTYPE_F32, DIMS(16, 24)), "x");
    struct module_rig rig = {.relative = 1e-4, .absolute = 1e-4, .uses_fractions = true};

    for (int kind = 0; kind < ACTIVATION_COUNT; kind++) {
        int y = apply((enum activation_kind)kind, x);
        int sum = graph_reduce(&r.g, REDUCE_ADD, nn_multiply(&r.g, y, y), 3), slope;
        struct err e;

        assert_int_equal(graph_grad(&r.g, sum, &x, 1, &slope, &e), 0);
        graph_output(&r.g, y, activation_title((enum activation_kind)kind), -1);
        graph_output(&r.g, slope, "slope", -1);
    }
    module_rig_check(&rig, &r.g, 5);
}

TEST(names_are_found)
{
    enum activation_kind kind;
    struct err e;

    assert_int_equal(activation_find("swish", &kind, &e), 0);
    assert_string_equal(activation_title(kind), "silu");
    assert_int_equal(activation_find("sigmod", &kind, &e), -1);
    assert_non_null(strstr(e.msg, "unknown activation \"sigmod\" (did you mean \"sigmoid\"?); "
                           "there are linear, relu, "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_is_its_formula), UNIT(each_has_its_slope), UNIT(softplus_has_its_slope_at_zero),
        UNIT(large_arguments_overflow_nowhere), UNIT(all_run_on_the_core), UNIT(names_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
