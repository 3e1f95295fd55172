/*
 * Writes losses into a graph: a value per sample from the kind's formula, then the weighted mean.
 */
#include "keras/loss/loss.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/layers/layer_impl.h"
#include "keras/loss/loss_impl.h"

enum label_form { SPARSE, LIKE, LABELS };

static const struct {
    struct kind_names is;
    enum label_form labels;
} kinds[] = {
#define LOSS(id, name, class, labels, meaning) {{name, class}, labels},
#include "keras/loss/losses.def"
};

static const struct kind_alias aliases[] = {
#define ALIAS(loss, name) {name, LOSS_##loss},
#include "keras/loss/losses.def"
};

static const struct taken taken[] = {
#define TAKES(loss, argument, value) {LOSS_##loss, ARGUMENT_##argument, value},
#include "keras/loss/losses.def"
};

struct taken_list loss_arguments(void)
{
    return (struct taken_list){taken, COUNT_OF(taken)};
}

struct loss loss_standard(enum loss_kind kind)
{
    struct loss l = {.kind = kind};

    arguments_standard(&l.with, loss_arguments(), (int)kind);
    return l;
}

const char *loss_name(enum loss_kind kind)
{
    return kinds[kind].is.name;
}

int loss_find(const char *name, enum loss_kind *kind, struct err *e)
{
    static const struct kind_table table = {"loss", &kinds[0].is, sizeof(*kinds),
                                            COUNT_OF(kinds), aliases, COUNT_OF(aliases)};
    int i = kind_find(&table, name, e);

    *kind = (enum loss_kind)i;
    return i < 0 ? -1 : 0;
}

/* ---- shapes ---- */

static bool is_over_batch(enum loss_kind kind)
{
    return kind == LOSS_DICE || kind == LOSS_TVERSKY || kind == LOSS_CIRCLE;
}

/* which dimension of samples of this rank, -1: the batch; counted from behind where negative */
static int dimension(double axis, int rank)
{
    return axis < 0 ? (int)axis + rank : (int)axis - 1;
}

/* of samples: the dimension along which rows lie */
static int row_dimension(const struct loss *l, int rank)
{
    return l->with.axis.count && !is_over_batch(l->kind) ? dimension(l->with.axis.value[0], rank)
                                                          : rank - 1;
}

struct shape loss_label_shape(const struct loss *l, const struct shape *prediction)
{
    struct shape s = *prediction;
    int d = row_dimension(l, s.rank);

    s.dtype = kinds[l->kind].labels == LIKE ? DTYPE_F32 : DTYPE_S32;
    if (kinds[l->kind].labels == LIKE || s.rank < 1)
        return s;
    s.rank--;
    if (kinds[l->kind].labels == SPARSE)
        memmove(s.dim + d, s.dim + d + 1, (size_t)(s.rank - d) * sizeof(*s.dim));
    return s;
}

static int check_axes(const struct loss *l, int rank, struct err *e)
{
    const struct number_list *axis = &l->with.axis;
    bool may_be_batch = is_over_batch(l->kind);

    if (axis->count > 1 && !may_be_batch)
        return err_set(e, "loss %s: axis has %d numbers; it is one", loss_name(l->kind),
                       axis->count);
    for (int i = 0; i < axis->count; i++) {
        int d = dimension(axis->value[i], rank);

        if (d < (may_be_batch ? -1 : 0) || d >= rank)
            return err_set(e, "loss %s: axis is %g; batches of predictions have %d dimensions%s",
                           loss_name(l->kind), axis->value[i], rank + 1,
                           may_be_batch ? "" : ", and the first is the batch's");
    }
    return 0;
}

static int check_numbers(const struct loss *l, const struct shape *prediction, struct err *e)
{
    int64_t last = prediction->dim[prediction->rank - 1];
    int alphas = l->with.alpha.count;

    if (alphas > 1 && (l->kind != LOSS_CATEGORICAL_FOCAL_CROSSENTROPY || alphas != last))
        return err_set(e, "loss %s: alpha has %d numbers; it has one%s", loss_name(l->kind), alphas,
                       l->kind == LOSS_CATEGORICAL_FOCAL_CROSSENTROPY ? ", or one per class" : "");
    if (l->kind == LOSS_CIRCLE && prediction->rank != 1)
        return err_set(e, "loss circle: predictions have %d dimensions; they are vectors",
                       prediction->rank);
    if (l->kind == LOSS_CTC && prediction->rank != 2)
        return err_set(e, "loss ctc: predictions have %d dimensions; they are steps of classes",
                       prediction->rank);
    return arguments_check(&l->with, loss_arguments(), (int)l->kind,
                           loss_name(l->kind), e);
}

int loss_check(const struct loss *l, const struct shape *label, const struct shape *prediction,
               struct err *e)
{
    bool is_sparse = kinds[l->kind].labels == SPARSE;
    struct shape wanted, is = *label;
    char first[160], second[160], third[160];

