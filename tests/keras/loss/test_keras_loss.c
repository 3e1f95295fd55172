/* Losses against their formulas in doubles, their slopes, and on the core. */
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/module_rig.h"
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "keras/loss/loss.h"

#include <math.h>

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
enum { ROWS = 6, CLASSES = 4, COUNT = ROWS * CLASSES };
#define EPSILON 1e-7

/* within 0.2..0.9, where slopes are gentle; of hinges -1 or 1, of entropies 0 or 1 */
static double y_at(enum loss_kind kind, int i)
{
    double unit = 0.2 + 0.7 * ((double)(i * 5 % COUNT) + 0.5) / COUNT;

    switch (kind) {
    case LOSS_HINGE:
    case LOSS_SQUARED_HINGE: return i % 3 ? 1 : -1;
    case LOSS_CATEGORICAL_HINGE:
    case LOSS_CATEGORICAL_CROSSENTROPY: return i % CLASSES == i / CLASSES % CLASSES;
    case LOSS_BINARY_CROSSENTROPY: return i % 3 == 0;
    case LOSS_HUBER: return 4 * unit;
    default: return unit;
    }
}

static double p_at(int i)
{
    return ((double)(i * 7 % COUNT) + 0.3) / COUNT;
}

static double element(enum loss_kind kind, double y, double p)
{
    double d = y - p;

    switch (kind) {
    case LOSS_MEAN_SQUARED_ERROR: return d * d;
    case LOSS_MEAN_ABSOLUTE_ERROR: return fabs(d);
    case LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR: return 100 * fabs(d) / fabs(y);
    case LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR: return pow(log(1 + y) - log(1 + p), 2);
    case LOSS_HUBER: return fabs(d) <= 1 ? d * d / 2 : fabs(d) - 0.5;
    case LOSS_LOG_COSH: return log(cosh(d));
    case LOSS_POISSON: return p - y * log(p + EPSILON);
    case LOSS_HINGE: return fmax(1 - y * p, 0);
    case LOSS_SQUARED_HINGE: return pow(fmax(1 - y * p, 0), 2);
    case LOSS_BINARY_CROSSENTROPY: return -(y * log(p) + (1 - y) * log(1 - p));
    default: return NAN;
    }
}

/* sum of p and the like over one row */
static double row_loss(enum loss_kind kind, const double *y, const double *p)
{
    double sum = 0, yy = 0, pp = 0, yp = 0, mean = 0, kl = 0, entropy = 0, other = -INFINITY;

    for (int i = 0; i < CLASSES; i++) {
        sum += p[i];
        yy += y[i] * y[i];
        pp += p[i] * p[i];
        yp += y[i] * p[i];
        kl += y[i] * log(y[i] / p[i]);
        mean += element(kind, y[i], p[i]) / CLASSES;
        other = fmax(other, (1 - y[i]) * p[i]);
    }
    for (int i = 0; i < CLASSES; i++)
        entropy -= y[i] * log(p[i] / sum);
    switch (kind) {
    case LOSS_KL_DIVERGENCE: return kl;
    case LOSS_COSINE_SIMILARITY: return -yp / sqrt(yy * pp);
    case LOSS_CATEGORICAL_HINGE: return fmax(0, 1 + other - yp);
    case LOSS_CATEGORICAL_CROSSENTROPY: return entropy;
    default: return mean;
    }
}

static struct model_result result_of(int value)
{
    return (struct model_result){value, NODE_NONE, ACTIVATION_LINEAR};
}

static int labels_like(enum loss_kind kind)
{
    double y[COUNT];

    for (int i = 0; i < COUNT; i++)
        y[i] = y_at(kind, i);
    return grig_parameter(&r, DTYPE_F32, DIMS(ROWS, CLASSES), y);
}

static int predictions(double low, double high)
{
    double p[COUNT];

    for (int i = 0; i < COUNT; i++)
        p[i] = low + (high - low) * p_at(i);
    return grig_parameter(&r, DTYPE_F32, DIMS(ROWS, CLASSES), p);
}

