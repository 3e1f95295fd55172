/* The update rules that look at whole variables: Lamb, LARS, Adafactor, Muon. */
#include "keras/optimizer/optimizer_impl.h"
#include "stack/nn/nn.h"

#include <math.h>

static int scalar(struct graph *g, double value)
{
    return graph_constant(g, shape_scalar(DTYPE_F32), value);
}

static int reciprocal(struct graph *g, int a)
{
    return optimizer_divide(g, graph_splat(g, a, 1), a);
}

/* a / b if both are above 0, else 1; scalars */
static int ratio(struct graph *g, int a, int b)
{
    int zero = scalar(g, 0), is_some = graph_compare(g, COMPARE_GT, a, zero);

    is_some = graph_binary(g, HLO_AND, is_some, graph_compare(g, COMPARE_GT, b, zero));
    int one = scalar(g, 1);
    return graph_select(g, is_some, optimizer_divide(g, a, b), one);
}

/* w less `change` times a scalar */
static int step_by(struct optimizer_update *u, int change, int rate)
{
    return optimizer_subtract(u->g, u->value,
                              nn_multiply(u->g, change, nn_spread(u->g, rate, change)));
}

/* ----- Lamb: c = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps), w -= lr |w| / |c| c */

void optimizer_begin_lamb(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    const double *hyper = s->optimizer->hyper;

    s->own[0] = reciprocal(g, optimizer_step_correction(s, hyper[HYPER_BETA_1]));
    s->own[1] = reciprocal(g, optimizer_step_correction(s, hyper[HYPER_BETA_2]));
}

int optimizer_update_lamb(struct optimizer_update *u)
{
    struct graph *g = u->g;
    int moment[2], change, root, trust;

    optimizer_update_moments(u, moment);
    root =
        graph_unary(g, HLO_SQRT, nn_multiply(g, moment[OPTIMIZER_V], optimizer_update_own(u, 1)));
    int below = nn_shift(g, root, u->o->hyper[HYPER_EPSILON]);
    change = optimizer_divide(g, nn_multiply(g, moment[OPTIMIZER_M], optimizer_update_own(u, 0)),
                              below);
    int change_norm = optimizer_update_norm(u, change);
    trust = ratio(g, optimizer_update_norm(u, u->value), change_norm);
    return step_by(u, change, nn_multiply(g, trust, u->s->rate));
}

/*
 * ----- LARS: g += wd w. Classic: m = mu m + lr trust g, c = m or ahead mu m + lr trust g, w -= c,
 * the trust being eeta |w| / |g|. Else m = mu m + g, c likewise, w -= lr trust c, of |c|.
 */

static int trust_in(struct optimizer_update *u, int change)
{
    if (!u->of->adapts)
        return scalar(u->g, 1);
    int change_norm = optimizer_update_norm(u, change);
    return ratio(u->g, nn_scale(u->g, optimizer_update_norm(u, u->value), u->o->hyper[HYPER_EETA]),
                 change_norm);
}

int optimizer_update_lars(struct optimizer_update *u)
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;
    bool is_classic = hyper[HYPER_CLASSIC_MOMENTUM] != 0;
    int change = u->gradient, m;

    if (hyper[HYPER_WEIGHT_DECAY] != 0 && u->of->decays)
        change = nn_add(g, change, nn_scale(g, u->value, hyper[HYPER_WEIGHT_DECAY]));
    if (is_classic) {
        int rate = nn_multiply(g, u->s->rate, trust_in(u, change));

        change = nn_multiply(g, change, nn_spread(g, rate, change));
    }
    m = optimizer_update_set_slot(
        u, 0, nn_add(g, nn_scale(g, optimizer_update_slot(u, 0), hyper[HYPER_MOMENTUM]), change));
    if (hyper[HYPER_NESTEROV] != 0)
        m = nn_add(g, nn_scale(g, m, hyper[HYPER_MOMENTUM]), change);
    if (is_classic)
        return optimizer_subtract(g, u->value, m);
    return step_by(u, m, nn_multiply(g, u->s->rate, trust_in(u, m)));
}

/*
 * ----- Adafactor: the mean of squares is r c / mean(r), of rows and of columns, from two
 * dimensions up; c = g / sqrt(it), w -= max(eps2, rms(w)) min(lr, 1 / sqrt(t)) c / max(1, rms(c)
 * / clip)
 */

enum { ROWS, COLUMNS, VECTOR };

/* own: rate; t^beta_2_decay, which is 1 - beta_2; beta_2 */
void optimizer_begin_adafactor(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    int decay = scalar(g, s->optimizer->hyper[HYPER_BETA_2_DECAY]);

    s->own[0] = graph_binary(g, HLO_MINIMUM, s->rate, graph_unary(g, HLO_RSQRT, s->step));
    s->own[1] = graph_binary(g, HLO_POWER, s->step, decay);
    s->own[2] = optimizer_subtract(g, scalar(g, 1), s->own[1]);
}

/* slot k goes on by beta_2 */
static int follow(struct optimizer_update *u, int k, int now)
{
    struct graph *g = u->g;
    int old = optimizer_update_slot(u, k);
    int fresh = nn_multiply(g, now, nn_spread(g, u->s->own[1], now));
    int next = nn_add(g, nn_multiply(g, old, nn_spread(g, u->s->own[2], old)), fresh);

    return optimizer_update_set_slot(u, k, next);
}

