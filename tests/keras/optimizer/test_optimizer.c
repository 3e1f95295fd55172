/*
 * Do compiled optimizers do on a simulated core what Keras 3 does?
 *
 * Against the figures that Keras's own tests expect (to four places there), and against its
 * equations in doubles (cli/validate/optimizer_reference.h), which those figures hold, too.
 */
#include "base/rng.h"
#include "cli/validate/optimizer_check.h"
#include "cli/validate/optimizer_reference.h"
#include "cli/validate/optimizer_trial.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

#define STEPS 5
#define ELEMS 10

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

static void make(struct optimizer *o, const char *call)
{
    struct err e;

    if (optimizer_parse(o, call, &arena, &e))
        fail_msg("%s: %s", call, e.msg);
}

/*
 * Ten ones; the first gradient is 0.01 everywhere, the others 0.1, 0.2 .. 1.0. What Keras expects
 * of the first and the last element behind each step.
 */
struct golden {
    const char *call;
    double first[STEPS], last[STEPS];
};
static const struct golden goldens[] = {
    {"SGD(nesterov=True)",
     {.9999, .9989, .9979, .9969, .9959}, {.9999, .9899, .9799, .9699, .9599}},
    {"Adam(amsgrad=True)",
     {.999, .9982, .9974, .9965, .9955}, {.999, .9982, .9974, .9965, .9955}},
    {"AdamW(learning_rate=1.0, weight_decay=0.5, epsilon=2)",
     {.4998, .2486, .1223, .0586, .0263}, {.4998, .2382, .1003, .0258, -.0159}},
    {"Nadam(learning_rate=0.5, beta_1=0.5, beta_2=0.67, epsilon=1e-5)",
     {.4281, -.1738, -.7115, -1.2335, -1.7492}, {.4281, -.1717, -.7084, -1.2299, -1.7454}},
    {"Adamax(learning_rate=0.2, beta_1=0.85, beta_2=0.95, epsilon=1e-6)",
     {.8, .6827, .5333, .368, .1933}, {.8, .691, .5466, .3848, .2126}},
    {"RMSprop(centered=True)",
     {.9967, .9933, .9908, .9885, .9864}, {.9967, .9933, .9908, .9885, .9864}},
    {"Adagrad(learning_rate=0.2, initial_accumulator_value=0.3, epsilon=1e-6)",
     {.9963, .9604, .9251, .8903, .856}, {.9963, .8209, .6891, .579, .4825}},
    {"Adadelta(learning_rate=1.0, rho=0.8, epsilon=1e-6)",
     {.9978, .9947, .9915, .9882, .9849}, {.9978, .9947, .9915, .9882, .9849}},
    {"Adafactor(learning_rate=0.5, beta_2_decay=-0.65, epsilon_1=1e-15, epsilon_2=1e-4, "
     "clip_threshold=0.9, relative_step=False)",
     {.55, .3031, .1671, .0923, .0554}, {.55, .3024, .1663, .0914, .0545}},
    {"Lion()", {.999, .998, .997, .996, .995}, {.999, .998, .997, .996, .995}},
    {"Lamb()", {.999, .9982, .9974, .9965, .9955}, {.999, .9982, .9974, .9965, .9955}},
};

/* as Keras's tests compare */
static bool is_near(float is, double expected)
{
    return fabs((double)is - expected) <= 5e-4 + 5e-4 * fabs(expected);
}

static void check_golden(const struct golden *golden)
{
    static float ones[ELEMS], small[ELEMS], rising[ELEMS];
    const struct shape shape = shape_make(DTYPE_F32, 1, (int64_t[]){ELEMS});
    const float *gradient[STEPS] = {small, rising, rising, rising, rising};
    struct optimizer o;
    struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .steps = STEPS,
                                .shape = &shape, .initial = (const float *[]){ones},
                                .gradient = gradient};
    struct err e;

    for (int i = 0; i < ELEMS; i++) {
        ones[i] = 1;
        small[i] = 0.01f;
        rising[i] = 0.1f * (float)(i + 1);
    }
    make(&o, golden->call);
    if (optimizer_trial_run(&t, &arena, &e))
        fail_msg("%s: %s", golden->call, e.msg);
    for (int s = 0; s < STEPS; s++) {
        const float *is = t.value[s * t.set.count];

        if (!is_near(is[0], golden->first[s]) || !is_near(is[ELEMS - 1], golden->last[s]))
            fail_msg("%s, step %d: %g and %g, Keras has %g and %g", golden->call, s + 1,
                     (double)is[0], (double)is[ELEMS - 1], golden->first[s], golden->last[s]);
    }
    optimizer_trial_fini(&t);
}