    if (prediction->rank < 1)
        return err_set(e, "loss %s: predictions are single numbers; they need a last dimension",
                       loss_name(l->kind));
    if (check_axes(l, prediction->rank, e))
        return -1;
    wanted = loss_label_shape(l, prediction);
    if (is_sparse && is.rank == wanted.rank + 1 && is.dim[is.rank - 1] == 1)
        is.rank--;
    if (!shape_same_dims(&wanted, &is))
        return err_set(e, "loss %s: labels of shape %s do not fit predictions of shape %s (of a "
                       "sample each); they must be %s%s", loss_name(l->kind),
                       layer_shape_text(label, first, sizeof(first)),
                       layer_shape_text(prediction, second, sizeof(second)),
                       layer_shape_text(&wanted, third, sizeof(third)),
                       kinds[l->kind].labels == LIKE ? "" : ", numbers of classes");
    return check_numbers(l, prediction, e);
}

int loss_check_masked(const struct loss *l, const struct shape *prediction, struct err *e)
{
    const char *name = loss_name(l->kind);

    if (is_over_batch(l->kind) || l->kind == LOSS_CTC)
        return err_set(e, "loss %s is not of steps, of which it could leave masked ones out", name);
    if (prediction->rank != 2 || row_dimension(l, 2) != 1)
        return err_set(e, "loss %s of masked steps: predictions have %d dimensions%s; they must be "
                       "steps of numbers, and the loss along these", name, prediction->rank,
                       prediction->rank == 2 ? " and the loss goes along steps" : "");
    return 0;
}

/* ---- values ---- */

int loss_mean_last(struct graph *g, int x)
{
    return nn_mean(g, x, 1u << (g->node[x].shape.rank - 1));
}

int loss_sum_last(struct graph *g, int x)
{
    return graph_reduce(g, REDUCE_ADD, x, 1u << (g->node[x].shape.rank - 1));
}

int loss_spread_last(struct graph *g, int rows, int like)
{
    struct shape s = g->node[like].shape;
    int dims[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++)
        dims[i] = i;
    s.dtype = g->node[rows].shape.dtype;
    return graph_broadcast(g, rows, s, dims);
}

int loss_clip(struct graph *g, int x, double low, double high)
{
    x = graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, low));
    return high >= HUGE_BOUND ? x : graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, high));
}

int loss_spread_first(struct graph *g, int samples, int like)
{
    struct shape s = g->node[like].shape;

    s.dtype = g->node[samples].shape.dtype;
    return s.rank == 1 ? samples : graph_broadcast(g, samples, s, (int[]){0});
}

int loss_one_hot(struct graph *g, int labels, int like)
{
    struct shape s = g->node[like].shape;
    int is, place;

    s.dtype = DTYPE_S32;
    place = graph_iota(g, s, s.rank - 1);
    is = graph_compare(g, COMPARE_EQ, loss_spread_last(g, labels, like), place);
    return graph_convert(g, is, DTYPE_F32);
}

/* sparse labels as rows of the predictions, whether they have a dimension of 1 more or not */
static int row_labels(struct graph *g, int labels, int prediction)
{
    struct shape s = g->node[prediction].shape;

    s.rank--;
    s.dtype = g->node[labels].shape.dtype;
    if (g->node[labels].shape.rank != s.rank)
        labels = graph_reshape(g, labels, s);
    return graph_convert(g, labels, DTYPE_S32);
}

/* rows lie along the last dimension from here on */
static int turn_rows(struct graph *g, int x, int from)
{
    int rank = g->node[x].shape.rank, dims[GRAPH_RANK_MAX];

    if (from == rank - 1)
        return x;
    for (int d = 0; d < rank; d++)
        dims[d] = d < from ? d : d + 1 < rank ? d + 1 : from;
    return graph_transpose(g, x, dims);
}

static bool ignores_rows(const struct loss *l)
{
    return l->kind == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY && !isnan(l->with.ignore_class);
}

int loss_rows(struct graph *g, const struct loss *l, int labels,
              const struct model_result *prediction, int *counted)
{
    int rank = g->node[prediction->value].shape.rank, axis = row_dimension(l, rank - 1) + 1;
    double even = l->kind == LOSS_BINARY_CROSSENTROPY || l->kind == LOSS_BINARY_FOCAL_CROSSENTROPY
                      ? 0.5 : 1.0 / (double)g->node[prediction->value].shape.dim[rank - 1];
    struct model_result turned = {turn_rows(g, prediction->value, axis), NODE_NONE,
                                  prediction->last, NODE_NONE};
    int p = graph_convert(g, turned.value, DTYPE_F32), y = labels, is;

    if (axis == rank - 1)               /* what a softmax along another dimension is of helps not */
        turned.logits = prediction->logits;
    *counted = prediction->mask;
    if (kinds[l->kind].labels == SPARSE)
        y = row_labels(g, y, p);
    else
        y = turn_rows(g, loss_smooth(g, l, y, even), axis);
    if (ignores_rows(l)) {
        is = graph_compare(g, COMPARE_NE, y, graph_splat(g, y, l->with.ignore_class));
        is = graph_convert(g, is, DTYPE_F32);
        *counted = *counted == NODE_NONE ? is : nn_multiply(g, is, *counted);
    }
    switch (l->kind) {
    case LOSS_SPARSE_CATEGORICAL_CROSSENTROPY: return loss_sparse(g, l, y, &turned);
    case LOSS_CATEGORICAL_CROSSENTROPY: return loss_categorical(g, l, y, &turned);
    case LOSS_BINARY_CROSSENTROPY: return loss_binary(g, l, y, &turned);
    case LOSS_BINARY_FOCAL_CROSSENTROPY: return loss_focal_binary(g, l, y, p);
    case LOSS_CATEGORICAL_FOCAL_CROSSENTROPY: return loss_focal_categorical(g, l, y, p);
    case LOSS_CATEGORICAL_GENERALIZED_CROSS_ENTROPY: return loss_generalized(g, l, y, p);
    default: return loss_regression(g, l, y, p);
    }
}

