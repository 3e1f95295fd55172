/* Writes what a step adds to the sums of metrics. */
#include "keras/loss/loss_impl.h"
#include "keras/loss/metric.h"

#include <assert.h>

struct update {
    struct trace *t;
    struct graph *g;
    const struct metric *m;
    int y, p;                           /* labels; predictions, f32 */
    int weights;                        /* f32 [batch], or NODE_NONE */
};

static void add_state(struct update *u, int state, int node)
{
    int variable = u->m->variable[state];

    trace_assign(u->t, variable, nn_add(u->g, trace_read(u->t, variable), node));
}

/* sample weights, spread over values [batch, ...] */
static int weights_like(struct update *u, int like)
{
    struct shape s = u->g->node[like].shape;

    if (u->weights == NODE_NONE)
        return graph_splat(u->g, like, 1.0);
    s.dtype = DTYPE_F32;
    return s.rank == 1 ? u->weights : graph_broadcast(u->g, u->weights, s, (int[]){0});
}

static int sum_all(struct graph *g, int x)
{
    return graph_reduce(g, REDUCE_ADD, x, (1u << g->node[x].shape.rank) - 1);
}

/* total += weight value, count += weight */
static void add_values(struct update *u, int values)
{
    int weights = weights_like(u, values);
    int weighted = u->weights == NODE_NONE ? values : nn_multiply(u->g, values, weights);

    add_state(u, 0, sum_all(u->g, weighted));
    if (u->m->variable_count > 1)
        add_state(u, 1, sum_all(u->g, weights));
}

static int as_number(struct update *u, int predicate)
{
    return graph_convert(u->g, predicate, DTYPE_F32);
}

static int largest_place(struct update *u, int x)
{
    return graph_reduce(u->g, REDUCE_ARGMAX, x, 1u << (u->g->node[x].shape.rank - 1));
}

/* s32, one per row of predictions: sparse ones may have a last dimension of 1 */
static int label_places(struct update *u, bool is_sparse)
{
    struct shape s = u->g->node[u->p].shape;

    if (!is_sparse)
        return largest_place(u, graph_convert(u->g, u->y, DTYPE_F32));
    s.rank--;
    s.dtype = u->g->node[u->y].shape.dtype;
    if (u->g->node[u->y].shape.rank != s.rank)
        return graph_convert(u->g, graph_reshape(u->g, u->y, s), DTYPE_S32);
    return graph_convert(u->g, u->y, DTYPE_S32);
}

static void add_accuracy(struct update *u, bool is_sparse)
{
    int fourth = largest_place(u, u->p);
    int is_right = graph_compare(u->g, COMPARE_EQ, label_places(u, is_sparse), fourth);

    add_values(u, as_number(u, is_right));
}

/* one where the last dimension's index is the place, f32 */
static int one_hot(struct update *u, int places, int like)
{
    struct shape s = u->g->node[like].shape;

    s.dtype = DTYPE_S32;
    int fourth = graph_iota(u->g, s, s.rank - 1);
    return as_number(u,
                     graph_compare(u->g, COMPARE_EQ, loss_spread_last(u->g, places, like), fourth));
}

/* fewer than k predictions of the row are above the label's own */
static void add_top_k(struct update *u, bool is_sparse)
{
    int own = one_hot(u, label_places(u, is_sparse), u->p), above;

    own = loss_sum_last(u->g, nn_multiply(u->g, own, u->p));
    above = graph_compare(u->g, COMPARE_GT, u->p, loss_spread_last(u->g, own, u->p));
    above = loss_sum_last(u->g, as_number(u, above));
    add_values(u, as_number(u, graph_compare(u->g, COMPARE_LT, above,
                                             graph_splat(u->g, above, u->m->number))));
}

/* probabilities; of logits by the sigmoid */
static int probabilities(struct update *u)
{
    return u->m->from_logits ? graph_unary(u->g, HLO_LOGISTIC, u->p) : u->p;
}

static int is_above(struct update *u, int p)
{
    return as_number(u, graph_compare(u->g, COMPARE_GT, p,
                                      graph_splat(u->g, p, u->m->number)));
}

static int one_minus(struct update *u, int x)
{
    return graph_binary(u->g, HLO_SUBTRACT, graph_splat(u->g, x, 1.0), x);
}

static void add_binary_accuracy(struct update *u)
{
    int hit = graph_compare(u->g, COMPARE_EQ, is_above(u, probabilities(u)), u->y);

    add_values(u, loss_mean_last(u->g, as_number(u, hit)));
}

/* true positives, and what is wrong among predictions (precision) or labels (recall) */
static void add_positives(struct update *u)
{
    bool is_recall = u->m->kind == METRIC_RECALL;
    int above = is_above(u, probabilities(u)), y = u->y;
    int weights = weights_like(u, above), wrong;

    wrong = is_recall ? nn_multiply(u->g, y, one_minus(u, above))
                      : nn_multiply(u->g, one_minus(u, y), above);
    add_state(u, 0, sum_all(u->g, nn_multiply(u->g, weights, nn_multiply(u->g, y, above))));
    add_state(u, 1, sum_all(u->g, nn_multiply(u->g, weights, wrong)));
}

