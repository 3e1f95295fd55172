/* Writes what a step adds to the sums of metrics. */
#include <string.h>

#include "keras/loss/loss_impl.h"
#include "keras/loss/metric.h"
#include "keras/loss/metric_impl.h"

struct update {
    struct trace *t;
    struct graph *g;
    const struct metric *m;
    int y, p;                           /* labels; predictions, f32 */
    int weights;                        /* f32 [batch], or NODE_NONE */
    int mask;                           /* f32 [batch, steps], or NODE_NONE: of means over steps */
};

static void add_state(struct update *u, int state, int node)
{
    int variable = u->m->variable[state];

    trace_assign(u->t, variable, nn_add(u->g, trace_read(u->t, variable), node));
}

/* sample weights, spread over values [batch, ...] */
static int weights_like(struct update *u, int like)
{
    return u->weights == NODE_NONE ? graph_splat(u->g, like, 1.0)
                                   : loss_spread_first(u->g, u->weights, like);
}

static int sum_all(struct graph *g, int x)
{
    return graph_reduce(g, REDUCE_ADD, x, (1u << g->node[x].shape.rank) - 1);
}

/* total += weight value, count += weight; where `counted` is one, of values that count */
static void add_counted(struct update *u, int values, int counted)
{
    int weights = weights_like(u, values);
    int weighted = u->weights == NODE_NONE ? values : nn_multiply(u->g, values, weights);

    if (u->mask != NODE_NONE)
        counted = counted == NODE_NONE ? u->mask : nn_multiply(u->g, counted, u->mask);
    if (counted != NODE_NONE) {
        weighted = nn_multiply(u->g, weighted, counted);
        weights = nn_multiply(u->g, weights, counted);
    }
    add_state(u, 0, sum_all(u->g, weighted));
    if (u->m->variable_count > 1)
        add_state(u, 1, sum_all(u->g, weights));
}

static void add_values(struct update *u, int values)
{
    add_counted(u, values, NODE_NONE);
}

static void update_VALUES(struct update *u)
{
    add_values(u, u->p);
}

static int as_number(struct update *u, int predicate)
{
    return graph_convert(u->g, predicate, DTYPE_F32);
}

static int labels_f32(struct update *u)
{
    return graph_convert(u->g, u->y, DTYPE_F32);
}

static int one_minus(struct update *u, int x)
{
    return graph_binary(u->g, HLO_SUBTRACT, graph_splat(u->g, x, 1.0), x);
}

/* ---- accuracies ---- */

static void update_EQUAL(struct update *u)
{
    int is = as_number(u, graph_compare(u->g, COMPARE_EQ, labels_f32(u), u->p));

    add_values(u, loss_mean_last(u->g, is));
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
        return largest_place(u, labels_f32(u));
    s.rank--;
    s.dtype = u->g->node[u->y].shape.dtype;
    if (u->g->node[u->y].shape.rank != s.rank)
        return graph_convert(u->g, graph_reshape(u->g, u->y, s), DTYPE_S32);
    return graph_convert(u->g, u->y, DTYPE_S32);
}

static void update_LARGEST(struct update *u)
{
    bool is_sparse = u->m->kind == METRIC_SPARSE_CATEGORICAL_ACCURACY;
    int place = largest_place(u, u->p);

    add_values(u, as_number(u, graph_compare(u->g, COMPARE_EQ, label_places(u, is_sparse), place)));
}

/* the label is one of the first k predictions, which are places */
static int is_first(struct update *u)
{
    int rank = u->g->node[u->p].shape.rank;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];
    int first, is;

    for (int d = 0; d < rank; d++)
        limit[d] = u->g->node[u->p].shape.dim[d];
    limit[rank - 1] = (int64_t)u->m->with.k;
    first = graph_slice(u->g, u->p, start, limit, NULL);
    is = graph_convert(u->g, label_places(u, true), DTYPE_F32);
    is = graph_compare(u->g, COMPARE_EQ, loss_spread_last(u->g, is, first), first);
    return graph_reduce(u->g, REDUCE_MAX, as_number(u, is), 1u << (rank - 1));
}

