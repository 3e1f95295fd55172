/* Computes the rates of schedules, in the graph and on the host. */
#include "base/units.h"
#include "keras/optimizer/schedule.h"
#include "stack/nn/nn.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* one way through a schedule in the graph */
struct tracing {
    struct graph *g;
    const struct lr_schedule *s;
    int step;                           /* s32 scalar */
};

static double number(const struct lr_schedule *s, enum schedule_number n)
{
    return s->number[n];
}

static int real(const struct tracing *t, double value)
{
    return graph_constant(t->g, shape_scalar(DTYPE_F32), value);
}

static int whole(const struct tracing *t, double value)
{
    return graph_constant(t->g, shape_scalar(DTYPE_S32), value);
}

static int least(const struct tracing *t, int a, int b)
{
    return graph_binary(t->g, HLO_MINIMUM, a, b);
}

static int subtract(const struct tracing *t, int a, int b)
{
    return graph_binary(t->g, HLO_SUBTRACT, a, b);
}

static int divide(const struct tracing *t, int a, int b)
{
    return graph_binary(t->g, HLO_DIVIDE, a, b);
}

/* a whole number by a whole number, as f32 */
static int fraction(const struct tracing *t, int a, double b)
{
    return nn_scale(t->g, graph_convert(t->g, a, DTYPE_F32), 1 / b);
}

/* a^b of f32 scalars; exact at b 0 and 1 */
static int power(const struct tracing *t, int a, double b)
{
    return b == 1 ? a : graph_binary(t->g, HLO_POWER, a, real(t, b));
}

/* step / decay_steps, or the whole part of it */
static int progress(const struct tracing *t)
{
    double steps = number(t->s, SCHEDULE_DECAY_STEPS);

    if (number(t->s, SCHEDULE_STAIRCASE) != 0)
        return graph_convert(t->g, divide(t, t->step, whole(t, steps)), DTYPE_F32);
    return fraction(t, t->step, steps);
}

static int trace_exponential(const struct tracing *t)
{
    int p = nn_scale(t->g, progress(t), log(number(t->s, SCHEDULE_DECAY_RATE)));

    return nn_scale(t->g, graph_unary(t->g, HLO_EXP, p), number(t->s, SCHEDULE_INITIAL));
}

static int trace_inverse_time(const struct tracing *t)
{
    int below = nn_scale(t->g, progress(t), number(t->s, SCHEDULE_DECAY_RATE));

    int divisor = nn_shift(t->g, below, 1);
    return divide(t, real(t, number(t->s, SCHEDULE_INITIAL)), divisor);
}

/*
 * 1 - step / decay_steps is a fraction of whole numbers. With cycles decay_steps is taken as often
 * as reaches the step, at least once.
 */
static int trace_polynomial(const struct tracing *t)
{
    double steps = number(t->s, SCHEDULE_DECAY_STEPS), end = number(t->s, SCHEDULE_END);
    int all = whole(t, steps), left;

    if (number(t->s, SCHEDULE_CYCLE) != 0) {
        int zero = whole(t, 0);
        int before = graph_binary(t->g, HLO_MAXIMUM, nn_shift(t->g, t->step, -1), zero);
        int times = nn_shift(t->g, divide(t, before, all), 1);
        int rest = subtract(t, t->step, nn_multiply(t->g, nn_shift(t->g, times, -1), all));

        left = fraction(t, subtract(t, all, rest), steps);
        left = divide(t, left, graph_convert(t->g, times, DTYPE_F32));
    } else {
        left = fraction(t, subtract(t, all, least(t, t->step, all)), steps);
    }
    left = power(t, left, number(t->s, SCHEDULE_POWER));
    return nn_shift(t->g, nn_scale(t->g, left, number(t->s, SCHEDULE_INITIAL) - end), end);
}

/* (1 + cos(pi (1 - left))) / 2 as the square of a sine, which has no difference in it */
static int half_cosine(const struct tracing *t, int left)
{
    int sine = graph_unary(t->g, HLO_SINE, nn_scale(t->g, left, PI / 2));

    return nn_multiply(t->g, sine, sine);
}

/* rate times (1 - alpha) x + alpha */
static int above_alpha(const struct tracing *t, int x, double rate)
{
    double alpha = number(t->s, SCHEDULE_ALPHA);

    return nn_shift(t->g, nn_scale(t->g, x, rate * (1 - alpha)), rate * alpha);
}

