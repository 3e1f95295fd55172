/*
 * The update rules of Keras 3 in doubles, one function each, with clipping, averages and decay
 * around them.
 */
#include "cli/validate/optimizer_reference.h"

#include <math.h>
#include <string.h>

#define EACH(v, i) for (int64_t i = 0; i < (v)->elems; i++)

struct step {
    const struct optimizer *o;
    double lr, t, product;
};

static double hyper(const struct optimizer *o, enum hyper h)
{
    return o->hyper[h];
}

static double norm(const double *x, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static double root_mean_square(const double *x, int64_t count)
{
    return norm(x, count) / sqrt((double)count);
}

static bool is_named(const char *name, const char *const *parts, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

void optimizer_reference_init(struct optimizer_reference *r, const struct optimizer *o, int count,
                              const struct shape *shape, const char *const *name,
                              const float *const *initial, struct arena *a)
{
    *r = (struct optimizer_reference){.o = o, .count = count, .product = 1};
    r->variable = arena_array(a, (size_t)count + 1, sizeof(*r->variable));
    for (int k = 0; k < count; k++) {
        struct reference_variable *v = &r->variable[k];
        size_t elems = (size_t)shape_elems(&shape[k]);

        v->shape = &shape[k];
        v->elems = (int64_t)elems;
        v->value = arena_array(a, elems, sizeof(double));
        v->gradient = arena_array(a, elems, sizeof(double));
        v->accumulated = arena_array(a, elems, sizeof(double));
        v->average = arena_array(a, elems, sizeof(double));
        v->change = arena_array(a, elems, sizeof(double));
        v->before = arena_array(a, elems, sizeof(double));
        for (int s = 0; s < REFERENCE_SLOTS; s++)
            v->slot[s] = arena_array(a, elems, sizeof(double));
        EACH(v, i) {
            v->value[i] = initial[k][i];
            if (o->rule == RULE_ADAGRAD || o->rule == RULE_FTRL)
                v->slot[0][i] = hyper(o, HYPER_INITIAL_ACCUMULATOR_VALUE);
        }
        v->uses_adam = o->rule == RULE_MUON && (shape[k].rank != 2 || strstr(name[k], "embedding"));
        v->decays = !is_named(name[k], o->no_decay, o->no_decay_count);
        v->adapts = !is_named(name[k], o->no_adaptation, o->no_adaptation_count);
    }
}

/* ----- rules */

static void sgd(struct reference_variable *v, const struct step *s)
{
    double mu = hyper(s->o, HYPER_MOMENTUM);

    EACH(v, i) {
        double by = s->lr * v->gradient[i], *m = &v->slot[0][i];

        *m = mu * *m - by;
        if (mu == 0)
            v->value[i] -= by;
        else
            v->value[i] += hyper(s->o, HYPER_NESTEROV) != 0 ? mu * *m - by : *m;
    }
}

static void moments(struct reference_variable *v, const struct step *s)
{
    EACH(v, i) {
        double g = v->gradient[i];

        v->slot[0][i] += (g - v->slot[0][i]) * (1 - hyper(s->o, HYPER_BETA_1));
        v->slot[1][i] += (g * g - v->slot[1][i]) * (1 - hyper(s->o, HYPER_BETA_2));
    }
}

static void adam(struct reference_variable *v, const struct step *s)
{
    double alpha = s->lr * sqrt(1 - pow(hyper(s->o, HYPER_BETA_2), s->t)) /
                   (1 - pow(hyper(s->o, HYPER_BETA_1), s->t));

    moments(v, s);
    EACH(v, i) {
        double square = v->slot[1][i];

        if (hyper(s->o, HYPER_AMSGRAD) != 0) {
            v->slot[2][i] = fmax(v->slot[2][i], square);
            square = v->slot[2][i];
        }
        v->value[i] -= alpha * v->slot[0][i] / (sqrt(square) + hyper(s->o, HYPER_EPSILON));
    }
}

static double nadam_momentum(const struct step *s, double t)
{
    return hyper(s->o, HYPER_BETA_1) * (1 - 0.5 * pow(0.96, t));
}

static void nadam(struct reference_variable *v, const struct step *s)
{
    double now = nadam_momentum(s, s->t), next = nadam_momentum(s, s->t + 1);

    moments(v, s);
    EACH(v, i) {
        double m = next * v->slot[0][i] / (1 - s->product * next) +
                   (1 - now) * v->gradient[i] / (1 - s->product);
        double square = v->slot[1][i] / (1 - pow(hyper(s->o, HYPER_BETA_2), s->t));

        v->value[i] -= m * s->lr / (sqrt(square) + hyper(s->o, HYPER_EPSILON));
    }
}

static void adamax(struct reference_variable *v, const struct step *s)
{
    double weight = 1 - pow(hyper(s->o, HYPER_BETA_1), s->t);

    EACH(v, i) {
        double g = v->gradient[i], *m = &v->slot[0][i], *u = &v->slot[1][i];

        *m += (g - *m) * (1 - hyper(s->o, HYPER_BETA_1));
        *u = fmax(hyper(s->o, HYPER_BETA_2) * *u, fabs(g));
        v->value[i] -= s->lr * *m / (weight * (*u + hyper(s->o, HYPER_EPSILON)));
    }
}

static void rmsprop(struct reference_variable *v, const struct step *s)
{
    double rho = hyper(s->o, HYPER_RHO), mu = hyper(s->o, HYPER_MOMENTUM);

    EACH(v, i) {
        double g = v->gradient[i], below, by;
        double *square = &v->slot[0][i], *m = &v->slot[1][i], *mean = &v->slot[2][i];

        *square = rho * *square + (1 - rho) * g * g;
        *mean = rho * *mean + (1 - rho) * g;
        below = *square - (hyper(s->o, HYPER_CENTERED) != 0 ? *mean * *mean : 0);
        by = s->lr * g / sqrt(below + hyper(s->o, HYPER_EPSILON));
        *m = mu * *m + by;
        v->value[i] -= mu != 0 ? *m : by;
    }
}

static void adagrad(struct reference_variable *v, const struct step *s)
{
    EACH(v, i) {
        double g = v->gradient[i];

        v->slot[0][i] += g * g;
        v->value[i] -= s->lr * g / sqrt(v->slot[0][i] + hyper(s->o, HYPER_EPSILON));
    }
}

static void adadelta(struct reference_variable *v, const struct step *s)
{
    double rho = hyper(s->o, HYPER_RHO), epsilon = hyper(s->o, HYPER_EPSILON);

    EACH(v, i) {
        double g = v->gradient[i], *squares = &v->slot[0][i], *changes = &v->slot[1][i], d;

        *squares = rho * *squares + (1 - rho) * g * g;
        d = -sqrt(*changes + epsilon) / sqrt(*squares + epsilon) * g;
        *changes = rho * *changes + (1 - rho) * d * d;
        v->value[i] += s->lr * d;
    }
}

static void lion(struct reference_variable *v, const struct step *s)
{
    double beta_1 = hyper(s->o, HYPER_BETA_1), beta_2 = hyper(s->o, HYPER_BETA_2);

    EACH(v, i) {
        double g = v->gradient[i], *m = &v->slot[0][i], way = beta_1 * *m + (1 - beta_1) * g;

        v->value[i] -= s->lr * (way > 0 ? 1 : way < 0 ? -1 : way);
        *m = beta_2 * *m + (1 - beta_2) * g;
    }
}

static void lamb(struct reference_variable *v, const struct step *s)
{
    double weight_1 = 1 - pow(hyper(s->o, HYPER_BETA_1), s->t), size, long_;
    double weight_2 = 1 - pow(hyper(s->o, HYPER_BETA_2), s->t);

    moments(v, s);
    EACH(v, i)
        v->change[i] = v->slot[0][i] / weight_1 /
                       (sqrt(v->slot[1][i] / weight_2) + hyper(s->o, HYPER_EPSILON));
    size = norm(v->value, v->elems);
    long_ = norm(v->change, v->elems);
    EACH(v, i)
        v->value[i] -= s->lr * (size > 0 && long_ > 0 ? size / long_ : 1) * v->change[i];
}

static double trust(const struct reference_variable *v, const struct step *s, const double *of)
{
    double size = norm(v->value, v->elems), length = norm(of, v->elems);

    return v->adapts && size > 0 && length > 0 ? hyper(s->o, HYPER_EETA) * size / length : 1;
}

static void lars(struct reference_variable *v, const struct step *s)
{
    double mu = hyper(s->o, HYPER_MOMENTUM), by = 1;
    bool is_classic = hyper(s->o, HYPER_CLASSIC_MOMENTUM) != 0;

    EACH(v, i)
        v->gradient[i] += v->decays ? hyper(s->o, HYPER_WEIGHT_DECAY) * v->value[i] : 0;
    if (is_classic)
        by = s->lr * trust(v, s, v->gradient);
    EACH(v, i) {
        v->slot[0][i] = mu * v->slot[0][i] + by * v->gradient[i];
        v->change[i] = hyper(s->o, HYPER_NESTEROV) != 0
                           ? mu * v->slot[0][i] + by * v->gradient[i] : v->slot[0][i];
    }
    by = is_classic ? 1 : s->lr * trust(v, s, v->change);
    EACH(v, i)
        v->value[i] -= by * v->change[i];
}

/* slots of rows and columns as matrices of [.., rows, columns]; change becomes v */
static void factored(struct reference_variable *v, double beta, double epsilon)
{
    int rank = v->shape->rank;
    int64_t rows = v->shape->dim[rank - 2], columns = v->shape->dim[rank - 1];
    int64_t outer = v->elems / (rows * columns);

    for (int64_t o = 0; o < outer; o++) {
        const double *g = v->gradient + o * rows * columns;
        double *r = v->slot[0] + o * rows, *c = v->slot[1] + o * columns, mean = 0;

        for (int64_t i = 0; i < rows; i++)
            r[i] *= beta;
        for (int64_t j = 0; j < columns; j++)
            c[j] *= beta;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                double square = g[i * columns + j] * g[i * columns + j] + epsilon;

                r[i] += (1 - beta) * square / (double)columns;
                c[j] += (1 - beta) * square / (double)rows;
            }
        for (int64_t i = 0; i < rows; i++)
            mean += r[i] / (double)rows;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                v->change[(o * rows + i) * columns + j] = r[i] / mean * c[j];
    }
}

static void adafactor(struct reference_variable *v, const struct step *s)
{
    bool is_relative = hyper(s->o, HYPER_RELATIVE_STEP) != 0 && s->o->schedule.kind == 0;
    double lr = is_relative ? fmin(s->lr, 1 / sqrt(s->t)) : s->lr, rate = fmin(lr, 1 / sqrt(s->t));
    double beta = 1 - pow(s->t, hyper(s->o, HYPER_BETA_2_DECAY));
    double epsilon = hyper(s->o, HYPER_EPSILON_1), excess;

    rate *= fmax(hyper(s->o, HYPER_EPSILON_2), root_mean_square(v->value, v->elems));
    if (v->shape->rank >= 2)
        factored(v, beta, epsilon);
    else
        EACH(v, i) {
            double g = v->gradient[i];

            v->slot[2][i] = beta * v->slot[2][i] + (1 - beta) * (g * g + epsilon);
            v->change[i] = v->slot[2][i];
        }
    EACH(v, i)
        v->change[i] = v->gradient[i] / sqrt(v->change[i]);
    excess = fmax(1, root_mean_square(v->change, v->elems) / hyper(s->o, HYPER_CLIP_THRESHOLD));
    EACH(v, i)
        v->value[i] -= rate * v->change[i] / excess;
}

static void ftrl(struct reference_variable *v, const struct step *s)
{
    double power = -hyper(s->o, HYPER_LEARNING_RATE_POWER), l1 = hyper(s->o, HYPER_L1_STRENGTH);
    double l2 = hyper(s->o, HYPER_L2_STRENGTH) + hyper(s->o, HYPER_BETA) / (2 * s->lr);

    EACH(v, i) {
        double g = v->gradient[i], *sum = &v->slot[0][i], *z = &v->slot[1][i];
        double next = *sum + g * g, reached = pow(next, power) / s->lr;

        *z += g + 2 * hyper(s->o, HYPER_L2_SHRINKAGE) * v->value[i] -
              (reached - pow(*sum, power) / s->lr) * v->value[i];
        *sum = next;
        v->value[i] = (fmin(l1, fmax(-l1, *z)) - *z) / (reached + 2 * l2);
    }
}

static void schedule_free(struct reference_variable *v, const struct step *s)
{
    double b1 = hyper(s->o, HYPER_BETA_1), b2 = hyper(s->o, HYPER_BETA_2);
    double warm = hyper(s->o, HYPER_WARMUP_STEPS), lr = s->lr * (warm > 0 ? fmin(s->t / warm, 1) : 1);

    EACH(v, i) {
        double g = v->gradient[i], z = s->t == 1 ? v->before[i] : v->slot[0][i], x;

        x = (v->value[i] - (1 - b1) * z) / b1;
        v->slot[1][i] += (g * g - v->slot[1][i]) * (1 - b2);
        v->slot[0][i] = z - lr * g / (sqrt(v->slot[1][i] / (1 - pow(b2, s->t))) +
                                      hyper(s->o, HYPER_EPSILON));
        x += (v->slot[0][i] - x) / s->t;
        v->value[i] = (1 - b1) * v->slot[0][i] + b1 * x;
    }
}

/* to = a b, or a b' */
static void multiply(double *to, const double *a, const double *b, int64_t rows, int64_t inner,
                     int64_t columns, bool is_turned)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double sum = 0;

            for (int64_t k = 0; k < inner; k++)
                sum += a[i * inner + k] * (is_turned ? b[j * inner + k] : b[k * columns + j]);
            to[i * columns + j] = sum;
        }
}

