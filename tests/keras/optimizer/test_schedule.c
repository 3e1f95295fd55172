/*
 * Learning rate schedules: the host's formula against figures of their definitions, the graph
 * against the host's formula, on the interpreter for many steps and on a simulated core for some.
 */
#include "keras/call/call.h"
#include "keras/optimizer/schedule.h"
#include "stack/interp/interp.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>


static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct lr_schedule parse(const char *text)
{
    struct lr_schedule s = {.kind = SCHEDULE_NONE};
    json_t *call;
    struct err e;

    if (call_parse(text, &call, &e) || schedule_from_json(&s, call, &arena, &e))
        fail_msg("%s: %s", text, e.msg);
    json_decref(call);
    return s;
}

/* by hand, from Keras's definitions */
static const struct { const char *call; int64_t step; double rate; } figures[] = {
    {"ExponentialDecay(0.1, 3, 0.96)", 6, 0.1 * 0.96 * 0.96},
    {"ExponentialDecay(0.1, 3, 0.96, staircase=True)", 2, 0.1},
    {"ExponentialDecay(0.1, 3, 0.96, True)", 3, 0.096},
    {"PiecewiseConstantDecay([100, 110, 120], [1.0, 0.1, 0.01, 0.001])", 0, 1},
    {"PiecewiseConstantDecay([100, 110, 120], [1.0, 0.1, 0.01, 0.001])", 100, 1},
    {"PiecewiseConstantDecay([100, 110, 120], [1.0, 0.1, 0.01, 0.001])", 101, 0.1},
    {"PiecewiseConstantDecay([100, 110, 120], [1.0, 0.1, 0.01, 0.001])", 120, 0.01},
    {"PiecewiseConstantDecay([100, 110, 120], [1.0, 0.1, 0.01, 0.001])", 121, 0.001},
    {"PolynomialDecay(0.05, 10, 0.0)", 5, 0.025},
    {"PolynomialDecay(0.05, 10, 0.001)", 15, 0.001},
    {"PolynomialDecay(0.05, 10, 0.001, cycle=True)", 15, 0.049 * 0.25 + 0.001},
    {"PolynomialDecay(0.05, 10, 0.001, cycle=True)", 10, 0.001},
    {"PolynomialDecay(0.001, 10, cycle=True)", 0, 0.001},
    {"PolynomialDecay(0.05, 10, 0.001, power=0.5)", 5, 0.049 * 0.70710678118654752 + 0.001},
    {"InverseTimeDecay(0.1, 10, 0.96)", 5, 0.1 / 1.48},
    {"InverseTimeDecay(0.1, 10, 0.96, staircase=True)", 19, 0.1 / 1.96},
    {"CosineDecay(1.0, 1000)", 250, 0.5 * (1 + 0.70710678118654752)},
    {"CosineDecay(1.0, 1000)", 1500, 0},
    {"CosineDecay(1.0, 1000, 0.1)", 500, 0.55},
    {"CosineDecay(0.0, 1000, warmup_target=10, warmup_steps=1500)", 750, 5},
    {"CosineDecay(0.0, 1000, warmup_target=10, warmup_steps=1500)", 2000, 5},
    {"CosineDecay(3.0, 1000, warmup_steps=1500)", 500, 1.5},
    {"CosineDecayRestarts(1.0, 1000)", 1000, 1},
    {"CosineDecayRestarts(1.0, 1000)", 2000, 0.5},
    {"CosineDecayRestarts(1.0, 1000)", 3000, 1},
    {"CosineDecayRestarts(1.0, 1000, m_mul=0.9)", 3000, 0.81},
    {"CosineDecayRestarts(1.0, 1000, t_mul=1.0)", 1500, 0.5},
    {"CosineDecayRestarts(1.0, 1000, t_mul=1.0, alpha=0.1)", 2500, 0.55},
};

TEST(rates_on_the_host_are_those_of_the_definitions)
{
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
        struct lr_schedule s = parse(figures[i].call);
        double is = schedule_value(&s, figures[i].step);

        if (fabs(is - figures[i].rate) > 1e-12)
            fail_msg("%s, step %d: %.15g, not %.15g", figures[i].call, (int)figures[i].step, is,
                     figures[i].rate);
    }
}