static int trace_cosine(const struct tracing *t)
{
    double steps = number(t->s, SCHEDULE_DECAY_STEPS), initial = number(t->s, SCHEDULE_INITIAL);
    double target = number(t->s, SCHEDULE_WARMUP_TARGET), warm = 0;
    int behind = t->step, rate, rise;

    if (!isnan(target)) {
        warm = number(t->s, SCHEDULE_WARMUP_STEPS);
        int zero = whole(t, 0);
        behind = graph_binary(t->g, HLO_MAXIMUM, nn_shift(t->g, t->step, -warm), zero);
    }
    int passed = least(t, behind, whole(t, steps));
    rate = subtract(t, whole(t, steps), passed);
    rate = above_alpha(t, half_cosine(t, fraction(t, rate, steps)), isnan(target) ? initial
                                                                                   : target);
    if (warm == 0)
        return rate;
    rise = nn_shift(t->g, nn_scale(t->g, fraction(t, t->step, warm), target - initial), initial);
    return graph_select(t->g, graph_compare(t->g, COMPARE_LT, t->step, whole(t, warm)), rise,
                        rate);
}

/* ----- tables over ranges of steps */

struct ranges {
    int count;
    int32_t *first;                     /* step; what is behind the last one's is not read */
};

static int vector_s32(const struct tracing *t, const int32_t *values, int count)
{
    return graph_literal(t->g, shape_make(DTYPE_S32, 1, (int64_t[]){count}), values);
}

/* pred vector: the range that has the step */
static int is_in_range(const struct tracing *t, const struct ranges *r)
{
    int32_t *last = arena_array(t->g->arena, (size_t)r->count, sizeof(*last));
    int low = vector_s32(t, r->first, r->count), step = nn_spread(t->g, t->step, low);

    for (int i = 0; i < r->count; i++)
        last[i] = i + 1 < r->count ? r->first[i + 1] - 1 : INT32_MAX;
    int is_before_end = graph_compare(t->g, COMPARE_LE, step, vector_s32(t, last, r->count));
    return graph_binary(t->g, HLO_AND, graph_compare(t->g, COMPARE_GE, step, low), is_before_end);
}

/* the value of that range; `values` are of 4 bytes */
static int look_up(const struct tracing *t, const struct ranges *r, int is_in,
                   enum graph_dtype dtype, const void *values)
{
    int table = graph_literal(t->g, shape_make(dtype, 1, (int64_t[]){r->count}), values);

    table = graph_select(t->g, is_in, table, graph_splat(t->g, table, 0));
    return graph_reduce(t->g, REDUCE_ADD, table, 1);
}

static int trace_piecewise(const struct tracing *t)
{
    size_t count = (size_t)t->s->boundary_count + 1;
    struct ranges r = {(int)count, arena_array(t->g->arena, count, sizeof(int32_t))};
    float *value = arena_array(t->g->arena, count, sizeof(*value));

    for (size_t i = 0; i < count; i++) {
        value[i] = (float)t->s->value[i];
        if (i + 1 < count)
            r.first[i + 1] = t->s->boundary[i] + 1;
    }
    return look_up(t, &r, is_in_range(t, &r), DTYPE_F32, value);
}

/* every period is as long as the last one */
static int trace_even_restarts(const struct tracing *t)
{
    double steps = number(t->s, SCHEDULE_FIRST_DECAY_STEPS);
    int all = whole(t, steps), times = divide(t, t->step, all), left, wave;

    left = subtract(t, all, subtract(t, t->step, nn_multiply(t->g, times, all)));
    wave = half_cosine(t, fraction(t, left, steps));
    if (number(t->s, SCHEDULE_M_MUL) != 1) {
        int periods = graph_convert(t->g, times, DTYPE_F32);

        wave = nn_multiply(
            t->g, wave,
            graph_binary(t->g, HLO_POWER, real(t, number(t->s, SCHEDULE_M_MUL)), periods));
    }
    return above_alpha(t, wave, number(t->s, SCHEDULE_INITIAL));
}

/* Of each period the step behind it, what it ends after that one's start, 1 / length, height. */
struct periods {
    struct ranges range;
    int32_t *end;
    float *rest, *share, *height;
};

static struct periods list_periods(const struct lr_schedule *s, struct arena *a)
{
    double rise = number(s, SCHEDULE_T_MUL), length = number(s, SCHEDULE_FIRST_DECAY_STEPS);
    size_t most = 2 + (size_t)(log(INT32_MAX * (rise - 1) / length + 1) / log(rise) + 1);
    struct periods p = {{0, arena_array(a, most + 1, sizeof(int32_t))},
                        arena_array(a, most, sizeof(int32_t)),
                        arena_array(a, most, sizeof(float)), arena_array(a, most, sizeof(float)),
                        arena_array(a, most, sizeof(float))};
    double start = 0, height = 1;

    for (int i = 0; start < INT32_MAX && i < (int)most; i++) {
        double end = start + length, whole_end = fmin(floor(end), INT32_MAX);

        p.end[i] = (int32_t)whole_end;
        p.rest[i] = (float)(end - whole_end);
        p.share[i] = (float)(1 / length);
        p.height[i] = (float)height;
        p.range.first[i + 1] = (int32_t)fmin(ceil(end), INT32_MAX);
        p.range.count = i + 1;
        start = end;
        length *= rise;
        height *= number(s, SCHEDULE_M_MUL);
    }
    return p;
}

