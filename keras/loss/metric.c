/*
 * Names and checks metrics, adds their state to a variable set, and computes their results on the
 * host.
 */
#include "keras/loss/metric.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/layers/layer_impl.h"

enum label_form { NONE, SPARSE, LIKE };

static const struct {
    const char *name, *class;
    enum label_form labels;
    int states;
    double number;
} kinds[] = {
#define METRIC(id, name, class, labels, states, number, meaning) \
    {name, class, labels, states, number},
#include "keras/loss/metrics.def"
};

static const struct {
    const char *name;
    enum metric_kind kind;
} short_names[] = {
    {"mse", METRIC_MEAN_SQUARED_ERROR}, {"mae", METRIC_MEAN_ABSOLUTE_ERROR},
    {"rmse", METRIC_ROOT_MEAN_SQUARED_ERROR}, {"AUC", METRIC_AUC},
};

struct metric metric_standard(enum metric_kind kind)
{
    return (struct metric){.kind = kind, .name = kinds[kind].name, .number = kinds[kind].number};
}

int metric_find(const char *name, enum metric_kind *kind, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, &short_names[0].name, sizeof(*short_names), COUNT_OF(short_names),
                      near);

    if (i >= 0) {
        *kind = short_names[i].kind;
        return 0;
    }
    i = text_find(name, &kinds[0].class, sizeof(*kinds), COUNT_OF(kinds), near);
    if (i < 0)
        i = text_find(name, &kinds[0].name, sizeof(*kinds), COUNT_OF(kinds), near);
    if (i < 0)
        return err_set(e, "unknown metric \"%s\"%s; docs/keras.md lists them", name, near);
    *kind = (enum metric_kind)i;
    return 0;
}

static int64_t last_dim(const struct shape *s)
{
    return s->rank > 0 ? s->dim[s->rank - 1] : 1;
}

enum metric_kind metric_accuracy(const struct shape *label, const struct shape *prediction)
{
    if (last_dim(prediction) == 1)
        return METRIC_BINARY_ACCURACY;
    if (shape_same_dims(label, prediction))
        return METRIC_CATEGORICAL_ACCURACY;
    return METRIC_SPARSE_CATEGORICAL_ACCURACY;
}

/* ---- checks ---- */

static int check_labels(const struct metric *m, const struct shape *label,
                        const struct shape *prediction, struct err *e)
{
    struct shape wanted = *prediction, is = *label;
    char first[160], second[160], third[160];

    if (kinds[m->kind].labels == SPARSE) {
        wanted.rank--;
        if (is.rank == wanted.rank + 1 && is.dim[is.rank - 1] == 1)
            is.rank--;
    }
    if (shape_same_dims(&wanted, &is))
        return 0;
    return err_set(e, "metric %s: labels of shape %s do not fit predictions of shape %s (of a "
                   "sample each); they must be %s", m->name,
                   layer_shape_text(label, first, sizeof(first)),
                   layer_shape_text(prediction, second, sizeof(second)),
                   layer_shape_text(&wanted, third, sizeof(third)));
}

static int check_number(const struct metric *m, const struct shape *prediction, struct err *e)
{
    int64_t classes = last_dim(prediction);

    switch (m->kind) {
    case METRIC_BINARY_ACCURACY:
    case METRIC_PRECISION:
    case METRIC_RECALL:
        if (!(m->number >= 0.0 && m->number <= 1.0))
            return err_set(e, "metric %s: the threshold is %g, not in 0..1", m->name, m->number);
        break;
    case METRIC_SPARSE_TOP_K:
    case METRIC_TOP_K:
        if (!(m->number >= 1.0 && m->number <= (double)classes))
            return err_set(e, "metric %s: k is %g, not in 1..%lld, the classes", m->name,
                           m->number, (long long)classes);
        break;
    case METRIC_AUC:
        if (!(m->number >= 2.0 && m->number <= 10000.0))
            return err_set(e, "metric %s: %g thresholds, not in 2..10000", m->name, m->number);
        break;
    default: break;
    }
    return 0;
}

