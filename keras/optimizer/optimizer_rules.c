/* The update rules element by element, as docs/optimizers.md has them. */
#include "keras/optimizer/optimizer_impl.h"
#include "stack/nn/nn.h"

#include <math.h>

/* stay a + (1 - stay) b */
static int average(struct graph *g, int a, int b, double stay)
{
    int fresh = nn_scale(g, b, 1 - stay);
    return nn_add(g, nn_scale(g, a, stay), fresh);
}

/* ----- SGD: w -= lr g; with momentum m = mu m - lr g, w += m, or ahead w += mu m - lr g */

static int update_sgd(struct optimizer_update *u)
{
    struct graph *g = u->g;
    double mu = u->o->hyper[HYPER_MOMENTUM];
    int change = nn_multiply(g, u->gradient, optimizer_update_rate(u)), m;

    if (mu == 0)
        return optimizer_subtract(g, u->value, change);
    m = optimizer_update_set_slot(
        u, 0, optimizer_subtract(g, nn_scale(g, optimizer_update_slot(u, 0), mu), change));
    if (u->o->hyper[HYPER_NESTEROV] != 0)
        m = optimizer_subtract(g, nn_scale(g, m, mu), change);
    return nn_add(g, u->value, m);
}

/* ----- Adam: w -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps) */

enum { M = OPTIMIZER_M, V = OPTIMIZER_V, V_MAX };

void optimizer_begin_adam(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    const double *hyper = s->optimizer->hyper;
    int root = graph_unary(g, HLO_SQRT, optimizer_step_correction(s, hyper[HYPER_BETA_2]));

    int first_correction = optimizer_step_correction(s, hyper[HYPER_BETA_1]);
    s->own[0] = optimizer_divide(g, nn_multiply(g, s->rate, root), first_correction);
}

int optimizer_update_adam(struct optimizer_update *u)
{
    struct graph *g = u->g;
    int moment[2], v, change;

    optimizer_update_moments(u, moment);
    v = moment[V];
    if (u->o->hyper[HYPER_AMSGRAD] != 0)
        v = optimizer_update_set_slot(
            u, V_MAX, graph_binary(g, HLO_MAXIMUM, optimizer_update_slot(u, V_MAX), v));
    v = nn_shift(g, graph_unary(g, HLO_SQRT, v), u->o->hyper[HYPER_EPSILON]);
    change = optimizer_divide(g, nn_multiply(g, moment[M], optimizer_update_own(u, 0)), v);
    return optimizer_subtract(g, u->value, change);
}


/* ----- Adamax: w -= lr / (1 - b1^t) m / (u + eps), u = max(b2 u, |g|) */

static void begin_adamax(struct optimizer_step *s)
{
    s->own[0] = optimizer_divide(&s->trace->graph, s->rate,
                                 optimizer_step_correction(s, s->optimizer->hyper[HYPER_BETA_1]));
}

static int update_adamax(struct optimizer_update *u)
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;
    int m = optimizer_update_set_slot(u, 0, average(g, optimizer_update_slot(u, 0), u->gradient,
                                                    hyper[HYPER_BETA_1]));
    int size = graph_unary(g, HLO_ABS, u->gradient);
    int most = graph_binary(g, HLO_MAXIMUM,
                            nn_scale(g, optimizer_update_slot(u, 1), hyper[HYPER_BETA_2]), size);

    most = nn_shift(g, optimizer_update_set_slot(u, 1, most), hyper[HYPER_EPSILON]);
    return optimizer_subtract(
        g, u->value, optimizer_divide(g, nn_multiply(g, m, optimizer_update_own(u, 0)), most));
}

/*
 * ----- Nadam: the momentum u_t = b1 (1 - 0.5 * 0.96^t), P_t the product of those up to t;
 * w -= lr (u_(t+1) / (1 - P_(t+1)) m + (1 - u_t) / (1 - P_t) g) / (sqrt(v / (1 - b2^t)) + eps)
 */
#define NADAM_DECAY 0.96

static int nadam_momentum(struct optimizer_step *s, int step)
{
    struct graph *g = &s->trace->graph;
    double beta = s->optimizer->hyper[HYPER_BETA_1];
    int power = graph_unary(g, HLO_EXP, nn_scale(g, step, log(NADAM_DECAY)));

    return nn_shift(g, nn_scale(g, power, -0.5 * beta), beta);
}

static int one_less(struct graph *g, int a)
{
    return optimizer_subtract(g, graph_splat(g, a, 1), a);
}

static void begin_nadam(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    int now = nadam_momentum(s, s->step), next = nadam_momentum(s, nn_shift(g, s->step, 1));
    int last = trace_read(s->trace, s->optimizer->product), product = nn_multiply(g, last, now);
    int ahead = optimizer_divide(g, next, one_less(g, nn_multiply(g, product, next)));
    int product_left = one_less(g, product);
    int here = optimizer_divide(g, one_less(g, now), product_left);

    s->own[0] = nn_multiply(g, s->rate, ahead);
    s->own[1] = nn_multiply(g, s->rate, here);
    int second_correction = optimizer_step_correction(s, s->optimizer->hyper[HYPER_BETA_2]);
    s->own[2] = optimizer_divide(g, graph_splat(g, s->step, 1), second_correction);
    trace_assign(s->trace, s->optimizer->product, optimizer_step_choose(s, product, last));
}