static int trace_restarts(const struct tracing *t)
{
    struct periods p;
    int in, left, wave;

    if (number(t->s, SCHEDULE_T_MUL) == 1)
        return trace_even_restarts(t);
    p = list_periods(t->s, t->g->arena);
    in = is_in_range(t, &p.range);
    left = subtract(t, look_up(t, &p.range, in, DTYPE_S32, p.end), t->step);
    int rest = look_up(t, &p.range, in, DTYPE_F32, p.rest);
    left = nn_add(t->g, graph_convert(t->g, left, DTYPE_F32), rest);
    left = nn_multiply(t->g, left, look_up(t, &p.range, in, DTYPE_F32, p.share));
    int height = look_up(t, &p.range, in, DTYPE_F32, p.height);
    wave = nn_multiply(t->g, half_cosine(t, left), height);
    return above_alpha(t, wave, number(t->s, SCHEDULE_INITIAL));
}

/* ----- on the host */

static double value_piecewise(const struct lr_schedule *s, double step)
{
    int i = 0;

    while (i < s->boundary_count && step > s->boundary[i])
        i++;
    return s->value[i];
}

static double value_progress(const struct lr_schedule *s, double step)
{
    double p = step / number(s, SCHEDULE_DECAY_STEPS);

    return number(s, SCHEDULE_STAIRCASE) != 0 ? floor(p) : p;
}

static double value_exponential(const struct lr_schedule *s, double step)
{
    return number(s, SCHEDULE_INITIAL) *
           pow(number(s, SCHEDULE_DECAY_RATE), value_progress(s, step));
}

static double value_inverse_time(const struct lr_schedule *s, double step)
{
    return number(s, SCHEDULE_INITIAL) /
           (1 + number(s, SCHEDULE_DECAY_RATE) * value_progress(s, step));
}

static double value_polynomial(const struct lr_schedule *s, double step)
{
    double steps = number(s, SCHEDULE_DECAY_STEPS), end = number(s, SCHEDULE_END);

    if (number(s, SCHEDULE_CYCLE) != 0)
        steps *= step == 0 ? 1 : ceil(step / steps);
    return (number(s, SCHEDULE_INITIAL) - end) *
               pow(1 - fmin(step, steps) / steps, number(s, SCHEDULE_POWER)) + end;
}

static double value_wave(const struct lr_schedule *s, double rate, double height, double part)
{
    double alpha = number(s, SCHEDULE_ALPHA);

    return rate * ((1 - alpha) * height * 0.5 * (1 + cos(PI * part)) + alpha);
}

static double value_cosine(const struct lr_schedule *s, double step)
{
    double steps = number(s, SCHEDULE_DECAY_STEPS), initial = number(s, SCHEDULE_INITIAL);
    double target = number(s, SCHEDULE_WARMUP_TARGET), warm = number(s, SCHEDULE_WARMUP_STEPS);

    if (isnan(target))
        return value_wave(s, initial, 1, fmin(step, steps) / steps);
    if (step < warm)
        return (target - initial) * step / warm + initial;
    return value_wave(s, target, 1, fmin(step - warm, steps) / steps);
}

static double value_restarts(const struct lr_schedule *s, double step)
{
    double steps = number(s, SCHEDULE_FIRST_DECAY_STEPS), rise = number(s, SCHEDULE_T_MUL);
    double high = number(s, SCHEDULE_M_MUL), times = floor(step / steps);

    if (rise != 1) {
        double start = 0;

        for (times = 0; step >= start + steps; times++) {
            start += steps;
            steps *= rise;
        }
        step -= start;
    } else {
        step -= times * steps;
    }
    return value_wave(s, number(s, SCHEDULE_INITIAL), pow(high, times), step / steps);
}

static const struct {
    int (*trace)(const struct tracing *t);
    double (*value)(const struct lr_schedule *s, double step);
} schedules[SCHEDULE_COUNT] = {
    [SCHEDULE_PIECEWISE_CONSTANT_DECAY] = {trace_piecewise, value_piecewise},
    [SCHEDULE_EXPONENTIAL_DECAY] = {trace_exponential, value_exponential},
    [SCHEDULE_POLYNOMIAL_DECAY] = {trace_polynomial, value_polynomial},
    [SCHEDULE_INVERSE_TIME_DECAY] = {trace_inverse_time, value_inverse_time},
    [SCHEDULE_COSINE_DECAY] = {trace_cosine, value_cosine},
    [SCHEDULE_COSINE_DECAY_RESTARTS] = {trace_restarts, value_restarts},
};

int schedule_rate(struct graph *g, const struct lr_schedule *s, int step)
{
    return schedules[s->kind].trace(&(struct tracing){g, s, step});
}

double schedule_value(const struct lr_schedule *s, int64_t step)
{
    return schedules[s->kind].value(s, (double)step);
}
