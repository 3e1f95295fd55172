/* The equations, as docs/optimizers.md has them. */
#include "keras/optimizer_impl.h"
#include "stack/nn.h"

/* a + (b - a) share */
static int approach(struct graph *g, int a, int b, double share)
{
    return nn_add(g, a, nn_scale(g, subtract(g, b, a), share));
}

static int square(struct graph *g, int a)
{
    return nn_multiply(g, a, a);
}

/* ----- SGD: w -= lr g; with momentum m = mu m - lr g, w += m, or ahead w += mu m - lr g */

static int update_sgd(struct update *u)
{
    struct graph *g = u->g;
    double mu = u->o->hyper[HYPER_MOMENTUM];
    int change = nn_multiply(g, u->gradient, update_rate(u)), m;

    if (mu == 0)
        return subtract(g, u->value, change);
    m = update_set_slot(u, 0, subtract(g, nn_scale(g, update_slot(u, 0), mu), change));
    if (u->o->hyper[HYPER_NESTEROV] != 0)
        m = subtract(g, nn_scale(g, m, mu), change);
    return nn_add(g, u->value, m);
}

/* ----- Adam: w -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps) */

enum { M, V, V_MAX };

static void begin_adam(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    const double *hyper = s->optimizer->hyper;
    int root = graph_unary(g, HLO_SQRT, step_correction(s, hyper[HYPER_BETA_2]));

    s->own[0] = divide(g, nn_multiply(g, s->rate, root),
                       step_correction(s, hyper[HYPER_BETA_1]));
}

static void update_moments(struct update *u, int moment[2])
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;

    moment[M] = update_set_slot(u, M, approach(g, update_slot(u, M), u->gradient,
                                               1 - hyper[HYPER_BETA_1]));
    moment[V] = update_set_slot(u, V, approach(g, update_slot(u, V), square(g, u->gradient),
                                               1 - hyper[HYPER_BETA_2]));
}

static int update_adam(struct update *u)
{
    struct graph *g = u->g;
    int moment[2], v, change;

    update_moments(u, moment);
    v = moment[V];
    if (u->o->hyper[HYPER_AMSGRAD] != 0)
        v = update_set_slot(u, V_MAX, graph_binary(g, HLO_MAXIMUM, update_slot(u, V_MAX), v));
    v = nn_shift(g, graph_unary(g, HLO_SQRT, v), u->o->hyper[HYPER_EPSILON]);
    change = divide(g, nn_multiply(g, moment[M], update_own(u, 0)), v);
    return subtract(g, u->value, change);
}

const struct rule optimizer_rules[RULE_COUNT] = {
    [RULE_SGD] = {NULL, update_sgd},
    [RULE_ADAM] = {begin_adam, update_adam},
};