TEST(five_steps_are_those_of_keras)
{
    for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++)
        check_golden(&goldens[i]);
}

/* One step of 1, 2, 3, 4 by gradients 1, 6, 7, 2, again with Keras's figures. */
static const struct { const char *call; double value[4]; } singles[] = {
    {"SGD(learning_rate=0.5)", {.5, -1, -.5, 3}},
    {"Adam(learning_rate=0.5)", {.5, 1.5, 2.5, 3.5}},
    {"AdamW(learning_rate=0.5)", {.4980, 1.4960, 2.494, 3.492}},
    {"Nadam(learning_rate=0.5)", {.4686, 1.4686, 2.4686, 3.4686}},
    {"Adamax(learning_rate=0.5)", {.5, 1.5, 2.5, 3.5}},
    {"RMSprop(learning_rate=0.5)", {-.5811, .4189, 1.4189, 2.4189}},
    {"Adagrad(learning_rate=0.5)", {.5233, 1.5007, 2.5005, 3.5061}},
    {"Adadelta(learning_rate=0.5)", {.9993, 1.9993, 2.9993, 3.9993}},
    {"Adafactor(learning_rate=0.5)", {-.3693, .6307, 1.6307, 2.6307}},
    {"Lion(learning_rate=0.5)", {.5, 1.5, 2.5, 3.5}},
    {"Lamb(learning_rate=0.5)", {-.3693, .6306, 1.6306, 2.6306}},
};
static const double single_matrix[4] = {.7007, -.0081, 1.2492, 3.4407};     /* Adafactor, 2 x 2 */

static const float *step_once(const char *call, const struct shape *shape, const float *initial,
                              const float *gradient)
{
    struct optimizer o;
    struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .steps = 1, .shape = shape,
                                .initial = &initial, .gradient = &gradient};
    struct err e;

    make(&o, call);
    if (optimizer_trial_run(&t, &arena, &e))
        fail_msg("%s: %s", call, e.msg);
    optimizer_trial_fini(&t);
    return t.value[0];
}

static void check_single(const char *call, const struct shape *shape, const double *expected)
{
    static const float initial[4] = {1, 2, 3, 4}, gradient[4] = {1, 6, 7, 2};
    const float *is = step_once(call, shape, initial, gradient);

    for (int i = 0; i < 4; i++)
        if (fabs((double)is[i] - expected[i]) > 1e-4 + 1e-4 * fabs(expected[i]))
            fail_msg("%s, element %d: %g, Keras has %g", call, i, (double)is[i], expected[i]);
}

TEST(single_steps_are_those_of_keras)
{
    const struct shape vector = shape_make(DTYPE_F32, 1, (int64_t[]){4});
    const struct shape matrix = shape_make(DTYPE_F32, 2, (int64_t[]){2, 2});

    for (size_t i = 0; i < sizeof(singles) / sizeof(*singles); i++)
        check_single(singles[i].call, &vector, singles[i].value);
    check_single("Adafactor(learning_rate=0.5)", &matrix, single_matrix);
}

TEST(all_are_within_a_hundred_thousandth_of_their_equations)
{
    static const char *const slices[] = {"v3-1", "v5e", "v6e"};

    for (int i = 0; i < optimizer_check_call_count; i++) {
        struct optimizer_check c = {.call = optimizer_check_calls[i], .slice = slices[i % 3],
                                    .steps = 20, .seed = (uint64_t)i + 1};
        struct err e;

        if (optimizer_check_run(&c, &e))
            fail_msg("%s: %s", c.call, e.msg);
        if (!(c.variables <= OPTIMIZER_CHECK_LIMIT) || !(c.slots <= OPTIMIZER_CHECK_LIMIT))
            fail_msg("%s on %s: variables are off by %g, slots by %g", c.call, c.slice,
                     c.variables, c.slots);
    }
}

