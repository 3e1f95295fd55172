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
    case LOSS_CATEGORICAL_FOCAL_CROSSENTROPY:
    case LOSS_CATEGORICAL_CROSSENTROPY: return i % CLASSES == i / CLASSES % CLASSES;
    case LOSS_BINARY_FOCAL_CROSSENTROPY:
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
    case LOSS_BINARY_FOCAL_CROSSENTROPY: return y == 1 ? -pow(1 - p, 2) * log(p)
                                                       : -pow(p, 2) * log(1 - p);
    default: return NAN;
    }
}

/* sum of p and the like over one row */
static double row_loss(enum loss_kind kind, const double *y, const double *p)
{
    double sum = 0, yy = 0, pp = 0, yp = 0, mean = 0, kl = 0, entropy = 0, other = -INFINITY;
    double focal = 0;

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
    for (int i = 0; i < CLASSES; i++)
        focal -= 0.25 * y[i] * pow(1 - p[i] / sum, 2) * log(p[i] / sum);
    switch (kind) {
    case LOSS_KL_DIVERGENCE: return kl;
    case LOSS_COSINE_SIMILARITY: return -yp / sqrt(yy * pp);
    case LOSS_CATEGORICAL_HINGE: return fmax(0, 1 + other - yp);
    case LOSS_CATEGORICAL_CROSSENTROPY: return entropy;
    case LOSS_CATEGORICAL_FOCAL_CROSSENTROPY: return focal;
    default: return mean;
    }
}

static struct model_result result_of(int value)
{
    return (struct model_result){value, NODE_NONE, ACTIVATION_LINEAR, NODE_NONE};
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

        if (isnan(row_loss(l.kind, (double[CLASSES]){1, 1, 1, 1}, (double[CLASSES]){1, 1, 1, 1})))
            continue;
        tear_down(NULL);
        set_up(NULL);
        p = result_of(predictions(0.2, 0.9));
        y = labels_like(l.kind);
        for (int i = 0; i < ROWS; i++)
            want[i] = row_loss(l.kind, r.value[1] + i * CLASSES, r.value[0] + i * CLASSES);
        value = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);
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

    l.with.from_logits = from_logits;
    for (int i = 0; i < ROWS; i++)
        want[i] = log_sum(z + i * CLASSES) -
                  z[i * CLASSES + (int)r.value[r.g.node[y].parameter_index][i]];
    value = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);
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
    struct model_result p = {nn_softmax(&r.g, z), z, ACTIVATION_SOFTMAX, NODE_NONE};

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

    l.with.from_logits = true;
    values = loss_values(&r.g, &l, sparse_labels(), &p, NODE_NONE, NODE_NONE);
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

    l.with.from_logits = true;
    l.with.label_smoothing = 0.2;
    for (int i = 0; i < COUNT; i++)
        want[i / CLASSES] += (0.8 * r.value[1][i] + 0.2 / CLASSES) *
                             (log_sum(r.value[0] + i / CLASSES * CLASSES) - r.value[0][i]);
    value = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);
    grig_expect(grig_run(&r, value), want, ROWS, 1e-12);
    r.g.output_count = 0;
    grig_check_gradients(&r, value);
}

TEST(binary_cross_entropy_of_logits_with_smoothing)
{
    struct loss l = loss_standard(LOSS_BINARY_CROSSENTROPY);
    int z = predictions(-9, 9), y = labels_like(l.kind), value;
    struct model_result p = {graph_unary(&r.g, HLO_LOGISTIC, z), z, ACTIVATION_SIGMOID, NODE_NONE};
    double want[ROWS] = {0};

    l.with.label_smoothing = 0.1;
    for (int i = 0; i < COUNT; i++) {
        double s = 1 / (1 + exp(-r.value[0][i])), t = 0.9 * r.value[1][i] + 0.05;

        want[i / CLASSES] -= (t * log(s) + (1 - t) * log(1 - s)) / CLASSES;
    }
    value = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);
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
    const double *is = grig_run(&r, loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE));

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

    l.with.from_logits = true;
    for (int i = 0; i < 6; i++)
        want[i / 3] += (log_sum(r.value[0] + i * CLASSES) -
                        r.value[0][i * CLASSES + (int)r.value[1][i]]) / 3;
    is = grig_run(&r, loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE));
    grig_expect(is, want, 2, 1e-12);
}

