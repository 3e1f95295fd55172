/*
 * Do replicas that each update their rows get what one core gets that updates all of them?
 *
 * Rules without norms bit for bit; with norms, which are then sums of the replicas' sums, within
 * a few roundings.
 */
#include "cli/validate/optimizer_trial.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

#define REPLICAS 8
#define ROWS 24
#define COLUMNS 20
#define ELEMS (ROWS * COLUMNS)
#define LAUNCHES 3

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

/* the parts of a step that train/ makes of it: value and gradient are inputs of rows */
struct step {
    struct variable_set set;
    struct trace trace;
    struct optimizer o;
};

static void build(struct step *s, const char *call, int replicas)
{
    struct shape matrix = shape_make(DTYPE_F32, 2, (int64_t[]){ROWS, COLUMNS});
    struct shape vector = shape_make(DTYPE_F32, 1, (int64_t[]){COLUMNS});
    struct initializer zeros = initializer_standard(INITIALIZER_ZEROS);
    struct optimizer_step step;
    int variable[2], gradient[2], value;
    struct err e;

    variable_set_init(&s->set, &arena);
    variable[0] = variable_add_trainable(&s->set, "kernel", &matrix, &zeros);
    variable[1] = variable_add_trainable(&s->set, "bias", &vector, &zeros);
    if (optimizer_parse(&s->o, call, &arena, &e) ||
        optimizer_build(&s->o, &s->set, variable, 2, &e) ||
        (replicas > 1 && optimizer_shard(&s->o, 0, 0, replicas, &e)))
        fail_msg("%s: %s", call, e.msg);
    trace_init(&s->trace, &arena, "parts", &s->set, replicas, true);
    matrix.dim[0] /= replicas;
    value = trace_input(&s->trace, "kernel", &matrix);
    gradient[0] = trace_input(&s->trace, "kernel/gradient", &matrix);
    gradient[1] = trace_input(&s->trace, "bias/gradient", &vector);
    optimizer_begin(&step, &s->trace, &s->o, gradient);
    trace_result(&s->trace, "kernel", optimizer_update_one(&step, 0, value, gradient[0]));
    trace_assign(&s->trace, variable[1],
                 optimizer_update_one(&step, 1, trace_read(&s->trace, variable[1]),
                                      gradient[1]));
    optimizer_end(&step);
    trace_finish(&s->trace);
    graph_eliminate_common(&s->trace.graph);
    graph_eliminate_dead(&s->trace.graph);
}

/* of variables zeros but for ones, the learning rate, and what slots begin with */
static void *begin(const struct step *s, int variable, int replicas)
{
    const struct variable *v = &s->set.variable[variable];
    struct shape part = variable_local_shape(v, replicas);
    void *x = arena_alloc(&arena, (size_t)shape_elems(&part) * 4);

    initializer_fill(&v->initializer, &part, 1, 0, x);
    return x;
}

/* `kernel`: rows of all replicas one behind the other, which is the whole */
static float *run(const char *call, int replicas, float *bias)
{
    struct step s;
    float *value = random_floats(&arena, ELEMS, -1, 1, 1);
    float *slope = random_floats(&arena, ELEMS, -1, 1, 2);
    float *side = random_floats(&arena, COLUMNS, -1, 1, 3);
    struct graph_run run = {.slice = replicas > 1 ? "v3-8" : "v3-1"};
    int inputs, outputs, part = ELEMS / replicas;
    const void **in;
    void **out;

    build(&s, call, replicas);
    inputs = s.trace.graph.parameter_count;
    outputs = s.trace.graph.output_count;
    in = arena_array(&arena, (size_t)(inputs * replicas), sizeof(*in));
    out = arena_array(&arena, (size_t)(outputs * replicas), sizeof(*out));
    run.launch_count = LAUNCHES;
    for (int r = 0; r < replicas; r++)
        for (int i = 0; i < inputs; i++) {
            struct trace_parameter p = s.trace.parameter[i];
            const float *given[] = {value + r * part, slope + r * part, side};

            in[r * inputs + i] = p.kind == TRACE_INPUT ? given[p.index]
                                                       : begin(&s, p.index, replicas);
        }
    run_graph(&run, &s.trace.graph, in, out, &arena);
    for (int r = 0; r < replicas; r++)
        memcpy(value + r * part, out[r * outputs], (size_t)part * sizeof(float));
    for (int i = 1; i < outputs; i++)
        if (strcmp(s.trace.graph.output[i].name, "bias") == 0)
            memcpy(bias, out[i], COLUMNS * sizeof(float));
    trace_fini(&s.trace);
    variable_set_fini(&s.set);
    return value;
}