/* fewer than k predictions of the row are above the label's own */
static void update_AMONG(struct update *u)
{
    bool is_sparse = u->m->kind == METRIC_SPARSE_TOP_K;
    int own, above;

    if (u->m->with.from_sorted_ids != 0) {
        add_values(u, is_first(u));
        return;
    }
    own = loss_one_hot(u->g, label_places(u, is_sparse), u->p);
    own = loss_sum_last(u->g, nn_multiply(u->g, own, u->p));
    above = graph_compare(u->g, COMPARE_GT, u->p, loss_spread_last(u->g, own, u->p));
    above = loss_sum_last(u->g, as_number(u, above));
    add_values(u, as_number(u, graph_compare(u->g, COMPARE_LT, above,
                                             graph_splat(u->g, above, u->m->with.k))));
}

/* probabilities; of logits by the sigmoid */
static int probabilities(struct update *u)
{
    return u->m->with.from_logits != 0 ? graph_unary(u->g, HLO_LOGISTIC, u->p) : u->p;
}

static void update_BINARY(struct update *u)
{
    int p = probabilities(u), y = labels_f32(u), hit;

    hit = as_number(u, graph_compare(u->g, COMPARE_GT, p,
                                     graph_splat(u->g, p, u->m->with.threshold)));
    hit = graph_compare(u->g, COMPARE_EQ, hit, y);
    add_values(u, loss_mean_last(u->g, as_number(u, hit)));
}

/* ---- counts at thresholds ---- */

/* the k largest of each row, the first of equals; others are below every threshold */
static int keep_largest(struct update *u, int p, double k)
{
    int least = graph_splat(u->g, p, -1e10), rest = p, kept = graph_splat(u->g, p, 0.0);

    for (int i = 0; i < (int)k; i++) {
        int own = loss_one_hot(u->g, largest_place(u, rest), p), least_of_all;

        kept = nn_add(u->g, kept, own);
        least_of_all = graph_splat(u->g, p, -INFINITY);
        own = graph_compare(u->g, COMPARE_GT, own, graph_splat(u->g, own, 0.0));
        rest = graph_select(u->g, own, least_of_all, rest);
    }
    return graph_select(u->g, graph_compare(u->g, COMPARE_GT, kept, graph_splat(u->g, kept, 0.0)),
                        p, least);
}

/* one class of each row */
static int one_class(struct update *u, int x, double class_id)
{
    int rank = u->g->node[x].shape.rank;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int d = 0; d < rank; d++)
        limit[d] = u->g->node[x].shape.dim[d];
    start[rank - 1] = (int64_t)class_id;
    limit[rank - 1] = (int64_t)class_id + 1;
    return graph_slice(u->g, x, start, limit, NULL);
}

static int vector(struct update *u, const float *value, int64_t count)
{
    return graph_literal(u->g, shape_make(DTYPE_F32, 1, &count), value);
}

/* weights of samples times those of labels, one per element */
static int weights_of_elements(struct update *u, int like)
{
    const struct number_list *labels = &u->m->with.label_weights;
    float *value = arena_array(u->t->arena, (size_t)labels->count + 1, sizeof(*value));
    int weights = weights_like(u, like);

    for (int i = 0; i < labels->count; i++)
        value[i] = (float)labels->value[i];
    if (labels->count == 0 || u->m->with.multi_label != 0)
        return weights;
    return nn_multiply(u->g, weights, nn_spread(u->g, vector(u, value, labels->count), like));
}

/* elements along the first dimensions of a grid, thresholds along its last */
static int column(struct update *u, int x, struct shape grid)
{
    struct shape flat = grid;

    flat.rank--;
    return graph_broadcast(u->g, graph_reshape(u->g, x, flat), grid, (int[]){0, 1});
}

