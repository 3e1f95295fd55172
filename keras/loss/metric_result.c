/* Computes on the host what a metric's sums say: shares, areas under curves, scores by class. */
#include "keras/loss/metric.h"

#include <string.h>

#include "base/units.h"
#include "keras/loss/metric_impl.h"

#define EPSILON 1e-7

/* Keras: 0 of nothing */
static double ratio(double part, double whole)
{
    return whole == 0.0 ? 0.0 : part / whole;
}

/* ---- counts at thresholds: [0] true positives, [1] true negatives, [2], [3] false ones ---- */

struct counts { double tp, tn, fp, fn; };

static struct counts counts_at(const float *const *state, int64_t i)
{
    return (struct counts){(double)state[0][i], (double)state[1][i], (double)state[2][i],
                           (double)state[3][i]};
}

static double recall(const struct counts *c) { return ratio(c->tp, c->tp + c->fn); }
static double precision(const struct counts *c) { return ratio(c->tp, c->tp + c->fp); }
static double specificity(const struct counts *c) { return ratio(c->tn, c->tn + c->fp); }

/* where the curve is at these counts */
static void curve_point(const struct metric *m, const struct counts *c, double *x, double *y)
{
    double scale = ratio(c->tp + c->fn, c->tn + c->fp);

    if (m->with.curve == CURVE_ROC) {
        *x = ratio(c->fp, c->fp + c->tn);
        *y = recall(c);
    } else if (m->with.curve == CURVE_PR) {
        *x = recall(c);
        *y = precision(c);
    } else {
        *x = c->tp == 0 ? 0 : fmax(0, 1 - scale * ratio(c->fn, c->tp));
        *y = c->tp == 0 ? 1 : 1 - scale * ratio(c->fp, c->tp);
    }
}

/* of precision over recall between two thresholds, true positives being linear in positives */
static double precision_area(const struct counts *a, const struct counts *b)
{
    double before = a->tp + a->fp, behind = b->tp + b->fp;
    double slope = ratio(a->tp - b->tp, fmax(before - behind, 0)), at = b->tp - slope * behind;
    double grows = before > 0 && behind > 0 ? before / behind : 1;

    return ratio(slope * (a->tp - b->tp + at * log(grows)), fmax(b->tp + b->fn, 0));
}

static double area(const struct metric *m, const float *const *state, int64_t first, int64_t count)
{
    double sum = 0, x[2], y[2];

    for (int64_t i = 1; i < count; i++) {
        struct counts a = counts_at(state, first + i - 1), b = counts_at(state, first + i);

        curve_point(m, &a, &x[0], &y[0]);
        curve_point(m, &b, &x[1], &y[1]);
        if (m->with.summation_method == SUMMATION_MINORING)
            sum += (x[0] - x[1]) * fmin(y[0], y[1]);
        else if (m->with.summation_method == SUMMATION_MAJORING)
            sum += (x[0] - x[1]) * fmax(y[0], y[1]);
        else if (m->with.curve == CURVE_PR)
            sum += precision_area(&a, &b);
        else
            sum += (x[0] - x[1]) * (y[0] + y[1]) / 2.0;
    }
    return sum;
}

/* the mean over labels where there is a curve for each */
static double areas(const struct metric *m, const float *const *state, const struct shape *s)
{
    int64_t labels = s->rank > 1 ? s->dim[0] : 1, count = s->dim[s->rank - 1];
    const struct number_list *weight = &m->with.label_weights;
    double sum = 0, all = 0;

    for (int64_t i = 0; i < labels; i++) {
        double w = labels > 1 && weight->count ? weight->value[i] : 1;

        sum += w * area(m, state, i * count, count);
        all += w;
    }
    return ratio(sum, all);
}

/* the largest of one rate where the other is at least what is wanted */
static double best_at(const struct metric *m, const float *const *state, int64_t count)
{
    double best = 0;

    for (int64_t i = 0; i < count; i++) {
        struct counts c = counts_at(state, i);
        double wanted = 0, has = 0, value = 0;

        switch (m->kind) {
        case METRIC_SENSITIVITY_AT_SPECIFICITY:
            wanted = m->with.specificity, has = specificity(&c), value = recall(&c);
            break;
        case METRIC_SPECIFICITY_AT_SENSITIVITY:
            wanted = m->with.sensitivity, has = recall(&c), value = specificity(&c);
            break;
        case METRIC_PRECISION_AT_RECALL:
            wanted = m->with.recall, has = recall(&c), value = precision(&c);
            break;
        default:
            wanted = m->with.precision, has = precision(&c), value = recall(&c);
            break;
        }
        if ((float)has >= (float)wanted)        /* Keras compares in f32 */
            best = fmax(best, value);
    }
    return best;
}

/* ---- by class ---- */

