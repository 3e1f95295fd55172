/* Writes one step of an optimizer: what comes before and behind every rule, in Keras's order. */
#include "keras/trace/choose.h"
#include "keras/optimizer/optimizer_impl.h"
#include "stack/nn/nn.h"

#include <assert.h>
#include <math.h>

static bool is_part(const struct optimizer_step *s, int i, int node)
{
    const struct optimizer *o = s->optimizer;
    const struct shape *of = &s->trace->graph.node[node].shape;

    return !shape_same_dims(of, &o->set->variable[o->of[i].variable].shape);
}

/* s32 scalars: all bits where they are equal, else none */
static int are_equal(struct graph *g, int a, int b)
{
    return choose_bits(g, graph_compare(g, COMPARE_EQ, a, b));
}

static int s32(struct graph *g, int64_t value)
{
    return graph_constant(g, shape_scalar(DTYPE_S32), (double)value);
}

static int64_t accumulation(const struct optimizer *o)
{
    double steps = o->hyper[HYPER_GRADIENT_ACCUMULATION_STEPS];

    return steps > 1 ? (int64_t)steps : 1;
}

/* updates before this one: Keras's `iterations` */
static int updates_before(const struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    int64_t n = accumulation(s->optimizer);
    int iterations = trace_read(s->trace, s->optimizer->iterations);

    return n == 1 ? iterations : optimizer_divide(g, iterations, s32(g, n));
}

/* `a` where the gradients are finite, or nobody looks, else `b` */
static int choose_finite(const struct optimizer_step *s, int a, int b)
{
    return s->finite == NODE_NONE ? a : choose_value(&s->trace->graph, s->finite, a, b);
}

int optimizer_step_choose(const struct optimizer_step *s, int a, int b)
{
    return s->update == NODE_NONE ? a : choose_value(&s->trace->graph, s->update, a, b);
}

int optimizer_step_first(const struct optimizer_step *s, int a, int b)
{
    struct graph *g = &s->trace->graph;
    int zero = s32(g, 0);

    return choose_value(g, are_equal(g, updates_before(s), zero), a, b);
}

int optimizer_step_square_sum(const struct optimizer_step *s, int x, bool x_is_part)
{
    struct graph *g = &s->trace->graph;
    uint32_t all = (1u << g->node[x].shape.rank) - 1;
    int sum = nn_multiply(g, x, x);

    if (all)
        sum = graph_reduce(g, REDUCE_ADD, sum, all);
    return x_is_part && s->trace->replica_count > 1 ? graph_all_reduce(g, sum) : sum;
}

/*
 * As -expm1(step ln beta): of a power in f32, however it is kept, what is left of 1 would be off
 * by the rounding of beta itself, 1e-5 of 1 - 0.999.
 */
int optimizer_step_correction(const struct optimizer_step *s, double beta)
{
    struct graph *g = &s->trace->graph;

    if (beta == 0)
        return graph_splat(g, s->step, 1);
    return graph_unary(g, HLO_NEGATE,
                       graph_unary(g, HLO_EXPM1, nn_scale(g, s->step, log(beta))));
}

int optimizer_update_slot(const struct optimizer_update *u, int k)
{
    assert(u->of->slot[k] >= 0);
    return trace_read(u->s->trace, u->of->slot[k]);
}

int optimizer_update_set_slot(const struct optimizer_update *u, int k, int node)
{
    trace_assign(u->s->trace, u->of->slot[k],
                 optimizer_step_choose(u->s, node, optimizer_update_slot(u, k)));
    return node;
}

int optimizer_update_norm(const struct optimizer_update *u, int x)
{
    return graph_unary(u->g, HLO_SQRT, optimizer_step_square_sum(u->s, x, u->is_part));
}

int optimizer_update_root_mean_square(const struct optimizer_update *u, int x)
{
    const struct variable *v = &u->o->set->variable[u->of->variable];
    int sum = optimizer_step_square_sum(u->s, x, u->is_part);

    return graph_unary(u->g, HLO_SQRT, nn_scale(u->g, sum, 1 / (double)shape_elems(&v->shape)));
}

int optimizer_update_own(const struct optimizer_update *u, int k)
{
    return nn_spread(u->g, u->s->own[k], u->value);
}

int optimizer_update_rate(const struct optimizer_update *u)
{
    return nn_spread(u->g, u->s->rate, u->value);
}

/* a + (b - a) share */
static int approach(struct graph *g, int a, int b, double share)
{
    return nn_add(g, a, nn_scale(g, optimizer_subtract(g, b, a), share));
}