/* by the state's name: true or false positives or negatives */
static int counted_by(struct update *u, const char *state, int above, int y)
{
    bool is_right = strncmp(state, "true", 4) == 0, is_positive = strstr(state, "positives");
    int part = is_positive ? above : one_minus(u, above);

    return nn_multiply(u->g, part, is_right == is_positive ? y : one_minus(u, y));
}

static void add_counts(struct update *u, int above, int y, int weights, uint32_t mask)
{
    for (int i = 0; i < u->m->variable_count; i++) {
        int part = counted_by(u, metric_state(u->m, i, u->t->arena), above, y);

        part = nn_multiply(u->g, weights, part);
        add_state(u, i, mask ? graph_reduce(u->g, REDUCE_ADD, part, mask) : sum_all(u->g, part));
    }
}

static void update_COUNTS(struct update *u)
{
    const struct loss_arguments *with = &u->m->with;
    struct graph *g = u->g;
    int count = metric_threshold_count(u->m), weights, above, thresholds, y = labels_f32(u);
    float *threshold = metric_thresholds(u->m, u->t->arena);
    struct shape grid = {.dtype = DTYPE_F32, .rank = 2};
    int p = probabilities(u);

    if (with->top_k > 0)
        p = keep_largest(u, p, with->top_k);
    if (with->class_id >= 0) {
        p = one_class(u, p, with->class_id);
        y = one_class(u, y, with->class_id);
    }
    y = as_number(u, graph_compare(g, COMPARE_NE, y, graph_splat(g, y, 0.0)));
    weights = weights_of_elements(u, p);
    if (count == 1) {
        above = as_number(u, graph_compare(g, COMPARE_GT, p,
                                           graph_splat(g, p, (double)threshold[0])));
        add_counts(u, above, y, weights, 0);
        return;
    }
    grid.dim[0] = shape_elems(&g->node[p].shape);
    if (with->multi_label != 0) {
        grid = g->node[p].shape;
        grid.rank++;
    }
    grid.dim[grid.rank - 1] = count;
    thresholds = graph_broadcast(g, vector(u, threshold, count), grid, (int[]){grid.rank - 1});
    above = graph_compare(g, COMPARE_GT, column(u, p, grid), thresholds);
    weights = column(u, weights, grid);
    y = column(u, y, grid);
    add_counts(u, as_number(u, above), y, weights, 1);
}

/* ---- scores by class ---- */

static void update_SCORES(struct update *u)
{
    struct graph *g = u->g;
    int y = labels_f32(u), p = u->p, is, weights = weights_like(u, p);
    uint32_t mask = u->m->with.average == AVERAGE_MICRO ? 0 : 1;

    if (isnan(u->m->with.threshold)) {
        int most = graph_reduce(g, REDUCE_MAX, p, 2), size = graph_unary(g, HLO_ABS, p);

        is = graph_compare(g, COMPARE_GE, p, loss_spread_last(g, most, p));
        is = graph_binary(g, HLO_AND, is, graph_compare(g, COMPARE_GT, size,
                                                        graph_splat(g, size, 1e-9)));
    } else {
        is = graph_compare(g, COMPARE_GT, p, graph_splat(g, p, u->m->with.threshold));
    }
    is = as_number(u, is);
    for (int i = 0; i < u->m->variable_count; i++) {
        const char *state = metric_state(u->m, i, u->t->arena);
        int part = i < 3 ? counted_by(u, state, is, y) : y;

        part = nn_multiply(g, part, weights);
        add_state(u, i, mask ? graph_reduce(g, REDUCE_ADD, part, mask) : sum_all(g, part));
    }
}