/* rows are labels, columns predictions */
static double mean_iou(const struct metric *m, const float *table, int64_t classes)
{
    const struct number_list *ids = &m->with.target_class_ids;
    int64_t count = ids->count ? ids->count : classes, present = 0;
    double sum = 0.0;

    for (int64_t k = 0; k < count; k++) {
        int64_t c = ids->count ? (int64_t)ids->value[k] : k;
        double all = -(double)table[c * classes + c];

        for (int64_t i = 0; i < classes; i++)
            all += (double)table[c * classes + i] + (double)table[i * classes + c];
        sum += ratio((double)table[c * classes + c], all);
        present += all > 0.0;
    }
    return ratio(sum, (double)present);
}

static double f_score(const struct metric *m, const float *const *state, int64_t i)
{
    double beta = m->kind == METRIC_F1_SCORE ? 1 : m->with.beta * m->with.beta;
    double hits = (double)state[0][i], p = hits / (hits + (double)state[1][i] + EPSILON);
    double r = hits / (hits + (double)state[2][i] + EPSILON);

    return p * r / (beta * p + r + EPSILON) * (1 + beta);
}

static int f_scores(const struct metric *m, const float *const *state, int64_t classes,
                    double *list)
{
    double sum = 0, all = 0;

    for (int64_t i = 0; i < classes; i++) {
        double weight = m->with.average == AVERAGE_WEIGHTED ? (double)state[3][i] : 1;

        list[i] = f_score(m, state, i);
        sum += list[i] * weight;
        all += weight;
    }
    if (isnan(m->with.average))
        return (int)classes;
    list[0] = sum / (all + (m->with.average == AVERAGE_WEIGHTED ? EPSILON : 0));
    return 1;
}

static int r2_scores(const struct metric *m, const float *const *state, int64_t classes,
                     double *list)
{
    double samples = (double)state[0][0], p = m->with.num_regressors, sum = 0, all = 0;
    int count = isnan(m->with.class_aggregation) ? (int)classes : 1;

    for (int64_t i = 0; i < classes; i++) {
        double y = (double)state[2][i], total = (double)state[1][i] - ratio(y * y,
                                                                            (double)state[4][i]);
        double weight = m->with.class_aggregation == AGGREGATE_BY_VARIANCE ? total : 1;

        list[i] = 1 - (double)state[3][i] / total;
        if (!isfinite(list[i]))
            list[i] = 0;
        sum += weight * list[i];
        all += weight;
    }
    if (count == 1)
        list[0] = ratio(sum, all);
    for (int i = 0; i < count && p > 0 && p < samples - 1; i++)
        list[i] = 1 - (1 - list[i]) * (samples - 1) / (samples - p - 1);
    return count;
}

/* ---- all of them ---- */

int metric_results(const struct metric *m, const struct variable_set *set,
                   const float *const *state, struct arena *a, double **list)
{
    const struct shape *shape = &set->variable[m->variable[m->variable_count - 1]].shape;
    int64_t count = shape_elems(shape);
    double *to = *list = arena_array(a, (size_t)count, sizeof(*to));

    switch (m->kind) {
    case METRIC_F1_SCORE:
    case METRIC_FBETA_SCORE: return f_scores(m, state, count, to);
    case METRIC_R2_SCORE: return r2_scores(m, state, count, to);
    case METRIC_PRECISION:
    case METRIC_RECALL:
        for (int64_t i = 0; i < count; i++)
            to[i] = ratio((double)state[0][i], (double)state[0][i] + (double)state[1][i]);
        return (int)count;
    case METRIC_TRUE_POSITIVES:
    case METRIC_TRUE_NEGATIVES:
    case METRIC_FALSE_POSITIVES:
    case METRIC_FALSE_NEGATIVES:
        for (int64_t i = 0; i < count; i++)
            to[i] = (double)state[0][i];
        return (int)count;
    case METRIC_SUM: to[0] = (double)state[0][0]; break;
    case METRIC_AUC: to[0] = areas(m, state, shape); break;
    case METRIC_SENSITIVITY_AT_SPECIFICITY:
    case METRIC_SPECIFICITY_AT_SENSITIVITY:
    case METRIC_PRECISION_AT_RECALL:
    case METRIC_RECALL_AT_PRECISION: to[0] = best_at(m, state, count); break;
    case METRIC_MEAN_IOU:
    case METRIC_IOU:
    case METRIC_BINARY_IOU:
    case METRIC_ONE_HOT_IOU:
    case METRIC_ONE_HOT_MEAN_IOU: to[0] = mean_iou(m, state[0], shape->dim[0]); break;
    case METRIC_ROOT_MEAN_SQUARED_ERROR:
        to[0] = sqrt(ratio((double)state[0][0], (double)state[1][0]));
        break;
    default: to[0] = ratio((double)state[0][0], (double)state[1][0]); break;
    }
    return 1;
}

double metric_result(const struct metric *m, const struct variable_set *set,
                     const float *const *state)
{
    struct arena a;
    double *list, sum = 0;
    int count;

    arena_init(&a);
    count = metric_results(m, set, state, &a, &list);
    for (int i = 0; i < count; i++)
        sum += list[i];
    arena_fini(&a);
    return sum / count;
}