/* The corrections of late steps: against doubles, relative to the change itself. */
TEST(late_steps_are_as_exact_as_early_ones)
{
    static const int32_t before[] = {0, 1, 9, 99, 999, 9999, 99999, 16777214, 2147483646};
    static const char *const calls[] = {"Adam(0.5)", "Lamb(0.5)", "Nadam(0.5)", "Adamax(0.5)",
                                        "Adafactor(0.5)"};
    const struct shape shape = shape_make(DTYPE_F32, 1, (int64_t[]){3});
    const char *name = "v";
    const float initial[] = {0.25f, -0.5f, 0.125f}, gradient[] = {0.5f, 0.25f, -1};
    const float *start = initial, *slope = gradient;

    for (size_t i = 0; i < 9 * 5; i++) {
        struct optimizer o;
        struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .steps = 1,
                                    .shape = &shape, .initial = &start, .gradient = &slope,
                                    .first_iteration = before[i % 9]};
        struct optimizer_reference r;
        struct err e;

        make(&o, calls[i / 9]);
        if (optimizer_trial_run(&t, &arena, &e))
            fail_msg("%s: %s", calls[i / 9], e.msg);
        optimizer_reference_init(&r, &o, 1, &shape, &name, &start, &arena);
        r.iterations = before[i % 9];
        optimizer_reference_step(&r, &slope);
        for (int k = 0; k < 3; k++) {
            double change = r.variable[0].value[k] - (double)initial[k];
            double is = (double)t.value[0][k] - (double)initial[k];

            if (fabs(is - change) > 2e-6 * fabs(change) + 1e-7 * fabs((double)initial[k]))
                fail_msg("%s, step %d: changes by %g, not %g", calls[i / 9], before[i % 9] + 1,
                         is, change);
        }
        optimizer_trial_fini(&t);
    }
}

/* shapes that fill no tile, against doubles */
TEST(random_shapes_are_right)
{
    static const char *const calls[] = {"Adam(0.1)", "Adafactor(0.1)", "LARS(1.0)",
                                        "RMSprop(0.1, momentum=0.5, clipnorm=0.5)",
                                        "Lamb(0.1, gradient_accumulation_steps=2)"};
    struct rng rng;

    rng_init(&rng, 7);
    for (int i = 0; i < 15; i++) {
        struct shape shape = {.dtype = DTYPE_F32, .rank = (int)rng_below(&rng, 5)};
        const float *initial, *gradient[4];
        const char *name = "v";
        struct optimizer o;
        struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .steps = 4,
                                    .shape = &shape, .initial = &initial, .gradient = gradient};
        struct optimizer_reference r;
        struct err e;

        for (int d = 0; d < shape.rank; d++)
            shape.dim[d] = 1 + (int64_t)rng_below(&rng, d + 2 < shape.rank ? 4 : 150);
        initial = random_floats(&arena, shape_elems(&shape), -1, 1, (uint64_t)i);
        for (int s = 0; s < 4; s++)
            gradient[s] = random_floats(&arena, shape_elems(&shape), -1, 1,
                                        (uint64_t)(100 * i + s));
        make(&o, calls[i % 5]);
        if (optimizer_trial_run(&t, &arena, &e))
            fail_msg("%s: %s", calls[i % 5], e.msg);
        optimizer_reference_init(&r, &o, 1, &shape, &name, &initial, &arena);
        for (int s = 0; s < 4; s++)
            optimizer_reference_step(&r, &gradient[s]);
        for (int64_t k = 0; k < shape_elems(&shape); k++)
            if (fabs((double)t.value[3 * t.set.count][k] - r.variable[0].value[k]) > 3e-6) {
                char text[96];

                fail_msg("%s of %s, element %d: %g, not %g", calls[i % 5],
                         shape_print(&shape, text, sizeof(text)), (int)k,
                         (double)t.value[3 * t.set.count][k], r.variable[0].value[k]);
            }
        optimizer_trial_fini(&t);
    }
}