static void update_SQUARES(struct update *u)
{
    struct graph *g = u->g;
    int y = labels_f32(u), weights = weights_like(u, y), weighted = nn_multiply(g, y, weights);
    int off = graph_binary(g, HLO_SUBTRACT, y, u->p);
    int there = as_number(u, graph_compare(g, COMPARE_NE, weights, graph_splat(g, weights, 0.0)));

    add_state(u, 0, sum_all(g, there));
    add_state(u, 1, graph_reduce(g, REDUCE_ADD, nn_multiply(g, y, weighted), 1));
    add_state(u, 2, graph_reduce(g, REDUCE_ADD, weighted, 1));
    add_state(u, 3, graph_reduce(g, REDUCE_ADD, nn_multiply(g, nn_multiply(g, off, off), weights),
                                 1));
    add_state(u, 4, graph_reduce(g, REDUCE_ADD, weights, 1));
}

/* ---- means of losses and correlations ---- */

static void update_LOSS(struct update *u)
{
    struct model_result p = {u->p, NODE_NONE, ACTIVATION_LINEAR, NODE_NONE};
    struct loss l = {.with = u->m->with};
    int values, counted;
    struct err e;

    if (u->m->kind == METRIC_ROOT_MEAN_SQUARED_ERROR)
        l.kind = LOSS_MEAN_SQUARED_ERROR;
    else if (loss_find(metric_standard(u->m->kind).name, &l.kind, &e))
        return;
    values = loss_rows(u->g, &l, u->y, &p, &counted);
    if (u->m->kind == METRIC_COSINE_SIMILARITY)
        values = graph_unary(u->g, HLO_NEGATE, values);
    if (u->m->kind == METRIC_ROOT_MEAN_SQUARED_ERROR)
        u->mask = NODE_NONE;            /* Keras has it so, and of ignore_class 0 in the mean */
    if (counted != NODE_NONE && !u->m->is_weighted && u->mask == NODE_NONE) {
        values = nn_multiply(u->g, values, counted);
        counted = NODE_NONE;
    }
    add_counted(u, values, counted);
}

/* a row less its mean, and that mean; rows lie along the last dimension */
struct centred { int mean, rest, variance; };

static struct centred centre(struct graph *g, int x)
{
    struct centred c = {.mean = loss_mean_last(g, x)};

    c.rest = graph_binary(g, HLO_SUBTRACT, x, loss_spread_last(g, c.mean, x));
    c.variance = loss_mean_last(g, nn_multiply(g, c.rest, c.rest));
    return c;
}

static void update_PEARSON(struct update *u)
{
    struct graph *g = u->g;
    struct centred y = centre(g, labels_f32(u)), p = centre(g, u->p);
    int both = loss_mean_last(g, nn_multiply(g, y.rest, p.rest));
    int sizes = graph_unary(g, HLO_SQRT, p.variance);

    sizes = nn_multiply(g, graph_unary(g, HLO_SQRT, y.variance), sizes);
    add_values(u, graph_binary(g, HLO_DIVIDE, both, sizes));
}

static void update_CONCORDANCE(struct update *u)
{
    struct graph *g = u->g;
    int label = labels_f32(u), both, apart, size;
    struct centred y = centre(g, label), p = centre(g, u->p);

    both = graph_binary(g, HLO_SUBTRACT, label, loss_spread_last(g, p.mean, label));
    both = nn_scale(g, loss_mean_last(g, nn_multiply(g, both, p.rest)), 2.0);
    apart = graph_binary(g, HLO_SUBTRACT, y.mean, p.mean);
    size = nn_multiply(g, apart, apart);
    size = nn_add(g, nn_add(g, y.variance, p.variance), size);
    add_values(u, graph_binary(g, HLO_DIVIDE, both, nn_shift(g, size, LOSS_EPSILON)));
}

/* ---- tables of classes ---- */

/* s32 [places]: of labels or predictions, by the largest of each row or as they are */
static int places(struct update *u, int x, bool is_rows)
{
    x = is_rows ? largest_place(u, graph_convert(u->g, x, DTYPE_F32)) : graph_convert(u->g, x,
                                                                                      DTYPE_S32);
    return graph_reshape(u->g, x, shape_make(DTYPE_S32, 1, (int64_t[]){
                                                 shape_elems(&u->g->node[x].shape)}));
}