/* x of [rows, columns] towards its orthogonal factor; x and x' give the same, turned */
static void newton_schulz(double *x, int64_t rows, int64_t columns, const struct optimizer *o)
{
    double *square = mem_alloc((size_t)(rows * rows) * 2 * sizeof(*square));
    double *fourth = square + rows * rows, *next = mem_alloc((size_t)(rows * columns) * sizeof(*x));
    double size = norm(x, rows * columns) + 1e-7;

    for (int64_t i = 0; i < rows * columns; i++)
        x[i] /= size;
    for (int n = 0; n < (int)hyper(o, HYPER_NS_STEPS); n++) {
        multiply(square, x, x, rows, columns, rows, true);
        multiply(fourth, square, square, rows, rows, rows, false);
        for (int64_t i = 0; i < rows * rows; i++)
            square[i] = hyper(o, HYPER_MUON_B) * square[i] + hyper(o, HYPER_MUON_C) * fourth[i];
        multiply(next, square, x, rows, rows, columns, false);
        for (int64_t i = 0; i < rows * columns; i++)
            x[i] = hyper(o, HYPER_MUON_A) * x[i] + next[i];
    }
    mem_free(square);
    mem_free(next);
}

static void muon(struct reference_variable *v, const struct step *s)
{
    double mu = hyper(s->o, HYPER_MOMENTUM), size = hyper(s->o, HYPER_RMS_RATE);
    struct step own = *s;

    own.lr *= hyper(s->o, HYPER_ADAM_LR_RATIO);
    if (v->uses_adam) {
        adam(v, &own);
        return;
    }
    EACH(v, i) {
        double *m = &v->slot[0][i];

        *m = mu * *m + v->gradient[i];
        v->change[i] = hyper(s->o, HYPER_NESTEROV) != 0 ? v->gradient[i] + mu * *m : *m;
    }
    newton_schulz(v->change, v->shape->dim[0], v->shape->dim[1], s->o);
    size = size > 0 ? size * sqrt((double)(v->shape->dim[0] > v->shape->dim[1]
                                               ? v->shape->dim[0] : v->shape->dim[1])) : 1;
    EACH(v, i)
        v->value[i] -= s->lr * size * v->change[i];
}

