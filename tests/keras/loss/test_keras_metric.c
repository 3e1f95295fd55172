/* Metrics: two updates with weights, and what the host makes of the sums. */
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/module_rig.h"
#include "tests/test.h"

#include "base/units.h"
#include "keras/loss/loss_from_text.h"

#include <math.h>

enum { BATCH = 12, CLASSES = 4, COUNT = BATCH * CLASSES };

static struct arena arena;
static struct variable_set set;
static struct trace t;
static struct err e;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    trace_init(&t, &arena, "test", &set, 1, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    trace_fini(&t);
    variable_set_fini(&set);
    arena_fini(&arena);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

struct sample {
    double p[COUNT], y[COUNT], weight[BATCH];
    int width;                          /* of y: CLASSES, or 1 of sparse labels and values */
};

/* ties among predictions, thresholds hit exactly, weights 0, 1, 2 */
static void make_sample(struct sample *s, uint64_t seed, bool is_sparse)
{
    s->width = is_sparse ? 1 : CLASSES;
    for (int i = 0; i < COUNT; i++) {
        s->p[i] = (double)((i * 7 + (int)seed * 3) % 9) / 8;
        s->y[i] = is_sparse ? (i * 5 + (int)seed) % CLASSES : (i * 3 + (int)seed) % 4 == 0;
    }
    for (int i = 0; i < BATCH; i++)
        s->weight[i] = (i + (int)seed) % 3;
}

static float *as_floats(const double *value, int count)
{
    float *to = arena_array(&arena, (size_t)count, sizeof(*to));

    for (int i = 0; i < count; i++)
        to[i] = (float)value[i];
    return to;
}

static int32_t *as_whole(const double *value, int count)
{
    int32_t *to = arena_array(&arena, (size_t)count, sizeof(*to));

    for (int i = 0; i < count; i++)
        to[i] = (int32_t)value[i];
    return to;
}

/* parameters: inputs p, y, weight, then states; outputs: states */
static void trace_metric(struct metric *m, bool is_sparse)
{
    int64_t dims[2] = {BATCH, CLASSES};
    struct shape p = shape_make(DTYPE_F32, 2, dims), y = p, sample = shape_make(DTYPE_F32, 1,
                                                                               dims + 1);
    int in[3];

    if (is_sparse)
        y = shape_make(DTYPE_S32, 1, dims);
    in[0] = trace_input(&t, "p", &p);
    in[1] = trace_input(&t, "y", &y);
    in[2] = trace_input(&t, "w", &(struct shape){.dtype = DTYPE_F32, .rank = 1, .dim = {BATCH}});
    metric_build(m, &set, &sample);
    metric_update(&t, m, in[1], in[0], NODE_NONE, in[2]);
    trace_finish(&t);
}

/* two samples one after the other, from zeros */
static double run(struct metric *m, const struct sample *s, bool is_sparse)
{
    struct interp_value in[3 + METRIC_STATES_MAX], out[METRIC_STATES_MAX];
    const float *state[METRIC_STATES_MAX];

    trace_metric(m, is_sparse);
    for (int i = 0; i < m->variable_count; i++) {
        const struct variable *v = &set.variable[m->variable[i]];

        assert_int_equal(v->sync, SYNC_ON_READ);
        assert_int_equal(v->aggregation, AGGREGATION_SUM);
        in[3 + i].data = arena_array(&arena, (size_t)shape_elems(&v->shape), sizeof(float));
    }
    for (int step = 0; step < 2; step++) {
        in[0].data = as_floats(s[step].p, COUNT);
        in[1].data = is_sparse ? (void *)as_whole(s[step].y, BATCH)
                               : (void *)as_floats(s[step].y, COUNT);
        in[2].data = as_floats(s[step].weight, BATCH);
        if (interp_run(&t.graph, INTERP_DOT_F32, in, out, &arena, &e) != 0)
            fail_msg("%s", e.msg);
        for (int i = 0; i < m->variable_count; i++)
            in[3 + i].data = out[i].data;
    }
    for (int i = 0; i < m->variable_count; i++)
        state[i] = out[i].data;
    return metric_result(m, &set, state);
}

/* ---- plain definitions ---- */

static int largest(const double *row)
{
    int best = 0;

    for (int i = 1; i < CLASSES; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

static int above(const double *row, double value)
{
    int count = 0;

    for (int i = 0; i < CLASSES; i++)
        count += row[i] > value;
    return count;
}

/* of one row: what its metric averages */
static double row_value(const struct metric *m, const double *p, const double *y)
{
    int label = m->kind == METRIC_SPARSE_CATEGORICAL_ACCURACY || m->kind == METRIC_SPARSE_TOP_K
                    ? (int)y[0] : largest(y);
    double sum = 0;

    switch (m->kind) {
    case METRIC_SPARSE_CATEGORICAL_ACCURACY:
    case METRIC_CATEGORICAL_ACCURACY: return largest(p) == label;
    case METRIC_SPARSE_TOP_K:
    case METRIC_TOP_K: return above(p, p[label]) < m->with.k;
    default: break;
    }
    for (int i = 0; i < CLASSES; i++)
        sum += m->kind == METRIC_BINARY_ACCURACY ? (p[i] > m->with.threshold) == (y[i] == 1)
               : m->kind == METRIC_MEAN_ABSOLUTE_ERROR ? fabs(y[i] - p[i])
                                                       : pow(y[i] - p[i], 2);
    return sum / CLASSES;
}

static double plain_mean(const struct metric *m, const struct sample *s)
{
    double total = 0, count = 0;

    for (int i = 0; i < 2 * BATCH; i++) {
        const struct sample *x = &s[i / BATCH];
        int row = i % BATCH;

        total += x->weight[row] * row_value(m, x->p + row * CLASSES, x->y + row * x->width);
        count += x->weight[row];
    }
    return total / count;
}

/* weighted counts of predictions above a threshold (1) or not, of labels 1 or 0 */
static void count_at(const struct sample *s, double threshold, double count[2][2])
{
    memset(count, 0, 4 * sizeof(double));
    for (int i = 0; i < 2 * COUNT; i++) {
        const struct sample *x = &s[i / COUNT];

        count[x->p[i % COUNT] > threshold][x->y[i % COUNT] == 1] +=
            x->weight[i % COUNT / CLASSES];
    }
}

static double plain_auc(const struct sample *s, int thresholds)
{
    double area = 0, before[2] = {1, 1};

    for (int i = 1; i < thresholds; i++) {
        double at = i == thresholds - 1 ? 1 + 1e-7 : (double)i / (thresholds - 1);
        double c[2][2], now[2];

        count_at(s, at, c);
        now[0] = c[1][0] / (c[1][0] + c[0][0]);
        now[1] = c[1][1] / (c[1][1] + c[0][1]);
        area += (before[0] - now[0]) * (before[1] + now[1]) / 2;
        memcpy(before, now, sizeof(now));
    }
    return area;
}

static double plain_iou(const struct sample *s)
{
    double hit[CLASSES] = {0}, is[CLASSES] = {0}, wanted[CLASSES] = {0}, sum = 0;

    for (int i = 0; i < 2 * BATCH; i++) {
        const struct sample *x = &s[i / BATCH];
        int row = i % BATCH, p = largest(x->p + row * CLASSES), y = (int)x->y[row];

        is[p] += x->weight[row];
        wanted[y] += x->weight[row];
        hit[y] += p == y ? x->weight[row] : 0;
    }
    for (int c = 0; c < CLASSES; c++)
        sum += hit[c] / (is[c] + wanted[c] - hit[c]) / CLASSES;
    return sum;
}

static double checked(enum metric_kind kind, double number, struct sample *s, struct metric *m)
{
    static double threshold;
    bool is_sparse = kind == METRIC_SPARSE_CATEGORICAL_ACCURACY || kind == METRIC_SPARSE_TOP_K ||
                     kind == METRIC_MEAN_IOU;

    *m = metric_standard(kind);
    threshold = number;
    if (number >= 1)
        m->with.k = number;
    else if (number > 0)
        m->with.thresholds = (struct number_list){1, &threshold};
    make_sample(&s[0], 1, is_sparse);
    make_sample(&s[1], 2, is_sparse);
    return run(m, s, is_sparse);
}

static void expect_mean(enum metric_kind kind, double number)
{
    struct sample s[2];
    struct metric m;
    double is = checked(kind, number, s, &m), want = plain_mean(&m, s);

    if (kind == METRIC_ROOT_MEAN_SQUARED_ERROR)
        want = sqrt(want);
    assert_true(fabs(is - want) < 1e-6);
}

TEST(sparse_categorical_accuracy) { expect_mean(METRIC_SPARSE_CATEGORICAL_ACCURACY, 0); }
TEST(categorical_accuracy) { expect_mean(METRIC_CATEGORICAL_ACCURACY, 0); }
TEST(binary_accuracy) { expect_mean(METRIC_BINARY_ACCURACY, 0); }
TEST(sparse_top_k) { expect_mean(METRIC_SPARSE_TOP_K, 2); }
TEST(top_k) { expect_mean(METRIC_TOP_K, 3); }
TEST(mean_squared_error) { expect_mean(METRIC_MEAN_SQUARED_ERROR, 0); }
TEST(mean_absolute_error) { expect_mean(METRIC_MEAN_ABSOLUTE_ERROR, 0); }
TEST(root_mean_squared_error) { expect_mean(METRIC_ROOT_MEAN_SQUARED_ERROR, 0); }

TEST(precision_and_recall)
{
    struct sample s[2];
    struct metric m;
    double c[2][2], is = checked(METRIC_PRECISION, 0, s, &m);

    count_at(s, 0.5, c);
    assert_true(fabs(is - c[1][1] / (c[1][1] + c[1][0])) < 1e-6);
    tear_down(NULL);
    set_up(NULL);
    is = checked(METRIC_RECALL, 0.3, s, &m);
    count_at(s, 0.3, c);
    assert_true(fabs(is - c[1][1] / (c[1][1] + c[0][1])) < 1e-6);
}

TEST(area_under_the_curve)
{
    struct sample s[2];
    struct metric m;
    double is = checked(METRIC_AUC, 0, s, &m);

    assert_true(fabs(is - plain_auc(s, 200)) < 1e-6);
    assert_true(is > 0.1 && is < 0.9);
}

TEST(mean_iou)
{
    struct sample s[2];
    struct metric m;

    assert_true(fabs(checked(METRIC_MEAN_IOU, 0, s, &m) - plain_iou(s)) < 1e-6);
}

TEST(mean_and_sum_of_values)
{
    struct metric mean = metric_standard(METRIC_MEAN), sum = metric_standard(METRIC_SUM);
    struct shape values = shape_make(DTYPE_F32, 1, (int64_t[]){3}), scalar = {0};
    float x[] = {1, 2, 6}, zero[3] = {0};
    struct interp_value in[4] = {{x}, {zero}, {zero}, {zero}}, out[3];
    const float *kept[2];
    int v = trace_input(&t, "values", &values);

    metric_build(&mean, &set, &scalar);
    metric_build(&sum, &set, &scalar);
    assert_string_equal(set.variable[1].name, "mean/count");
    metric_update(&t, &mean, NODE_NONE, v, NODE_NONE, NODE_NONE);
    metric_update(&t, &sum, NODE_NONE, v, NODE_NONE, NODE_NONE);
    trace_finish(&t);
    assert_int_equal(interp_run(&t.graph, INTERP_DOT_F32, in, out, &arena, &e), 0);
    kept[0] = out[0].data, kept[1] = out[1].data;
    assert_true(metric_result(&mean, &set, kept) == 3);
    kept[0] = out[2].data;
    assert_true(metric_result(&sum, &set, kept) == 9);
    kept[0] = kept[1] = zero;
    assert_true(metric_result(&mean, &set, kept) == 0);
}

TEST(binary_metrics_take_logits)
{
    struct metric m = metric_standard(METRIC_BINARY_ACCURACY);
    struct sample s[2];

    make_sample(&s[0], 1, false);
    s[1] = s[0];
    for (int i = 0; i < COUNT; i++)     /* above a half is above 0 */
        s[0].p[i] = s[1].p[i] -= 0.5;
    m.with.from_logits = true;
    double is = run(&m, s, false);
    m.with.threshold = 0;
    assert_true(fabs(is - plain_mean(&m, s)) < 1e-6);
}

/* the same two samples in Keras 3.15.1 on JAX; of lists the mean */
TEST(results_are_those_that_keras_gives)
{
    static const struct { const char *call; double result; } goldens[] = {
        {"Accuracy()", 0.1770833},
        {"TruePositives(thresholds=[0.3, 0.7])", 9.5},
        {"FalsePositives()", 29},
        {"TrueNegatives(0.3)", 23},
        {"FalseNegatives(0.6)", 14},
        {"Precision(top_k=2)", 0.2291667},
        {"Recall(class_id=1)", 0.4166667},
        {"AUC(num_thresholds=5, curve='PR')", 0.2608279},
        {"AUC(num_thresholds=9, curve='PRGAIN', summation_method='minoring')", -0.2971479},
        {"AUC(num_thresholds=9, multi_label=True, num_labels=4, label_weights=[1, 2, 3, 4])",
         0.26875},
        {"SensitivityAtSpecificity(0.5)", 0.4166667},
        {"SpecificityAtSensitivity(0.6)", 0.2638889},
        {"PrecisionAtRecall(0.4, num_thresholds=20)", 0.2891566},
        {"RecallAtPrecision(0.25, num_thresholds=20)", 1},
        {"F1Score(average='macro')", 0.1764706},
        {"FBetaScore('weighted', 2.0, 0.4)", 0.5336021},
        {"F1Score('micro', 0.5)", 0.3174603},
        {"R2Score()", -0.1595052},
        {"R2Score('variance_weighted_average')", -0.3190105},
        {"CosineSimilarity()", 0.4309402},
        {"LogCoshError()", 0.1522538},
        {"Hinge()", 1.229167},
        {"KLDivergence()", 0.8981295},
        {"Poisson()", 0.7063041},
        {"BinaryCrossentropy()", 1.588025},
        {"MeanAbsolutePercentageError()", 3.554688e+08},
        {"MeanSquaredLogarithmicError()", 0.1715812},
        {"ConcordanceCorrelation()", 0.02377837},
    };
    const struct shape shape = shape_make(DTYPE_F32, DIMS(CLASSES));

    for (size_t i = 0; i < COUNT_OF(goldens); i++) {
        struct sample s[2];
        struct metric m;
        double is;

        tear_down(NULL);
        set_up(NULL);
        make_sample(&s[0], 1, false);
        make_sample(&s[1], 2, false);
        if (metric_from_text(&m, goldens[i].call, &shape, &shape, &arena, &e))
            fail_msg("%s: %s", goldens[i].call, e.msg);
        is = run(&m, s, false);
        if (!(fabs(is - goldens[i].result) <= 2e-6 * fmax(1, fabs(goldens[i].result))))
            fail_msg("%s is %.9g, Keras has %.9g", goldens[i].call, is, goldens[i].result);
    }
}

TEST(all_run_on_the_core)
{
    struct module_rig rig = {.relative = 1e-4, .absolute = 1e-4, .uses_fractions = true};
    struct shape p = shape_make(DTYPE_F32, DIMS(24, 8)), s = shape_make(DTYPE_S32, DIMS(24));
    int like = trace_input(&t, "y", &p), sparse = trace_input(&t, "labels", &s);
    int x = trace_input(&t, "p", &p), values;

    values = graph_reduce(&t.graph, REDUCE_MAX, x, 2);
    p = shape_make(DTYPE_F32, DIMS(8));
    for (int kind = 0; kind < METRIC_COUNT; kind++) {
        struct metric m = metric_standard((enum metric_kind)kind);
        bool is_sparse = strstr(m.name, "sparse") || kind == METRIC_MEAN_IOU || kind == METRIC_IOU;
        bool is_value = kind == METRIC_MEAN || kind == METRIC_SUM;

        metric_build(&m, &set, &p);
        metric_update(&t, &m, is_sparse ? sparse : like, is_value ? values : x, NODE_NONE, NODE_NONE);
    }
    trace_finish(&t);
    module_rig_check(&rig, &t.graph, 5);
}

TEST(accuracy_is_chosen_by_shapes)
{
    struct shape one = shape_make(DTYPE_F32, DIMS(1)), ten = shape_make(DTYPE_F32, DIMS(10));
    struct shape none = shape_scalar(DTYPE_S32);

    assert_int_equal(metric_accuracy(&one, &one), METRIC_BINARY_ACCURACY);
    assert_int_equal(metric_accuracy(&ten, &ten), METRIC_CATEGORICAL_ACCURACY);
    assert_int_equal(metric_accuracy(&none, &ten), METRIC_SPARSE_CATEGORICAL_ACCURACY);
}

TEST(what_does_not_fit_is_named)
{
    struct shape ten = shape_make(DTYPE_F32, DIMS(10)), none = shape_scalar(DTYPE_S32);
    struct metric m = metric_standard(METRIC_SPARSE_TOP_K);
    enum metric_kind kind;

    assert_int_equal(metric_check(&m, &none, &ten, &e), 0);
    assert_int_equal(metric_check(&m, &ten, &ten, &e), -1);
    assert_string_equal(e.msg, "metric sparse_top_k_categorical_accuracy: labels of shape [10] do "
                        "not fit predictions of shape [10] (of a sample each); they must be []");
    m.with.k = 11;
    assert_int_equal(metric_check(&m, &none, &ten, &e), -1);
    assert_string_equal(e.msg, "metric sparse_top_k_categorical_accuracy: k is 11, not in 1..10, "
                        "the classes");
    m = metric_standard(METRIC_PRECISION);
    m.with.thresholds = (struct number_list){1, (double[]){-1}};
    assert_int_equal(metric_check(&m, &ten, &ten, &e), -1);
    assert_string_equal(e.msg, "precision: thresholds is -1, allowed are 0..1");
    assert_int_equal(metric_check(&m, &none, &none, &e), -1);
    assert_string_equal(e.msg, "metric precision: predictions are single numbers; they need a last "
                        "dimension");
    m = metric_standard(METRIC_AUC);
    m.with.num_thresholds = 1;
    assert_int_equal(metric_check(&m, &ten, &ten, &e), -1);
    assert_string_equal(e.msg, "metric auc: 1 thresholds, not in 2..10000");
    m = metric_standard(METRIC_MEAN);
    assert_int_equal(metric_check(&m, &ten, &ten, &e), -1);
    assert_string_equal(e.msg, "metric mean takes one value per sample");
    assert_int_equal(metric_find("acuracy", &kind, &e), -1);
    assert_string_equal(e.msg, "unknown metric \"acuracy\" (did you mean \"accuracy\"?); "
                        "docs/keras.md lists them");
    assert_int_equal(metric_find("AUC", &kind, &e), 0);
    assert_int_equal(kind, METRIC_AUC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(sparse_categorical_accuracy), UNIT(categorical_accuracy), UNIT(binary_accuracy),
        UNIT(sparse_top_k), UNIT(top_k), UNIT(mean_squared_error), UNIT(mean_absolute_error),
        UNIT(root_mean_squared_error), UNIT(precision_and_recall), UNIT(area_under_the_curve),
        UNIT(mean_iou), UNIT(mean_and_sum_of_values), UNIT(binary_metrics_take_logits),
        UNIT(results_are_those_that_keras_gives), UNIT(all_run_on_the_core), UNIT(accuracy_is_chosen_by_shapes),
        UNIT(what_does_not_fit_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