TEST(labels_may_have_a_last_dimension_of_one)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(predictions(-2, 2));
    int y = grig_parameter(&r, DTYPE_S32, DIMS(ROWS, 1), RIG_VALUES(0, 3, 2, 1, 0, 3));

    l.with.from_logits = true;
    y = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);
    assert_int_equal(r.g.node[y].shape.rank, 1);
}

/* ---- over a batch ---- */

/* 1 of what is there, else 0: the last two samples only fill up */
static const double there[ROWS] = {1, 1, 1, 1, 0, 0};

TEST(an_overlap_is_that_of_all_samples_that_are_there)
{
    for (int kind = LOSS_DICE; kind <= LOSS_TVERSKY; kind++) {
        struct loss l = loss_standard((enum loss_kind)kind);
        struct model_result p;
        double both = 0, ys = 0, ps = 0, want[ROWS];
        int y, value, mask;

        tear_down(NULL);
        set_up(NULL);
        l.with.beta = 0.3;
        p = result_of(predictions(0.2, 0.9));
        y = labels_like(LOSS_BINARY_CROSSENTROPY);
        mask = grig_parameter(&r, DTYPE_F32, DIMS(ROWS), there);
        for (int i = 0; i < 4 * CLASSES; i++) {
            both += r.value[0][i] * r.value[1][i];
            ps += r.value[0][i];
            ys += r.value[1][i];
        }
        for (int i = 0; i < ROWS; i++)
            want[i] = 1 - (kind == LOSS_DICE
                               ? 2 * both / (ps + ys + 1e-7)
                               : both / (both + 0.5 * (ys - both) + 0.3 * (ps - both) + 1e-7));
        value = loss_values(&r.g, &l, y, &p, NODE_NONE, mask);
        grig_expect(grig_run(&r, value), want, ROWS, 1e-9);
        r.g.output_count = 0;
        grig_check_gradients(&r, value);
    }
}

/* Circle's double sums, pair by pair */
static void circle(const double *p, const double *y, int count, double want[ROWS])
{
    int counts = 0;

    for (int i = 0; i < count; i++) {
        double kin = 0, strange = 0;

        for (int k = 0; k < count; k++) {
            double far = 1;

            for (int c = 0; c < CLASSES; c++)
                far -= p[i * CLASSES + c] * p[k * CLASSES + c];
            far = fmax(far, 0);
            if (y[i] != y[k])
                strange += exp(8 * fmax(1.4 - far, 0) * (0.6 - far));
            else if (i != k)
                kin += exp(-8 * (0.4 + far) * (0.4 - far));
        }
        want[i] = log(1 + kin * strange);
        counts += want[i] > 0;
    }
    for (int i = 0; i < count; i++)
        want[i] *= (double)count / counts;
}

TEST(circle_is_pair_by_pair)
{
    struct loss l = loss_standard(LOSS_CIRCLE);
    struct model_result p = result_of(grig_random(&r, DTYPE_F32, DIMS(ROWS, CLASSES), 3, -0.6,
                                                  0.6));
    int y = grig_parameter(&r, DTYPE_S32, DIMS(ROWS), RIG_VALUES(0, 1, 1, 0, 2, 1)), value;
    double want[ROWS];

    l.with.gamma = 8;
    circle(r.value[0], r.value[1], ROWS, want);
    value = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);
    grig_expect(grig_run(&r, value), want, ROWS, 1e-9);
    r.g.output_count = 0;
    grig_check_gradients(&r, value);
}

/* the chance of all ways of 4 steps that say these labels, way by way */
static double all_ways(const double *z, const int *label, int labels, int steps, int classes)
{
    double chance = 0;
    int ways = 1;

    for (int t = 0; t < steps; t++)
        ways *= classes;
    for (int way = 0; way < ways; way++) {
        int said = 0, last = 0, rest = way;
        bool is_same = true;
        double p = 1;

        for (int t = 0; t < steps; t++, rest /= classes) {
            int c = rest % classes;
            double sum = 0;

            for (int k = 0; k < classes; k++)
                sum += exp(z[t * classes + k]);
            p *= exp(z[t * classes + c]) / sum;
            if (c && c != last)
                is_same &= said < labels && label[said++] == c;
            last = c;
        }
        chance += is_same && said == labels ? p : 0;
    }
    return -log(chance);
}