static int update_nadam(struct optimizer_update *u)
{
    struct graph *g = u->g;
    int moment[2], change, root;

    optimizer_update_moments(u, moment);
    int ahead = nn_multiply(g, u->gradient, optimizer_update_own(u, 1));
    change = nn_add(g, nn_multiply(g, moment[M], optimizer_update_own(u, 0)), ahead);
    root = graph_unary(g, HLO_SQRT, nn_multiply(g, moment[V], optimizer_update_own(u, 2)));
    return optimizer_subtract(
        g, u->value, optimizer_divide(g, change, nn_shift(g, root, u->o->hyper[HYPER_EPSILON])));
}

/* ----- RMSprop: inc = lr g / sqrt(v + eps), centred: of v - mean^2 + eps; w -= inc */

static int update_rmsprop(struct optimizer_update *u)
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;
    double rho = hyper[HYPER_RHO];
    int square = optimizer_square(g, u->gradient);
    int v = optimizer_update_set_slot(
        u, 0, average(g, optimizer_update_slot(u, 0), square, rho));
    int change;

    if (hyper[HYPER_CENTERED] != 0) {
        int mean = optimizer_update_set_slot(
            u, 2, average(g, optimizer_update_slot(u, 2), u->gradient, rho));

        v = optimizer_subtract(g, v, optimizer_square(g, mean));
    }
    change = graph_unary(g, HLO_RSQRT, nn_shift(g, v, hyper[HYPER_EPSILON]));
    change = nn_multiply(g, nn_multiply(g, u->gradient, optimizer_update_rate(u)), change);
    if (hyper[HYPER_MOMENTUM] != 0)
        change = optimizer_update_set_slot(
            u, 1,
            nn_add(g, nn_scale(g, optimizer_update_slot(u, 1), hyper[HYPER_MOMENTUM]), change));
    return optimizer_subtract(g, u->value, change);
}

/* ----- Adagrad: w -= lr g / sqrt(a + eps), a += g^2 */

static int update_adagrad(struct optimizer_update *u)
{
    struct graph *g = u->g;
    int square = optimizer_square(g, u->gradient);
    int sum = optimizer_update_set_slot(
        u, 0, nn_add(g, optimizer_update_slot(u, 0), square));
    int root = graph_unary(g, HLO_RSQRT, nn_shift(g, sum, u->o->hyper[HYPER_EPSILON]));

    return optimizer_subtract(
        g, u->value, nn_multiply(g, nn_multiply(g, u->gradient, optimizer_update_rate(u)), root));
}

/* ----- Adadelta: d = -sqrt(D + eps) / sqrt(G + eps) g, w += lr d; D, G: means of d^2, g^2 */

static int update_adadelta(struct optimizer_update *u)
{
    struct graph *g = u->g;
    double rho = u->o->hyper[HYPER_RHO], epsilon = u->o->hyper[HYPER_EPSILON];
    int gradient_square = optimizer_square(g, u->gradient);
    int squares = optimizer_update_set_slot(
        u, 0, average(g, optimizer_update_slot(u, 0), gradient_square, rho));
    int last = graph_unary(g, HLO_SQRT, nn_shift(g, optimizer_update_slot(u, 1), epsilon));
    int root = graph_unary(g, HLO_RSQRT, nn_shift(g, squares, epsilon));
    int change = nn_multiply(g, nn_multiply(g, last, root), u->gradient);

    int change_square = optimizer_square(g, change);
    optimizer_update_set_slot(
        u, 1, average(g, optimizer_update_slot(u, 1), change_square, rho));
    return optimizer_subtract(g, u->value, nn_multiply(g, change, optimizer_update_rate(u)));
}

/* ----- Lion: w -= lr sign(b1 m + (1 - b1) g), m = b2 m + (1 - b2) g */

static int update_lion(struct optimizer_update *u)
{
    struct graph *g = u->g;
    int m = optimizer_update_slot(u, 0);
    int way = graph_unary(g, HLO_SIGN, average(g, m, u->gradient, u->o->hyper[HYPER_BETA_1]));

    optimizer_update_set_slot(u, 0, average(g, m, u->gradient, u->o->hyper[HYPER_BETA_2]));
    return optimizer_subtract(g, u->value, nn_multiply(g, way, optimizer_update_rate(u)));
}

/*
 * ----- Ftrl: z += g + 2 shrinkage w - (A^p - a^p) / lr w, A = a + g^2 (p = -power), then
 * w = (z within l1 - z) / (A^p / lr + 2 l2 + beta / lr)
 */

static int raise(struct graph *g, int a, double power)
{
    return power == 0.5 ? graph_unary(g, HLO_SQRT, a)
                        : graph_binary(g, HLO_POWER, a, graph_splat(g, a, power));
}