static void (*const rules[RULE_COUNT])(struct reference_variable *, const struct step *) = {
    [RULE_SGD] = sgd, [RULE_ADAM] = adam, [RULE_ADAMW] = adam, [RULE_NADAM] = nadam,
    [RULE_ADAMAX] = adamax, [RULE_RMSPROP] = rmsprop, [RULE_ADAGRAD] = adagrad,
    [RULE_ADADELTA] = adadelta, [RULE_ADAFACTOR] = adafactor, [RULE_LION] = lion,
    [RULE_LAMB] = lamb, [RULE_LARS] = lars, [RULE_FTRL] = ftrl, [RULE_MUON] = muon,
    [RULE_SCHEDULE_FREE_ADAMW] = schedule_free,
};

/* ----- what is around them */

static void scale(struct reference_variable *v, double by)
{
    EACH(v, i)
        v->gradient[i] *= by;
}

static void clip(struct optimizer_reference *r)
{
    const struct optimizer *o = r->o;
    double each = hyper(o, HYPER_CLIPNORM), all = hyper(o, HYPER_GLOBAL_CLIPNORM), sum = 0;
    double most = hyper(o, HYPER_CLIPVALUE);

    for (int k = 0; k < r->count; k++)
        sum += pow(norm(r->variable[k].gradient, r->variable[k].elems), 2);
    for (int k = 0; k < r->count; k++) {
        struct reference_variable *v = &r->variable[k];

        if (each > 0)
            scale(v, each / fmax(each, norm(v->gradient, v->elems)));
        else if (all > 0)
            scale(v, all / fmax(all, sqrt(sum)));
        else if (most > 0)
            EACH(v, i)
                v->gradient[i] = fmin(most, fmax(-most, v->gradient[i]));
    }
}