TEST(each_is_its_formula_with_its_slope)
{
    for (int kind = 0; kind < LOSS_COUNT; kind++) {
        struct loss l = loss_standard((enum loss_kind)kind);
        struct model_result p;
        double want[ROWS];
        int y, value;

        if (kind == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY)
            continue;
        tear_down(NULL);
        set_up(NULL);
        p = result_of(predictions(0.2, 0.9));
        y = labels_like(l.kind);
        for (int i = 0; i < ROWS; i++)
            want[i] = row_loss(l.kind, r.value[1] + i * CLASSES, r.value[0] + i * CLASSES);
        value = loss_values(&r.g, &l, y, &p);
        grig_expect(grig_run(&r, value), want, ROWS, 2e-6);     /* of the 1e-7s */
        r.g.output_count = 0;
        grig_check_gradients(&r, value);
    }
}

/* ---- cross-entropies from logits ---- */

static double log_sum(const double *z)
{
    double sum = 0;

    for (int i = 0; i < CLASSES; i++)
        sum += exp(z[i]);
    return log(sum);
}

static int sparse_labels(void)
{
    return grig_parameter(&r, DTYPE_S32, DIMS(ROWS), RIG_VALUES(0, 3, 2, 1, 0, 3));
}

static void check_sparse(struct model_result p, const double *z, bool from_logits)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    int y = sparse_labels(), value;
    double want[ROWS];

    l.from_logits = from_logits;
    for (int i = 0; i < ROWS; i++)
        want[i] = log_sum(z + i * CLASSES) -
                  z[i * CLASSES + (int)r.value[r.g.node[y].parameter_index][i]];
    value = loss_values(&r.g, &l, y, &p);
    grig_expect(grig_run(&r, value), want, ROWS, 1e-6);
    r.g.output_count = 0;
    grig_check_gradients(&r, value);
}

TEST(sparse_cross_entropy_of_logits)
{
    int z = predictions(-9, 9);

    check_sparse(result_of(z), r.value[0], true);
}

TEST(sparse_cross_entropy_uses_what_a_softmax_is_of)
{
    int z = predictions(-9, 9);
    struct model_result p = {nn_softmax(&r.g, z), z, ACTIVATION_SOFTMAX};

    check_sparse(p, r.value[0], false);
}

/* whose rows sum to one: then z are their logarithms */
TEST(sparse_cross_entropy_of_probabilities)
{
    double p[COUNT], z[COUNT];

    for (int i = 0; i < COUNT; i++)
        p[i] = 1 + p_at(i);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;

        for (int c = 0; c < CLASSES; c++)
            sum += p[i * CLASSES + c];
        for (int c = 0; c < CLASSES; c++)
            z[i * CLASSES + c] = log(p[i * CLASSES + c] /= sum);
    }
    check_sparse(result_of(grig_parameter(&r, DTYPE_F32, DIMS(ROWS, CLASSES), p)), z, false);
}

/* a gradient of softmax - one-hot, without a detour through the largest */
TEST(no_slope_flows_through_the_largest_logit)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(predictions(-9, 9));
    int values, sum, slope, before;

    l.from_logits = true;
    values = loss_values(&r.g, &l, sparse_labels(), &p);
    sum = loss_sum(&r.g, values, NODE_NONE);
    before = r.g.node_count;
    assert_int_equal(graph_grad(&r.g, sum, &p.value, 1, &slope, &e), 0);
    for (int i = before; i < r.g.node_count; i++)
        assert_int_not_equal(r.g.node[i].op, HLO_COMPARE);
}