/* what Keras's equations give: docs/optimizers.md */
TEST(zero_and_non_finite_gradients_do_what_they_do_in_keras)
{
    static const float zeros[4], odd[4] = {NAN, INFINITY, -INFINITY, 1};
    static const float ones[4] = {1, 1, 1, 1};
    const struct shape shape = shape_make(DTYPE_F32, 1, (int64_t[]){4});
    const float *is;

    for (int rule = 0; rule < RULE_COUNT; rule++) {
        const char *name = optimizer_name((enum optimizer_rule)rule);

        is = step_once(arena_printf(&arena, "%s(weight_decay=0)", name), &shape, ones, zeros);
        for (int i = 0; i < 4; i++) {   /* Ftrl makes it of its sums; two go a way round to it */
            bool is_round = rule == RULE_SCHEDULE_FREE_ADAMW || rule == RULE_MUON;

            assert_true(rule == RULE_FTRL ? is[i] == 0
                                          : fabsf(is[i] - 1) <= (is_round ? 5e-6f : 0));
        }
        is = step_once(arena_printf(&arena, "%s(0.5)", name), &shape, ones, odd);
        if (!isnan((double)is[0]))
            fail_msg("%s takes a NaN for a number", name);
    }
    is = step_once("SGD(0.5)", &shape, ones, odd);
    assert_true(isnan(is[0]) && is[1] == -INFINITY && is[2] == INFINITY && is[3] == 0.5f);
    is = step_once("Adam(0.5)", &shape, ones, odd);
    assert_true(isnan(is[0]) && isnan(is[1]) && isnan(is[2]) && fabsf(is[3] - 0.5f) < 1e-5f);
    is = step_once("SGD(0.5, clipvalue=2)", &shape, ones, odd);
    assert_true(isnan(is[0]) && is[1] == 0 && is[2] == 2 && is[3] == 0.5f);
    is = step_once("SGD(0.5, clipnorm=1)", &shape, ones, odd);
    for (int i = 0; i < 4; i++)
        assert_true(isnan(is[i]));
    is = step_once("SGD(0.5, global_clipnorm=1)", &shape, ones,
                   (const float[]){INFINITY, 0, 1, 2});
    for (int i = 0; i < 4; i++)
        assert_true(isnan(is[i]));
}

/* a gradient that is not finite halves the scale, and nothing else happens; two others double it */
TEST(a_dynamic_scale_passes_over_what_is_not_finite)
{
    static const float ones[2] = {1, 1}, bad[2] = {4, INFINITY}, good[2] = {4, 8};
    static const float want[4][2] = {{1, 1}, {0.5f, 0}, {0, -1}, {-0.25f, -1.5f}};
    const struct shape shape = shape_make(DTYPE_F32, 1, (int64_t[]){2});
    const float *initial = ones, *gradient[4] = {bad, good, good, good};
    struct optimizer o;
    struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .steps = 4,
                                .shape = &shape, .initial = &initial, .gradient = gradient};
    struct err e;

    make(&o, "LossScaleOptimizer(SGD(0.5), initial_scale=8, dynamic_growth_steps=2)");
    assert_int_equal(optimizer_trial_run(&t, &arena, &e), 0);
    for (int step = 0; step < 4; step++)
        assert_memory_equal(t.value[step * t.set.count], want[step], sizeof(want[step]));
    optimizer_trial_fini(&t);
}

/* a gradient of a step that does not update is kept, and nothing else is touched by it */
TEST(steps_that_only_accumulate_change_nothing_else)
{
    static const float ones[4] = {1, 1, 1, 1}, odd[4] = {INFINITY, 2, 3, 4};
    const struct shape shape = shape_make(DTYPE_F32, 1, (int64_t[]){4});
    const float *initial = ones, *gradient = odd;
    struct optimizer o;
    struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .steps = 1,
                                .shape = &shape, .initial = &initial, .gradient = &gradient};
    struct err e;

    make(&o, "Adam(0.5, gradient_accumulation_steps=2)");
    assert_int_equal(optimizer_trial_run(&t, &arena, &e), 0);
    assert_memory_equal(t.value[0], ones, sizeof(ones));
    assert_memory_equal(t.value[variable_find(&t.set, "v0/accumulated")], odd, sizeof(odd));
    for (int i = 0; i < 4; i++)
        assert_true(t.value[variable_find(&t.set, "v0/m")][i] == 0);
    optimizer_trial_fini(&t);
}

