/*
 * Writes losses over all samples of a batch into a graph, Dice, Tversky and Circle, and that of
 * sequences, CTC by the forward algorithm, step by step.
 */
#include "keras/loss/loss_impl.h"

static int subtract(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_SUBTRACT, a, b);
}

static int one_minus(struct graph *g, int x)
{
    return subtract(g, graph_splat(g, x, 1.0), x);
}

/* a scalar as the number of each of the samples that `like` has */
static int each_sample(struct graph *g, int x, int like)
{
    return graph_broadcast(g, x, shape_make(DTYPE_F32, 1, g->node[like].shape.dim), NULL);
}

/* ----- Dice, Tversky */

/* dimensions of batches that are summed over */
static uint32_t summed(const struct loss *l, int rank)
{
    uint32_t mask = 0;

    for (int i = 0; i < l->with.axis.count; i++) {
        int axis = (int)l->with.axis.value[i];

        mask |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return mask ? mask : (1u << rank) - 1;
}

static int sum_of_product(struct graph *g, int a, int b, uint32_t mask)
{
    return graph_reduce(g, REDUCE_ADD, nn_multiply(g, a, b), mask);
}

int loss_overlap(struct graph *g, const struct loss *l, int y, int p, int there)
{
    uint32_t mask = summed(l, g->node[p].shape.rank);
    int both, below, x, rank;

    if (there != NODE_NONE && (mask & 1)) {
        y = nn_multiply(g, y, loss_spread_first(g, there, y));
        p = nn_multiply(g, p, loss_spread_first(g, there, p));
    }
    both = sum_of_product(g, y, p, mask);
    if (l->kind == LOSS_DICE) {
        below = graph_reduce(g, REDUCE_ADD, p, mask);
        below = nn_add(g, graph_reduce(g, REDUCE_ADD, y, mask), below);
        both = nn_scale(g, both, 2.0);
    } else {
        int missed = sum_of_product(g, y, one_minus(g, p), mask);
        int wrong = sum_of_product(g, one_minus(g, y), p, mask);

        wrong = nn_scale(g, wrong, l->with.beta);
        below = nn_add(g, nn_scale(g, missed, l->with.alpha.value[0]), wrong);
        below = nn_add(g, both, below);
    }
    x = one_minus(g, graph_binary(g, HLO_DIVIDE, both, nn_shift(g, below, LOSS_EPSILON)));
    rank = g->node[x].shape.rank;
    if (!(mask & 1))
        return rank == 1 ? x : nn_mean(g, x, (1u << rank) - 2);
    return each_sample(g, rank ? nn_mean(g, x, (1u << rank) - 1) : x, p);
}

/* ----- Circle */

#define NEVER (-1e30)                   /* the logarithm of a sum of nothing */

/* ln of the sum over each row of e^x where `mask` is 1; [batch] */
static int log_sum(struct graph *g, int x, int mask)
{
    int is = graph_compare(g, COMPARE_NE, mask, graph_splat(g, mask, 0.0)), most;

    x = graph_select(g, is, x, graph_splat(g, x, NEVER));
    most = graph_hold(g, graph_reduce(g, REDUCE_MAX, x, 2));
    x = graph_unary(g, HLO_EXP, subtract(g, x, loss_spread_last(g, most, x)));
    return nn_add(g, graph_unary(g, HLO_LOG, loss_sum_last(g, x)), most);
}

/* a vector along the first dimension, and along the second, of a square */
static int along(struct graph *g, int x, int like, int dim)
{
    struct shape s = g->node[like].shape;

    s.dtype = g->node[x].shape.dtype;
    return graph_broadcast(g, x, s, (int[]){dim});
}

/* f32: 1 where both samples are there and their labels are the same (or not) */
static int pairs(struct graph *g, int labels, int like, int there, enum graph_compare way)
{
    int others = along(g, labels, like, 1);
    int is = graph_compare(g, way, along(g, labels, like, 0), others);

    is = graph_convert(g, is, DTYPE_F32);
    return there == NODE_NONE ? is : nn_multiply(g, is, along(g, there, like, 1));
}

static int off_diagonal(struct graph *g, int like)
{
    struct shape s = g->node[like].shape;
    int column;

    s.dtype = DTYPE_S32;
    column = graph_iota(g, s, 1);
    return graph_convert(g, graph_compare(g, COMPARE_NE, graph_iota(g, s, 0), column), DTYPE_F32);
}

/* gamma max(w, 0) d, the weight w being of the pairs in question */
static int weighted(struct graph *g, int w, int mask, int d, double gamma)
{
    return nn_scale(g, nn_multiply(g, nn_relu(g, nn_multiply(g, w, mask)), d), gamma);
}

int loss_circle(struct graph *g, const struct loss *l, int labels, int p, int there)
{
    double margin = l->with.margin, gamma = l->with.gamma;
    int far = nn_relu(g, one_minus(g, graph_dot(g, p, p, 1, 1, PRECISION_HIGHEST)));
    int kin = pairs(g, labels, far, there, COMPARE_EQ);
    int strange = pairs(g, labels, far, there, COMPARE_NE), near, room, x, counts, some, all;

    near = graph_unary(g, HLO_NEGATE, far);
    if (l->with.remove_diagonal != 0)
        kin = nn_multiply(g, kin, off_diagonal(g, far));
    room = nn_shift(g, near, 1 - margin);
    strange = log_sum(g, weighted(g, nn_shift(g, near, 1 + margin), strange, room, gamma), strange);
    room = nn_shift(g, near, margin);
    kin = log_sum(g, weighted(g, nn_shift(g, far, margin), kin, room, -gamma), kin);
    x = activation_softplus(g, nn_add(g, kin, strange));
    counts = graph_convert(g, graph_compare(g, COMPARE_GT, x, graph_splat(g, x, 0.0)), DTYPE_F32);
    all = graph_splat(g, x, 1.0);
    if (there != NODE_NONE) {
        counts = nn_multiply(g, counts, there);
        all = there;
    }
    some = graph_reduce(g, REDUCE_ADD, counts, 1);
    some = graph_binary(g, HLO_MAXIMUM, some, graph_splat(g, some, 1.0));
    some = graph_binary(g, HLO_DIVIDE, graph_reduce(g, REDUCE_ADD, all, 1), some);
    some = nn_spread(g, some, x);
    return nn_multiply(g, nn_multiply(g, x, counts), some);
}

/* ----- CTC, as Keras has it on JAX: chances that end in a blank, and in a label */

#define LOG_LEAST (-1e5)

struct ctc {
    struct graph *g;
    int emit, blank;                    /* ln of chances: [batch, steps, labels], [batch, steps] */
    int repeats;                        /* f32 [batch, labels]: the next label is the same */
};

/* columns first .. first + count - 1 of a matrix */
static int columns(struct graph *g, int x, int64_t first, int64_t count)
{
    return graph_slice(g, x, (int64_t[]){0, first},
                       (int64_t[]){g->node[x].shape.dim[0], first + count}, NULL);
}

/* ln(e^a + e^b) */
static int log_add(struct graph *g, int a, int b)
{
    int most = graph_binary(g, HLO_MAXIMUM, a, b);
    int apart = graph_unary(g, HLO_NEGATE, graph_unary(g, HLO_ABS, subtract(g, a, b)));

    return nn_add(g, most, graph_unary(g, HLO_LOG1P, graph_unary(g, HLO_EXP, apart)));
}

/* all columns but the first are joined by another way to them */
static int join(struct graph *g, int phi, int other)
{
    int64_t count = g->node[other].shape.dim[1];
    int first = columns(g, phi, 0, 1);
    int part[2] = {first, log_add(g, columns(g, phi, 1, count), other)};

    return graph_concatenate(g, part, 2, 1);
}

/* of step t: [batch, labels], or [batch] */
static int at_step(struct graph *g, int x, int64_t t)
{
    struct shape s = g->node[x].shape;
    int64_t start[3] = {0, t, 0}, limit[3] = {s.dim[0], t + 1, s.dim[2]};

    x = graph_slice(g, x, start, limit, NULL);
    s.dim[1] = s.dim[2];
    s.rank--;
    return graph_reshape(g, x, s);
}

static void ctc_step(struct ctc *c, int64_t t, int *phi, int *emit)
{
    struct graph *g = c->g;
    int64_t count = g->node[*emit].shape.dim[1];
    int own = at_step(g, c->emit, t), from, next, blank, blanks, barred;

    blank = at_step(g, c->blank, t);
    from = join(g, *phi, nn_add(g, *emit, nn_scale(g, c->repeats, LOG_LEAST)));
    next = nn_add(g, *emit, own);
    next = log_add(g, nn_add(g, columns(g, from, 0, count), own), next);
    blanks = loss_spread_first(g, blank, *emit);
    from = nn_add(g, from, loss_spread_first(g, blank, from));
    barred = nn_scale(g, one_minus(g, c->repeats), LOG_LEAST);
    *phi = join(g, from, nn_add(g, nn_add(g, *emit, blanks), barred));
    *emit = next;
}

/* 1 where a label is followed by itself */
static int find_repeats(struct graph *g, int labels)
{
    int64_t count = g->node[labels].shape.dim[1];
    int zero = graph_constant(g, shape_scalar(DTYPE_F32), 0);
    int next = columns(g, labels, 1, count - 1);
    int same = graph_compare(g, COMPARE_EQ, columns(g, labels, 0, count - 1), next);

    return graph_pad(g, graph_convert(g, same, DTYPE_F32), zero, (int64_t[]){0, 0},
                     (int64_t[]){0, 1}, (int64_t[]){0, 0});
}

/* ln p of each label at each step: [batch, steps, labels] */
static int chances(struct graph *g, int labels, int logs)
{
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                            .rhs_contract = {2}};
    struct shape s = g->node[logs].shape;
    int hot;

    s.dim[1] = g->node[labels].shape.dim[1];
    hot = loss_one_hot(g, labels, graph_constant(g, s, 0));
    return graph_dot_general(g, logs, hot, &dot, DTYPE_F32, PRECISION_HIGHEST);
}