TEST(ctc_sums_over_all_ways_to_say_labels)
{
    struct loss l = loss_standard(LOSS_CTC);
    struct model_result p = result_of(grig_random(&r, DTYPE_F32, DIMS(3, 4, 3), 5, -1, 1));
    int y = grig_parameter(&r, DTYPE_S32, DIMS(3, 4), RIG_VALUES(1, 2, 0, 0, 2, 2, 0, 0, 1, 0, 0,
                                                                 0));
    static const int label[3][2] = {{1, 2}, {2, 2}, {1, 0}};
    double want[3];
    int value = loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE);

    for (int i = 0; i < 3; i++)
        want[i] = all_ways(r.value[0] + i * 12, label[i], i < 2 ? 2 : 1, 4, 3);
    grig_expect(grig_run(&r, value), want, 3, 1e-9);
    r.g.output_count = 0;
    grig_check_gradients(&r, value);
}

TEST(rows_of_an_ignored_class_leave_the_mean_to_the_others)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(predictions(-2, 2));
    int y = sparse_labels();
    double want[ROWS] = {0};

    l.with.from_logits = true;
    l.with.ignore_class = 3;
    for (int i = 0; i < ROWS; i++)
        if (r.value[1][i] != 3)
            want[i] = ROWS / 4.0 * (log_sum(r.value[0] + i * CLASSES) -
                                    r.value[0][i * CLASSES + (int)r.value[1][i]]);
    grig_expect(grig_run(&r, loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE)), want, ROWS, 1e-9);
}

TEST(the_mean_by_weights_is_of_rows_that_count)
{
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(predictions(-2, 2));
    int y = sparse_labels(), w = grig_random(&r, DTYPE_F32, DIMS(ROWS), 1, 0.1, 2), values;
    double want = 0, sum = 0;

    l.with.from_logits = true;
    l.with.ignore_class = 3;
    l.with.reduction = REDUCTION_MEAN_WITH_WEIGHTS;
    for (int i = 0; i < ROWS; i++) {
        const double *row = r.value[0] + i * CLASSES;

        if (r.value[1][i] == 3)
            continue;
        want += r.value[2][i] * (log_sum(row) - row[(int)r.value[1][i]]);
        sum += r.value[2][i];
    }
    want *= ROWS / sum;
    values = loss_values(&r.g, &l, y, &p, w, NODE_NONE);
    grig_expect(grig_run(&r, loss_sum(&r.g, values, loss_weights(&r.g, &l, w, NODE_NONE))),
                &want, 1, 1e-6);
}

/* of 2 x 3 steps the mask has 4, of which one is of the ignored class */
static void check_masked(bool is_sum, double share)
{
    static const double on[6] = {1, 0, 1, 1, 1, 0};
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    struct model_result p = result_of(grig_random(&r, DTYPE_F32, DIMS(2, 3, CLASSES), 4, -2, 2));
    int y = grig_parameter(&r, DTYPE_S32, DIMS(2, 3), RIG_VALUES(1, 2, 3, 0, 1, 3));
    double want[2] = {0};

    p.mask = grig_parameter(&r, DTYPE_F32, DIMS(2, 3), on);
    l.with.from_logits = true;
    l.with.ignore_class = 3;
    l.with.reduction = is_sum ? REDUCTION_SUM : l.with.reduction;
    for (int i = 0; i < 6; i++)
        if (on[i] != 0 && r.value[1][i] != 3)
            want[i / 3] += share * (log_sum(r.value[0] + i * CLASSES) -
                                    r.value[0][i * CLASSES + (int)r.value[1][i]]);
    grig_expect(grig_run(&r, loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE)), want, 2, 1e-9);
}

TEST(masked_steps_leave_the_mean_to_the_others)
{
    check_masked(false, 6.0 / 3 / 3);
}

TEST(a_sum_is_of_steps_that_are_not_masked)
{
    check_masked(true, 1);
}

TEST(losses_that_cannot_leave_steps_out_are_refused)
{
    static const struct { enum loss_kind kind; int rank; const char *why; } bad[] = {
        {LOSS_DICE, 2, "dice is not of steps"}, {LOSS_CTC, 2, "ctc is not of steps"},
        {LOSS_MEAN_SQUARED_ERROR, 3, "predictions have 3 dimensions"}};
    struct shape s = shape_make(DTYPE_F32, 3, (int64_t[]){3, 4, 5});

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct loss l = loss_standard(bad[i].kind);

        s.rank = bad[i].rank;
        assert_int_equal(loss_check_masked(&l, &s, &e), -1);
        if (!strstr(e.msg, bad[i].why))
            fail_msg("\"%s\" does not say \"%s\"", e.msg, bad[i].why);
    }
}