TEST(categorical_cross_entropy_of_logits_with_smoothing)
{
    struct loss l = loss_standard(LOSS_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(predictions(-5, 5));
    int y = labels_like(l.kind), value;
    double want[ROWS] = {0};

    l.from_logits = true;
    l.label_smoothing = 0.2;
    for (int i = 0; i < COUNT; i++)
        want[i / CLASSES] += (0.8 * r.value[1][i] + 0.2 / CLASSES) *
                             (log_sum(r.value[0] + i / CLASSES * CLASSES) - r.value[0][i]);
    value = loss_values(&r.g, &l, y, &p);
    grig_expect(grig_run(&r, value), want, ROWS, 1e-12);
    r.g.output_count = 0;
    grig_check_gradients(&r, value);
}

TEST(binary_cross_entropy_of_logits_with_smoothing)
{
    struct loss l = loss_standard(LOSS_BINARY_CROSSENTROPY);
    int z = predictions(-9, 9), y = labels_like(l.kind), value;
    struct model_result p = {graph_unary(&r.g, HLO_LOGISTIC, z), z, ACTIVATION_SIGMOID};
    double want[ROWS] = {0};

    l.label_smoothing = 0.1;
    for (int i = 0; i < COUNT; i++) {
        double s = 1 / (1 + exp(-r.value[0][i])), t = 0.9 * r.value[1][i] + 0.05;

        want[i / CLASSES] -= (t * log(s) + (1 - t) * log(1 - s)) / CLASSES;
    }
    value = loss_values(&r.g, &l, y, &p);
    grig_expect(grig_run(&r, value), want, ROWS, 1e-10);
    r.g.output_count = 0;
    grig_check_gradients(&r, value);
}

TEST(probabilities_of_zero_and_one_give_finite_losses)
{
    struct loss l = loss_standard(LOSS_BINARY_CROSSENTROPY);
    int z = grig_parameter(&r, DTYPE_F32, DIMS(1, 2), RIG_VALUES(0, 1));
    int y = grig_parameter(&r, DTYPE_F32, DIMS(1, 2), RIG_VALUES(1, 0));
    struct model_result p = result_of(z);
    const double *is = grig_run(&r, loss_values(&r.g, &l, y, &p));

    assert_true(fabs(is[0] + log(1e-7)) < 1e-8);
}

/* ---- samples ---- */

TEST(a_sequence_s_loss_is_the_mean_of_its_positions)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    int z = grig_random(&r, DTYPE_F32, DIMS(2, 3, CLASSES), 4, -2, 2);
    int y = grig_parameter(&r, DTYPE_S32, DIMS(2, 3), RIG_VALUES(0, 1, 2, 3, 2, 1));
    struct model_result p = result_of(z);
    double want[2] = {0};
    const double *is;

    l.from_logits = true;
    for (int i = 0; i < 6; i++)
        want[i / 3] += (log_sum(r.value[0] + i * CLASSES) -
                        r.value[0][i * CLASSES + (int)r.value[1][i]]) / 3;
    is = grig_run(&r, loss_values(&r.g, &l, y, &p));
    grig_expect(is, want, 2, 1e-12);
}

TEST(labels_may_have_a_last_dimension_of_one)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(predictions(-2, 2));
    int y = grig_parameter(&r, DTYPE_S32, DIMS(ROWS, 1), RIG_VALUES(0, 3, 2, 1, 0, 3));

    l.from_logits = true;
    y = loss_values(&r.g, &l, y, &p);
    assert_int_equal(r.g.node[y].shape.rank, 1);
}

TEST(weights_count_in_the_sum)
{
    int values = grig_parameter(&r, DTYPE_F32, DIMS(3), RIG_VALUES(1, 2, 4));
    int weights = grig_parameter(&r, DTYPE_F32, DIMS(3), RIG_VALUES(1, 0.5, 0));

    assert_true(grig_run(&r, loss_sum(&r.g, values, weights))[0] == 2);
    assert_true(grig_run(&r, loss_sum(&r.g, values, NODE_NONE))[0] == 7);
}

