/* Names and checks metrics, and adds their state to a variable set. */
#include "keras/loss/metric.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "keras/layers/layer_impl.h"
#include "keras/loss/metric_impl.h"

#define EPSILON 1e-7                    /* how far AUC's outer thresholds are outside of 0..1 */
#define EVEN_LEAST 3                    /* thresholds that can be evenly spread */

enum label_form { NONE, SPARSE, LIKE, TABLE };

static const struct {
    struct kind_names is;
    enum label_form labels;
    const char *states;
} kinds[] = {
#define METRIC(id, name, class, labels, update, states, meaning) {{name, class}, labels, states},
#include "keras/loss/metrics.def"
};

static const struct kind_alias aliases[] = {
#define ALIAS(metric, name) {name, METRIC_##metric},
#include "keras/loss/metrics.def"
};

static const struct taken taken[] = {
#define TAKES(metric, argument, value) {METRIC_##metric, ARGUMENT_##argument, value},
#include "keras/loss/metrics.def"
};

struct taken_list metric_arguments(void)
{
    return (struct taken_list){taken, COUNT_OF(taken)};
}

struct metric metric_standard(enum metric_kind kind)
{
    struct metric m = {.kind = kind, .name = kinds[kind].is.name};

    arguments_standard(&m.with, metric_arguments(), (int)kind);
    return m;
}

int metric_find(const char *name, enum metric_kind *kind, struct err *e)
{
    static const struct kind_table table = {"metric", &kinds[0].is, sizeof(*kinds),
                                            COUNT_OF(kinds), aliases, COUNT_OF(aliases)};
    int i = kind_find(&table, name, e);

    *kind = (enum metric_kind)i;
    return i < 0 ? -1 : 0;
}

static int64_t last_dim(const struct shape *s)
{
    return s->rank > 0 ? s->dim[s->rank - 1] : 1;
}

enum metric_kind metric_accuracy(const struct shape *label, const struct shape *prediction)
{
    if (last_dim(prediction) == 1)
        return METRIC_BINARY_ACCURACY;
    if (label->rank < prediction->rank || last_dim(label) == 1)
        return METRIC_SPARSE_CATEGORICAL_ACCURACY;
    return METRIC_CATEGORICAL_ACCURACY;
}

/* ---- what several files ask ---- */