int loss_ctc(struct graph *g, int labels, int p)
{
    int64_t batch = g->node[p].shape.dim[0], steps = g->node[p].shape.dim[1];
    int64_t count = g->node[labels].shape.dim[1];
    int logs = nn_log_softmax(g, p), zero = graph_splat(g, labels, 0.0), lengths, phi, emit;
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){batch, steps});
    struct ctc c = {.g = g, .emit = chances(g, labels, logs)};

    c.blank = graph_reshape(g, graph_slice(g, logs, (int64_t[]){0, 0, 0},
                                           (int64_t[]){batch, steps, 1}, NULL), s);
    c.repeats = count > 1 ? find_repeats(g, labels)
                          : graph_constant(g, shape_make(DTYPE_F32, 2, (int64_t[]){batch, 1}), 0);
    emit = graph_splat(g, c.repeats, LOG_LEAST);
    phi = graph_pad(g, emit, graph_constant(g, shape_scalar(DTYPE_F32), 0), (int64_t[]){0, 1},
                    (int64_t[]){0, 0}, (int64_t[]){0, 0});
    for (int64_t t = 0; t < steps; t++)
        ctc_step(&c, t, &phi, &emit);
    phi = join(g, phi, emit);
    lengths = graph_convert(g, graph_compare(g, COMPARE_NE, labels, zero), DTYPE_F32);
    lengths = graph_convert(g, loss_sum_last(g, lengths), DTYPE_S32);
    return graph_unary(g, HLO_NEGATE, loss_sum_last(g, nn_multiply(g, phi, loss_one_hot(g, lengths,
                                                                                        phi))));
}