void optimizer_update_moments(struct optimizer_update *u, int moment[2])
{
    struct graph *g = u->g;
    const double *hyper = u->o->hyper;
    int m = optimizer_update_slot(u, OPTIMIZER_M), v = optimizer_update_slot(u, OPTIMIZER_V);

    moment[0] = optimizer_update_set_slot(u, OPTIMIZER_M,
                                          approach(g, m, u->gradient, 1 - hyper[HYPER_BETA_1]));
    moment[1] = optimizer_update_set_slot(u, OPTIMIZER_V,
                                          approach(g, v, optimizer_square(g, u->gradient),
                                                   1 - hyper[HYPER_BETA_2]));
}

/* ----- before the rules: counting, and all gradients */

/* Schedules count steps, not updates. */
static int rate(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    const struct optimizer *o = s->optimizer;
    int step;

    if (o->learning_rate >= 0)
        return trace_read(s->trace, o->learning_rate);
    step = trace_read(s->trace, o->iterations);
    if (o->accumulates_in_launch)
        step = nn_shift(g, step, (double)(accumulation(o) - 1));
    return schedule_rate(g, &o->schedule, step);
}

static void count_step(struct optimizer_step *s)
{
    struct graph *g = &s->trace->graph;
    const struct optimizer *o = s->optimizer;
    int64_t n = accumulation(o);
    int next = nn_shift(g, updates_before(s), 1);

    s->step = graph_convert(g, next, DTYPE_F32);
    s->rate = rate(s);
    s->update = NODE_NONE;
    if (n > 1 && !o->accumulates_in_launch) {
        int after = nn_shift(g, trace_read(s->trace, o->iterations), 1);

        s->update = are_equal(g, nn_multiply(g, next, s32(g, n)), after);
    }
}

/* the mean of the steps that were waiting for this one; their sum goes on waiting otherwise */
static int accumulate(struct optimizer_step *s, int i, int gradient)
{
    struct graph *g = &s->trace->graph;
    int64_t n = accumulation(s->optimizer);
    int variable = s->optimizer->of[i].accumulated;

    if (variable >= 0) {
        int before = trace_read(s->trace, variable), kept;

        gradient = nn_add(g, gradient, before);
        kept = optimizer_step_choose(s, graph_splat(g, gradient, 0), gradient);
        trace_assign(s->trace, variable, choose_finite(s, kept, before));
    }
    return n > 1 ? nn_scale(g, gradient, 1.0 / (double)n) : gradient;
}

/* limit / norm of what is longer than the limit, else exactly 1; a scalar */
static int norm_scale(struct optimizer_step *s, int square_sum, double limit)
{
    struct graph *g = &s->trace->graph;
    int norm = graph_unary(g, HLO_SQRT, square_sum), most = graph_splat(g, norm, limit);

    int shrunk = optimizer_divide(g, most, norm);
    int one = graph_splat(g, norm, 1);
    return graph_select(g, graph_compare(g, COMPARE_LE, norm, most), one, shrunk);
}

static void clip_norms(struct optimizer_step *s, int *gradient)
{
    struct graph *g = &s->trace->graph;

    for (int i = 0; i < s->optimizer->count; i++) {
        int sum = optimizer_step_square_sum(s, gradient[i], is_part(s, i, gradient[i]));
        int scale = norm_scale(s, sum, s->optimizer->hyper[HYPER_CLIPNORM]);

        gradient[i] = nn_multiply(g, gradient[i], nn_spread(g, scale, gradient[i]));
    }
}

/* One all-reduce for the parts of all. An infinite norm makes every gradient NaN, as in Keras. */
static void clip_global_norm(struct optimizer_step *s, int *gradient)
{
    struct graph *g = &s->trace->graph;
    int sum[2] = {NODE_NONE, NODE_NONE}, all, norm, scale;

    for (int i = 0; i < s->optimizer->count; i++) {
        int k = is_part(s, i, gradient[i]), own = optimizer_step_square_sum(s, gradient[i], false);

        sum[k] = sum[k] == NODE_NONE ? own : nn_add(g, sum[k], own);
    }
    if (sum[1] != NODE_NONE && s->trace->replica_count > 1)
        sum[1] = graph_all_reduce(g, sum[1]);
    all = sum[0] == NODE_NONE ? sum[1] : sum[1] == NODE_NONE ? sum[0] : nn_add(g, sum[0], sum[1]);
    scale = norm_scale(s, all, s->optimizer->hyper[HYPER_GLOBAL_CLIPNORM]);
    norm = graph_unary(g, HLO_SQRT, all);
    scale = nn_add(g, scale, optimizer_subtract(g, norm, norm));
    for (int i = 0; i < s->optimizer->count; i++)
        gradient[i] = nn_multiply(g, gradient[i], nn_spread(g, scale, gradient[i]));
}