/* f32 [batch]: 1 of samples that are there */
static int as_mask(struct graph *g, int there)
{
    if (there == NODE_NONE)
        return NODE_NONE;
    return graph_convert(g, graph_compare(g, COMPARE_NE, there, graph_splat(g, there, 0.0)),
                         DTYPE_F32);
}

static int sum_all(struct graph *g, int x)
{
    return graph_reduce(g, REDUCE_ADD, x, (1u << g->node[x].shape.rank) - 1);
}

/*
 * Rows that do not count are 0. In a mean those that count stand for them: times all of them over
 * how many they are, each as often as `share`, f32 [batch], says; a sum is of those that count, as
 * Keras has it.
 */
static int leave_out(struct graph *g, const struct loss *l, int rows, int counted, int share)
{
    int zeros = graph_splat(g, rows, 0.0);
    int counts = graph_compare(g, COMPARE_NE, counted, graph_splat(g, counted, 0.0));
    int all = graph_splat(g, rows, 1.0), some, total, zero;

    rows = graph_select(g, counts, rows, zeros);
    if (loss_is_sum(l))
        return rows;
    if (share != NODE_NONE)
        all = loss_spread_first(g, share, rows);
    some = sum_all(g, nn_multiply(g, counted, all));
    total = sum_all(g, all);
    total = graph_binary(g, HLO_DIVIDE, total, some);
    zero = graph_splat(g, some, 0.0);
    total = graph_select(g, graph_compare(g, COMPARE_EQ, some, zero), zero, total);
    return nn_multiply(g, rows, nn_spread(g, total, rows));
}

int loss_values(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction, int weights, int there)
{
    bool is_weighed = l->with.reduction == REDUCTION_MEAN_WITH_WEIGHTS && weights != NODE_NONE;
    int p = graph_convert(g, prediction->value, DTYPE_F32), counted, x, rank;

    if (is_over_batch(l->kind) || ignores_rows(l) || prediction->mask != NODE_NONE)
        there = as_mask(g, there);
    if (l->kind == LOSS_CTC)
        return loss_ctc(g, graph_convert(g, labels, DTYPE_S32), p);
    if (l->kind == LOSS_CIRCLE)
        return loss_circle(g, l, row_labels(g, labels, p), p, there);
    if (is_over_batch(l->kind))
        return loss_overlap(g, l, graph_convert(g, labels, DTYPE_F32), p, there);
    x = loss_rows(g, l, labels, prediction, &counted);
    if (counted != NODE_NONE)
        x = leave_out(g, l, x, counted,
                      is_weighed ? graph_convert(g, weights, DTYPE_F32) : there);
    rank = g->node[x].shape.rank;
    assert(rank >= 1);
    if (rank == 1)
        return x;
    return loss_is_sum(l) ? graph_reduce(g, REDUCE_ADD, x, (1u << rank) - 2)
                          : nn_mean(g, x, (1u << rank) - 2);
}

int loss_sum(struct graph *g, int values, int weights)
{
    if (weights != NODE_NONE)
        values = nn_multiply(g, values, graph_convert(g, weights, DTYPE_F32));
    return graph_reduce(g, REDUCE_ADD, values, 1);
}

int loss_weights(struct graph *g, const struct loss *l, int weights, int there)
{
    int sum, count, zero;

    if (l->with.reduction != REDUCTION_MEAN_WITH_WEIGHTS || weights == NODE_NONE)
        return weights;
    weights = graph_convert(g, weights, DTYPE_F32);
    count = there == NODE_NONE ? graph_splat(g, weights, 1.0) : as_mask(g, there);
    sum = sum_all(g, weights);
    count = graph_binary(g, HLO_DIVIDE, sum_all(g, count), sum);
    zero = graph_splat(g, sum, 0.0);
    count = graph_select(g, graph_compare(g, COMPARE_EQ, sum, zero), zero, count);
    return nn_multiply(g, weights, nn_spread(g, count, weights));
}

bool loss_is_sum(const struct loss *l)
{
    return l->with.reduction == REDUCTION_SUM;
}
