/*
 * Runs each optimizer for some steps on random gradients, and keeps the largest difference from
 * the reference in doubles.
 */
#include "cli/validate/optimizer_check.h"

#include "base/rng.h"
#include "base/units.h"
#include "cli/validate/optimizer_reference.h"
#include "cli/validate/optimizer_trial.h"

#include <math.h>
#include <string.h>

/* Rates are large, so that a wrong step shows beside the variables' own size. */
const char *const optimizer_check_calls[] = {
    "SGD(0.1)", "SGD(0.1, momentum=0.9)", "SGD(0.1, momentum=0.9, nesterov=True)",
    "Adam(0.1)", "Adam(0.1, amsgrad=True)", "Adam(0.1, beta_1=0, beta_2=0.9999)",
    "AdamW(0.1)", "AdamW(0.1, 0.1, exclude_from_weight_decay=['bias'])",
    "Nadam(0.1)", "Adamax(0.1)", "RMSprop(0.1)", "RMSprop(0.1, momentum=0.9, centered=True)",
    "Adagrad(0.1)", "Adadelta(1.0)", "Adafactor(0.1)", "Adafactor(0.1, relative_step=False)",
    "Lion(0.1)", "Lamb(0.1)", "LARS(1.0)",
    "LARS(10.0, weight_decay=0.01, nesterov=True, exclude_from_layer_adaptation=['bias'])",
    "LARS(1.0, classic_momentum=False)",
    "Ftrl(0.1)",
    ("Ftrl(0.1, learning_rate_power=-0.7, l1_regularization_strength=0.01, "
     "l2_regularization_strength=0.1, l2_shrinkage_regularization_strength=0.1, beta=0.1)"),
    "Muon(0.01)", "Muon(0.01, nesterov=False, ns_steps=3, rms_rate=None, adam_lr_ratio=0.5)",
    "ScheduleFreeAdamW(0.1)", "ScheduleFreeAdamW(0.1, warmup_steps=7, weight_decay=0.1)",
    "LossScaleOptimizer(Adam(0.1), initial_scale=1, dynamic_growth_steps=1000)",
    "Adam(0.1, clipnorm=0.1)", "SGD(0.1, global_clipnorm=0.1)", "Adam(0.1, clipvalue=0.01)",
    "Adam(0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=5)",
    "Adam(0.1, gradient_accumulation_steps=4)", "Nadam(0.1, gradient_accumulation_steps=3)",
    "SGD(0.1, momentum=0.9, loss_scale_factor=1000, weight_decay=0.1)",
    "SGD(ExponentialDecay(0.1, 7, 0.5))", "SGD(ExponentialDecay(0.1, 7, 0.5, staircase=True))",
    "SGD(PiecewiseConstantDecay([4, 9, 14], [0.1, 0.2, 0.05, 0.4]))",
    "SGD(PolynomialDecay(0.1, 12, 0.01, power=2))",
    "SGD(PolynomialDecay(0.1, 6, power=0.5, cycle=True))",
    "SGD(InverseTimeDecay(0.1, 5, 0.7))", "SGD(InverseTimeDecay(0.1, 5, 0.7, staircase=True))",
    "SGD(CosineDecay(0.1, 19))",
    "AdamW(CosineDecay(0.0, 15, alpha=0.1, warmup_target=0.1, warmup_steps=4))",
    "SGD(CosineDecayRestarts(0.1, 3, t_mul=1.5, m_mul=0.8))",
    "SGD(CosineDecayRestarts(0.1, 6, t_mul=1, m_mul=0.5, alpha=0.1))",
};
const int optimizer_check_call_count = COUNT_OF(optimizer_check_calls);

#define VARIABLES 4
static const char *const names[VARIABLES] = {"dense/kernel", "dense/bias", "conv/kernel", "scale"};
static const struct shape shapes[VARIABLES] = {
    {DTYPE_F32, 2, {48, 40}}, {DTYPE_F32, 1, {40}}, {DTYPE_F32, 4, {3, 3, 8, 16}},
    {DTYPE_F32, 0, {0}},
};