int metric_check(const struct metric *m, const struct shape *label,
                 const struct shape *prediction, struct err *e)
{
    if (kinds[m->kind].labels == NONE)
        return prediction->rank == 0
                   ? 0 : err_set(e, "metric %s takes one value per sample", m->name);
    if (prediction->rank < 1)
        return err_set(e, "metric %s: predictions are single numbers; they need a last dimension",
                       m->name);
    return check_labels(m, label, prediction, e) || check_number(m, prediction, e) ? -1 : 0;
}

/* ---- state ---- */

static const char *state_name(const struct metric *m, int i)
{
    static const char *const sums[] = {"total", "count"};
    static const char *const precision[] = {"true_positives", "false_positives"};
    static const char *const recall[] = {"true_positives", "false_negatives"};
    static const char *const auc[] = {"true_positives", "true_negatives", "false_positives",
                                      "false_negatives"};

    switch (m->kind) {
    case METRIC_PRECISION: return precision[i];
    case METRIC_RECALL: return recall[i];
    case METRIC_AUC: return auc[i];
    case METRIC_MEAN_IOU: return "total_confusion_matrix";
    default: return sums[i];
    }
}

void metric_build(struct metric *m, struct variable_set *set, const struct shape *prediction)
{
    int64_t classes = last_dim(prediction), count = (int64_t)m->number;
    struct shape shape = shape_scalar(DTYPE_F32);

    if (m->kind == METRIC_AUC)
        shape = shape_make(DTYPE_F32, 1, &count);
    if (m->kind == METRIC_MEAN_IOU)
        shape = shape_make(DTYPE_F32, SIZES(classes, classes));
    m->variable_count = kinds[m->kind].states;
    for (int i = 0; i < m->variable_count; i++)
        m->variable[i] = variable_add(set, &(struct variable){
            .name = arena_printf(set->arena, "%s/%s", m->name, state_name(m, i)), .shape = shape,
            .sync = SYNC_ON_READ, .aggregation = AGGREGATION_SUM,
            .initializer = {.kind = INITIALIZER_ZEROS}, .of = -1, .shard_dim = -1});
}

/* ---- results ---- */

/* Keras: 0 of nothing */
static double ratio(double part, double whole)
{
    return whole == 0.0 ? 0.0 : part / whole;
}

/* area under true positive rate over false positive rate */
static double area(const float *const *state, int64_t count)
{
    double sum = 0.0, rate[2], last[2] = {0, 0};

    for (int64_t i = 0; i < count; i++) {
        double tp = (double)state[0][i], tn = (double)state[1][i];
        double fp = (double)state[2][i], fn = (double)state[3][i];

        rate[0] = ratio(fp, fp + tn);
        rate[1] = ratio(tp, tp + fn);
        if (i > 0)
            sum += (last[0] - rate[0]) * (last[1] + rate[1]) / 2.0;
        memcpy(last, rate, sizeof(last));
    }
    return sum;
}

/* rows are labels, columns predictions */
static double mean_iou(const float *table, int64_t classes)
{
    double sum = 0.0;
    int64_t present = 0;

    for (int64_t c = 0; c < classes; c++) {
        double all = -(double)table[c * classes + c];

        for (int64_t i = 0; i < classes; i++)
            all += (double)table[c * classes + i] + (double)table[i * classes + c];
        sum += ratio((double)table[c * classes + c], all);
        present += all > 0.0;
    }
    return ratio(sum, (double)present);
}

double metric_result(const struct metric *m, const struct variable_set *set,
                     const float *const *state)
{
    const struct shape *shape = &set->variable[m->variable[0]].shape;

    switch (m->kind) {
    case METRIC_SUM: return (double)state[0][0];
    case METRIC_PRECISION:
    case METRIC_RECALL:
        return ratio((double)state[0][0], (double)state[0][0] + (double)state[1][0]);
    case METRIC_AUC: return area(state, shape->dim[0]);
    case METRIC_MEAN_IOU: return mean_iou(state[0], shape->dim[0]);
    case METRIC_ROOT_MEAN_SQUARED_ERROR:
        return sqrt(ratio((double)state[0][0], (double)state[1][0]));
    default: return ratio((double)state[0][0], (double)state[1][0]);
    }
}