/* How exact a rate is: a power's error grows with its exponent's size. */
static const struct { const char *call; double relative; } schedules[] = {
    {"ExponentialDecay(0.1, 30, 0.5)", 2e-6},
    {"ExponentialDecay(0.1, 7, 0.9, staircase=True)", 5e-6},
    {"PiecewiseConstantDecay([4, 9, 14, 2147483646], [0.1, 0.2, 0, 0.4, 0.5])", 1e-7},
    {"PolynomialDecay(0.1, 120, 0.01, power=2)", 1e-6},
    {"PolynomialDecay(0.1, 60, 0.0, power=0.5, cycle=True)", 2e-6},
    {"PolynomialDecay(0.1, 7, cycle=True)", 5e-7},
    {"InverseTimeDecay(0.1, 5, 0.7)", 5e-7},
    {"InverseTimeDecay(0.1, 5, 0.7, staircase=True)", 5e-7},
    {"CosineDecay(0.1, 199)", 2e-6},
    {"CosineDecay(0.01, 150, alpha=0.1, warmup_target=0.1, warmup_steps=40)", 2e-6},
    {"CosineDecayRestarts(0.1, 3)", 2e-6},
    {"CosineDecayRestarts(0.1, 3, t_mul=1.5, m_mul=0.8)", 2e-6},
    {"CosineDecayRestarts(0.1, 2, t_mul=1.01, m_mul=0.99, alpha=0.01)", 2e-6},
    {"CosineDecayRestarts(0.1, 6, t_mul=1, m_mul=0.5, alpha=0.1)", 2e-6},
};
#define SCHEDULES (sizeof(schedules) / sizeof(*schedules))

static struct lr_schedule parsed[SCHEDULES];

static void build(struct graph *g)
{
    int step;

    graph_init(g, &arena, "schedules");
    step = graph_parameter(g, shape_scalar(DTYPE_S32), "step");
    for (size_t i = 0; i < SCHEDULES; i++) {
        parsed[i] = parse(schedules[i].call);
        graph_output(g, schedule_rate(g, &parsed[i], step), "rate", -1);
    }
}

static void compare(size_t i, int32_t step, const char *where, float is)
{
    double expected = schedule_value(&parsed[i], step);

    if (!(fabs((double)is - expected) <= schedules[i].relative * expected + 1e-12))
        fail_msg("%s, step %d, %s: %.9g, not %.9g", schedules[i].call, (int)step, where,
                 (double)is, expected);
}

TEST(rates_of_the_graph_are_those_of_the_host)
{
    struct graph g;

    build(&g);
    for (int32_t step = 0; step < 400; step++) {
        struct interp_value out[SCHEDULES];
        struct err e;

        if (interp_run(&g, INTERP_DOT_F32, &(struct interp_value){&step}, out, &arena, &e))
            fail_msg("%s", e.msg);
        for (size_t i = 0; i < SCHEDULES; i++)
            compare(i, step, "interpreter", *(float *)out[i].data);
    }
    graph_fini(&g);
}

TEST(rates_of_a_core_are_those_of_the_host)
{
    static const int32_t steps[] = {0, 1, 3, 9, 10, 39, 40, 189, 198, 199, 100000, 2147483647};
    struct graph g;

    build(&g);
    for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
        struct graph_run run = {.slice = k % 2 ? "v5e" : "v3-1"};
        const void *in = &steps[k];
        void *out[SCHEDULES];

        run_graph(&run, &g, &in, out, &arena);
        for (size_t i = 0; i < SCHEDULES; i++)
            if (steps[k] < 1000 || parsed[i].kind == SCHEDULE_PIECEWISE_CONSTANT_DECAY ||
                parsed[i].kind == SCHEDULE_COSINE_DECAY)
                compare(i, steps[k], run.slice, *(float *)out[i]);
    }
    graph_fini(&g);
}

TEST(names_and_numbers_are_checked)
{
    enum schedule_kind kind;
    struct lr_schedule s;
    struct err e;

    assert_int_equal(schedule_find("cosinedecay", &kind, &e), 0);
    assert_int_equal(kind, SCHEDULE_COSINE_DECAY);
    assert_string_equal(schedule_name(kind), "CosineDecay");
    assert_int_equal(schedule_find("Cosine", &kind, &e), -1);
    assert_string_equal(e.msg, "no schedule \"Cosine\"");
    schedule_init(&s, SCHEDULE_EXPONENTIAL_DECAY);
    assert_int_equal(schedule_check(&s, &e), -1);
    assert_string_equal(e.msg, "ExponentialDecay: initial_learning_rate is needed");
    s.number[SCHEDULE_INITIAL] = 0.1;
    s.number[SCHEDULE_DECAY_RATE] = 0.5;
    s.number[SCHEDULE_DECAY_STEPS] = 1.5;
    assert_int_equal(schedule_check(&s, &e), -1);
    assert_string_equal(e.msg, "ExponentialDecay: decay_steps is 1.5, allowed are whole numbers "
                               "in 1..2147483647");
    s.number[SCHEDULE_DECAY_STEPS] = 2;
    assert_int_equal(schedule_check(&s, &e), 0);
    schedule_init(&s, SCHEDULE_PIECEWISE_CONSTANT_DECAY);
    assert_int_equal(schedule_check(&s, &e), -1);
    assert_string_equal(e.msg, "PiecewiseConstantDecay: boundaries and values are needed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_on_the_host_are_those_of_the_definitions, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(rates_of_the_graph_are_those_of_the_host, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(rates_of_a_core_are_those_of_the_host, setup, teardown),
        cmocka_unit_test_setup_teardown(names_and_numbers_are_checked, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