/* `a`, which lacks dimension `without` of the variable, spread along it */
static int spread_along(struct optimizer_update *u, int a, int without)
{
    int dims[GRAPH_RANK_MAX], count = 0;

    for (int d = 0; d < u->g->node[u->value].shape.rank; d++)
        if (d != without)
            dims[count++] = d;
    return graph_broadcast(u->g, a, u->g->node[u->value].shape, dims);
}

/* r / mean(r) along its last dimension */
static int over_mean(struct graph *g, int r)
{
    int dims[GRAPH_RANK_MAX], rank = g->node[r].shape.rank;
    int mean = nn_mean(g, r, 1u << (rank - 1));

    for (int d = 0; d < rank; d++)
        dims[d] = d;
    return optimizer_divide(g, r, graph_broadcast(g, mean, g->node[r].shape, dims));
}

static int factored_squares(struct optimizer_update *u, int squares)
{
    struct graph *g = u->g;
    int rank = g->node[squares].shape.rank;
    int rows = follow(u, ROWS, nn_mean(g, squares, 1u << (rank - 1)));
    int columns = follow(u, COLUMNS, nn_mean(g, squares, 1u << (rank - 2)));

    int by_column = spread_along(u, columns, rank - 2);
    return nn_multiply(g, spread_along(u, over_mean(g, rows), rank - 1), by_column);
}

int optimizer_update_adafactor(struct optimizer_update *u)
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;
    int squares = nn_shift(g, nn_multiply(g, u->gradient, u->gradient), hyper[HYPER_EPSILON_1]);
    int change, size, excess;

    squares = g->node[u->value].shape.rank < 2 ? follow(u, VECTOR, squares)
                                               : factored_squares(u, squares);
    change = nn_multiply(g, u->gradient, graph_unary(g, HLO_RSQRT, squares));
    int least = scalar(g, hyper[HYPER_EPSILON_2]);
    size = graph_binary(g, HLO_MAXIMUM, optimizer_update_root_mean_square(u, u->value), least);
    excess =
        nn_scale(g, optimizer_update_root_mean_square(u, change), 1 / hyper[HYPER_CLIP_THRESHOLD]);
    excess = graph_binary(g, HLO_MAXIMUM, excess, scalar(g, 1));
    return step_by(u, change, optimizer_divide(g, nn_multiply(g, size, u->s->own[0]), excess));
}

/*
 * ----- Muon: m = mu m + g, ahead g + mu m, of unit norm and then ns_steps times
 * x = a x + b (x x') x + c (x x')^2 x; w -= lr rms_rate sqrt(longer side) x. What is no matrix, or
 * excluded: Adam.
 */

void optimizer_begin_muon(struct optimizer_step *s)
{
    int rate = s->rate;

    s->rate = nn_scale(&s->trace->graph, rate, s->optimizer->hyper[HYPER_ADAM_LR_RATIO]);
    optimizer_begin_adam(s);
    s->rate = rate;
}

/* towards the orthogonal factor of x, which has no more rows than columns */
static int orthogonal(const struct optimizer_update *u, int x)
{
    const double *hyper = u->o->hyper;
    struct graph *g = u->g;

    for (int i = 0; i < (int)hyper[HYPER_NS_STEPS]; i++) {
        int square = graph_dot(g, x, x, 1, 1, PRECISION_HIGHEST);
        int fourth_power = graph_dot(g, square, square, 1, 0, PRECISION_HIGHEST);

        fourth_power = nn_scale(g, fourth_power, hyper[HYPER_MUON_C]);
        square = nn_add(g, nn_scale(g, square, hyper[HYPER_MUON_B]), fourth_power);
        square = graph_dot(g, square, x, 1, 0, PRECISION_HIGHEST);
        x = nn_add(g, nn_scale(g, x, hyper[HYPER_MUON_A]), square);
    }
    return x;
}

int optimizer_update_muon(struct optimizer_update *u)
{
    const double *hyper = u->o->hyper;
    double mu = hyper[HYPER_MOMENTUM], size = hyper[HYPER_RMS_RATE];
    const int turned[2] = {1, 0};
    struct graph *g = u->g;
    const struct shape shape = g->node[u->value].shape;
    bool is_tall = shape.dim[0] > shape.dim[1];
    int x, norm;

    if (u->of->uses_adam)
        return optimizer_update_adam(u);
    x = optimizer_update_set_slot(
        u, 0, nn_add(g, nn_scale(g, optimizer_update_slot(u, 0), mu), u->gradient));
    if (hyper[HYPER_NESTEROV] != 0)
        x = nn_add(g, u->gradient, nn_scale(g, x, mu));
    norm = nn_shift(g, optimizer_update_norm(u, x), 1e-7);
    size = size > 0 ? size * sqrt((double)shape.dim[is_tall ? 0 : 1]) : 1;
    x = is_tall ? graph_transpose(g, x, turned) : x;
    x = orthogonal(u, optimizer_divide(g, x, nn_spread(g, norm, x)));
    x = is_tall ? graph_transpose(g, x, turned) : x;
    return step_by(u, x, nn_scale(g, u->s->rate, size));
}