static float *uniform(struct arena *a, struct rng *r, int variable, float size)
{
    int64_t elems = shape_elems(&shapes[variable]);
    float *x = arena_array(a, (size_t)elems, sizeof(*x));

    for (int64_t i = 0; i < elems; i++)
        x[i] = size * rng_uniform(r, -1, 1);
    return x;
}

/* gradients whose sizes go over three decades from step to step */
static void draw(struct optimizer_trial *t, const struct optimizer_check *c, struct arena *a)
{
    const float **initial = arena_array(a, VARIABLES, sizeof(*initial));
    const float **gradient = arena_array(a, (size_t)(c->steps * VARIABLES) + 1,
                                         sizeof(*gradient));
    struct rng r;

    rng_init(&r, c->seed);
    for (int v = 0; v < VARIABLES; v++)
        initial[v] = uniform(a, &r, v, 1);
    for (int i = 0; i < c->steps * VARIABLES; i++)
        gradient[i] = uniform(a, &r, i % VARIABLES, powf(10, rng_uniform(&r, -3, 0)));
    t->initial = initial;
    t->gradient = gradient;
}

struct worst {
    double *size;                       /* of each element, the largest so far */
    double error;                       /* of the last step */
};

static void follow(struct worst *w, const float *is, const double *should, int64_t elems)
{
    w->error = 0;
    for (int64_t i = 0; i < elems; i++) {
        double difference = fabs((double)is[i] - should[i]);

        w->size[i] = fmax(w->size[i], fabs(should[i]));
        if (!(difference <= 0))
            w->error = fmax(w->error, isfinite(difference) ? difference / w->size[i] : INFINITY);
    }
}

struct comparison {
    struct worst value[VARIABLES], slot[VARIABLES][REFERENCE_SLOTS];
};

static double *sizes(int variable, struct arena *a)
{
    return arena_array(a, (size_t)shape_elems(&shapes[variable]), sizeof(double));
}

static void follow_variable(struct comparison *c, const struct optimizer_trial *t,
                            const struct optimizer_reference *r, int step, int v)
{
    const struct optimizer_variable *of = &t->optimizer->of[v];
    float **value = t->value + step * t->set.count;

    follow(&c->value[v], value[of->variable], r->variable[v].value, r->variable[v].elems);
    for (int k = 0; k < REFERENCE_SLOTS; k++)
        if (of->slot[k] >= 0)
            follow(&c->slot[v][k], value[of->slot[k]], r->variable[v].slot[k],
                   shape_elems(&t->set.variable[of->slot[k]].shape));
}

static void compare(struct optimizer_check *c, const struct optimizer_trial *t, struct arena *a)
{
    struct comparison worst = {.value = {{0}}};
    struct optimizer_reference r;

    optimizer_reference_init(&r, t->optimizer, VARIABLES, shapes, names, t->initial, a);
    for (int v = 0; v < VARIABLES; v++) {
        worst.value[v].size = sizes(v, a);
        for (int k = 0; k < REFERENCE_SLOTS; k++)
            worst.slot[v][k].size = sizes(v, a);
    }
    for (int step = 0; step < c->steps; step++) {
        optimizer_reference_step(&r, t->gradient + step * VARIABLES);
        for (int v = 0; v < VARIABLES; v++)
            follow_variable(&worst, t, &r, step, v);
    }
    c->variables = c->slots = 0;
    for (int v = 0; v < VARIABLES; v++) {
        c->variables = fmax(c->variables, worst.value[v].error);
        for (int k = 0; k < REFERENCE_SLOTS; k++)
            c->slots = fmax(c->slots, worst.slot[v][k].error);
    }
    c->cycles = t->cycles;
}

int optimizer_check_run(struct optimizer_check *c, struct err *e)
{
    struct optimizer o;
    struct optimizer_trial t = {.optimizer = &o, .slice = c->slice, .steps = c->steps,
                                .variable_count = VARIABLES, .shape = shapes, .name = names};
    struct arena a;
    int status;

    arena_init(&a);
    status = optimizer_parse(&o, c->call, &a, e);
    if (status == 0) {
        draw(&t, c, &a);
        status = optimizer_trial_run(&t, &a, e);
        if (status == 0)
            compare(c, &t, &a);
        optimizer_trial_fini(&t);
    }
    arena_fini(&a);
    return status;
}