static void clip_values(struct optimizer_step *s, int *gradient)
{
    struct graph *g = &s->trace->graph;
    double limit = s->optimizer->hyper[HYPER_CLIPVALUE];
    int low = graph_constant(g, shape_scalar(DTYPE_F32), -limit);
    int high = graph_constant(g, shape_scalar(DTYPE_F32), limit);

    for (int i = 0; i < s->optimizer->count; i++)
        gradient[i] = graph_clamp(g, low, gradient[i], high);
}

static void clip(struct optimizer_step *s, int *gradient)
{
    const double *hyper = s->optimizer->hyper;

    if (s->optimizer->count == 0)
        return;
    if (hyper[HYPER_CLIPNORM] > 0)
        clip_norms(s, gradient);
    else if (hyper[HYPER_GLOBAL_CLIPNORM] > 0)
        clip_global_norm(s, gradient);
    else if (hyper[HYPER_CLIPVALUE] > 0)
        clip_values(s, gradient);
}

static void source(struct optimizer_step *s, const char *what)
{
    trace_source(s->trace, optimizer_name(s->optimizer->rule), what);
}

int optimizer_scale_loss(struct trace *t, const struct optimizer *o, int loss)
{
    double factor = o->hyper[HYPER_LOSS_SCALE_FACTOR];

    if (o->has_dynamic_scale)
        return nn_multiply(&t->graph, loss, trace_read(t, o->dynamic_scale));
    return factor > 0 ? nn_scale(&t->graph, loss, factor) : loss;
}

/* all bits where no gradient has an element that is not finite, of parts on any replica */
static int are_finite(struct optimizer_step *s, const int *gradient)
{
    struct graph *g = &s->trace->graph;
    int bad[2] = {NODE_NONE, NODE_NONE}, all;

    for (int i = 0; i < s->optimizer->count; i++) {
        int k = is_part(s, i, gradient[i]), x = graph_convert(g, gradient[i], DTYPE_F32);
        int rank = g->node[x].shape.rank;

        x = graph_binary(g, HLO_SUBTRACT, x, x);        /* NaN of what is not finite */
        x = graph_convert(g, graph_compare(g, COMPARE_NE, x, graph_splat(g, x, 0)), DTYPE_F32);
        x = rank ? graph_reduce(g, REDUCE_ADD, x, (1u << rank) - 1) : x;
        bad[k] = bad[k] == NODE_NONE ? x : nn_add(g, bad[k], x);
    }
    if (bad[1] != NODE_NONE && s->trace->replica_count > 1)
        bad[1] = graph_all_reduce(g, bad[1]);
    all = bad[0] == NODE_NONE ? bad[1] : bad[1] == NODE_NONE ? bad[0] : nn_add(g, bad[0], bad[1]);
    return are_equal(g, all, graph_splat(g, all, 0));
}

/* the scale of the next step: doubled behind enough finite ones, else halved where this is none */
static void move_scale(struct optimizer_step *s)
{
    const struct optimizer *o = s->optimizer;
    struct graph *g = &s->trace->graph;
    int scale = trace_read(s->trace, o->dynamic_scale), count = trace_read(s->trace,
                                                                           o->step_counter);
    int steps = (int)o->hyper[HYPER_DYNAMIC_GROWTH_STEPS];
    int grows = are_equal(g, count, s32(g, steps - 1)), zero = s32(g, 0);
    int half = nn_scale(g, scale, 0.5);

    scale = choose_value(g, grows, nn_scale(g, scale, 2), scale);
    trace_assign(s->trace, o->dynamic_scale, choose_finite(s, scale, half));
    trace_assign(s->trace, o->step_counter,
                 choose_finite(s, choose_value(g, grows, zero, nn_shift(g, count, 1)), zero));
}

/* finite gradients divided by the scale; where one is not finite, nothing is updated */
static void unscale_all(struct optimizer_step *s, int *gradient)
{
    struct graph *g = &s->trace->graph;
    int scale = trace_read(s->trace, s->optimizer->dynamic_scale);

    s->finite = are_finite(s, gradient);
    s->update = s->update == NODE_NONE ? s->finite
                                       : graph_binary(g, HLO_AND, s->update, s->finite);
    for (int i = 0; i < s->optimizer->count; i++) {
        gradient[i] = graph_convert(g, gradient[i], DTYPE_F32);
        gradient[i] = optimizer_divide(g, gradient[i], nn_spread(g, scale, gradient[i]));
    }
    move_scale(s);
}