int metric_threshold_count(const struct metric *m)
{
    int own = m->with.thresholds.count;

    if (m->kind == METRIC_AUC && own)
        return own + 2;
    return own ? own : m->with.num_thresholds > 0 ? (int)m->with.num_thresholds : 1;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

static bool are_even(const float *value, int count)
{
    for (int i = 0; i < count; i++)
        if (fabs((double)value[i] - (double)i / (count - 1)) > EPSILON + 1e-5 * i / (count - 1))
            return false;
    return count >= EVEN_LEAST;
}

float *metric_thresholds(const struct metric *m, struct arena *a)
{
    const struct number_list *own = &m->with.thresholds;
    int count = metric_threshold_count(m), first = m->kind == METRIC_AUC;
    float *value = arena_array(a, (size_t)count, sizeof(*value));

    value[0] = isnan(m->with.top_k) ? 0.5f : -1e10f;
    for (int i = 0; i < count && count > 1; i++)
        value[i] = (float)((double)i / (double)(count - 1));
    for (int i = 0; i < own->count; i++)
        value[first + i] = (float)own->value[i];
    if (m->kind == METRIC_AUC && own->count)
        qsort(value + first, (size_t)own->count, sizeof(*value), compare_floats);
    if (are_even(value, count))
        value[count - 1] = INFINITY;
    if (m->kind == METRIC_AUC) {
        value[0] = are_even(value, count - 1) ? -INFINITY : (float)-EPSILON;
        value[count - 1] = (float)(1.0 + EPSILON);
    }
    return value;
}

const char *metric_state(const struct metric *m, int i, struct arena *a)
{
    const char *at = kinds[m->kind].states;

    for (; i > 0; i--)
        at += strcspn(at, " ") + 1;
    return arena_printf(a, "%.*s", (int)strcspn(at, " "), at);
}

bool metric_has_rows(const struct metric *m, int label_rank, int prediction_rank)
{
    return m->with.sparse_y_pred == 0 || (m->with.sparse_y_true != 0 &&
                                          label_rank < prediction_rank);
}

int64_t metric_classes(const struct metric *m, const struct shape *prediction)
{
    if (m->kind == METRIC_BINARY_IOU)
        return 2;
    return m->with.num_classes > 0 ? (int64_t)m->with.num_classes : last_dim(prediction);
}

/* ---- checks ---- */

/* a table's: the places of labels must be as many as those of predictions */
static bool fits_table(const struct metric *m, const struct shape *label,
                       const struct shape *prediction)
{
    int64_t y = shape_elems(label), p = shape_elems(prediction);

    if (m->with.sparse_y_true == 0)
        y /= last_dim(label);
    return y == (metric_has_rows(m, label->rank, prediction->rank) ? p / last_dim(prediction) : p);
}

static int check_labels(const struct metric *m, const struct shape *label,
                        const struct shape *prediction, struct err *e)
{
    struct shape wanted = *prediction, is = *label;
    char first[160], second[160], third[160];

    if (kinds[m->kind].labels == TABLE && fits_table(m, label, prediction))
        return 0;
    if (kinds[m->kind].labels == SPARSE || (kinds[m->kind].labels == TABLE &&
                                            m->with.sparse_y_true != 0)) {
        wanted.rank--;
        if (is.rank == wanted.rank + 1 && is.dim[is.rank - 1] == 1)
            is.rank--;
    }
    if (kinds[m->kind].labels != TABLE && shape_same_dims(&wanted, &is))
        return 0;
    return err_set(e, "metric %s: labels of shape %s do not fit predictions of shape %s (of a "
                   "sample each); they must be %s", m->name,
                   layer_shape_text(label, first, sizeof(first)),
                   layer_shape_text(prediction, second, sizeof(second)),
                   layer_shape_text(&wanted, third, sizeof(third)));
}

/* a number of classes that predictions must have */
static int check_place(const struct metric *m, const char *what, double value, int64_t classes,
                       double least, struct err *e)
{
    if (!(value > 0) || value <= (double)classes - (least > 0 ? 0 : 1))
        return 0;
    return err_set(e, "metric %s: %s is %g, not in %g..%g, the classes", m->name, what, value,
                   least, (double)classes - (least > 0 ? 0 : 1));
}

static int check_lists(const struct metric *m, const struct shape *prediction, struct err *e)
{
    const struct number_list *ids = &m->with.target_class_ids, *axis = &m->with.axis;
    int64_t classes = metric_classes(m, prediction);

    for (int i = 0; i < ids->count; i++)
        if (check_place(m, "target_class_ids", ids->value[i], classes, 0, e))
            return -1;
    if (m->with.label_weights.count && m->with.label_weights.count != last_dim(prediction))
        return err_set(e, "metric %s: there are %d label_weights of %lld labels", m->name,
                       m->with.label_weights.count, (long long)last_dim(prediction));
    for (int i = 0; i < axis->count; i++) {
        double at = axis->value[i] < 0 ? axis->value[i] + prediction->rank + 1 : axis->value[i];

        if (axis->count == 1 && axis->value[0] == -1)
            break;
        if (axis->count > 1 || at < 1 || at > prediction->rank)
            return err_set(e, "metric %s: axis is %g; batches of predictions have %d dimensions, "
                           "and the first is the batch's", m->name, axis->value[i],
                           prediction->rank + 1);
    }
    return 0;
}

/* scores by class are of vectors */
static int check_rank(const struct metric *m, const struct shape *prediction, struct err *e)
{
    bool is_vector = m->kind == METRIC_F1_SCORE || m->kind == METRIC_FBETA_SCORE ||
                     m->kind == METRIC_R2_SCORE || m->with.multi_label != 0;

    if (!is_vector || prediction->rank == 1)
        return 0;
    return err_set(e, "metric %s: predictions have %d dimensions; they are vectors", m->name,
                   prediction->rank);
}

static int check_number(const struct metric *m, const struct shape *prediction, struct err *e)
{
    int64_t classes = last_dim(prediction);

    if (arguments_check(&m->with, metric_arguments(), (int)m->kind, m->name, e) ||
        check_place(m, "k", m->with.k, classes, 1, e) ||
        check_place(m, "top_k", m->with.top_k, classes, 1, e) ||
        check_place(m, "class_id", m->with.class_id, classes, 0, e) ||
        check_rank(m, prediction, e) || check_lists(m, prediction, e))
        return -1;
    if (m->kind == METRIC_AUC && metric_threshold_count(m) < 2)
        return err_set(e, "metric %s: %g thresholds, not in 2..10000", m->name,
                       m->with.num_thresholds);
    return 0;
}

int metric_check(const struct metric *m, const struct shape *label,
                 const struct shape *prediction, struct err *e)
{
    if (kinds[m->kind].labels == NONE)
        return prediction->rank == 0
                   ? 0 : err_set(e, "metric %s takes one value per sample", m->name);
    if (prediction->rank < 1 && (kinds[m->kind].labels != TABLE || m->with.sparse_y_pred == 0))
        return err_set(e, "metric %s: predictions are single numbers; they need a last dimension",
                       m->name);
    return check_labels(m, label, prediction, e) || check_number(m, prediction, e) ? -1 : 0;
}

/* ---- state ---- */

int metric_check_name(const struct metric *m, const struct variable_set *set, struct err *e)
{
    size_t length = strlen(m->name);

    for (int i = 0; i < set->count; i++)
        if (strncmp(set->variable[i].name, m->name, length) == 0 &&
            set->variable[i].name[length] == '/')
            return err_set(e, "metric %s: there is a variable \"%s\" already; give the metric "
                           "another name", m->name, set->variable[i].name);
    return 0;
}

bool metric_sums_by_prediction(const struct metric *m)
{
    switch (m->kind) {
    case METRIC_R2_SCORE:
        return true;
    case METRIC_F1_SCORE:
    case METRIC_FBETA_SCORE:
        return m->with.average != AVERAGE_MICRO;
    case METRIC_AUC:
        return m->with.multi_label != 0;
    default:
        return kinds[m->kind].labels == TABLE;
    }
}

/* of the i-th variable */
static struct shape state_shape(const struct metric *m, int i, const struct shape *prediction)
{
    int64_t classes = metric_classes(m, prediction), labels = last_dim(prediction);
    int64_t thresholds = metric_threshold_count(m);

    switch (m->kind) {
    case METRIC_R2_SCORE:
        return i ? shape_make(DTYPE_F32, 1, &labels) : shape_scalar(DTYPE_F32);
    case METRIC_F1_SCORE:
    case METRIC_FBETA_SCORE:
        return m->with.average == AVERAGE_MICRO ? shape_scalar(DTYPE_F32)
                                                : shape_make(DTYPE_F32, 1, &labels);
    case METRIC_AUC:
        if (m->with.multi_label != 0)
            return shape_make(DTYPE_F32, SIZES(labels, thresholds));
        return shape_make(DTYPE_F32, 1, &thresholds);
    default: break;
    }
    if (kinds[m->kind].labels == TABLE || m->kind == METRIC_BINARY_IOU)
        return shape_make(DTYPE_F32, SIZES(classes, classes));
    return thresholds > 1 ? shape_make(DTYPE_F32, 1, &thresholds) : shape_scalar(DTYPE_F32);
}

void metric_build(struct metric *m, struct variable_set *set, const struct shape *prediction)
{
    m->variable_count = 1;
    for (const char *at = kinds[m->kind].states; *at; at++)
        m->variable_count += *at == ' ';
    for (int i = 0; i < m->variable_count; i++)
        m->variable[i] = variable_add(set, &(struct variable){
            .name = arena_printf(set->arena, "%s/%s", m->name, metric_state(m, i, set->arena)),
            .shape = state_shape(m, i, prediction),
            .sync = SYNC_ON_READ, .aggregation = AGGREGATION_SUM,
            .initializer = {.kind = INITIALIZER_ZEROS}, .of = -1, .shard_dim = -1});
}
