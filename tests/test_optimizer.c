/*
 * Do compiled optimizers do on a simulated core what Keras 3 does?
 *
 * Five steps against the figures that Keras's own tests expect (rounded to four places there),
 * and every message.
 */
#include "cli/optimizer_trial.h"
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

struct number { const char *name; double value; };

static void make(struct optimizer *o, const char *name, const struct number *numbers)
{
    enum optimizer_rule rule;
    struct err e;

    if (optimizer_find(name, &rule, &e))
        fail_msg("%s", e.msg);
    optimizer_init(o, rule);
    for (int i = 0; numbers && numbers[i].name; i++)
        if (optimizer_set(o, numbers[i].name, numbers[i].value, &e))
            fail_msg("%s", e.msg);
}

/*
 * Ten ones; the first gradient is 0.01 everywhere, the others 0.1, 0.2 .. 1.0. What Keras expects
 * of the first and the last element behind each step.
 */
struct golden {
    const char *name;
    struct number numbers[6];
    double first[STEPS], last[STEPS];
};
static const struct golden goldens[] = {
    {"SGD", {{"nesterov", 1}},
     {.9999, .9989, .9979, .9969, .9959}, {.9999, .9899, .9799, .9699, .9599}},
    {"Adam", {{"amsgrad", 1}},
     {.999, .9982, .9974, .9965, .9955}, {.999, .9982, .9974, .9965, .9955}},
};

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
    make(&o, golden->name, golden->numbers);
    if (optimizer_trial_run(&t, &arena, &e))
        fail_msg("%s: %s", golden->name, e.msg);
    for (int s = 0; s < STEPS; s++) {
        const float *is = t.value[s * t.set.count];
        double first = fabs((double)is[0] - golden->first[s]);
        double last = fabs((double)is[ELEMS - 1] - golden->last[s]);

        if (first > 5e-4 || last > 5e-4)
            fail_msg("%s, step %d: %g and %g, Keras has %g and %g", golden->name, s + 1,
                     (double)is[0], (double)is[ELEMS - 1], golden->first[s], golden->last[s]);
    }
    optimizer_trial_fini(&t);
}

TEST(five_steps_are_those_of_keras)
{
    for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++)
        check_golden(&goldens[i]);
}

static void expect(int status, const struct err *e, const char *text)
{
    assert_int_equal(status, -1);
    assert_string_equal(e->msg, text);
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
           "Adam: beta_1 is 1.5, allowed are 0..1");
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
    expect(optimizer_shard(&o, 0, 4, &e), &e,
           "kernel: the rows of f32[6,5] are not divisible by 4 replicas");
    assert_int_equal(optimizer_shard(&o, 0, 3, &e), 0);
    assert_int_equal(set.variable[variable_find(&set, "kernel/m")].shard_dim, 0);
    assert_int_equal(set.variable[variable_find(&set, "kernel/m")].of, v);
    assert_int_equal(set.variable[variable_find(&set, "kernel")].shard_dim, -1);
    variable_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(five_steps_are_those_of_keras, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_named, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