void optimizer_begin(struct optimizer_step *s, struct trace *t, const struct optimizer *o,
                     int *gradient)
{
    struct graph *g = &t->graph;
    double factor = o->hyper[HYPER_LOSS_SCALE_FACTOR];

    *s = (struct optimizer_step){.trace = t, .optimizer = o};
    source(s, "rate");
    count_step(s);
    s->finite = NODE_NONE;
    if (o->has_dynamic_scale && o->count)
        unscale_all(s, gradient);
    if (optimizer_rules[o->rule].begin)
        optimizer_rules[o->rule].begin(s);
    for (int i = 0; i < o->count; i++) {
        source(s, o->set->variable[o->of[i].variable].name);
        gradient[i] = graph_convert(g, gradient[i], DTYPE_F32);
        if (factor > 0)
            gradient[i] = nn_scale(g, gradient[i], 1 / factor);
        gradient[i] = accumulate(s, i, gradient[i]);
    }
    source(s, "clip");
    clip(s, gradient);
}

/* ----- one variable */

static int decay(const struct optimizer_update *u)
{
    double share = u->o->hyper[u->of->uses_adam ? HYPER_ADAM_WEIGHT_DECAY : HYPER_WEIGHT_DECAY];
    int rate;

    if (share == 0 || !u->of->decays || optimizer_rules[u->o->rule].decays_itself)
        return u->value;
    rate = nn_scale(u->g, u->s->rate, share);
    return optimizer_subtract(u->g, u->value,
                              nn_multiply(u->g, u->value, nn_spread(u->g, rate, u->value)));
}

/* The average begins as the variable after the first update. */
static int follow(const struct optimizer_update *u, int value)
{
    struct graph *g = u->g;
    double momentum = u->o->hyper[HYPER_EMA_MOMENTUM];
    double frequency = u->o->hyper[HYPER_EMA_OVERWRITE_FREQUENCY];
    int before = updates_before(u->s), average = trace_read(u->s->trace, u->of->average);
    int next, due;

    int fresh = nn_scale(g, value, 1 - momentum);
    next = nn_add(g, nn_scale(g, average, momentum), fresh);
    next = choose_value(g, are_equal(g, before, s32(g, 0)), value, next);
    next = choose_finite(u->s, next, average);
    trace_assign(u->s->trace, u->of->average, next);
    if (frequency == 0)
        return value;
    due = s32(g, (int64_t)frequency);
    due = graph_binary(g, HLO_REMAINDER, nn_shift(g, before, 1), due);
    return choose_finite(u->s, choose_value(g, are_equal(g, due, s32(g, 0)), next, value), value);
}

int optimizer_update_one(struct optimizer_step *s, int i, int value, int gradient)
{
    const struct optimizer *o = s->optimizer;
    struct optimizer_update u = {.s = s,
                                 .g = &s->trace->graph,
                                 .o = o,
                                 .of = &o->of[i],
                                 .value = value,
                                 .before = value,
                                 .gradient = gradient,
                                 .is_part = is_part(s, i, value)};
    const struct constraint *constraint = &o->set->variable[u.of->variable].constraint;
    int next;

    assert(shape_equal(&u.g->node[value].shape, &u.g->node[gradient].shape));
    source(s, o->set->variable[u.of->variable].name);
    u.value = decay(&u);
    next = optimizer_step_choose(s, optimizer_rules[o->rule].update(&u), value);
    next = u.of->average >= 0 ? follow(&u, next) : next;
    if (constraint->kind == CONSTRAINT_NONE)
        return next;
    return choose_finite(s, constraint_apply(u.g, constraint, next), next);
}

void optimizer_end(struct optimizer_step *s)
{
    const struct optimizer *o = s->optimizer;
    int64_t by = o->accumulates_in_launch ? accumulation(o) : 1;

    int before = trace_read(s->trace, o->iterations);

    source(s, "iterations");
    trace_assign(s->trace, o->iterations,
                 choose_finite(s, nn_shift(&s->trace->graph, before, (double)by), before));
}

void optimizer_apply(struct trace *t, const struct optimizer *o, const int *gradient)
{
    int *clipped = arena_array(t->arena, (size_t)o->count + 1, sizeof(*clipped));
    struct optimizer_step s;

    for (int i = 0; i < o->count; i++)
        clipped[i] = gradient[i];
    optimizer_begin(&s, t, o, clipped);
    for (int i = 0; i < o->count; i++) {
        int variable = o->of[i].variable;

        trace_assign(t, variable,
                     optimizer_update_one(&s, i, trace_read(t, variable), clipped[i]));
    }
    optimizer_end(&s);
}
