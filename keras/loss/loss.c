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

enum label_form { SPARSE, LIKE };

static const struct {
    const char *name, *class;
    enum label_form labels;
    double delta;
} kinds[] = {
#define LOSS(id, name, class, labels, delta, meaning) {name, class, labels, delta},
#include "keras/loss/losses.def"
};

static const struct {
    const char *name;
    enum loss_kind kind;
} short_names[] = {
    {"mse", LOSS_MEAN_SQUARED_ERROR}, {"mae", LOSS_MEAN_ABSOLUTE_ERROR},
    {"mape", LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR}, {"msle", LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR},
    {"bce", LOSS_BINARY_CROSSENTROPY}, {"kld", LOSS_KL_DIVERGENCE}, {"logcosh", LOSS_LOG_COSH},
};

struct loss loss_standard(enum loss_kind kind)
{
    return (struct loss){.kind = kind, .delta = kinds[kind].delta};
}

const char *loss_name(enum loss_kind kind)
{
    return kinds[kind].name;
}

int loss_find(const char *name, enum loss_kind *kind, struct err *e)
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
        return err_set(e, "unknown loss \"%s\"%s; docs/keras.md lists them", name, near);
    *kind = (enum loss_kind)i;
    return 0;
}

/* ---- shapes ---- */

struct shape loss_label_shape(const struct loss *l, const struct shape *prediction)
{
    struct shape s = *prediction;

    s.dtype = kinds[l->kind].labels == SPARSE ? DTYPE_S32 : DTYPE_F32;
    if (kinds[l->kind].labels == SPARSE && s.rank > 0)
        s.rank--;
    return s;
}

int loss_check(const struct loss *l, const struct shape *label, const struct shape *prediction,
               struct err *e)
{
    struct shape wanted = loss_label_shape(l, prediction), is = *label;
    char first[160], second[160], third[160];

    if (prediction->rank < 1)
        return err_set(e, "loss %s: predictions are single numbers; they need a last dimension",
                       loss_name(l->kind));
    if (kinds[l->kind].labels == SPARSE && is.rank == wanted.rank + 1 &&
        is.dim[is.rank - 1] == 1)
        is.rank--;
    if (!shape_same_dims(&wanted, &is))
        return err_set(e, "loss %s: labels of shape %s do not fit predictions of shape %s (of a "
                       "sample each); they must be %s%s", loss_name(l->kind),
                       layer_shape_text(label, first, sizeof(first)),
                       layer_shape_text(prediction, second, sizeof(second)),
                       layer_shape_text(&wanted, third, sizeof(third)),
                       kinds[l->kind].labels == SPARSE ? ", numbers of classes" : "");
    if (!(l->label_smoothing >= 0.0 && l->label_smoothing <= 1.0))
        return err_set(e, "loss %s: label smoothing is %g, not in 0..1", loss_name(l->kind),
                       l->label_smoothing);
    if (l->kind == LOSS_HUBER && !(l->delta > 0.0))
        return err_set(e, "loss huber: delta is %g; it must be positive", l->delta);
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

static int row_values(struct graph *g, const struct loss *l, int y,
                      const struct model_result *prediction)
{
    int p = graph_convert(g, prediction->value, DTYPE_F32);

    switch (l->kind) {
    case LOSS_SPARSE_CATEGORICAL_CROSSENTROPY:
        return loss_sparse(g, l, row_labels(g, y, p), prediction);
    case LOSS_CATEGORICAL_CROSSENTROPY: return loss_categorical(g, l, y, prediction);
    case LOSS_BINARY_CROSSENTROPY: return loss_binary(g, l, y, prediction);
    default: return loss_regression(g, l, graph_convert(g, y, DTYPE_F32), p);
    }
}

int loss_values(struct graph *g, const struct loss *l, int labels,
                const struct model_result *prediction)
{
    int x = row_values(g, l, labels, prediction);
    int rank = g->node[x].shape.rank;

    assert(rank >= 1);
    return rank == 1 ? x : nn_mean(g, x, (1u << rank) - 2);
}

int loss_sum(struct graph *g, int values, int weights)
{
    if (weights != NODE_NONE)
        values = nn_multiply(g, values, graph_convert(g, weights, DTYPE_F32));
    return graph_reduce(g, REDUCE_ADD, values, 1);
}