static void update(struct optimizer_reference *r, int64_t updates)
{
    const struct optimizer *o = r->o;
    struct step s = {.o = o, .lr = hyper(o, HYPER_LEARNING_RATE), .t = (double)updates + 1};

    if (o->schedule.kind != SCHEDULE_NONE)
        s.lr = schedule_value(&o->schedule, r->iterations);
    clip(r);
    if (o->rule == RULE_NADAM)
        r->product *= nadam_momentum(&s, s.t);
    s.product = r->product;
    for (int k = 0; k < r->count; k++) {
        struct reference_variable *v = &r->variable[k];

        double share = hyper(o, v->uses_adam ? HYPER_ADAM_WEIGHT_DECAY : HYPER_WEIGHT_DECAY);

        memcpy(v->before, v->value, (size_t)v->elems * sizeof(*v->before));
        if (v->decays && o->rule != RULE_LARS)
            EACH(v, i)
                v->value[i] -= v->value[i] * share * s.lr;
        rules[o->rule](v, &s);
    }
}

static void average(struct optimizer_reference *r, int64_t updates)
{
    double momentum = updates ? hyper(r->o, HYPER_EMA_MOMENTUM) : 0;
    int64_t often = (int64_t)hyper(r->o, HYPER_EMA_OVERWRITE_FREQUENCY);

    for (int k = 0; k < r->count; k++) {
        struct reference_variable *v = &r->variable[k];

        EACH(v, i) {
            v->average[i] = momentum * v->average[i] + (1 - momentum) * v->value[i];
            if (often && (updates + 1) % often == 0)
                v->value[i] = v->average[i];
        }
    }
}

void optimizer_reference_step(struct optimizer_reference *r, const float *const *gradient)
{
    int64_t n = (int64_t)fmax(1, hyper(r->o, HYPER_GRADIENT_ACCUMULATION_STEPS));
    double factor = hyper(r->o, HYPER_LOSS_SCALE_FACTOR);
    bool is_due = (r->iterations + 1) % n == 0;

    for (int k = 0; k < r->count; k++) {
        struct reference_variable *v = &r->variable[k];

        EACH(v, i) {
            v->accumulated[i] += gradient[k][i] / (factor > 0 ? factor : 1);
            v->gradient[i] = v->accumulated[i] / (double)n;
            v->accumulated[i] *= !is_due;
        }
    }
    if (is_due)
        update(r, r->iterations / n);
    if (hyper(r->o, HYPER_USE_EMA) != 0)
        average(r, r->iterations / n);
    r->iterations++;
}