/* [places] of weights, those of samples and 0 of labels that are ignored */
static int weights_of_places(struct update *u, int labels, int64_t each)
{
    struct graph *g = u->g;
    int64_t count = shape_elems(&g->node[labels].shape);
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){count / each, each});
    int weights = graph_constant(g, s, 1.0);
    int is;

    if (u->weights != NODE_NONE)
        weights = graph_broadcast(g, u->weights, s, (int[]){0});
    weights = graph_reshape(g, weights, shape_make(DTYPE_F32, 1, &count));
    if (isnan(u->m->with.ignore_class) || u->m->kind == METRIC_BINARY_IOU)
        return weights;
    is = graph_compare(g, COMPARE_NE, labels, graph_splat(g, labels, u->m->with.ignore_class));
    return nn_multiply(g, weights, as_number(u, is));
}

/* labels' one-hots by predictions'; what is none of the classes is in no row */
static void update_PLACES(struct update *u)
{
    struct graph *g = u->g;
    bool is_binary = u->m->kind == METRIC_BINARY_IOU;
    int64_t batch = g->node[u->p].shape.dim[0], table[2];
    int label_rank = g->node[u->y].shape.rank, rank = g->node[u->p].shape.rank;
    int is, wanted, like, weights;

    if (is_binary)
        u->p = as_number(u, graph_compare(g, COMPARE_GE, u->p,
                                          graph_splat(g, u->p, u->m->with.threshold)));
    wanted = places(u, u->y, !is_binary && u->m->with.sparse_y_true == 0);
    is = places(u, u->p, !is_binary && metric_has_rows(u->m, label_rank, rank));
    table[0] = shape_elems(&g->node[is].shape);
    table[1] = u->t->set->variable[u->m->variable[0]].shape.dim[0];
    like = graph_constant(g, shape_make(DTYPE_F32, 2, table), 0.0);
    weights = loss_spread_first(g, weights_of_places(u, wanted, table[0] / batch), like);
    like = nn_multiply(g, loss_one_hot(g, wanted, like), weights);
    is = loss_one_hot(g, is, like);
    add_state(u, 0, graph_dot(g, like, is, 0, 0, PRECISION_HIGHEST));
}

static void (*const updates[METRIC_COUNT])(struct update *u) = {
#define METRIC(id, name, class, labels, update, states, meaning) [METRIC_##id] = update_##update,
#include "keras/loss/metrics.def"
};

/* rows lie along the last dimension; the losses turn theirs themselves */
static int turn_rows(struct update *u, int x)
{
    int rank = u->g->node[x].shape.rank, dims[GRAPH_RANK_MAX], from;

    if (u->m->with.axis.count == 0 || updates[u->m->kind] == update_LOSS)
        return x;
    from = (int)u->m->with.axis.value[0];
    from += from < 0 ? rank : 0;
    if (from >= rank - 1)
        return x;
    for (int d = 0; d < rank; d++)
        dims[d] = d < from ? d : d + 1 < rank ? d + 1 : from;
    return graph_transpose(u->g, x, dims);
}

void metric_update(struct trace *t, const struct metric *m, int labels, int prediction, int mask,
                   int weights)
{
    struct update u = {.t = t, .g = &t->graph, .m = m, .y = labels, .weights = weights,
                       .mask = mask};

    trace_source(t, "metrics", m->name);
    u.p = turn_rows(&u, graph_convert(u.g, prediction, DTYPE_F32));
    if (weights != NODE_NONE)
        u.weights = graph_convert(u.g, weights, DTYPE_F32);
    if (labels != NODE_NONE && t->graph.node[labels].shape.rank == t->graph.node[u.p].shape.rank)
        u.y = turn_rows(&u, labels);
    updates[m->kind](&u);
}