TEST(all_run_on_the_core)
{
    struct model_result p = result_of(graph_parameter(&r.g, shape_make(DTYPE_F32, DIMS(20, 9)),
                                                      "p"));
    int like = graph_parameter(&r.g, shape_make(DTYPE_F32, DIMS(20, 9)), "y");
    int sparse = graph_parameter(&r.g, shape_make(DTYPE_S32, DIMS(20)), "labels");
    struct module_rig rig = {.relative = 1e-3, .absolute = 1e-3, .uses_fractions = true};

    for (int kind = 0; kind < LOSS_COUNT; kind++) {
        struct loss l = loss_standard((enum loss_kind)kind);
        struct shape wanted = loss_label_shape(&l, &r.g.node[p.value].shape);
        int value;

        l.from_logits = true;
        value = loss_values(&r.g, &l, wanted.rank == 1 ? sparse : like, &p);
        graph_output(&r.g, value, loss_name(l.kind), -1);
    }
    module_rig_check(&rig, &r.g, 5);
}

TEST(shapes_and_numbers_that_do_not_fit_are_named)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct shape p = shape_make(DTYPE_F32, DIMS(128, 65)), y = shape_make(DTYPE_S32, DIMS(127));
    struct shape scalar = shape_scalar(DTYPE_F32);

    assert_int_equal(loss_check(&l, &y, &p, &e), -1);
    assert_string_equal(e.msg, "loss sparse_categorical_crossentropy: labels of shape [127] do not "
                        "fit predictions of shape [128, 65] (of a sample each); they must be "
                        "[128], numbers of classes");
    l = loss_standard(LOSS_CATEGORICAL_CROSSENTROPY);
    assert_int_equal(loss_check(&l, &y, &p, &e), -1);
    assert_string_equal(e.msg, "loss categorical_crossentropy: labels of shape [127] do not fit "
                        "predictions of shape [128, 65] (of a sample each); they must be "
                        "[128, 65]");
    assert_int_equal(loss_check(&l, &y, &scalar, &e), -1);
    assert_string_equal(e.msg, "loss categorical_crossentropy: predictions are single numbers; "
                        "they need a last dimension");
    l.label_smoothing = 1.5;
    assert_int_equal(loss_check(&l, &p, &p, &e), -1);
    assert_string_equal(e.msg, "loss categorical_crossentropy: label smoothing is 1.5, not in "
                        "0..1");
    l = loss_standard(LOSS_HUBER);
    assert_int_equal(loss_check(&l, &p, &p, &e), 0);
    l.delta = 0;
    assert_int_equal(loss_check(&l, &p, &p, &e), -1);
    assert_string_equal(e.msg, "loss huber: delta is 0; it must be positive");
}

TEST(names_are_found_as_keras_spells_them)
{
    enum loss_kind kind;

    assert_int_equal(loss_find("mse", &kind, &e), 0);
    assert_int_equal(kind, LOSS_MEAN_SQUARED_ERROR);
    assert_int_equal(loss_find("KLDivergence", &kind, &e), 0);
    assert_string_equal(loss_name(kind), "kl_divergence");
    assert_int_equal(loss_find("crossentropy", &kind, &e), -1);
    assert_int_equal(loss_find("binary_crossentropi", &kind, &e), -1);
    assert_string_equal(e.msg, "unknown loss \"binary_crossentropi\" (did you mean "
                        "\"binary_crossentropy\"?); docs/keras.md lists them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_is_its_formula_with_its_slope), UNIT(sparse_cross_entropy_of_logits),
        UNIT(sparse_cross_entropy_uses_what_a_softmax_is_of),
        UNIT(sparse_cross_entropy_of_probabilities),
        UNIT(no_slope_flows_through_the_largest_logit),
        UNIT(categorical_cross_entropy_of_logits_with_smoothing),
        UNIT(binary_cross_entropy_of_logits_with_smoothing),
        UNIT(probabilities_of_zero_and_one_give_finite_losses),
        UNIT(a_sequence_s_loss_is_the_mean_of_its_positions),
        UNIT(labels_may_have_a_last_dimension_of_one),
        UNIT(weights_count_in_the_sum), UNIT(all_run_on_the_core),
        UNIT(shapes_and_numbers_that_do_not_fit_are_named),
        UNIT(names_are_found_as_keras_spells_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