static void expect(int status, const struct err *e, const char *text)
{
    assert_int_equal(status, -1);
    assert_string_equal(e->msg, text);
}

TEST(calls_are_read)
{
    struct optimizer o;

    make(&o, "adam");
    assert_int_equal(o.rule, RULE_ADAM);
    assert_true(o.hyper[HYPER_BETA_2] == 0.999 && o.hyper[HYPER_LEARNING_RATE] == 0.001);
    make(&o, "keras.optimizers.AdamW(1e-2, 0.5, 0.8, name='mine', clipnorm=None)");
    assert_int_equal(o.rule, RULE_ADAMW);
    assert_true(o.hyper[HYPER_LEARNING_RATE] == 0.01 && o.hyper[HYPER_WEIGHT_DECAY] == 0.5);
    assert_true(o.hyper[HYPER_BETA_1] == 0.8 && o.hyper[HYPER_CLIPNORM] == 0);
    make(&o, "SGD(CosineDecay(0.1, 1000, 0.5, warmup_steps=5, warmup_target=1), 0.9, True)");
    assert_int_equal(o.schedule.kind, SCHEDULE_COSINE_DECAY);
    assert_true(o.schedule.number[SCHEDULE_ALPHA] == 0.5 && o.hyper[HYPER_MOMENTUM] == 0.9);
    assert_true(o.hyper[HYPER_NESTEROV] == 1);
    make(&o, "LARS(exclude_from_weight_decay=['bias', 'gamma'])");
    assert_int_equal(o.no_decay_count, 2);
    assert_string_equal(o.no_decay[1], "gamma");
}

static const struct { const char *call, *message; } bad_calls[] = {
    {"Adm()", "no optimizer \"Adm\" (did you mean \"Adam\"?)"},
    {"Adam(rho=0.9)", "Adam has no \"rho\""},
    {"Adam(beta_1='much')", "Adam: beta_1 is no number"},
    {"Adam(beta_1=None)", "Adam: beta_1 is None, allowed are 0..0.999999"},
    {"Adam(amsgrad=2)", "Adam: amsgrad is 2, allowed are 0 and 1"},
    {"SGD(-1)", "SGD: learning_rate is -1, allowed are 0..1000000"},
    {"SGD(0.1, learning_rate=0.2)",
     "SGD: learning_rate is given twice, as argument 1 and by name"},
    {"SGD(exclude_from_weight_decay='bias')",
     "exclude_from_weight_decay is to be a list of parts of names, like ['bias']"},
    {"SGD(clipnorm=1, global_clipnorm=1)",
     "SGD: clipnorm and global_clipnorm are both set, only one kind of clipping is allowed"},
    {"SGD(CosinDecay(1, 2))", "no schedule \"CosinDecay\" (did you mean \"CosineDecay\"?)"},
    {"SGD(CosineDecay(1))", "CosineDecay: decay_steps is needed"},
    {"SGD(CosineDecay(1, 0))",
     "CosineDecay: decay_steps is 0, allowed are whole numbers in 1..2147483647"},
    {"SGD(CosineDecay(1, 2, gamma=2))", "CosineDecay has no \"gamma\""},
    {"SGD(CosineDecayRestarts(1, 10, t_mul=1.001))",
     "CosineDecayRestarts: t_mul is 1.001, allowed are 1 and 1.01..1e6"},
    {"SGD(PiecewiseConstantDecay([1, 2], [1, 2]))",
     "PiecewiseConstantDecay: 2 boundaries need 3 values, not 2"},
    {"SGD(PiecewiseConstantDecay([2, 2], [1, 2, 3]))",
     "PiecewiseConstantDecay: boundaries are to rise from 0 to 2^31 - 2, number 2 is 2"},
    {"SGD(PiecewiseConstantDecay([2], [1, -2]))",
     "PiecewiseConstantDecay: values is -2, allowed are 0..1000000"},
};