/* Keras's thresholds: evenly spread, the outer ones a little outside of 0..1 */
static int thresholds(struct update *u, int64_t count)
{
    float *value = arena_array(u->t->arena, (size_t)count, sizeof(*value));

    for (int64_t i = 0; i < count; i++)
        value[i] = (float)((double)i / (double)(count - 1));
    value[0] = (float)-LOSS_EPSILON;
    value[count - 1] = (float)(1.0 + LOSS_EPSILON);
    return graph_literal(u->g, shape_make(DTYPE_F32, 1, &count), value);
}

/* [elements] spread to [elements, thresholds] */
static int column(struct update *u, int x, struct shape grid)
{
    struct shape flat = shape_make(DTYPE_F32, 1, grid.dim);

    return graph_broadcast(u->g, graph_reshape(u->g, x, flat), grid, (int[]){0});
}

/* per threshold: true positives, true negatives, false positives, false negatives */
static void add_curve(struct update *u)
{
    struct graph *g = u->g;
    struct shape grid = {.dtype = DTYPE_F32, .rank = 2};
    int p = probabilities(u), above, y, weights, positive, limits;

    grid.dim[0] = shape_elems(&g->node[p].shape);
    grid.dim[1] = (int64_t)u->m->number;
    weights = column(u, weights_like(u, p), grid);
    y = column(u, u->y, grid);
    limits = graph_broadcast(g, thresholds(u, grid.dim[1]), grid, (int[]){1});
    above = as_number(u, graph_compare(g, COMPARE_GT, column(u, p, grid), limits));
    for (int i = 0; i < 4; i++) {
        positive = i == 0 || i == 2 ? above : one_minus(u, above);
        positive = nn_multiply(g, positive, i == 0 || i == 3 ? y : one_minus(u, y));
        add_state(u, i, graph_reduce(g, REDUCE_ADD, nn_multiply(g, weights, positive), 1));
    }
}

static void add_error(struct update *u, bool is_squared)
{
    int e = graph_binary(u->g, HLO_SUBTRACT, u->y, u->p);

    e = is_squared ? nn_multiply(u->g, e, e) : graph_unary(u->g, HLO_ABS, e);
    add_values(u, loss_mean_last(u->g, e));
}

/* rows flattened: labels' one-hots by predictions' */
static void add_confusion(struct update *u)
{
    struct graph *g = u->g;
    const struct shape *s = &g->node[u->p].shape;
    int64_t classes = s->dim[s->rank - 1];
    struct shape table = shape_make(DTYPE_F32, 2, (int64_t[]){shape_elems(s) / classes, classes});
    int is = one_hot(u, largest_place(u, u->p), u->p);
    int wanted = one_hot(u, label_places(u, true), u->p);

    wanted = nn_multiply(g, wanted, weights_like(u, wanted));
    int third = graph_reshape(g, is, table);
    add_state(u, 0, graph_dot(g, graph_reshape(g, wanted, table), third, 0,
                              0, PRECISION_HIGHEST));
}

static void update_by_kind(struct update *u)
{
    switch (u->m->kind) {
    case METRIC_MEAN:
    case METRIC_SUM: add_values(u, u->p); break;
    case METRIC_SPARSE_CATEGORICAL_ACCURACY: add_accuracy(u, true); break;
    case METRIC_CATEGORICAL_ACCURACY: add_accuracy(u, false); break;
    case METRIC_BINARY_ACCURACY: add_binary_accuracy(u); break;
    case METRIC_SPARSE_TOP_K: add_top_k(u, true); break;
    case METRIC_TOP_K: add_top_k(u, false); break;
    case METRIC_PRECISION:
    case METRIC_RECALL: add_positives(u); break;
    case METRIC_AUC: add_curve(u); break;
    case METRIC_MEAN_SQUARED_ERROR:
    case METRIC_ROOT_MEAN_SQUARED_ERROR: add_error(u, true); break;
    case METRIC_MEAN_ABSOLUTE_ERROR: add_error(u, false); break;
    case METRIC_MEAN_IOU: add_confusion(u); break;
    case METRIC_COUNT: break;
    }
}

/* labels that are compared with predictions number by number */
static bool compares_numbers(enum metric_kind kind)
{
    return kind == METRIC_BINARY_ACCURACY || kind == METRIC_PRECISION || kind == METRIC_RECALL ||
           kind == METRIC_AUC || kind == METRIC_MEAN_SQUARED_ERROR ||
           kind == METRIC_ROOT_MEAN_SQUARED_ERROR || kind == METRIC_MEAN_ABSOLUTE_ERROR;
}

void metric_update(struct trace *t, const struct metric *m, int labels, int prediction,
                   int weights)
{
    struct update u = {.t = t, .g = &t->graph, .m = m, .y = labels, .weights = weights};

    trace_source(t, "metrics", m->name);
    u.p = graph_convert(u.g, prediction, DTYPE_F32);
    if (weights != NODE_NONE)
        u.weights = graph_convert(u.g, weights, DTYPE_F32);
    if (compares_numbers(m->kind))
        u.y = graph_convert(u.g, labels, DTYPE_F32);
    update_by_kind(&u);
}