static int update_ftrl(struct optimizer_update *u)
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;
    double power = -hyper[HYPER_LEARNING_RATE_POWER], l1 = hyper[HYPER_L1_STRENGTH];
    int old = optimizer_update_slot(u, 0), rate = optimizer_update_rate(u), z, below, near, most;
    int sum = nn_add(g, old, optimizer_square(g, u->gradient)), reached = raise(g, sum, power);

    below = optimizer_divide(g, optimizer_subtract(g, reached, raise(g, old, power)), rate);
    z = nn_add(g, u->gradient, nn_scale(g, u->value, 2 * hyper[HYPER_L2_SHRINKAGE]));
    z = optimizer_subtract(g, z, nn_multiply(g, below, u->value));
    z = optimizer_update_set_slot(u, 1, nn_add(g, optimizer_update_slot(u, 1), z));
    optimizer_update_set_slot(u, 0, sum);
    below = optimizer_divide(g, nn_shift(g, reached, hyper[HYPER_BETA]), rate);
    below = nn_shift(g, below, 2 * hyper[HYPER_L2_STRENGTH]);
    most = graph_constant(g, shape_scalar(DTYPE_F32), l1);
    near = graph_clamp(g, graph_constant(g, shape_scalar(DTYPE_F32), -l1), z, most);
    return optimizer_divide(g, optimizer_subtract(g, near, z), below);
}

/*
 * ----- ScheduleFreeAdamW: z -= lr g / (sqrt(v / (1 - b2^t)) + eps), begun as w; of the average
 * x = (w - (1 - b1) z) / b1 before, x += (z - x) / t and w = (1 - b1) z + b1 x behind
 */

/* own: rate; 1 - beta_2^t; 1 / t */
static void begin_schedule_free(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    double warm = s->optimizer->hyper[HYPER_WARMUP_STEPS];
    int one = graph_splat(g, s->step, 1);

    s->own[0] = s->rate;
    if (warm > 0)
        s->own[0] = nn_multiply(g, s->rate, graph_binary(g, HLO_MINIMUM,
                                                         nn_scale(g, s->step, 1 / warm), one));
    s->own[1] = optimizer_step_correction(s, s->optimizer->hyper[HYPER_BETA_2]);
    s->own[2] = optimizer_divide(g, one, s->step);
}

static int update_schedule_free(struct optimizer_update *u)
{
    struct graph *g = u->g;
    double b1 = u->o->hyper[HYPER_BETA_1], b2 = u->o->hyper[HYPER_BETA_2];
    int z = optimizer_step_first(u->s, u->before, optimizer_update_slot(u, 0)), next, x, v, root,
        change;

    v = optimizer_square(g, u->gradient);
    v = optimizer_update_set_slot(u, 1, average(g, optimizer_update_slot(u, 1), v, b2));
    root = graph_unary(g, HLO_SQRT, optimizer_divide(g, v, optimizer_update_own(u, 1)));
    root = nn_shift(g, root, u->o->hyper[HYPER_EPSILON]);
    next = nn_multiply(g, u->gradient, optimizer_update_own(u, 0));
    next = optimizer_update_set_slot(u, 0,
                                     optimizer_subtract(g, z, optimizer_divide(g, next, root)));
    x = nn_scale(g, optimizer_subtract(g, u->value, nn_scale(g, z, 1 - b1)), 1 / b1);
    change = optimizer_subtract(g, next, x);
    x = nn_add(g, x, nn_multiply(g, change, optimizer_update_own(u, 2)));
    return average(g, x, next, b1);
}

const struct rule optimizer_rules[RULE_COUNT] = {
    [RULE_SGD] = {NULL, update_sgd, false, false},
    [RULE_ADAM] = {optimizer_begin_adam, optimizer_update_adam, false, false},
    [RULE_ADAMW] = {optimizer_begin_adam, optimizer_update_adam, false, false},
    [RULE_NADAM] = {begin_nadam, update_nadam, false, false},
    [RULE_ADAMAX] = {begin_adamax, update_adamax, false, false},
    [RULE_RMSPROP] = {NULL, update_rmsprop, false, false},
    [RULE_ADAGRAD] = {NULL, update_adagrad, false, false},
    [RULE_ADADELTA] = {NULL, update_adadelta, false, false},
    [RULE_ADAFACTOR] = {optimizer_begin_adafactor, optimizer_update_adafactor, false, true},
    [RULE_LION] = {NULL, update_lion, false, false},
    [RULE_LAMB] = {optimizer_begin_lamb, optimizer_update_lamb, false, false},
    [RULE_FTRL] = {NULL, update_ftrl, false, false},
    [RULE_MUON] = {optimizer_begin_muon, optimizer_update_muon, false, true},
    [RULE_SCHEDULE_FREE_ADAMW] = {begin_schedule_free, update_schedule_free, false, false},
    [RULE_LARS] = {NULL, optimizer_update_lars, true, false},
};