TEST(mistakes_in_calls_are_named)
{
    for (size_t i = 0; i < sizeof(bad_calls) / sizeof(*bad_calls); i++) {
        struct optimizer o;
        struct err e;

        expect(optimizer_parse(&o, bad_calls[i].call, &arena, &e), &e, bad_calls[i].message);
    }
}

TEST(mistakes_are_named)
{
    struct variable_set set;
    struct optimizer o;
    enum optimizer_rule rule;
    struct shape shape = shape_make(DTYPE_F32, 2, (int64_t[]){6, 5});
    struct initializer zeros = initializer_standard(INITIALIZER_ZEROS);
    struct err e;
    int v;

    expect(optimizer_find("adm", &rule, &e), &e,
           "no optimizer \"adm\" (did you mean \"Adam\"?)");
    optimizer_init(&o, RULE_ADAM);
    expect(optimizer_set(&o, "momentum", .9, &e), &e, "Adam has no \"momentum\"");
    expect(optimizer_set(&o, "beta1", .9, &e), &e,
           "Adam has no \"beta1\" (did you mean \"beta_1\"?)");
    expect(optimizer_set(&o, "beta_1", 1.5, &e), &e,
           "Adam: beta_1 is 1.5, allowed are 0..0.999999");
    expect(optimizer_set(&o, "gradient_accumulation_steps", 2.5, &e), &e,
           "Adam: gradient_accumulation_steps is 2.5, allowed are whole numbers in 0..65536");
    expect(optimizer_set(&o, "clipnorm", NAN, &e), &e,
           "Adam: clipnorm is nan, allowed are 0..1e+30");
    assert_int_equal(optimizer_set(&o, "clipnorm", 1, &e), 0);
    assert_int_equal(optimizer_set(&o, "clipvalue", 1, &e), 0);
    variable_set_init(&set, &arena);
    v = variable_add_trainable(&set, "kernel", &shape, &zeros);
    expect(optimizer_build(&o, &set, &v, 1, &e), &e,
           "Adam: clipnorm and clipvalue are both set, only one kind of clipping is allowed");
    optimizer_init(&o, RULE_ADAM);
    assert_int_equal(optimizer_build(&o, &set, &v, 1, &e), 0);
    expect(optimizer_shard(&o, 0, 0, 4, &e), &e,
           "kernel: dimension 0 of f32[6,5] is not divisible by 4 replicas");
    expect(optimizer_shard(&o, 0, 2, 1, &e), &e,
           "kernel: dimension 2 of f32[6,5] is not divisible by 1 replicas");
    assert_int_equal(optimizer_sharded_along(&o, 0), -1);
    assert_int_equal(optimizer_shard(&o, 0, 1, 5, &e), 0);
    assert_int_equal(optimizer_sharded_along(&o, 0), 1);
    assert_int_equal(optimizer_shard(&o, 0, 0, 3, &e), 0);
    assert_int_equal(set.variable[variable_find(&set, "kernel/m")].shard_dim, 0);
    assert_int_equal(set.variable[variable_find(&set, "kernel/m")].of, v);
    assert_int_equal(set.variable[variable_find(&set, "kernel")].shard_dim, -1);
    variable_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(five_steps_are_those_of_keras, setup, teardown),
        cmocka_unit_test_setup_teardown(single_steps_are_those_of_keras, setup, teardown),
        cmocka_unit_test_setup_teardown(
            all_are_within_a_hundred_thousandth_of_their_equations, setup, teardown),
        cmocka_unit_test_setup_teardown(late_steps_are_as_exact_as_early_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(random_shapes_are_right, setup, teardown),
        cmocka_unit_test_setup_teardown(
            zero_and_non_finite_gradients_do_what_they_do_in_keras, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dynamic_scale_passes_over_what_is_not_finite, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(steps_that_only_accumulate_change_nothing_else, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(calls_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_in_calls_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_named, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