TEST(classes_may_lie_along_another_axis)
{
    struct loss l = loss_standard(LOSS_CATEGORICAL_CROSSENTROPY);
    int z = grig_random(&r, DTYPE_F32, DIMS(2, CLASSES, 3), 4, -2, 2), y;
    struct model_result p = result_of(z);
    double want[2] = {0}, hot[24] = {0};

    l.with.from_logits = true;
    l.with.axis = (struct number_list){1, RIG_VALUES(1)};
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < 3; k++) {
            double column[CLASSES];

            for (int c = 0; c < CLASSES; c++)
                column[c] = r.value[0][b * 12 + c * 3 + k];
            hot[b * 12 + (b + k) * 3 + k] = 1;
            want[b] += (log_sum(column) - column[b + k]) / 3;
        }
    y = grig_parameter(&r, DTYPE_F32, DIMS(2, CLASSES, 3), hot);
    grig_expect(grig_run(&r, loss_values(&r.g, &l, y, &p, NODE_NONE, NODE_NONE)), want, 2, 1e-9);
}

TEST(reductions_sum_and_weigh)
{
    struct loss l = loss_standard(LOSS_MEAN_SQUARED_ERROR);
    struct shape s = shape_make(DTYPE_F32, DIMS(2, 2, 2));
    int x = grig_parameter(&r, DTYPE_F32, DIMS(2, 2, 2), RIG_VALUES(1, 1, 2, 2, 3, 3, 4, 4));
    int weights = grig_parameter(&r, DTYPE_F32, DIMS(2), RIG_VALUES(1, 3));
    struct model_result p = result_of(x);

    l.with.reduction = REDUCTION_SUM;
    assert_true(loss_is_sum(&l));
    x = graph_constant(&r.g, s, 0);
    grig_expect(grig_run(&r, loss_values(&r.g, &l, x, &p, NODE_NONE, NODE_NONE)),
                RIG_VALUES(5, 25), 2, 1e-12);
    l.with.reduction = REDUCTION_MEAN_WITH_WEIGHTS;
    grig_expect(grig_run(&r, loss_weights(&r.g, &l, weights, NODE_NONE)), RIG_VALUES(0.5, 1.5), 2,
                1e-12);
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

        l.with.from_logits = true;
        if (kind == LOSS_CTC)           /* of sequences */
            continue;
        value = loss_values(&r.g, &l, wanted.rank == 1 ? sparse : like, &p, NODE_NONE, NODE_NONE);
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
    l.with.label_smoothing = 1.5;
    assert_int_equal(loss_check(&l, &p, &p, &e), -1);
    assert_string_equal(e.msg, "categorical_crossentropy: label_smoothing is 1.5, allowed are "
                        "0..1");
    l.with.label_smoothing = 0;
    l.with.axis = (struct number_list){1, RIG_VALUES(0)};
    assert_int_equal(loss_check(&l, &p, &p, &e), -1);
    assert_string_equal(e.msg, "loss categorical_crossentropy: axis is 0; batches of predictions "
                        "have 3 dimensions, and the first is the batch's");
    l = loss_standard(LOSS_HUBER);
    assert_int_equal(loss_check(&l, &p, &p, &e), 0);
    l.with.delta = 0;
    assert_int_equal(loss_check(&l, &p, &p, &e), -1);
    assert_string_equal(e.msg, "huber: delta is 0, allowed are 1e-30..1e+30");
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
        UNIT(an_overlap_is_that_of_all_samples_that_are_there), UNIT(circle_is_pair_by_pair),
        UNIT(ctc_sums_over_all_ways_to_say_labels),
        UNIT(rows_of_an_ignored_class_leave_the_mean_to_the_others),
        UNIT(the_mean_by_weights_is_of_rows_that_count),
        UNIT(masked_steps_leave_the_mean_to_the_others),
        UNIT(a_sum_is_of_steps_that_are_not_masked),
        UNIT(losses_that_cannot_leave_steps_out_are_refused),
        UNIT(classes_may_lie_along_another_axis), UNIT(reductions_sum_and_weigh),
        UNIT(weights_count_in_the_sum), UNIT(all_run_on_the_core),
        UNIT(shapes_and_numbers_that_do_not_fit_are_named),
        UNIT(names_are_found_as_keras_spells_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