static const struct { const char *call; double tolerance; } calls[] = {
    {"SGD(0.1)", 0}, {"SGD(0.1, momentum=0.9, use_ema=True)", 0}, {"Adam(0.1, amsgrad=True)", 0},
    {"AdamW(0.1, gradient_accumulation_steps=3)", 0}, {"Nadam(0.1)", 0}, {"Lion(0.1)", 0},
    {"RMSprop(0.1, momentum=0.9, centered=True, clipvalue=0.5)", 0}, {"Adagrad(0.1)", 0},
    {"Lamb(0.1)", 1e-6}, {"LARS(10.0, weight_decay=0.1)", 1e-6},
    {"LARS(10.0, classic_momentum=False)", 1e-6}, {"Adam(0.1, clipnorm=0.1)", 1e-6},
    {"Adam(0.1, global_clipnorm=0.1)", 1e-6}, {"SGD(0.1, global_clipnorm=0.1)", 1e-6},
};

TEST(rows_in_parts_become_what_all_rows_become)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        float whole_bias[COLUMNS] = {0}, bias[COLUMNS] = {0};
        const float *whole = run(calls[i].call, 1, whole_bias);
        const float *parts = run(calls[i].call, REPLICAS, bias);

        for (int k = 0; k < ELEMS; k++)
            if (!(fabs((double)whole[k] - (double)parts[k]) <= calls[i].tolerance))
                fail_msg("%s, element %d: %.9g in parts, %.9g as a whole", calls[i].call, k,
                         (double)parts[k], (double)whole[k]);
        for (int k = 0; k < COLUMNS; k++)
            if (!(fabs((double)whole_bias[k] - (double)bias[k]) <= calls[i].tolerance))
                fail_msg("%s, bias %d: %.9g beside parts, %.9g beside a whole", calls[i].call, k,
                         (double)bias[k], (double)whole_bias[k]);
    }
}

/* gradients of four steps, one by one or as their sum in one launch: the same update */
TEST(a_launch_of_micro_batches_updates_as_their_steps_do)
{
    static const char call[] =
        "AdamW(CosineDecay(0.1, 20), gradient_accumulation_steps=4, clipnorm=0.5)";
    float *value = random_floats(&arena, COLUMNS, -1, 1, 1);
    float *slope = random_floats(&arena, COLUMNS, -1, 1, 2);
    float *sum = random_floats(&arena, COLUMNS, -1, 1, 2), *after[2];
    struct shape vector = shape_make(DTYPE_F32, 1, (int64_t[]){COLUMNS});

    for (int i = 0; i < COLUMNS; i++)
        sum[i] = 4 * slope[i];
    for (int way = 0; way < 2; way++) {
        struct optimizer o;
        const float *initial = value, *gradient[8];
        struct optimizer_trial t = {.optimizer = &o, .variable_count = 1, .shape = &vector,
                                    .initial = &initial, .gradient = gradient,
                                    .steps = way ? 2 : 8};
        struct err e;

        for (int i = 0; i < 8; i++)
            gradient[i] = way ? sum : slope;
        assert_int_equal(optimizer_parse(&o, call, &arena, &e), 0);
        o.accumulates_in_launch = way;
        if (optimizer_trial_run(&t, &arena, &e))
            fail_msg("%s", e.msg);
        after[way] = t.value[(t.steps - 1) * t.set.count];
        assert_int_equal(*(int32_t *)t.value[(t.steps - 1) * t.set.count + o.iterations], 8);
        assert_int_equal(variable_find(&t.set, "v0/accumulated") >= 0, !way);
        optimizer_trial_fini(&t);
    }
    assert_memory_equal(after[0], after[1], COLUMNS * sizeof(float));
    assert_memory_not_equal(after[0], value, COLUMNS * sizeof(float));
}

TEST(adafactor_says_that_it_cannot)
{
    struct shape matrix = shape_make(DTYPE_F32, 2, (int64_t[]){ROWS, COLUMNS});
    struct initializer zeros = initializer_standard(INITIALIZER_ZEROS);
    struct variable_set set;
    struct optimizer o;
    struct err e;
    int v;

    variable_set_init(&set, &arena);
    v = variable_add_trainable(&set, "kernel", &matrix, &zeros);
    optimizer_init(&o, RULE_ADAFACTOR);
    assert_int_equal(optimizer_build(&o, &set, &v, 1, &e), 0);
    assert_int_equal(optimizer_shard(&o, 0, 0, 8, &e), -1);
    assert_string_equal(e.msg,
                        "kernel: Adafactor's slots cannot be in parts, it looks at whole variables");
    variable_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_in_parts_become_what_all_rows_become, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_launch_of_micro_batches_updates_as_their_steps_do, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(adafactor_says_that_it_cannot, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
